//! The latest second, behind which the time of this process never falls, and when it is believed.
//!
//! A clock that is set back must not revive what has expired, so the latest second is remembered
//! and stored. A clock that is far ahead must not be stored, or everything that expires would be
//! ended for good. So the clock is compared with the stored second, once a second:
//!
//! | clock | state | consequence |
//! |---|---|---|
//! | up to a day ahead of the stored second | near | it is observed; the next event stores it |
//! | further, and this process has observed the time until then | confirmed | it is stored |
//! | further at once | ahead | it decides what has expired now; it is not observed or stored |
//! | ahead by the same for `CLOCK_CONFIRM_SECONDS` | confirmed | it is stored |
//!
//! While it is ahead, two things begin that time anew: a jump of the clock, and a second that
//! another node of a cluster has stored. So one node with a right clock keeps the others from
//! storing a wrong one.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use subcat_engine::{CLOCK_STEP_SECONDS_MAX, Timestamp};

use crate::limits::{CLOCK_CONFIRM_SECONDS, CLOCK_DRIFT_MS_MAX};
use crate::runtime::Moment;

/// The latest second that is known to have passed.
pub(super) struct ObservedTime {
    latest: AtomicI64,
    watch: Mutex<Watch>,
}

/// The clock in comparison with the stored second, as of the last look.
#[derive(Default)]
struct Watch {
    stored: i64,
    ahead: Option<Ahead>,
    is_confirmed: bool,
}

/// A clock that is far ahead.
struct Ahead {
    /// Milliseconds by which the wall clock is ahead of the monotonic one.
    offset_ms: i64,
    /// Microseconds of the monotonic clock at which it was met.
    since_us: u64,
}

impl ObservedTime {
    /// Time that begins with the stored second.
    pub(super) fn new(stored: Timestamp) -> Self {
        let stored = stored.seconds();
        Self {
            latest: AtomicI64::new(stored),
            watch: Mutex::new(Watch {
                stored,
                ..Watch::default()
            }),
        }
    }

    /// The later of `now` and the latest second. Cost: one relaxed load.
    pub(super) fn effective(&self, now: Timestamp) -> Timestamp {
        now.max(self.latest())
    }

    /// The latest second.
    pub(super) fn latest(&self) -> Timestamp {
        let first = Timestamp::from_seconds(0).expect("1970 is within the range of timestamps");
        first.plus_seconds(self.latest.load(Ordering::Relaxed))
    }

    /// Remembers a second. Returns false if it is too far ahead for that.
    pub(super) fn observe(&self, moment: Timestamp) -> bool {
        let latest = self.latest.load(Ordering::Relaxed);
        let is_near = is_near(moment.seconds(), latest);
        if is_near {
            self.latest.fetch_max(moment.seconds(), Ordering::Relaxed);
        }
        is_near
    }

    /// Compares the clock with the stored second. Returns the seconds by which it is ahead when it
    /// has begun to be. Called once a second.
    pub(super) fn look(&self, now: Moment, stored: Timestamp) -> Option<i64> {
        let mut watch = self.watch.lock();
        let (second, stored) = (now.timestamp().seconds(), stored.seconds());
        let is_moved = stored != watch.stored;
        if stored < watch.stored {
            // It never falls by itself: it was taken back, here or on another node.
            self.latest.store(stored, Ordering::Relaxed);
        } else {
            self.latest.fetch_max(stored, Ordering::Relaxed);
        }
        watch.stored = stored;
        let has_seen_it_pass = self.observe(now.timestamp());
        if has_seen_it_pass {
            watch.ahead = None;
            watch.is_confirmed = !is_near(second, stored);
            return None;
        }
        let offset_ms = now.unix_ms - (now.monotonic_us / 1000) as i64;
        let is_same = |ahead: &Ahead| (offset_ms - ahead.offset_ms).abs() < CLOCK_DRIFT_MS_MAX;
        let known = watch.ahead.as_ref();
        if let Some(ahead) = known.filter(|ahead| !is_moved && is_same(ahead)) {
            let for_us = now.monotonic_us - ahead.since_us;
            watch.is_confirmed = CLOCK_CONFIRM_SECONDS * 1_000_000 <= for_us;
            return None;
        }
        let is_new = known.is_none();
        watch.is_confirmed = false;
        watch.ahead = Some(Ahead {
            offset_ms,
            since_us: now.monotonic_us,
        });
        is_new.then_some(second - stored)
    }

    /// Returns true if the clock is to be stored though it is far ahead of the stored second.
    pub(super) fn is_confirmed(&self) -> bool {
        self.watch.lock().is_confirmed
    }

    /// Follows a second that was stored in place of the one before.
    pub(super) fn set(&self, stored: Timestamp) {
        let mut watch = self.watch.lock();
        self.latest.store(stored.seconds(), Ordering::Relaxed);
        *watch = Watch {
            stored: stored.seconds(),
            ..Watch::default()
        };
    }
}

/// Returns true if a second may be remembered after `latest`. The first of all always may.
fn is_near(second: i64, latest: i64) -> bool {
    latest == 0 || second <= latest + CLOCK_STEP_SECONDS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_700_000_000;
    const DAY: i64 = 86_400;
    const FAR: i64 = 3_650 * DAY;
    const CONFIRM: i64 = CLOCK_CONFIRM_SECONDS as i64;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(START + seconds).unwrap()
    }

    /// The moment after `ran` seconds, by a clock that is `ahead` seconds ahead.
    fn moment(ran: i64, ahead: i64) -> Moment {
        Moment {
            monotonic_us: ran as u64 * 1_000_000,
            unix_ms: (START + ran + ahead) * 1000,
        }
    }

    #[test]
    fn a_clock_that_goes_back_takes_nothing_back() {
        let time = ObservedTime::new(at(0));
        assert!(time.observe(at(10)));
        assert_eq!(time.effective(at(3)), at(10));
        assert_eq!(time.effective(at(12)), at(12));
    }

    #[test]
    fn a_clock_that_is_far_ahead_decides_while_it_says_so() {
        let time = ObservedTime::new(at(0));
        assert_eq!(time.look(moment(1, FAR), at(0)), Some(FAR + 1));
        assert!(!time.observe(at(FAR)));
        assert_eq!(time.effective(at(FAR)), at(FAR));
        assert_eq!(time.look(moment(2, FAR), at(0)), None, "it was told");
        assert_eq!(time.effective(at(3)), at(3), "it is right again");
        assert_eq!(time.look(moment(3, 0), at(0)), None);
        assert!(!time.is_confirmed());
    }

    #[test]
    fn a_clock_that_stays_ahead_is_believed_in_the_end() {
        let time = ObservedTime::new(at(0));
        time.look(moment(1, FAR), at(0));
        time.look(moment(CONFIRM, FAR), at(0));
        assert!(!time.is_confirmed());
        time.look(moment(CONFIRM + 1, FAR), at(0));
        assert!(time.is_confirmed());
        let stored = at(CONFIRM + 1 + FAR);
        time.look(moment(CONFIRM + 2, FAR), stored);
        assert!(!time.is_confirmed());
        assert_eq!(time.effective(at(0)), at(CONFIRM + 2 + FAR));
    }

    #[test]
    fn a_jump_and_the_clock_of_another_node_begin_that_time_anew() {
        for (ahead, stored) in [(FAR + 60, 0), (FAR, 60)] {
            let time = ObservedTime::new(at(0));
            time.look(moment(1, FAR), at(0));
            assert_eq!(time.look(moment(CONFIRM, ahead), at(stored)), None);
            time.look(moment(CONFIRM + 1, ahead), at(stored));
            assert!(!time.is_confirmed());
            time.look(moment(2 * CONFIRM, ahead), at(stored));
            assert!(time.is_confirmed());
        }
    }

    /// The log of a cluster was away for days, so nothing was stored.
    #[test]
    fn a_process_that_has_seen_the_days_pass_needs_no_confirmation() {
        let time = ObservedTime::new(at(0));
        for hour in 0..60 {
            assert_eq!(time.look(moment(hour * 3_600, 0), at(0)), None);
        }
        assert!(time.is_confirmed());
    }

    #[test]
    fn a_second_that_was_taken_back_is_followed() {
        let time = ObservedTime::new(at(FAR));
        assert_eq!(time.effective(at(0)), at(FAR));
        time.look(moment(1, 0), at(0));
        assert_eq!(time.effective(at(1)), at(1));
        let time = ObservedTime::new(at(FAR));
        time.set(at(0));
        assert_eq!(time.effective(at(1)), at(1));
    }

    #[test]
    fn the_first_second_of_all_is_taken_as_it_is() {
        let never = Timestamp::from_seconds(0).unwrap();
        let time = ObservedTime::new(never);
        assert_eq!(time.look(moment(1, FAR), never), None);
        assert_eq!(time.effective(at(0)), at(FAR + 1));
    }
}
