//! How upstream is: told from what became of the last requests sent to it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Requests without an answer, in a row, after which upstream is down.
const SILENT_MAX: u32 = 3;
/// Refusals in a row after which it is not single files that are missing.
const REFUSED_MAX: u32 = 10;
/// Answers whose median is the usual time.
const TIMES_KEPT: usize = 16;
/// Answers that it takes to call upstream slow.
const TIMES_NEEDED: usize = 4;
/// Chosen here: many clients give up after ten seconds, and files are small.
const SLOW: Duration = Duration::from_secs(2);

/// What upstream is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamState {
    /// There is none: `upstream.url` is not set.
    Absent,
    /// It has not answered since the start.
    Untried,
    /// It answers.
    Up,
    /// It answers, in more than two seconds as a rule.
    Slow,
    /// It answers, and refused the last ten requests.
    Refusing,
    /// It gave no answer to the last three requests.
    Down,
}

/// What went wrong with a request to upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptError {
    /// No connection could be made.
    NoConnection,
    /// The time for a fetch was over.
    Timeout,
    /// The connection broke before the answer was whole.
    Interrupted,
    /// It leads elsewhere.
    Redirected,
    /// It answered with this status.
    Status(u16),
}

/// How upstream is, with all times as of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthReport {
    /// What it is.
    pub state: UpstreamState,
    /// For how long it has been that; since the first request, at most.
    pub lasting: Option<Duration>,
    /// How long ago a file came whole.
    pub last_success: Option<Duration>,
    /// How long ago something went wrong, and what.
    pub last_error: Option<(Duration, AttemptError)>,
    /// How long a file usually takes: the median of the last ones.
    pub usual_time: Option<Duration>,
    /// Releases that are not asked for again for a while, because they failed.
    pub resting: usize,
}

/// What became of the last requests.
pub(super) struct Health {
    state: UpstreamState,
    since: Option<Instant>,
    last_success: Option<Instant>,
    last_error: Option<(Instant, AttemptError)>,
    silent_in_a_row: u32,
    refused_in_a_row: u32,
    has_answered: bool,
    times: VecDeque<Duration>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            state: UpstreamState::Untried,
            since: None,
            last_success: None,
            last_error: None,
            silent_in_a_row: 0,
            refused_in_a_row: 0,
            has_answered: false,
            times: VecDeque::with_capacity(TIMES_KEPT),
        }
    }
}

impl Health {
    /// A file came whole, after `time`.
    pub(super) fn answered(&mut self, time: Duration, now: Instant) {
        if self.times.len() == TIMES_KEPT {
            self.times.pop_front();
        }
        self.times.push_back(time);
        self.last_success = Some(now);
        self.silent_in_a_row = 0;
        self.refused_in_a_row = 0;
        self.has_answered = true;
        self.judge(now);
    }

    /// It answered, without a file.
    pub(super) fn refused(&mut self, error: AttemptError, now: Instant) {
        self.last_error = Some((now, error));
        self.silent_in_a_row = 0;
        self.refused_in_a_row = self.refused_in_a_row.saturating_add(1);
        self.has_answered = true;
        self.judge(now);
    }

    /// It did not answer, or with a failure of its own.
    pub(super) fn silent(&mut self, error: AttemptError, now: Instant) {
        self.last_error = Some((now, error));
        self.silent_in_a_row = self.silent_in_a_row.saturating_add(1);
        self.judge(now);
    }

    fn judge(&mut self, now: Instant) {
        let is_slow = TIMES_NEEDED <= self.times.len() && self.usual_time() > Some(SLOW);
        let state = if SILENT_MAX <= self.silent_in_a_row {
            UpstreamState::Down
        } else if !self.has_answered {
            UpstreamState::Untried
        } else if REFUSED_MAX <= self.refused_in_a_row {
            UpstreamState::Refusing
        } else if is_slow {
            UpstreamState::Slow
        } else {
            UpstreamState::Up
        };
        if state != self.state {
            self.state = state;
            self.since = Some(now);
        }
    }

    fn usual_time(&self) -> Option<Duration> {
        let mut times: Vec<Duration> = self.times.iter().copied().collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// The report of `now`; the caller knows how many releases rest.
    pub(super) fn report(&self, resting: usize, now: Instant) -> HealthReport {
        let ago = |then: Instant| now.saturating_duration_since(then);
        HealthReport {
            state: self.state,
            lasting: self.since.map(ago),
            last_success: self.last_success.map(ago),
            last_error: self.last_error.map(|(then, what)| (ago(then), what)),
            usual_time: self.usual_time(),
            resting,
        }
    }
}

impl HealthReport {
    /// The report on an upstream that there is not.
    pub(super) const fn absent() -> Self {
        Self {
            state: UpstreamState::Absent,
            lasting: None,
            last_success: None,
            last_error: None,
            usual_time: None,
            resting: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(30);

    #[test]
    fn three_requests_without_an_answer_are_down_and_one_answer_is_up() {
        let (mut health, start) = (Health::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(health.report(0, at(0)).state, UpstreamState::Untried);
        health.answered(QUICK, at(1));
        health.silent(AttemptError::NoConnection, at(2));
        health.silent(AttemptError::Status(503), at(3));
        assert_eq!(health.report(0, at(4)).state, UpstreamState::Up);
        health.silent(AttemptError::Timeout, at(5));
        let report = health.report(2, at(9));
        let expected = HealthReport {
            state: UpstreamState::Down,
            lasting: Some(Duration::from_secs(4)),
            last_success: Some(Duration::from_secs(8)),
            last_error: Some((Duration::from_secs(4), AttemptError::Timeout)),
            usual_time: Some(QUICK),
            resting: 2,
        };
        assert_eq!(report, expected);
        health.silent(AttemptError::Timeout, at(10));
        let lasting = health.report(0, at(10)).lasting;
        assert_eq!(lasting, Some(Duration::from_secs(5)));
        health.answered(QUICK, at(11));
        assert_eq!(health.report(0, at(11)).state, UpstreamState::Up);
    }

    #[test]
    fn missing_files_are_no_outage_and_nothing_but_refusals_is_a_fault() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..9 {
            health.refused(AttemptError::Status(404), now);
            assert_eq!(health.report(0, now).state, UpstreamState::Up);
        }
        health.refused(AttemptError::Status(403), now);
        assert_eq!(health.report(0, now).state, UpstreamState::Refusing);
        health.answered(QUICK, now);
        assert_eq!(health.report(0, now).state, UpstreamState::Up);
    }

    #[test]
    fn usually_more_than_two_seconds_are_slow() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..3 {
            health.answered(Duration::from_secs(3), now);
        }
        assert_eq!(health.report(0, now).state, UpstreamState::Up);
        health.answered(Duration::from_secs(3), now);
        assert_eq!(health.report(0, now).state, UpstreamState::Slow);
        for _ in 0..TIMES_KEPT {
            health.answered(QUICK, now);
        }
        assert_eq!(health.report(0, now).state, UpstreamState::Up);
        assert_eq!(health.times.len(), TIMES_KEPT);
    }

    #[test]
    fn silence_from_the_start_is_down_too() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.silent(AttemptError::NoConnection, now);
        assert_eq!(health.report(0, now).state, UpstreamState::Untried);
        health.silent(AttemptError::NoConnection, now);
        health.silent(AttemptError::NoConnection, now);
        assert_eq!(health.report(0, now).state, UpstreamState::Down);
    }
}
