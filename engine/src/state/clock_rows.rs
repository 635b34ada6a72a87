//! Application of what moments tell: the latest second, behind which time never falls.
//!
//! Whatever ends at a second stays ended when a clock is set back, because the latest second is
//! stored. So a clock that is far ahead must not be stored: it would end everything for good. A
//! moment more than a day ahead of the latest second ends things while the clock says so, and is
//! not remembered; nothing is deleted by it. [`Change::SetClock`](super::Change::SetClock) stores
//! it once it is confirmed, and takes it back. What it has made is over when it is right again: a
//! session that begins in the future, a link or a rolled key that ends too far in it. The time for
//! which a rolled key continues is counted from the moment that shows the clock to have been wrong.

use std::ops::ControlFlow;

use super::apply::{Effect, EventStep, number};
use super::event::Outcome;
use super::tables::{API_KEYS, LATEST_SECOND, META, ROLLED_AHEAD, api_key_row};
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

    /// Remembers the moment of a roll as [`EventStep::see`] does, and its clock if it is doubted.
    pub(super) fn see_roll(&mut self, moment: Timestamp) -> Result<Timestamp> {
        let seen = self.see(moment)?;
        if seen != moment {
            let rolled = number(self.rows, META, ROLLED_AHEAD)?;
            let second = u64::try_from(moment.seconds()).unwrap_or(0);
            self.rows
                .put(META, ROLLED_AHEAD, &encode_number(rolled.max(second)))?;
        }
        Ok(seen)
    }

    /// Compares the clocks that have rolled keys and were doubted with a moment that is not: those
    /// that it has reached were right, and those that are far ahead of it were wrong.
    pub(super) fn doubt_rolls(&mut self, now: Timestamp) -> Result<Outcome> {
        let rolled = number(self.rows, META, ROLLED_AHEAD)?;
        if rolled == 0 {
            return Ok(Outcome::Done);
        }
        let is_wrong = timestamp(rolled).is_far_after(now);
        if is_wrong || timestamp(rolled) <= now {
            self.rows.remove(META, ROLLED_AHEAD)?;
        }
        if is_wrong {
            self.correct_rolls(now)
        } else {
            Ok(Outcome::Done)
        }
    }

    /// Gives keys that were rolled far in the future the end that they would have if they had been
    /// rolled now.
    fn correct_rolls(&mut self, now: Timestamp) -> Result<Outcome> {
        let mut outcome = Outcome::Done;
        for old in self.keys_that_end(|end| now < end)? {
            let (Some(end), Some(id)) = (old.revoked_at, old.replaced_by) else {
                continue;
            };
            let Some(stored) = self.rows.get(API_KEYS, &api_key_row(id))? else {
                continue;
            };
            let rolled_at = ApiKey::decode(&stored)?.created_at;
            if !rolled_at.is_far_after(now) {
                continue;
            }
            let grace_seconds = end.seconds() - rolled_at.seconds();
            let end = now.plus_seconds(grace_seconds);
            self.change_api_key(old.id, |api_key| api_key.revoked_at = Some(end))?;
            self.change_api_key(id, |api_key| api_key.created_at = now)?;
            outcome = Outcome::KeysCorrected;
        }
        Ok(outcome)
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
            for mut api_key in self.keys_that_end(|end| second < end && end <= before)? {
                api_key.revoked_at = Some(second);
                self.put_api_key(api_key)?;
            }
        }
        self.put_latest(second)?;
        self.effects.push(Effect::Clock);
        // A clock that was believed has left no doubt of its rolls.
        if second < before {
            self.rows.remove(META, ROLLED_AHEAD)?;
            self.correct_rolls(second)
        } else {
            self.doubt_rolls(second)
        }
    }

    /// Keys with an end for which `is_meant` returns true, by a revocation or a roll.
    fn keys_that_end(&self, is_meant: impl Fn(Timestamp) -> bool) -> Result<Vec<ApiKey>> {
        let mut ending = Vec::new();
        self.rows.inspect(API_KEYS, Span::ALL, &mut |_, value| {
            // An unreadable one is not accepted.
            if let Ok(api_key) = value.and_then(ApiKey::decode)
                && api_key.revoked_at.is_some_and(&is_meant)
            {
                ending.push(api_key);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(ending)
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
