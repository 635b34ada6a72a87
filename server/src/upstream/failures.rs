//! Negative cache: failed fetches, remembered for `upstream.failure_ttl_seconds`.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use subcat_engine::ReleaseId;

use super::fetch_error::FetchError;
use crate::limits::FETCH_FAILURES_MAX;

/// Failed fetches by release, so that a missing file does not cost a request upstream for every
/// client that wants it.
///
/// INVARIANT: every entry of `by_release` has an entry with the same time in `oldest_first`. A
/// release that failed repeatedly has several; only the newest of them is current.
pub(super) struct RecentFailures {
    ttl: Duration,
    by_release: HashMap<ReleaseId, (FetchError, Instant), foldhash::quality::RandomState>,
    oldest_first: VecDeque<(ReleaseId, Instant)>,
}

impl RecentFailures {
    /// An empty table of failures that live for `ttl`.
    pub(super) fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            by_release: HashMap::default(),
            oldest_first: VecDeque::new(),
        }
    }

    /// The failure of a release, if it is younger than the TTL.
    pub(super) fn get(&self, release: &ReleaseId, now: Instant) -> Option<FetchError> {
        let (error, at) = self.by_release.get(release)?;
        if now.duration_since(*at) < self.ttl {
            Some(*error)
        } else {
            None
        }
    }

    /// Failures younger than the TTL, counted. Cost: a pass over the table.
    pub(super) fn count(&self, now: Instant) -> usize {
        let is_kept = |at: &Instant| now.duration_since(*at) < self.ttl;
        self.by_release
            .values()
            .filter(|(_, at)| is_kept(at))
            .count()
    }

    /// Remembers a failure from `now` on.
    ///
    /// Cost: amortised constant. Each call queues one entry and removes the expired ones at the
    /// front, so the table needs no timer.
    pub(super) fn put(&mut self, release: ReleaseId, error: FetchError, now: Instant) {
        self.by_release.insert(release.clone(), (error, now));
        self.oldest_first.push_back((release, now));
        while let Some((oldest, at)) = self.oldest_first.front() {
            let is_over = self.ttl <= now.duration_since(*at);
            if !is_over && self.oldest_first.len() <= FETCH_FAILURES_MAX {
                return;
            }
            // If the release failed again, it has a later entry in the queue.
            let is_current = self
                .by_release
                .get(oldest)
                .is_some_and(|(_, last)| last == at);
            if is_current {
                self.by_release.remove(oldest);
            }
            self.oldest_first.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(number: usize) -> ReleaseId {
        ReleaseId::parse(&number.to_string()).unwrap()
    }

    #[test]
    fn a_failure_is_remembered_for_the_ttl() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut failures = RecentFailures::new(Duration::from_secs(30));
        failures.put(release(1), FetchError::Unusable, at(0));
        assert_eq!(
            failures.get(&release(1), at(29)),
            Some(FetchError::Unusable)
        );
        assert_eq!(failures.get(&release(1), at(30)), None);
        assert_eq!(failures.get(&release(2), at(0)), None);
        assert_eq!(failures.count(at(29)), 1);
        assert_eq!(failures.count(at(30)), 0);
        failures.put(release(1), FetchError::Unavailable, at(20));
        failures.put(release(2), FetchError::Unavailable, at(40));
        assert_eq!(
            failures.get(&release(1), at(49)),
            Some(FetchError::Unavailable)
        );
        assert_eq!(failures.oldest_first.len(), 2);
    }

    #[test]
    fn the_table_is_bounded() {
        let now = Instant::now();
        let mut failures = RecentFailures::new(Duration::from_secs(30));
        for number in 0..FETCH_FAILURES_MAX + 5 {
            failures.put(release(number), FetchError::Unavailable, now);
        }
        assert_eq!(failures.by_release.len(), FETCH_FAILURES_MAX);
        assert_eq!(failures.get(&release(4), now), None);
        assert!(failures.get(&release(5), now).is_some());
    }

    #[test]
    fn with_a_ttl_of_zero_nothing_is_remembered() {
        let now = Instant::now();
        let mut failures = RecentFailures::new(Duration::ZERO);
        failures.put(release(1), FetchError::Unavailable, now);
        assert_eq!(failures.get(&release(1), now), None);
        assert!(failures.by_release.is_empty());
    }
}
