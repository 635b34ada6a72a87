//! The ordered, durable log that the nodes of a cluster share.

use std::time::Duration;

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Sequence number: 1 for the first entry of a log, and one more for each further one.
    pub seq: u64,
    /// The bytes that were appended.
    pub body: Vec<u8>,
}

/// Number of random bits in an epoch. With them an epoch has 52 bits: JSON readers that know only
/// floating point keep it exact.
const IDENTITY_BITS: u32 = 40;

/// The epoch of a log that is made after another one: a higher generation, and a random identity.
///
/// Every frame, position and snapshot carries the epoch, and all of them are compared with that of
/// the log. So the random part distinguishes two logs that were made at the same time, or under the
/// same name one after the other. `before` is 0 if there was none.
pub fn next_epoch(before: u64, random: u64) -> u64 {
    let generation = (before >> IDENTITY_BITS) + 1;
    // Never 0: such an epoch would look like one without an identity.
    let identity = (random & ((1 << IDENTITY_BITS) - 1)).max(1);
    generation << IDENTITY_BITS | identity
}

/// Extent of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogState {
    /// Identity of the log itself ([`next_epoch`]): a log that is made anew has a higher one. 0 if
    /// no log was made.
    pub epoch: u64,
    /// Sequence number of the oldest entry that is kept; one more than `last` if none is.
    pub oldest: u64,
    /// Sequence number of the newest entry; 0 before the first.
    pub last: u64,
}

/// An append that is not known to be durable.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The entry is not in the log, which cannot be reached, and never will be.
    #[error("the log is not available: {0}")]
    Unavailable(String),
    /// The entry is nowhere: the service answers, and holds no such log.
    #[error("there is no log")]
    NoLog,
    /// The entry is not in the log, which was made anew, and never will be.
    #[error("the log has epoch {epoch}")]
    OtherEpoch {
        /// Epoch of the current log.
        epoch: u64,
    },
    /// The entry may be in the log, or arrive there: only the same bytes may be appended again.
    #[error("the log has not answered: {0}")]
    Unknown(String),
}

/// Entries could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The service with the log does not answer. Its entries will be there when it is back.
    #[error("the log is not available: {0}")]
    Unavailable(String),
    /// The service answers, and holds no such log.
    #[error("there is no log")]
    NoLog,
    /// The next entry is no longer kept: a snapshot has its changes.
    #[error("the log begins at entry {oldest}")]
    Truncated {
        /// Sequence number of the oldest entry that is kept.
        oldest: u64,
    },
}

impl AppendError {
    /// The reason alone, for a message that says by itself what has become of the entry.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Unavailable(reason) | Self::Unknown(reason) => reason.clone(),
            other => other.to_string(),
        }
    }
}

impl ReadError {
    /// The reason alone, for a message that says by itself that the log is not available.
    pub fn reason(&self) -> String {
        match self {
            Self::Unavailable(reason) => reason.clone(),
            other => other.to_string(),
        }
    }
}

/// An ordered, durable log. Every node reads the same entries in the same order.
///
/// Delivery is at least once: an entry may be there twice if its append was repeated. Methods
/// block, and may be called from any thread.
pub trait Log: Send + Sync {
    /// Makes the log, empty, with this epoch.
    ///
    /// Errors: something has its name already, a log or anything else. It is left unchanged.
    fn create(&self, epoch: u64) -> Result<(), ReadError>;

    /// Makes the log anew: removes the existing one, with every entry, and creates it. From then
    /// on, appends with another epoch are refused.
    ///
    /// Errors: the state of the log is unknown then, unless the name belongs to something else:
    /// that is left unchanged.
    fn reset(&self, epoch: u64) -> Result<(), ReadError>;

    /// Extent of the log.
    fn state(&self) -> Result<LogState, ReadError>;

    /// Appends an entry to the log of this epoch; returns its number when it is durable. The log
    /// itself compares the epochs, in the same step: it may be made anew at any moment.
    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError>;

    /// Returns entries after `after`, in order and without gaps, of about `bytes_max` bytes
    /// together: one or more if there are any, else none. Never waits for new entries.
    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError>;

    /// Waits until there is an entry after `after`, or for `at_most`. A hint: it may return early,
    /// and does so, after a pause, when the service does not answer.
    fn wait(&self, after: u64, at_most: Duration);

    /// Drops the entries up to `through`, which snapshots cover.
    fn truncate(&self, through: u64) -> Result<(), ReadError>;

    /// Copies of each entry that the service keeps, as of the last [`Log::state`]; `None` if it
    /// does not tell. Never waits.
    fn copies(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_does_not_repeat_what_its_error_says() {
        let lost = || "cut off".to_owned();
        assert_eq!(ReadError::Unavailable(lost()).reason(), "cut off");
        assert_eq!(AppendError::Unavailable(lost()).reason(), "cut off");
        assert_eq!(AppendError::Unknown(lost()).reason(), "cut off");
        assert_eq!(ReadError::NoLog.reason(), "there is no log");
    }

    #[test]
    fn an_epoch_is_higher_than_the_one_before_and_has_an_identity() {
        let first = next_epoch(0, 7);
        let second = next_epoch(first, 3);
        assert!(first < second);
        assert_ne!(next_epoch(0, 7), next_epoch(0, 8));
        // Those of before there were identities.
        assert!(1 < next_epoch(1, 0));
        assert_eq!(next_epoch(0, 0), next_epoch(0, 1 << IDENTITY_BITS));
        assert!(next_epoch(first, u64::MAX) < 1 << 53);
    }
}
