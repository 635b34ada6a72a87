//! One fixed window, packed into one word.
//!
//! INVARIANT: a word with count 0 is a window that never opened.

use subcat_engine::RateLimit;

use crate::limits::WINDOW_REQUESTS_MAX;
use crate::runtime::Moment;

/// Bits of the count of requests; the other 36 are the tick at which the window opened.
const COUNT_BITS: u32 = 28;
/// Length of a tick. 36 bits of them are 21 years.
const TICK_US: u64 = 10_000;
/// Ticks of one second.
pub const TICKS_PER_SECOND: u64 = 1_000_000 / TICK_US;
const TICK_MS: i64 = 10;

const _: () = assert!(WINDOW_REQUESTS_MAX == (1 << COUNT_BITS) - 1);
const _: () = assert!(TICKS_PER_SECOND == 100);

/// State of a window as one response reports it (API.md, rate limit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Requests allowed per window.
    pub limit: u32,
    /// Requests that are left in it.
    pub remaining: u32,
    /// Unix time of its end, in whole seconds, rounded up.
    pub reset: u64,
    /// Length of the window in seconds.
    pub window_seconds: u32,
    /// Seconds until the window ends, 1 or more, if the request is rejected.
    pub retry_after: Option<u32>,
}

/// A window that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWindow {
    /// The tick of its opening, which identifies it.
    pub opened_tick: u64,
    /// Requests that were taken from it.
    pub count: u32,
}

/// Requests that were added to a window for other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddedRequests {
    /// The tick at which the window opened.
    pub opened_tick: u64,
    /// The requests: fewer than were to be added if the window cannot count them.
    pub count: u32,
}

/// The word after `count` requests of other nodes, whatever the limit allows.
pub(super) fn added(
    word: u64,
    limit: RateLimit,
    count: u32,
    now: Moment,
) -> (Option<u64>, AddedRequests) {
    let (opened_tick, before) = open_window(word, limit, now).unwrap_or((tick(now), 0));
    let count = count.min(WINDOW_REQUESTS_MAX - before);
    let added = AddedRequests { opened_tick, count };
    let next = (opened_tick << COUNT_BITS) | u64::from(before + count);
    // A word without requests is a window that never opened.
    ((count != 0).then_some(next), added)
}

/// The window, if it is open at `now`.
pub(super) fn open(word: u64, limit: RateLimit, now: Moment) -> Option<OpenWindow> {
    let (opened_tick, count) = open_window(word, limit, now)?;
    Some(OpenWindow { opened_tick, count })
}

/// The word after one request (`None` if it is rejected), and the state that its response reports.
pub(super) fn step(word: u64, limit: RateLimit, now: Moment) -> (Option<u64>, Quota) {
    let (opened_tick, count) = match open_window(word, limit, now) {
        Some(open) => open,
        None => (tick(now), 0),
    };
    let mut quota = quota(limit, opened_tick, count, now);
    if quota.remaining == 0 {
        let end_us = (opened_tick + window_ticks(limit)) * TICK_US;
        let wait_us = end_us.saturating_sub(now.monotonic_us);
        let wait_seconds = wait_us.div_ceil(1_000_000).max(1);
        quota.retry_after = Some(u32::try_from(wait_seconds).unwrap_or(u32::MAX));
        return (None, quota);
    }
    quota.remaining -= 1;
    let next = (opened_tick << COUNT_BITS) | u64::from(count + 1);
    (Some(next), quota)
}

/// The word after the request that made it `taken` is given back; `None` if another window has
/// opened since. A window without requests counts as one that never opened.
pub(super) fn given_back(word: u64, taken: u64) -> Option<u64> {
    let count = word & u64::from(WINDOW_REQUESTS_MAX);
    if opened_tick(word) == opened_tick(taken) && count != 0 {
        Some(word - 1)
    } else {
        None
    }
}

/// State of the window at `now`.
pub(super) fn look(word: u64, limit: RateLimit, now: Moment) -> Quota {
    let (opened_tick, count) = open_window(word, limit, now).unwrap_or((tick(now), 0));
    quota(limit, opened_tick, count, now)
}

/// The tick of the window's opening; 0 for one that never opened.
pub(super) fn opened_tick(word: u64) -> u64 {
    word >> COUNT_BITS
}

/// Returns true if the window is open at `now`.
pub(super) fn is_open(word: u64, limit: RateLimit, now: Moment) -> bool {
    open_window(word, limit, now).is_some()
}

fn open_window(word: u64, limit: RateLimit, now: Moment) -> Option<(u64, u32)> {
    let count =
        u32::try_from(word & u64::from(WINDOW_REQUESTS_MAX)).expect("the mask leaves 28 bits");
    let opened_tick = opened_tick(word);
    // Another core may have read the clock a little later than this one: that counts as age 0.
    let age_ticks = tick(now).saturating_sub(opened_tick);
    let is_open = count != 0 && age_ticks < window_ticks(limit);
    if is_open {
        Some((opened_tick, count))
    } else {
        None
    }
}

fn quota(limit: RateLimit, opened_tick: u64, count: u32, now: Moment) -> Quota {
    let requests = limit.requests.get();
    let allowed = requests.min(WINDOW_REQUESTS_MAX);
    let now_ms = i64::try_from(now.monotonic_us / 1000).unwrap_or(i64::MAX);
    let opened_ms = i64::try_from(opened_tick).unwrap_or(i64::MAX) * TICK_MS;
    let window_ms = i64::from(limit.window_seconds.get()) * 1000;
    let end_unix_ms = now.unix_ms - now_ms + opened_ms + window_ms;
    Quota {
        limit: requests,
        remaining: allowed.saturating_sub(count),
        reset: u64::try_from(end_unix_ms).unwrap_or(0).div_ceil(1000),
        window_seconds: limit.window_seconds.get(),
        retry_after: None,
    }
}

/// The tick of a moment. The tick of its opening identifies a window.
pub fn tick(now: Moment) -> u64 {
    now.monotonic_us / TICK_US
}

fn window_ticks(limit: RateLimit) -> u64 {
    u64::from(limit.window_seconds.get()) * TICKS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::limiter::{SharedLimit, TakenQuota, Window};

    fn at(ms: u64) -> Moment {
        Moment {
            monotonic_us: ms * 1000,
            unix_ms: 1_700_000_000_123 + i64::try_from(ms).unwrap(),
        }
    }

    fn limit(text: &str) -> RateLimit {
        RateLimit::parse(text).unwrap()
    }

    #[test]
    fn a_window_opens_fills_refuses_and_ends() {
        let window = Window::default();
        let limit = limit("2/60");
        let unused = window.peek(limit, at(500));
        assert_eq!((unused.remaining, unused.reset), (2, 1_700_000_061));

        let first = window.take(limit, at(1000));
        assert_eq!((first.remaining, first.reset), (1, 1_700_000_062));
        assert_eq!((first.limit, first.window_seconds), (2, 60));
        let second = window.take(limit, at(30_000));
        assert_eq!((second.remaining, second.retry_after), (0, None));
        let third = window.take(limit, at(60_100));
        assert_eq!((third.remaining, third.retry_after), (0, Some(1)));
        let early = window.take(limit, at(31_000));
        assert_eq!(early.retry_after, Some(30));
        for quota in [second, third, early] {
            assert_eq!(quota.reset, first.reset);
        }
        let next = window.take(limit, at(61_000));
        assert_eq!((next.remaining, next.reset), (1, 1_700_000_122));
    }

    #[test]
    fn reset_is_never_before_the_window_ends() {
        for ms in [0, 1, 9, 10, 876, 877, 878, 999, 1000] {
            let window = Window::default();
            let reset = window.take(limit("1/1"), at(ms)).reset;
            let wait_ms = i64::try_from(reset * 1000).unwrap() - at(ms).unix_ms;
            let back = at(ms + u64::try_from(wait_ms).unwrap());
            assert_eq!(window.take(limit("1/1"), back).retry_after, None, "{ms}");
        }
    }

    #[test]
    fn a_changed_limit_holds_at_once() {
        let window = Window::default();
        assert_eq!(window.take(limit("1/60"), at(0)).remaining, 0);
        assert_eq!(window.take(limit("1/60"), at(1)).retry_after, Some(60));
        assert_eq!(window.take(limit("3/60"), at(2)).remaining, 1);
        assert_eq!(window.take(limit("1/60"), at(3)).remaining, 0);
        assert_eq!(window.take(limit("1/1"), at(1500)).remaining, 0);
    }

    #[test]
    fn a_clock_that_lags_behind_stays_in_the_window() {
        let window = Window::default();
        assert_eq!(window.take(limit("2/60"), at(1000)).remaining, 1);
        assert_eq!(window.take(limit("2/60"), at(900)).remaining, 0);
        assert!(window.take(limit("2/60"), at(900)).retry_after.is_some());
    }

    /// API.md 8.7
    #[test]
    fn a_request_that_the_account_rejects_takes_nothing_from_the_key() {
        let (first, second, account) = (Window::default(), Window::default(), Window::default());
        let take = |window: &Window, ms: u64| {
            let shared = SharedLimit {
                window: &account,
                limit: limit("3/60"),
            };
            window.take_with(limit("2/60"), shared, at(ms))
        };
        let left = |taken: TakenQuota| match taken {
            TakenQuota::OfKey(quota) => (quota.remaining, quota.retry_after),
            TakenQuota::OfAccount(quota) => panic!("{quota:?}"),
        };
        assert_eq!(left(take(&first, 0)), (1, None));
        assert_eq!(left(take(&first, 10)), (0, None));
        assert_eq!(left(take(&first, 20)), (0, Some(60)));
        assert_eq!(left(take(&second, 30)), (1, None));
        let TakenQuota::OfAccount(full) = take(&second, 40) else {
            panic!("the account has no request left");
        };
        assert_eq!(
            (full.limit, full.remaining, full.retry_after),
            (3, 0, Some(60))
        );
        assert_eq!(second.peek(limit("2/60"), at(50)).remaining, 1);
        // The account's window ends 60 s after it opened, and the key still has its request.
        assert_eq!(left(take(&second, 60_000)), (0, None));
    }

    #[test]
    fn nothing_is_given_back_to_another_window() {
        let taken = (5 << COUNT_BITS) | 2;
        assert_eq!(
            given_back((5 << COUNT_BITS) | 3, taken),
            Some((5 << COUNT_BITS) | 2)
        );
        assert_eq!(given_back((6 << COUNT_BITS) | 3, taken), None);
        assert_eq!(given_back(5 << COUNT_BITS, taken), None);
    }

    #[test]
    fn requests_of_other_nodes_count_beyond_the_limit() {
        let window = Window::default();
        let limit = limit("2/60");
        assert_eq!(window.open(limit, at(1000)), None);
        let none = window.add(limit, 0, at(1000));
        assert_eq!((none.count, window.open(limit, at(1000))), (0, None));
        assert_eq!(window.add(limit, 1, at(1000)).opened_tick, 100);
        assert_eq!(window.take(limit, at(2000)).remaining, 0);
        assert_eq!(window.add(limit, 5, at(3000)).count, 5);
        assert_eq!(window.open(limit, at(4000)).unwrap().count, 7);
        assert_eq!(window.add(limit, u32::MAX, at(5000)).opened_tick, 100);
        let full = window.open(limit, at(6000)).unwrap().count;
        assert_eq!(full, WINDOW_REQUESTS_MAX);
        assert_eq!(window.add(limit, 1, at(61_000)).opened_tick, 6100);
        assert_eq!(window.take(limit, at(61_000)).remaining, 0);
    }

    #[test]
    fn limits_beyond_the_count_are_shown_as_they_are() {
        let window = Window::default();
        let quota = window.take(limit("4294967295/1"), at(0));
        assert_eq!(quota.limit, u32::MAX);
        assert_eq!(quota.remaining, WINDOW_REQUESTS_MAX - 1);
    }

    /// API.md, rate limit: exact under contention, across windows.
    #[test]
    fn sixty_four_threads_get_exactly_the_limit() {
        const THREADS: usize = 64;
        const TRIES: u64 = 2_000;
        let window = Window::default();
        let limit = limit("1000/60");
        let start = Barrier::new(THREADS);
        for now_ms in [0, 60_000, 120_000] {
            let admitted = std::thread::scope(|scope| {
                let one_thread = || {
                    start.wait();
                    let is_admitted = |_: &u64| {
                        let quota = window.take(limit, at(now_ms));
                        quota.retry_after.is_none()
                    };
                    (0..TRIES).filter(is_admitted).count()
                };
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one_thread)).collect();
                let counts = threads.into_iter().map(|thread| thread.join().unwrap());
                counts.sum::<usize>()
            });
            assert_eq!(admitted, 1000);
        }
    }
}
