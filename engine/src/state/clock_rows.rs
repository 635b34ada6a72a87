//! Application of what moments tell: the latest second, behind which time never falls.
//!
//! Whatever ends at a second stays ended when a clock is set back, because the latest second is
//! stored. So a clock that is far ahead must not be stored: it would end everything for good. A
//! moment more than a day ahead of the latest second ends things while the clock says so, and is
//! not remembered; nothing is deleted by it. [`Change::SetClock`](super::Change::SetClock) stores
//! it once it is confirmed, and takes it back. What it has made is over when it is right again: a
//! session that begins in the future, a link or a rolled key that ends too far in it.

use std::ops::ControlFlow;

use super::apply::{Effect, EventStep, number};
use super::event::Outcome;
use super::tables::{API_KEYS, LATEST_SECOND, META};
use crate::codec::{StoredValue, encode_number};
use crate::error::Result;
use crate::model::{ApiKey, Day, Timestamp};
use crate::store::Span;

impl EventStep<'_, '_> {
    /// Remembers a moment, unless it is too far ahead. Returns it, or the latest second in its
    /// place: time never falls behind what is returned.
    pub(super) fn see(&mut self, moment: Timestamp) -> Result<Timestamp> {
        let latest = number(self.rows, META, LATEST_SECOND)?;
        let second = u64::try_from(moment.seconds()).unwrap_or(0);
        // The first moment of all has nothing to be compared with.
        if latest != 0 && moment.is_far_after(timestamp(latest)) {
            return Ok(timestamp(latest));
        }
        if latest < second {
            self.put_latest(moment)?;
        }
        Ok(moment)
    }

    /// The day from which the age of older ones is counted: this one, or that of the latest second
    /// if a clock that is far ahead shows it.
    pub(super) fn believed_day(&self, day: Day) -> Result<Day> {
        let latest = number(self.rows, META, LATEST_SECOND)?;
        let is_far = latest != 0 && day.start().is_far_after(timestamp(latest));
        Ok(if is_far { timestamp(latest).day() } else { day })
    }

    /// Sets the latest second. Sessions and links that have ended by the one before end here, and
    /// so do those that were made by it. A key that was revoked by then is revoked from the new
    /// second on: a rolled key, too, as its end cannot be told from a revocation that came before
    /// it.
    pub(super) fn set_clock(&mut self, second: Timestamp) -> Result<Outcome> {
        let before = timestamp(number(self.rows, META, LATEST_SECOND)?);
        if second < before {
            self.close_sessions(|it| it.has_ended(before) || it.is_expired(second))?;
            self.drop_links(|it| it.has_ended(before) || it.is_expired(second))?;
            for mut api_key in self.keys_revoked_within(second, before)? {
                api_key.revoked_at = Some(second);
                self.put_api_key(api_key)?;
            }
        }
        self.put_latest(second)?;
        self.effects.push(Effect::Clock);
        Ok(Outcome::Done)
    }

    fn keys_revoked_within(&self, after: Timestamp, to: Timestamp) -> Result<Vec<ApiKey>> {
        let mut revoked = Vec::new();
        self.rows.inspect(API_KEYS, Span::ALL, &mut |_, value| {
            // An unreadable one is not accepted.
            if let Ok(api_key) = value.and_then(ApiKey::decode)
                && api_key.revoked_at.is_some_and(|at| after < at && at <= to)
            {
                revoked.push(api_key);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(revoked)
    }

    fn put_latest(&mut self, moment: Timestamp) -> Result<()> {
        let second = u64::try_from(moment.seconds()).unwrap_or(0);
        self.rows.put(META, LATEST_SECOND, &encode_number(second))
    }
}

/// A stored second; the last one that there is if it lies beyond.
fn timestamp(second: u64) -> Timestamp {
    let first = Timestamp::from_seconds(0).expect("1970 is within the range of timestamps");
    first.plus_seconds(i64::try_from(second).unwrap_or(i64::MAX))
}
