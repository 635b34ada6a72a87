//! The circuit breaker: whether a fetch may be sent to upstream at all.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::health::Outage;
use crate::limits::{PROBE_PAUSE_MAX, PROBE_PAUSE_MIN, SUSPENSION_MAX};

/// State of the breaker.
///
/// ```text
///             upstream is down                  the pause is over
///   closed ---------------------> open(pause) -------------------> half-open: one probe
///     ^                              ^                                |          |
///     |                              +--- no answer: twice the pause--+          |
///     +----------------------------------------- an answer ----------------------+
/// ```
///
/// Besides, upstream may ask for a suspension (`Retry-After`), in any state.
#[derive(Default)]
struct BreakerState {
    /// Time of the next probe and the pause before the one after it; `None` while closed.
    next_probe: Option<(Instant, Duration)>,
    is_probing: bool,
    suspended_until: Option<Instant>,
}

/// Decides which fetches are sent, so that clients of a dead upstream get their answer at once.
#[derive(Default)]
pub(super) struct Breaker(Mutex<BreakerState>);

/// Permission to send a fetch.
pub(super) struct FetchPass<'a> {
    /// The breaker, if this is its probe.
    probed: Option<&'a Breaker>,
}

impl FetchPass<'_> {
    /// True if upstream is down and this fetch finds out if it still is: it is not retried.
    pub(super) const fn is_probe(&self) -> bool {
        self.probed.is_some()
    }
}

impl Drop for FetchPass<'_> {
    fn drop(&mut self) {
        if let Some(breaker) = self.probed {
            breaker.0.lock().is_probing = false;
        }
    }
}

impl Breaker {
    /// Returns true if a fetch that came now would be refused.
    pub(super) fn refuses(&self, outage: Outage, now: Instant) -> bool {
        let mut state = self.0.lock();
        !state.is_open_to(outage, now)
    }

    /// The permission to send a fetch; `None` refuses it.
    pub(super) fn pass(&self, outage: Outage, now: Instant) -> Option<FetchPass<'_>> {
        let mut state = self.0.lock();
        if !state.is_open_to(outage, now) {
            return None;
        }
        let Some((_, pause)) = state.next_probe else {
            return Some(FetchPass { probed: None });
        };
        state.is_probing = true;
        state.next_probe = Some((now + pause, (pause * 2).min(PROBE_PAUSE_MAX)));
        Some(FetchPass { probed: Some(self) })
    }

    /// Forgets everything: fetches are sent until upstream is down again.
    pub(super) fn close(&self) {
        *self.0.lock() = BreakerState::default();
    }

    /// Records a suspension that upstream asks for.
    pub(super) fn suspend(&self, pause: Duration, now: Instant) {
        let until = now + pause.min(SUSPENSION_MAX);
        let mut state = self.0.lock();
        state.suspended_until = state.suspended_until.max(Some(until));
    }
}

impl BreakerState {
    fn is_open_to(&mut self, outage: Outage, now: Instant) -> bool {
        if self.suspended_until.is_some_and(|until| now < until) {
            return false;
        }
        let pause = PROBE_PAUSE_MIN;
        let (first, delay) = match outage {
            Outage::None => {
                self.next_probe = None;
                return true;
            }
            Outage::Unreachable => ((now + pause, pause * 2), Duration::ZERO),
            Outage::Failing { has_failed: false } => ((now, pause), Duration::ZERO),
            Outage::Failing { has_failed: true } => ((now, pause), pause),
        };
        let (probe_at, _) = *self.next_probe.get_or_insert(first);
        !self.is_probing && probe_at + delay <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_upstream_gets_one_probe_at_a_time_and_ever_fewer() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!(!breaker.pass(Outage::None, at(0)).unwrap().is_probe());
        assert!(breaker.pass(Outage::Unreachable, at(0)).is_none());
        assert!(breaker.pass(Outage::Unreachable, at(999)).is_none());
        assert!(!breaker.refuses(Outage::Unreachable, at(1000)));
        let probe = breaker.pass(Outage::Unreachable, at(1000)).unwrap();
        assert!(probe.is_probe());
        assert!(
            breaker.pass(Outage::Unreachable, at(9000)).is_none(),
            "one probes already"
        );
        assert!(breaker.refuses(Outage::Unreachable, at(9000)));
        drop(probe);
        // It failed: twice the pause.
        assert!(breaker.pass(Outage::Unreachable, at(2999)).is_none());
        let mut probes_ms = Vec::new();
        for ms in (3000..200_000).step_by(500) {
            if breaker.pass(Outage::Unreachable, at(ms)).is_some() {
                probes_ms.push(ms);
            }
        }
        assert_eq!(probes_ms[..5], [3000, 7000, 15_000, 31_000, 61_000]);
        // An answer closes it, and the next outage begins anew.
        assert!(!breaker.pass(Outage::None, at(200_000)).unwrap().is_probe());
        assert!(breaker.pass(Outage::Unreachable, at(200_001)).is_none());
        assert!(breaker.pass(Outage::Unreachable, at(201_001)).is_some());
    }

    #[test]
    fn a_suspension_holds_for_all_and_is_bounded() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        breaker.suspend(Duration::from_secs(20), at(0));
        breaker.suspend(Duration::from_secs(5), at(1));
        assert!(breaker.pass(Outage::None, at(19)).is_none());
        assert!(breaker.pass(Outage::None, at(20)).is_some());
        breaker.suspend(Duration::from_secs(86_400), at(100));
        assert!(breaker.pass(Outage::None, at(399)).is_none());
        assert!(breaker.pass(Outage::None, at(400)).is_some());
    }

    /// One that has not failed finds out at once if upstream fails for all.
    #[test]
    fn a_release_that_has_not_failed_probes_before_one_that_has() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let failing = |has_failed| Outage::Failing { has_failed };
        assert!(breaker.refuses(failing(true), at(0)));
        let probe = breaker.pass(failing(false), at(0)).unwrap();
        assert!(probe.is_probe());
        assert!(breaker.refuses(failing(false), at(0)), "one probes already");
        drop(probe);
        assert!(breaker.refuses(failing(false), at(999)));
        assert!(breaker.refuses(failing(true), at(1999)));
        assert!(!breaker.refuses(failing(false), at(1000)));
        // No other fetch came.
        assert!(breaker.pass(failing(true), at(2000)).unwrap().is_probe());
        assert!(!breaker.pass(Outage::None, at(2001)).unwrap().is_probe());
    }
}
