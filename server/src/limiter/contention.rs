//! A window under contention, in every order of its loads and stores that the memory model allows:
//! `window.rs` once more, on the atomics of the model checker.

use std::collections::BTreeSet;
use std::sync::Arc;

use loom::sync::atomic;
use loom::thread;
use parking_lot::Mutex;
use subcat_engine::RateLimit;

use super::word;
use crate::runtime::Moment;
use window::{SharedLimit, TakenQuota, Window};
use word::Quota;

#[path = "window.rs"]
#[expect(clippy::duplicate_mod, reason = "loom replaces its atomics")]
mod window;

fn at(ms: u64) -> Moment {
    Moment {
        monotonic_us: ms * 1000,
        unix_ms: i64::try_from(ms).unwrap(),
    }
}

/// Two requests a minute.
fn limit() -> RateLimit {
    RateLimit::parse("2/60").unwrap()
}

/// A window after these requests were admitted.
fn window(taken_ms: &[u64]) -> Arc<Window> {
    let window = Window::default();
    for now_ms in taken_ms {
        let quota = window.take(limit(), at(*now_ms));
        assert_eq!(quota.retry_after, None);
    }
    Arc::new(window)
}

/// Takes one request at each of these times, each on a thread of its own, the last of them on
/// this one; returns the quota of each.
fn take_at_once(window: &Arc<Window>, taken_ms: &[u64]) -> Vec<Quota> {
    let (own_ms, others_ms) = taken_ms.split_last().unwrap();
    let spawn = |now_ms: &u64| {
        let (window, now) = (Arc::clone(window), at(*now_ms));
        thread::spawn(move || window.take(limit(), now))
    };
    let threads: Vec<_> = others_ms.iter().map(spawn).collect();
    let own = window.take(limit(), at(*own_ms));
    let others = threads.into_iter().map(|thread| thread.join().unwrap());
    others.chain([own]).collect()
}

/// Remaining requests in the quotas of the admitted ones, in ascending order.
fn remaining(quotas: &[Quota]) -> Vec<u32> {
    let admitted = quotas.iter().filter(|quota| quota.retry_after.is_none());
    let mut remaining: Vec<u32> = admitted.map(|quota| quota.remaining).collect();
    remaining.sort_unstable();
    remaining
}

/// Takes requests at `taken_ms`, in every order, after those at `before_ms`. The remaining requests
/// of the admitted ones are one of `expected`, and each of `expected` occurs.
fn check(before_ms: &'static [u64], taken_ms: &'static [u64], expected: &[&[u32]]) {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let found = Arc::clone(&outcomes);
    loom::model(move || {
        let quotas = take_at_once(&window(before_ms), taken_ms);
        outcomes.lock().insert(remaining(&quotas));
    });
    let found: Vec<Vec<u32>> = found.lock().iter().cloned().collect();
    assert_eq!(found, expected, "{before_ms:?} {taken_ms:?}");
}

/// API.md 8.6
#[test]
fn no_order_admits_more_or_fewer_than_the_limit() {
    check(&[], &[0, 5, 0], &[&[0, 1]]);
    check(&[0], &[0, 20, 40], &[&[0]]);
    check(&[0, 0], &[0, 20, 40], &[&[]]);
}

/// API.md 8.6: a full window ends while they race. A request that is still within it is rejected,
/// or finds the next window already open.
#[test]
fn no_order_admits_more_or_fewer_across_the_end_of_a_window() {
    check(&[0, 0], &[60_000, 60_000, 60_010], &[&[0, 1]]);
    check(&[0, 0], &[59_990, 60_000, 60_010], &[&[0, 1]]);
    check(&[0, 0], &[59_980, 59_990, 60_000], &[&[0, 1], &[1]]);
}

/// A look never shows more left than the limit, or than an earlier look or admission of the same
/// thread.
#[test]
fn a_look_shows_what_was_taken() {
    loom::model(|| {
        let window = window(&[]);
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let window = Arc::clone(&window);
                thread::spawn(move || {
                    let taken = window.take(limit(), at(0));
                    let seen = window.peek(limit(), at(0));
                    assert!(seen.remaining <= taken.remaining);
                })
            })
            .collect();
        let first = window.peek(limit(), at(0));
        let second = window.peek(limit(), at(0));
        assert!(first.remaining <= limit().requests.get());
        assert!(second.remaining <= first.remaining);
        for taker in takers {
            taker.join().unwrap();
        }
        assert_eq!(window.peek(limit(), at(0)).remaining, 0);
    });
}

/// API.md 8.7: two keys' requests and one request of the account. One is admitted, and the other
/// is given back to its key.
#[test]
fn no_order_admits_more_than_the_account_allows() {
    loom::model(|| {
        let (key, account) = (window(&[]), window(&[0]));
        let take = |key: &Window, account: &Window| {
            let shared = SharedLimit {
                window: account,
                limit: limit(),
            };
            match key.take_with(limit(), shared, at(0)) {
                TakenQuota::OfKey(quota) => quota.retry_after.is_none(),
                TakenQuota::OfAccount(quota) => {
                    assert!(quota.retry_after.is_some());
                    false
                }
            }
        };
        let other = {
            let (key, account) = (Arc::clone(&key), Arc::clone(&account));
            thread::spawn(move || take(&key, &account))
        };
        let own = take(&key, &account);
        let other = other.join().unwrap();
        assert!(own != other, "{own} {other}");
        assert_eq!(key.peek(limit(), at(0)).remaining, 1);
        assert_eq!(account.peek(limit(), at(0)).remaining, 0);
    });
}

/// Requests of other nodes are added while two are taken here: none is lost, and none is admitted
/// beyond the limit once they are there.
#[test]
fn no_order_loses_what_is_added() {
    loom::model(|| {
        let window = window(&[]);
        let adder = {
            let window = Arc::clone(&window);
            thread::spawn(move || window.add(limit(), 1, at(0)).count)
        };
        let taken = [0, 0].map(|ms| window.take(limit(), at(ms)).retry_after.is_none());
        assert_eq!(adder.join().unwrap(), 1);
        let admitted = taken.iter().filter(|taken| **taken).count();
        assert!((1..=2).contains(&admitted), "{admitted}");
        let open = window.open(limit(), at(0)).unwrap();
        assert_eq!(open.count as usize, admitted + 1);
    });
}
