//! Usage of keys since it was last stored.

use std::collections::HashMap;

use parking_lot::Mutex;
use subcat_engine::{ApiKeyId, Day, Timestamp, USAGE_DELTAS_MAX, Usage, UsageBatch, UsageDelta};

use super::hourly_use::HourlyUse;

/// Sums of one worker, by key and day. Bounded by the keys that are used within a second.
#[derive(Default)]
pub struct UsageSums {
    sums: HashMap<(Option<ApiKeyId>, Day), (Usage, Timestamp), foldhash::fast::RandomState>,
}

impl UsageSums {
    /// Adds one request.
    pub fn add(&mut self, api_key: Option<ApiKeyId>, now: Timestamp, usage: &Usage) {
        let row_key = (api_key, now.day());
        match self.sums.get_mut(&row_key) {
            Some((sum, last_used_at)) => {
                sum.add(usage);
                *last_used_at = now.max(*last_used_at);
            }
            None => {
                self.sums.insert(row_key, (*usage, now));
            }
        }
    }

    /// Returns true if there is nothing to hand over.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}

/// Sums that workers handed over and that are not stored yet.
#[derive(Default)]
pub struct UsageQueue {
    /// Use by hour, as far as workers have handed it over.
    pub hours: HourlyUse,
    sums: Mutex<UsageSums>,
    /// The batch that was handed out and is not known to be stored. It is handed out again
    /// unchanged until it is, because the engine recognises one that was stored after all by its
    /// number.
    batch: Mutex<Option<UsageBatch>>,
}

impl UsageQueue {
    /// Takes over the sums of a worker, which are empty afterwards.
    pub fn put(&self, from: &mut UsageSums) {
        let mut sums = self.sums.lock();
        for ((api_key, _), (usage, last_used_at)) in from.sums.drain() {
            self.hours.note(api_key, last_used_at, &usage);
            // Downloads of a day are stored from the counter lanes.
            let stored = Usage {
                downloads: 0,
                ..usage
            };
            if stored != Usage::default() || usage.downloads == 0 {
                sums.add(api_key, last_used_at, &stored);
            }
        }
    }

    /// The next batch to store: the last one once more, until it is [`UsageQueue::stored`]; else
    /// the usage handed over so far, up to [`USAGE_DELTAS_MAX`] sums. `None` when there is nothing.
    ///
    /// `last_number` is that of the last batch that was stored.
    pub fn batch(&self, last_number: u64) -> Option<UsageBatch> {
        let mut batch = self.batch.lock();
        if batch.is_none() {
            let delta = |((api_key, day), (usage, last_used_at))| UsageDelta {
                api_key,
                day,
                usage,
                last_used_at: Some(last_used_at),
            };
            let mut sums = self.sums.lock();
            let taken = sums.sums.extract_if(|_, _| true).take(USAGE_DELTAS_MAX);
            let deltas: Vec<UsageDelta> = taken.map(delta).collect();
            if !deltas.is_empty() {
                *batch = Some(UsageBatch {
                    number: last_number + 1,
                    deltas,
                });
            }
        }
        batch.clone()
    }

    /// Notes that the batch handed out last is stored.
    pub fn stored(&self) {
        *self.batch.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_workers_are_added_by_key_and_day() {
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
        let mut batch = queue.batch(4).unwrap();
        batch.deltas.sort_by_key(|delta| (delta.api_key, delta.day));
        let deltas = batch.deltas.iter();
        let requests: Vec<u64> = deltas.map(|delta| delta.usage.requests).collect();
        assert_eq!((batch.number, &requests[..]), (5, &[2, 2, 2][..]));
        assert_eq!(batch.deltas[2].last_used_at, Some(next_day));
    }

    #[test]
    fn usage_of_many_keys_is_stored_in_several_batches() {
        let queue = UsageQueue::default();
        let noon = Timestamp::parse("2026-01-01T12:00:00Z").unwrap();
        let one = Usage {
            requests: 1,
            ..Usage::default()
        };
        let count = USAGE_DELTAS_MAX as u64 + 1;
        let mut worker = UsageSums::default();
        for number in 0..count {
            worker.add(Some(ApiKeyId(number)), noon, &one);
        }
        queue.put(&mut worker);
        let first = queue.batch(0).unwrap();
        assert_eq!(first.deltas.len(), USAGE_DELTAS_MAX);
        assert_eq!(queue.batch(0), Some(first));
        queue.stored();
        assert_eq!(queue.batch(1).unwrap().deltas.len(), 1);
        queue.stored();
        assert_eq!(queue.batch(2), None);
    }

    #[test]
    fn downloads_count_for_the_hour_and_are_stored_elsewhere() {
        let queue = UsageQueue::default();
        let noon = Timestamp::parse("2026-01-01T12:00:00Z").unwrap();
        let usage = |requests| Usage {
            requests,
            downloads: 1,
            ..Usage::default()
        };
        let mut worker = UsageSums::default();
        worker.add(Some(ApiKeyId(1)), noon, &usage(1));
        worker.add(None, noon, &usage(0));
        queue.put(&mut worker);
        let hours = queue.hours.of(Some(ApiKeyId(1)));
        assert_eq!(hours.len(), 1);
        assert_eq!(hours[0].1, usage(1));
        assert_eq!(queue.hours.of(None)[0].1.downloads, 2);
        let batch = queue.batch(0).unwrap();
        assert_eq!(batch.deltas.len(), 1);
        assert_eq!(batch.deltas[0].usage.downloads, 0);
    }

    #[test]
    fn a_batch_stays_as_it_is_until_it_is_stored() {
        let queue = UsageQueue::default();
        let noon = Timestamp::parse("2026-01-01T12:00:00Z").unwrap();
        let mut worker = UsageSums::default();
        worker.add(None, noon, &Usage::default());
        queue.put(&mut worker);
        let batch = queue.batch(0).unwrap();
        worker.add(None, noon, &Usage::default());
        queue.put(&mut worker);
        assert_eq!(queue.batch(1).unwrap(), batch);
        queue.stored();
        assert_eq!(queue.batch(1).unwrap().number, 2);
        queue.stored();
        assert_eq!(queue.batch(2), None);
    }
}
