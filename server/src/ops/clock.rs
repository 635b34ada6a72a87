//! The latest second, behind which time never falls.

use serde::{Deserialize, Serialize};
use subcat_engine::{ApiKeyState, Change, Timestamp};

use super::error::OperationError;
use super::operation::{Operation, OperationEntry, Operations};
use crate::service::Service;

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ReadClock>(),
    OperationEntry::of::<ResetClock>(),
];

/// `clock/show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadClock {}

/// `clock/reset`: makes the clock of this machine the latest second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetClock {}

/// Answer of [`ReadClock`], and of [`ResetClock`] about the time before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRead {
    /// The clock of this machine.
    pub clock: String,
    /// The latest second: what ends by then has ended, whatever the clock says.
    pub latest: String,
    /// Seconds by which it is ahead of the clock; negative if it is behind.
    pub ahead_seconds: i64,
    /// Expired keys that are valid again after a reset.
    pub revived: Vec<RevivedKey>,
}

/// A key that is expired by the latest second and not by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevivedKey {
    /// Id of the key.
    pub id: u64,
    /// Name of the key.
    pub name: String,
    /// The second from which it is expired.
    pub expires_at: String,
}

impl Operation for ReadClock {
    const NAME: &'static str = "clock/show";
    type Answer = ClockRead;

    async fn execute(self, operations: &Operations<'_>) -> Result<ClockRead, OperationError> {
        Ok(operations.read_clock()?)
    }
}

impl Operation for ResetClock {
    const NAME: &'static str = "clock/reset";
    type Answer = ClockRead;

    async fn execute(self, operations: &Operations<'_>) -> Result<ClockRead, OperationError> {
        let read = operations.read_clock()?;
        operations.change(Change::SetClock(operations.now)).await?;
        if let Some(service) = operations.service {
            service.follow_clock(operations.now);
        }
        Ok(read)
    }
}

impl Operations<'_> {
    fn read_clock(&self) -> subcat_engine::Result<ClockRead> {
        let stored = self.engine.usage().latest_moment()?;
        let observed = self.service.map(Service::latest_second);
        let latest = observed.unwrap_or(stored).max(stored);
        Ok(ClockRead {
            clock: self.now.to_string(),
            latest: latest.to_string(),
            ahead_seconds: latest.seconds() - self.now.seconds(),
            revived: self.keys_expired_within(self.now, latest),
        })
    }

    fn keys_expired_within(&self, after: Timestamp, to: Timestamp) -> Vec<RevivedKey> {
        let mut api_keys = self.engine.accounts().api_keys();
        api_keys.retain(|api_key| {
            api_key.state(to) == ApiKeyState::Expired && api_key.state(after) == ApiKeyState::Active
        });
        api_keys.sort_unstable_by_key(|api_key| api_key.id);
        let revived = api_keys.into_iter().filter_map(|api_key| {
            Some(RevivedKey {
                id: api_key.id.0,
                name: api_key.name,
                expires_at: api_key.expires_at?.to_string(),
            })
        });
        revived.collect()
    }
}
