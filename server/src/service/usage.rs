//! What keys were used for since it was last stored.

use std::collections::HashMap;

use parking_lot::Mutex;
use subcat_engine::event::UsageDelta;
use subcat_engine::model::{ApiKeyId, Day, Timestamp, Usage};

/// One worker's sums, by key and day. Bounded by the keys that are in use within a second.
#[derive(Default)]
pub struct UsageSums {
    sums: HashMap<(Option<ApiKeyId>, Day), (Usage, Timestamp), foldhash::fast::RandomState>,
}

impl UsageSums {
    /// Adds what one request was.
    pub fn add(&mut self, api_key: Option<ApiKeyId>, now: Timestamp, usage: &Usage) {
        let row = self.sums.entry((api_key, now.day()));
        let (sum, last_used_at) = row.or_insert((Usage::default(), now));
        sum.add(usage);
        *last_used_at = now.max(*last_used_at);
    }

    /// Whether there is nothing to hand over.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}

/// Sums that workers handed over and that are not stored yet.
#[derive(Default)]
pub struct UsageQueue {
    sums: Mutex<UsageSums>,
}

impl UsageQueue {
    /// Takes over a worker's sums, which are empty afterwards.
    pub fn put(&self, from: &mut UsageSums) {
        let mut sums = self.sums.lock();
        for ((api_key, _), (usage, last_used_at)) in from.sums.drain() {
            sums.add(api_key, last_used_at, &usage);
        }
    }

    /// Takes back what could not be stored.
    pub fn put_back(&self, usage: Vec<UsageDelta>) {
        let mut sums = self.sums.lock();
        for delta in usage {
            let last_used_at = delta.last_used_at.unwrap_or(delta.day.start());
            sums.add(delta.api_key, last_used_at, &delta.usage);
        }
    }

    /// Everything handed over so far, for one event.
    pub fn take(&self) -> Vec<UsageDelta> {
        let sums = std::mem::take(&mut *self.sums.lock());
        let delta = |((api_key, day), (usage, last_used_at))| UsageDelta {
            api_key,
            day,
            usage,
            last_used_at: Some(last_used_at),
        };
        sums.sums.into_iter().map(delta).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_workers_meet_by_key_and_day() {
        let queue = UsageQueue::default();
        let one = Usage {
            requests: 1,
            ..Usage::default()
        };
        let noon = Timestamp::parse("2026-01-01T12:00:00Z").unwrap();
        let next_day = Timestamp::parse("2026-01-02T00:00:00Z").unwrap();
        for _ in 0..2 {
            let mut worker = UsageSums::default();
            worker.add(Some(ApiKeyId(1)), noon, &one);
            worker.add(Some(ApiKeyId(1)), next_day, &one);
            worker.add(None, noon, &one);
            queue.put(&mut worker);
            assert!(worker.is_empty());
        }
        let mut deltas = queue.take();
        deltas.sort_by_key(|delta| (delta.api_key, delta.day));
        let requests: Vec<u64> = deltas.iter().map(|delta| delta.usage.requests).collect();
        assert_eq!(requests, [2, 2, 2]);
        assert_eq!(deltas[2].last_used_at, Some(next_day));
        assert!(queue.take().is_empty());
        queue.put_back(deltas.clone());
        let mut again = queue.take();
        again.sort_by_key(|delta| (delta.api_key, delta.day));
        assert_eq!(again, deltas);
    }
}
