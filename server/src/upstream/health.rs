//! Health of upstream, derived from the outcomes of the last requests sent to it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use subcat_engine::ReleaseId;

/// Failed connections in a row that make upstream count as down.
const DOWN_AFTER: u32 = 3;
/// Releases that failed in any other way, in a row, that make upstream count as down: a few broken
/// files say nothing about the others.
const DOWN_AFTER_RELEASES: usize = 8;
/// Rejections in a row that point to the configuration instead of single files.
const REJECTING_AFTER: u32 = 10;
/// Answers that the median time is taken from.
const TIMES_KEPT: usize = 16;
/// Minimum number of answers before upstream may be called slow.
const TIMES_NEEDED: usize = 4;
/// Usual time above which upstream is slow. Chosen here: many clients give up after ten seconds,
/// and files are small.
const SLOW: Duration = Duration::from_secs(2);

/// State of upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamState {
    /// `upstream.url` is not set.
    NotConfigured,
    /// Upstream has not answered since the process started.
    NoAnswerYet,
    /// Upstream answers.
    Up,
    /// Upstream answers, usually in more than two seconds.
    Slow,
    /// Upstream answers, and rejected the last ten requests.
    Rejecting,
    /// Upstream accepted none of the last three connections, or failed for the last eight releases.
    Down,
}

impl UpstreamState {
    /// Returns true if upstream gives no file now.
    pub const fn is_failing(self) -> bool {
        matches!(self, Self::Rejecting | Self::Down)
    }
}

/// Reason why a request to upstream brought no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// No connection could be made.
    #[error("no connection")]
    NoConnection,
    /// The fetch took longer than `upstream.timeout_seconds`.
    #[error("timeout")]
    Timeout,
    /// The connection broke before the answer was complete.
    #[error("connection closed early")]
    Interrupted,
    /// The answer was a redirect to another host, or one too many.
    #[error("redirect not followed")]
    Redirected,
    /// The answer had this status.
    #[error("status {0}")]
    Status(u16),
}

/// Outage of upstream, as one release meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outage {
    /// Upstream answers.
    None,
    /// Upstream accepts no connection.
    Unreachable,
    /// Upstream fails for the releases that were requested last.
    Failing {
        /// True if this is one of them.
        has_failed: bool,
    },
}

/// Health of upstream at one point in time. Durations count back from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthReport {
    /// Current state.
    pub state: UpstreamState,
    /// Time spent in this state; `None` before the first request.
    pub in_state_for: Option<Duration>,
    /// Time since a file was received.
    pub last_success: Option<Duration>,
    /// Time since a request failed, and why.
    pub last_error: Option<(Duration, AttemptError)>,
    /// Median time of the last files.
    pub usual_time: Option<Duration>,
    /// Releases that are not requested again for a while because they failed.
    pub remembered_failures: usize,
}

/// Outcomes of the last requests, and the state that follows from them.
pub(super) struct Health {
    state: UpstreamState,
    since: Option<Instant>,
    last_success: Option<Instant>,
    last_error: Option<(Instant, AttemptError)>,
    unconnected_in_a_row: u32,
    /// Releases that failed since the last answer, up to [`DOWN_AFTER_RELEASES`].
    failed_releases: Vec<ReleaseId>,
    rejected_in_a_row: u32,
    has_answered: bool,
    /// Times of the last [`TIMES_KEPT`] files, oldest first.
    times: VecDeque<Duration>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            state: UpstreamState::NoAnswerYet,
            since: None,
            last_success: None,
            last_error: None,
            unconnected_in_a_row: 0,
            failed_releases: Vec::new(),
            rejected_in_a_row: 0,
            has_answered: false,
            times: VecDeque::with_capacity(TIMES_KEPT),
        }
    }
}

impl Health {
    /// Records a file that was received after `time`.
    pub(super) fn record_success(&mut self, time: Duration, now: Instant) {
        if self.times.len() == TIMES_KEPT {
            self.times.pop_front();
        }
        self.times.push_back(time);
        self.last_success = Some(now);
        self.end_outage();
        self.rejected_in_a_row = 0;
        self.has_answered = true;
        self.update_state(now);
    }

    /// Records an answer without a file.
    pub(super) fn record_rejection(&mut self, error: AttemptError, now: Instant) {
        self.last_error = Some((now, error));
        self.end_outage();
        self.rejected_in_a_row = self.rejected_in_a_row.saturating_add(1);
        self.has_answered = true;
        self.update_state(now);
    }

    /// Records a request for a release without an answer, or with a 5xx. A connection that cannot
    /// be made counts each time; anything else may be the fault of the release, and counts once.
    ///
    /// The rejections in a row stay: an outage between two of them proves nothing about the
    /// configuration.
    pub(super) fn record_no_answer(
        &mut self,
        error: AttemptError,
        release: &ReleaseId,
        now: Instant,
    ) {
        self.last_error = Some((now, error));
        if error == AttemptError::NoConnection {
            self.unconnected_in_a_row = self.unconnected_in_a_row.saturating_add(1);
        }
        let has_room = self.failed_releases.len() < DOWN_AFTER_RELEASES;
        if has_room && !self.failed_releases.contains(release) {
            self.failed_releases.push(release.clone());
        }
        self.update_state(now);
    }

    /// The outage as this release meets it.
    pub(super) fn outage(&self, release: &ReleaseId) -> Outage {
        if self.state != UpstreamState::Down {
            return Outage::None;
        }
        if DOWN_AFTER <= self.unconnected_in_a_row {
            return Outage::Unreachable;
        }
        Outage::Failing {
            has_failed: self.failed_releases.contains(release),
        }
    }

    fn end_outage(&mut self) {
        self.unconnected_in_a_row = 0;
        self.failed_releases.clear();
    }

    /// Derives the state, worst first: an upstream that does not answer is down, however fast or
    /// slow it was before.
    fn update_state(&mut self, now: Instant) {
        let is_slow = TIMES_NEEDED <= self.times.len() && self.usual_time() > Some(SLOW);
        let is_down = DOWN_AFTER <= self.unconnected_in_a_row
            || DOWN_AFTER_RELEASES <= self.failed_releases.len();
        let state = if is_down {
            UpstreamState::Down
        } else if !self.has_answered {
            UpstreamState::NoAnswerYet
        } else if REJECTING_AFTER <= self.rejected_in_a_row {
            UpstreamState::Rejecting
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

    /// The report at `now`. The number of remembered failures comes from the caller, which owns
    /// their table.
    pub(super) fn report(&self, remembered_failures: usize, now: Instant) -> HealthReport {
        let ago = |then: Instant| now.saturating_duration_since(then);
        HealthReport {
            state: self.state,
            in_state_for: self.since.map(ago),
            last_success: self.last_success.map(ago),
            last_error: self.last_error.map(|(then, error)| (ago(then), error)),
            usual_time: self.usual_time(),
            remembered_failures,
        }
    }
}

impl HealthReport {
    /// The report if `upstream.url` is not set.
    pub(super) const fn not_configured() -> Self {
        Self {
            state: UpstreamState::NotConfigured,
            in_state_for: None,
            last_success: None,
            last_error: None,
            usual_time: None,
            remembered_failures: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(30);
    const NO_CONNECTION: AttemptError = AttemptError::NoConnection;

    fn release(number: usize) -> ReleaseId {
        ReleaseId::parse(&number.to_string()).unwrap()
    }

    #[test]
    fn three_connections_that_fail_are_down_and_one_answer_is_up() {
        let (mut health, start) = (Health::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(health.report(0, at(0)).state, UpstreamState::NoAnswerYet);
        health.record_success(QUICK, at(1));
        health.record_no_answer(NO_CONNECTION, &release(1), at(2));
        health.record_no_answer(NO_CONNECTION, &release(1), at(3));
        assert_eq!(health.report(0, at(4)).state, UpstreamState::Up);
        health.record_no_answer(NO_CONNECTION, &release(1), at(5));
        let report = health.report(2, at(9));
        let expected = HealthReport {
            state: UpstreamState::Down,
            in_state_for: Some(Duration::from_secs(4)),
            last_success: Some(Duration::from_secs(8)),
            last_error: Some((Duration::from_secs(4), NO_CONNECTION)),
            usual_time: Some(QUICK),
            remembered_failures: 2,
        };
        assert_eq!(report, expected);
        health.record_no_answer(AttemptError::Timeout, &release(2), at(10));
        let in_state_for = health.report(0, at(10)).in_state_for;
        assert_eq!(in_state_for, Some(Duration::from_secs(5)));
        health.record_success(QUICK, at(11));
        assert_eq!(health.report(0, at(11)).state, UpstreamState::Up);
    }

    #[test]
    fn ten_rejections_in_a_row_are_a_fault_and_nine_are_not() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..9 {
            health.record_rejection(AttemptError::Status(404), now);
            assert_eq!(health.report(0, now).state, UpstreamState::Up);
        }
        health.record_rejection(AttemptError::Status(403), now);
        assert_eq!(health.report(0, now).state, UpstreamState::Rejecting);
        health.record_success(QUICK, now);
        assert_eq!(health.report(0, now).state, UpstreamState::Up);
    }

    #[test]
    fn a_median_above_two_seconds_is_slow() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..3 {
            health.record_success(Duration::from_secs(3), now);
        }
        assert_eq!(health.report(0, now).state, UpstreamState::Up);
        health.record_success(Duration::from_secs(3), now);
        assert_eq!(health.report(0, now).state, UpstreamState::Slow);
        for _ in 0..TIMES_KEPT {
            health.record_success(QUICK, now);
        }
        assert_eq!(health.report(0, now).state, UpstreamState::Up);
        assert_eq!(health.times.len(), TIMES_KEPT);
    }

    #[test]
    fn no_answer_from_the_start_is_down_too() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.record_no_answer(NO_CONNECTION, &release(1), now);
        assert_eq!(health.report(0, now).state, UpstreamState::NoAnswerYet);
        health.record_no_answer(NO_CONNECTION, &release(1), now);
        health.record_no_answer(NO_CONNECTION, &release(1), now);
        assert_eq!(health.report(0, now).state, UpstreamState::Down);
    }

    #[test]
    fn releases_that_fail_are_down_when_they_are_many_and_nothing_else_succeeds() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.record_success(QUICK, now);
        let fail = |health: &mut Health, number| {
            health.record_no_answer(AttemptError::Status(500), &release(number), now);
        };
        for number in 0..DOWN_AFTER_RELEASES - 1 {
            fail(&mut health, number);
            fail(&mut health, number);
            assert_eq!(health.outage(&release(number)), Outage::None);
        }
        health.record_success(QUICK, now);
        for number in 0..DOWN_AFTER_RELEASES {
            assert_eq!(health.outage(&release(0)), Outage::None);
            fail(&mut health, number);
        }
        let down = |has_failed| Outage::Failing { has_failed };
        assert_eq!(health.outage(&release(0)), down(true));
        assert_eq!(health.outage(&release(100)), down(false));
        health.record_rejection(AttemptError::Status(404), now);
        assert_eq!(health.outage(&release(0)), Outage::None);
    }
}
