//! Time as a parameter.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::limits::CLOCK_JUMP_MS_MIN;
use subcat_engine::Timestamp;

/// Reading of both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since the process started, by a clock that is never set back and counts the
    /// time in which the machine is suspended.
    pub monotonic_us: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub unix_ms: i64,
}

impl Moment {
    /// The second of UTC that contains it.
    pub fn timestamp(self) -> Timestamp {
        let seconds = self.unix_ms.div_euclid(1000);
        Timestamp::from_seconds(seconds).unwrap_or_else(|| {
            Timestamp::from_seconds(0).expect("1970 is within the range of timestamps")
        })
    }
}

/// Source of time. Tests have clocks of their own.
pub trait Clock: Send + Sync {
    /// The current moment. Cost: one read of the monotonic clock.
    fn now(&self) -> Moment;

    /// Adopts jumps of the wall clock. Called once a second.
    fn resync(&self) {}

    /// Number of jumps of the wall clock that were adopted. A machine that was paused from outside
    /// learns of it by such a jump alone.
    fn jumps_count(&self) -> u64 {
        0
    }
}

/// The system's clocks.
///
/// The wall clock is the monotonic one plus an offset, which [`Clock::resync`] measures again. So a
/// reading costs one clock, and the time of day still follows when the clock is set.
pub struct SystemClock {
    started: Duration,
    offset_ms: AtomicI64,
    jumps_count: AtomicU64,
}

impl SystemClock {
    /// Clocks that start now.
    pub fn new() -> Self {
        let clock = Self {
            started: boot_time(),
            offset_ms: AtomicI64::new(0),
            jumps_count: AtomicU64::new(0),
        };
        clock.offset_ms.store(clock.measure_ms(), Ordering::Relaxed);
        clock
    }

    fn elapsed(&self) -> Duration {
        boot_time().saturating_sub(self.started)
    }

    fn measure_ms(&self) -> i64 {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let wall_ms = i64::try_from(wall.as_millis()).unwrap_or(i64::MAX);
        let elapsed_ms = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        wall_ms.saturating_sub(elapsed_ms)
    }
}

/// The time since the machine was started, suspension included.
fn boot_time() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let elapsed_us = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
        let elapsed_ms = i64::try_from(elapsed_us / 1000).unwrap_or(i64::MAX);
        Moment {
            monotonic_us: elapsed_us,
            unix_ms: self.offset_ms.load(Ordering::Relaxed) + elapsed_ms,
        }
    }

    fn resync(&self) {
        let measured_ms = self.measure_ms();
        let known_ms = self.offset_ms.load(Ordering::Relaxed);
        if CLOCK_JUMP_MS_MIN <= (measured_ms - known_ms).abs() {
            self.offset_ms.store(measured_ms, Ordering::Relaxed);
            self.jumps_count.fetch_add(1, Ordering::Release);
        }
    }

    fn jumps_count(&self) -> u64 {
        self.jumps_count.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_one_second() {
        let check = |unix_ms: i64, expected: &str| {
            let moment = Moment {
                monotonic_us: 0,
                unix_ms,
            };
            assert_eq!(moment.timestamp().to_string(), expected);
        };
        check(0, "1970-01-01T00:00:00Z");
        check(999, "1970-01-01T00:00:00Z");
        check(1_700_000_000_500, "2023-11-14T22:13:20Z");
    }

    #[test]
    fn the_system_clock_agrees_with_the_wall_clock() {
        let clock = SystemClock::new();
        let wall_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_millis();
        let difference_ms = clock
            .now()
            .unix_ms
            .abs_diff(i64::try_from(wall_ms).unwrap());
        assert!(difference_ms < 1000);
        assert_eq!(clock.jumps_count(), 0);
        clock.offset_ms.store(0, Ordering::Relaxed);
        clock.resync();
        assert_eq!(clock.jumps_count(), 1);
        assert!(clock.now().unix_ms > 1_600_000_000_000);
    }
}
