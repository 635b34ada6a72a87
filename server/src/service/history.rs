//! Figures of the last minutes and days, for the console: what the counters have gained in each.

use std::collections::VecDeque;

use parking_lot::Mutex;
use subcat_engine::Timestamp;

use super::metrics::{LATENCY_BUCKETS_US, Metrics, Route};
use crate::limits::{HISTORY_DAYS_MAX, HISTORY_MINUTES_MAX};
use crate::upstream::{FetchCounts, FetchOutcome};

/// Seconds of a minute.
const MINUTE_SECONDS: i64 = 60;

/// A counter that the history keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gain {
    /// Requests under `/api`, but the health check.
    Requests = 0,
    /// Of these, those that were answered with a status of 5xx.
    ServerErrors = 1,
    /// Of these, those that were answered 429.
    Limited = 2,
    /// Downloads that were counted.
    Downloads = 3,
    /// Searches answered from cached hits.
    CacheHits = 4,
    /// Searches that were run.
    CacheMisses = 5,
    /// Files that were fetched from upstream.
    Fetched = 6,
    /// Fetches that failed.
    FetchFailures = 7,
}

/// Number of [`Gain`]s.
const GAINS_COUNT: usize = 8;

/// Searches by the time that they took, as [`LATENCY_BUCKETS_US`].
type LatencyCounts = [u64; LATENCY_BUCKETS_US.len() + 1];

/// Counters at one moment, or what they gained in a period.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    gains: [u64; GAINS_COUNT],
    search_latencies: LatencyCounts,
}

impl Figures {
    /// The counters of this moment.
    pub fn read(metrics: &Metrics, fetches: &FetchCounts) -> Self {
        const ROUTES: [Route; 4] = [Route::Search, Route::Record, Route::Download, Route::Other];
        let mut figures = Self::default();
        for worker in &metrics.workers {
            for route in ROUTES {
                let of_route = &worker.routes[route as usize];
                figures.add_to(Gain::Requests, of_route.answers_count(|_| true));
                let is_server_error = |status: u16| 500 <= status;
                figures.add_to(Gain::ServerErrors, of_route.answers_count(is_server_error));
                figures.add_to(
                    Gain::Limited,
                    of_route.answers_count(|status| status == 429),
                );
            }
            figures.add_to(Gain::Downloads, worker.downloads.get());
            figures.add_to(Gain::CacheHits, worker.search_cache_hits.get());
            figures.add_to(Gain::CacheMisses, worker.search_cache_misses.get());
            let searches = &worker.routes[Route::Search as usize];
            for (bucket_idx, count) in figures.search_latencies.iter_mut().enumerate() {
                *count += searches.latency_count(bucket_idx);
            }
        }
        figures.add_to(Gain::Fetched, fetches.outcome(FetchOutcome::Stored));
        for failure in [
            FetchOutcome::Unavailable,
            FetchOutcome::Unusable,
            FetchOutcome::NotStored,
        ] {
            figures.add_to(Gain::FetchFailures, fetches.outcome(failure));
        }
        figures
    }

    fn add_to(&mut self, gain: Gain, count: u64) {
        self.gains[gain as usize] += count;
    }

    /// Gain of a counter.
    pub fn gained(&self, gain: Gain) -> u64 {
        self.gains[gain as usize]
    }

    /// Microseconds within which this percentage of the searches was answered: the upper end of a
    /// bucket. `None` without searches, or beyond the last bucket.
    pub fn search_quantile_us(&self, percent: u64) -> Option<u64> {
        latency_quantile_us(&self.search_latencies, percent)
    }

    fn each(&mut self, other: &Self, change: impl Fn(u64, u64) -> u64) {
        let numbers = self.gains.iter_mut().chain(&mut self.search_latencies);
        let others = other.gains.iter().chain(&other.search_latencies);
        for (number, other) in numbers.zip(others) {
            *number = change(*number, *other);
        }
    }
}

/// Upper end of the bucket below which this percentage of the answers is; `None` without answers,
/// or beyond the last bucket.
pub fn latency_quantile_us(counts: &[u64], percent: u64) -> Option<u64> {
    let total: u64 = counts.iter().sum();
    let wanted = (total * percent).div_ceil(100);
    if total == 0 {
        return None;
    }
    let mut passed = 0;
    for (count, end_us) in counts.iter().zip(LATENCY_BUCKETS_US) {
        passed += count;
        if wanted <= passed {
            return Some(end_us);
        }
    }
    None
}

/// A minute or a day, and what was counted in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Its first second.
    pub start: Timestamp,
    /// Counts of the period.
    pub figures: Figures,
    /// Bytes of the data directory at its end.
    pub disk_bytes: u64,
}

/// Figures of the last minutes and days since the process started.
///
/// One thread writes, once a minute; readers are the pages of administrators. No request of the
/// API comes here. About 50 KB.
#[derive(Default)]
pub struct History(Mutex<Periods>);

#[derive(Default)]
struct Periods {
    /// The counters at the end of the last minute, and the minute after it.
    before: Option<(i64, Figures)>,
    minutes: VecDeque<Period>,
    days: VecDeque<Period>,
}

impl History {
    /// Keeps the figures of the minute that has just ended; within a minute does nothing. `read`
    /// gives the counters of now and the bytes of the data directory.
    pub fn note(&self, now: Timestamp, read: impl FnOnce() -> (Figures, u64)) {
        let minute = now.seconds().div_euclid(MINUTE_SECONDS);
        let mut periods = self.0.lock();
        if matches!(&periods.before, Some((known, _)) if *known == minute) {
            return;
        }
        let (counters, disk_bytes) = read();
        let before = periods.before.replace((minute, counters.clone()));
        let Some((ended_minute, before)) = before else {
            return;
        };
        let mut figures = counters;
        figures.each(&before, u64::saturating_sub);
        let start = Timestamp::from_seconds(ended_minute * MINUTE_SECONDS).unwrap_or(now);
        let ended = Period {
            start,
            figures,
            disk_bytes,
        };
        let day = Period {
            start: start.day().start(),
            ..ended.clone()
        };
        add(&mut periods.days, day, HISTORY_DAYS_MAX);
        add(&mut periods.minutes, ended, HISTORY_MINUTES_MAX);
    }

    /// The last minutes that have ended, the oldest first. Minutes that the process slept through
    /// are missing.
    pub fn minutes(&self) -> Vec<Period> {
        self.0.lock().minutes.iter().cloned().collect()
    }

    /// The last days, the oldest first, today included up to its last minute.
    pub fn days(&self) -> Vec<Period> {
        self.0.lock().days.iter().cloned().collect()
    }
}

/// Adds to the last period if it is the same one or the clock was set back; else begins another.
fn add(periods: &mut VecDeque<Period>, period: Period, count_max: usize) {
    match periods.back_mut() {
        Some(last) if period.start <= last.start => {
            last.figures.each(&period.figures, u64::saturating_add);
            last.disk_bytes = period.disk_bytes;
        }
        _ => {
            if periods.len() == count_max {
                periods.pop_front();
            }
            periods.push_back(period);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_seconds(1_790_000_000 / 86_400 * 86_400 + minute * 60).unwrap()
    }

    fn requests(count: u64) -> (Figures, u64) {
        let mut figures = Figures::default();
        figures.add_to(Gain::Requests, count);
        (figures, 7)
    }

    fn gained(periods: &[Period]) -> Vec<u64> {
        let figures = periods.iter().map(|period| &period.figures);
        figures.map(|it| it.gained(Gain::Requests)).collect()
    }

    #[test]
    fn a_minute_has_what_was_gained_in_it() {
        let history = History::default();
        history.note(at(0), || requests(100));
        history.note(at(0).plus_seconds(30), || unreachable!("the same minute"));
        assert_eq!(history.minutes(), []);
        history.note(at(1), || requests(103));
        history.note(at(2), || requests(103));
        // The process slept for a while.
        history.note(at(9), || requests(110));
        assert_eq!(gained(&history.minutes()), [3, 0, 7]);
        assert_eq!(history.minutes()[1].start, at(1));
        assert_eq!(history.minutes()[0].disk_bytes, 7);
        assert_eq!(gained(&history.days()), [10]);
    }

    #[test]
    fn days_follow_one_another_and_everything_is_bounded() {
        let history = History::default();
        for minute in 0..3_000 {
            let count = u64::try_from(minute).unwrap();
            history.note(at(minute), || requests(count));
        }
        assert_eq!(gained(&history.days()), [1_440, 1_440, 119]);
        assert_eq!(history.minutes().len(), HISTORY_MINUTES_MAX);
        for day in 3..100 {
            history.note(at(day * 1_440), || requests(0));
        }
        assert_eq!(history.days().len(), HISTORY_DAYS_MAX);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let history = History::default();
        history.note(at(10), || requests(0));
        history.note(at(11), || requests(5));
        history.note(at(3), || requests(6));
        history.note(at(4), || requests(8));
        assert_eq!(gained(&history.minutes()), [5, 3]);
        assert!(history.minutes().is_sorted_by_key(|minute| minute.start));
    }

    #[test]
    fn a_quantile_is_the_end_of_its_bucket() {
        let mut counts = vec![0; LATENCY_BUCKETS_US.len() + 1];
        assert_eq!(latency_quantile_us(&counts, 50), None);
        counts[2] = 98;
        counts[5] = 1;
        counts[6] = 1;
        assert_eq!(latency_quantile_us(&counts, 50), Some(50));
        assert_eq!(latency_quantile_us(&counts, 99), Some(500));
        assert_eq!(latency_quantile_us(&counts, 100), Some(1_000));
        let end = counts.len() - 1;
        counts[end] = 1_000;
        assert_eq!(latency_quantile_us(&counts, 99), None);
    }

    #[test]
    fn counters_are_read_of_every_worker() {
        let metrics = Metrics::new(2);
        metrics.workers[0].answered(Route::Search, 200, 40);
        metrics.workers[1].answered(Route::Download, 502, 40);
        metrics.workers[1].answered(Route::Record, 429, 40);
        metrics.workers[1].answered(Route::Page, 500, 40);
        metrics.workers[1].answered(Route::Health, 200, 40);
        let figures = Figures::read(&metrics, &FetchCounts::default());
        assert_eq!(figures.gained(Gain::Requests), 3);
        assert_eq!(figures.gained(Gain::ServerErrors), 1);
        assert_eq!(figures.gained(Gain::Limited), 1);
        assert_eq!(figures.search_quantile_us(99), Some(50));
    }
}
