//! Figures of the last minutes, hours and days, for the console: the increase of the counters in
//! each. Days outlive the process: each minute with requests stores those of its day.

use std::collections::VecDeque;

use parking_lot::Mutex;
use subcat_engine::{Day, FIGURE_DAYS_MAX, FIGURES_MAX, StateEvent, Timestamp};

use super::hourly_use::HOUR_SECONDS;
use super::metrics::{LATENCY_BUCKETS_US, LatencyCounts, Metrics, Route};
use crate::limits::{HISTORY_DAYS_MAX, HISTORY_HOURS_MAX, HISTORY_MINUTES_MAX};
use crate::upstream::{FetchCounts, FetchOutcome};

/// Version of the order of stored figures. Figures of another version are not shown.
const STORED_ORDER: u64 = 1;
const _: () = assert!(STORED_FIGURES <= FIGURES_MAX);
const _: () = assert!(HISTORY_DAYS_MAX as u32 == FIGURE_DAYS_MAX);

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

/// Count of [`Gain`]s.
const GAINS_COUNT: usize = 8;

/// Counters at one moment, or their increase in a period.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    gains: [u64; GAINS_COUNT],
    search_latencies: LatencyCounts,
}

impl Figures {
    /// The counters of this moment.
    pub fn read(metrics: &Metrics, fetches: &FetchCounts) -> Self {
        const ROUTES: [Route; 6] = [
            Route::Search,
            Route::Record,
            Route::Download,
            Route::Other,
            Route::Address,
            Route::Files,
        ];
        let mut figures = Self {
            search_latencies: metrics.latency_counts(Route::Search),
            ..Self::default()
        };
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

    /// True if nothing was counted.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn each(&mut self, other: &Self, change: impl Fn(u64, u64) -> u64) {
        let numbers = self.gains.iter_mut().chain(&mut self.search_latencies);
        let others = other.gains.iter().chain(&other.search_latencies);
        for (number, other) in numbers.zip(others) {
            *number = change(*number, *other);
        }
    }
}

/// Upper end of the bucket of this percentile; `None` without answers, or beyond the last bucket.
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

/// A minute, an hour or a day, with its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// First second of the period.
    pub start: Timestamp,
    /// Counts of the period.
    pub figures: Figures,
    /// Bytes of the data directory at its end.
    pub disk_bytes: u64,
}

/// Length of a stored day: the order, the bytes of the disk, gains, latencies.
const STORED_FIGURES: usize = 2 + GAINS_COUNT + LATENCY_BUCKETS_US.len() + 1;

impl Period {
    fn to_stored(&self) -> Vec<u64> {
        let Figures {
            gains,
            search_latencies,
        } = &self.figures;
        let head = [STORED_ORDER, self.disk_bytes];
        [&head[..], gains, search_latencies].concat()
    }

    /// The figures of a day; `None` if another version of the program stored them.
    fn from_stored(day: Day, stored: &[u64]) -> Option<Self> {
        let (head, rest) = stored.split_first_chunk::<2>()?;
        let (gains, search_latencies) = rest.split_first_chunk()?;
        if head[0] != STORED_ORDER {
            return None;
        }
        Some(Self {
            start: day.start(),
            figures: Figures {
                gains: *gains,
                search_latencies: search_latencies.try_into().ok()?,
            },
            disk_bytes: head[1],
        })
    }
}

/// Figures of the last minutes and hours since the process started, and of the last days.
///
/// One thread writes, once a minute; readers are the pages of administrators. No request of the
/// API comes here. About 60 KB.
#[derive(Default)]
pub struct History(Mutex<Periods>);

#[derive(Default)]
struct Periods {
    /// The counters at the end of the last minute, and the minute after it.
    before: Option<(i64, Figures)>,
    minutes: VecDeque<Period>,
    hours: VecDeque<Period>,
    days: VecDeque<Period>,
}

impl History {
    /// A history that continues the stored figures of days.
    pub fn of_days(stored: &[(Day, Vec<u64>)]) -> Self {
        let days = stored.iter();
        let days = days.filter_map(|(day, figures)| Period::from_stored(*day, figures));
        Self(Mutex::new(Periods {
            days: days.collect(),
            ..Periods::default()
        }))
    }

    /// Keeps the figures of the minute that has just ended; within a minute does nothing. `read`
    /// gives the counters of now and the bytes of the data directory. Returns the event that stores
    /// the day of that minute, unless nothing was counted.
    pub fn note(
        &self,
        now: Timestamp,
        read: impl FnOnce() -> (Figures, u64),
    ) -> Option<StateEvent> {
        let minute = now.seconds().div_euclid(MINUTE_SECONDS);
        let mut periods = self.0.lock();
        if matches!(&periods.before, Some((known, _)) if *known == minute) {
            return None;
        }
        let (counters, disk_bytes) = read();
        periods.end_minute(now, counters, disk_bytes)
    }

    /// Does the same for the minute that has begun, at the end of the process.
    pub fn note_last(
        &self,
        now: Timestamp,
        read: impl FnOnce() -> (Figures, u64),
    ) -> Option<StateEvent> {
        let (counters, disk_bytes) = read();
        self.0.lock().end_minute(now, counters, disk_bytes)
    }

    /// The last minutes that have ended, the oldest first. Minutes that the process slept through
    /// are missing.
    pub fn minutes(&self) -> Vec<Period> {
        self.0.lock().minutes.iter().cloned().collect()
    }

    /// The last hours since the process started, the oldest first, this one included up to its last
    /// minute.
    pub fn hours(&self) -> Vec<Period> {
        self.0.lock().hours.iter().cloned().collect()
    }

    /// The last days, the oldest first, today included up to its last minute.
    pub fn days(&self) -> Vec<Period> {
        self.0.lock().days.iter().cloned().collect()
    }
}

impl Periods {
    fn end_minute(
        &mut self,
        now: Timestamp,
        counters: Figures,
        disk_bytes: u64,
    ) -> Option<StateEvent> {
        let minute = now.seconds().div_euclid(MINUTE_SECONDS);
        let (ended_minute, before) = self.before.replace((minute, counters.clone()))?;
        let mut figures = counters;
        figures.each(&before, u64::saturating_sub);
        let is_idle = figures.is_empty();
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
        let into_hour = start.seconds().rem_euclid(HOUR_SECONDS);
        let hour = Period {
            start: start.plus_seconds(-into_hour),
            ..ended.clone()
        };
        add(&mut self.days, day, HISTORY_DAYS_MAX);
        add(&mut self.hours, hour, HISTORY_HOURS_MAX);
        add(&mut self.minutes, ended, HISTORY_MINUTES_MAX);
        // An idle service writes nothing.
        let day = self.days.back().filter(|_| !is_idle)?;
        Some(StateEvent::KeepFigures(day.start.day(), day.to_stored()))
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
        let hours = history.hours();
        assert_eq!(hours.len(), HISTORY_HOURS_MAX);
        assert_eq!(gained(&hours)[..2], [60, 60]);
        assert_eq!(hours[23].start, at(2_940));
        assert_eq!(gained(&hours)[23], 59);
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

    /// The stored form of a day.
    fn stored(event: Option<StateEvent>) -> Option<(Day, Vec<u64>)> {
        match event? {
            StateEvent::KeepFigures(day, figures) => Some((day, figures)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn days_go_on_after_a_restart() {
        let history = History::default();
        assert_eq!(history.note(at(0), || requests(100)), None);
        assert!(stored(history.note(at(1), || requests(103))).is_some());
        assert_eq!(history.note(at(2), || requests(103)), None, "it was idle");
        // Half a minute before the end of the process.
        let kept = stored(history.note_last(at(2).plus_seconds(30), || requests(110)));
        let kept = [kept.unwrap()];
        let history = History::of_days(&kept);
        assert_eq!(history.days()[0].disk_bytes, 7);
        assert_eq!(history.minutes(), []);
        // A new process counts from 0.
        history.note(at(3), || requests(0));
        let kept = stored(history.note(at(4), || requests(5))).unwrap();
        assert_eq!(gained(&history.days()), [15]);
        assert_eq!(kept.0, at(0).day());
        assert_eq!(gained(&History::of_days(&[kept]).days()), [15]);
        history.note(at(1_441), || requests(6));
        history.note(at(1_442), || requests(8));
        assert_eq!(gained(&history.days()), [16, 2]);
    }

    #[test]
    fn figures_of_another_version_are_not_shown() {
        let (figures, disk_bytes) = requests(3);
        let period = Period {
            start: at(0),
            figures,
            disk_bytes,
        };
        let known = period.to_stored();
        assert_eq!(known.len(), STORED_FIGURES);
        let is_shown = |figures: &[u64]| {
            let kept = [(at(0).day(), figures.to_vec())];
            !History::of_days(&kept).days().is_empty()
        };
        assert!(is_shown(&known));
        assert!(!is_shown(&[&known[..], &[0]].concat()));
        assert!(!is_shown(&known[1..]));
        assert!(!is_shown(&[&[STORED_ORDER + 1], &known[1..]].concat()));
        assert!(!is_shown(&[]));
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
