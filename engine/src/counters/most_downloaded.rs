//! The records with the most downloads from this service, for lists in that order.
//!
//! A list compares upstream's counts, which stand in the index, and looks our own up only where
//! they can decide: for the records kept here, and for those that the bound of all others can lift.
//!
//! A record enters when its count crosses that bound, so a download of another one reads a number
//! that rarely changes, and of one that is kept as well. When there are too many, the bound rises:
//! half of them leave, and come again when they cross it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use parking_lot::Mutex;

use crate::limits::MOST_DOWNLOADED_MAX;
use crate::model::RecordId;

/// The records with the most downloads.
#[derive(Debug, Clone, Default)]
pub(crate) struct MostDownloaded {
    /// Up to twice [`MOST_DOWNLOADED_MAX`], each with its downloads when it entered.
    counts: BTreeMap<RecordId, u64>,
    /// Downloads that no other record exceeds.
    rest_max: u64,
}

impl MostDownloaded {
    /// The records.
    pub(crate) fn ids(&self) -> impl Iterator<Item = RecordId> {
        self.counts.keys().copied()
    }

    /// Downloads that no other record exceeds.
    pub(crate) fn rest_max(&self) -> u64 {
        self.rest_max
    }

    /// Takes a record of a table that is loaded, whose counts do not change.
    pub(super) fn load(&mut self, id: RecordId, count: u64) {
        if self.rest_max < count {
            self.counts.insert(id, count);
            if self.is_full() {
                self.raise_bound();
            }
        }
    }

    fn is_full(&self) -> bool {
        2 * MOST_DOWNLOADED_MAX < self.counts.len()
    }

    /// Raises the bound to the count of a record in the middle, and returns those that it leaves
    /// out.
    fn raise_bound(&mut self) -> Vec<RecordId> {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let (_, bound, _) = counts.select_nth_unstable_by(MOST_DOWNLOADED_MAX, |a, b| b.cmp(a));
        let bound = *bound;
        self.rest_max = bound;
        let left_out = self.counts.extract_if(.., |_, count| *count <= bound);
        left_out.map(|(id, _)| id).collect()
    }
}

/// The list that readers get while downloads change it.
#[derive(Default)]
pub(super) struct SharedMost {
    list: Mutex<Arc<MostDownloaded>>,
    /// [`MostDownloaded::rest_max`], read by every download.
    bound: AtomicU64,
}

impl SharedMost {
    pub(super) fn new(most: MostDownloaded) -> Self {
        Self {
            bound: AtomicU64::new(most.rest_max),
            list: Mutex::new(Arc::new(most)),
        }
    }

    /// The list of this moment.
    pub(super) fn get(&self) -> Arc<MostDownloaded> {
        Arc::clone(&self.list.lock())
    }

    /// Notes that the count of a record has risen from `before`; `now` gives the current count of
    /// any record. The caller has written the count with [`Ordering::SeqCst`].
    ///
    /// Another thread may have raised the count further before it noted that, and relies on this
    /// one: it saw a bound below both counts, which has risen since. So the current count decides.
    pub(super) fn note(&self, id: RecordId, before: u64, now: impl Fn(RecordId) -> u64) {
        let bound = self.bound.load(Ordering::SeqCst);
        if before <= bound && bound < now(id) {
            self.enter(id, now);
        }
    }

    #[cold]
    fn enter(&self, id: RecordId, now: impl Fn(RecordId) -> u64) {
        let mut list = self.list.lock();
        let count = now(id);
        // Another record may have raised the bound since.
        if count <= list.rest_max {
            return;
        }
        // Copied only if a reader holds it.
        let most = Arc::make_mut(&mut list);
        most.counts.insert(id, count);
        if !most.is_full() {
            return;
        }
        for (id, count) in &mut most.counts {
            *count = now(*id);
        }
        let left_out = most.raise_bound();
        self.bound.store(most.rest_max, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // A download that was counted since has seen the old bound, which it did not cross: its
        // record is seen here. One counted later sees the new bound.
        for id in left_out {
            let count = now(id);
            if most.rest_max < count {
                most.counts.insert(id, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::DownloadTable;

    fn id(number: u64) -> RecordId {
        RecordId::from_bytes(u128::from(number).to_be_bytes())
    }

    /// Checks that no record which is left out exceeds the bound.
    fn check(table: &DownloadTable, records: u64) {
        let own = table.own_downloads();
        let most = own.most();
        assert!(most.counts.len() <= 2 * MOST_DOWNLOADED_MAX);
        for number in 0..records {
            let is_kept = most.counts.contains_key(&id(number));
            let count = table.get(id(number));
            assert_eq!(is_kept, most.rest_max() < count, "{number}: {count}");
        }
    }

    #[test]
    fn no_record_that_is_left_out_exceeds_the_bound() {
        let records = 5 * MOST_DOWNLOADED_MAX as u64;
        let count = |number: u64| 1 + number.wrapping_mul(7_919) % 10_007;
        let loaded = DownloadTable::load(records, |add| {
            (0..records).for_each(|number| add(id(number), count(number)));
            Ok(())
        });
        check(&loaded.unwrap(), records);
        let table = DownloadTable::load(0, |_| Ok(())).unwrap();
        for number in 0..records {
            table.add(id(number), count(number));
            // Others are downloaded again.
            table.add(id(number / 2), 1_000);
        }
        assert!(0 < table.own_downloads().most().rest_max());
        check(&table, records);
    }

    #[test]
    fn records_that_are_counted_by_several_threads_at_once_are_all_seen() {
        const RECORDS: u64 = 40_000;
        let table = DownloadTable::load(0, |_| Ok(())).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let table = &table;
                scope.spawn(move || {
                    for number in 0..4 * RECORDS {
                        let spread = (number + thread).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                        let (one, other) = (spread % RECORDS, (spread >> 40) % RECORDS);
                        table.add(id(one * other / RECORDS), 1);
                    }
                });
            }
        });
        check(&table, RECORDS);
    }

    /// One thread counts a sixth download, another one a seventh, and both see the bound only
    /// later: the second before it rises to six, the first after that.
    #[test]
    fn a_record_that_rises_while_the_bound_does_is_seen() {
        let with_bound = |rest_max| {
            SharedMost::new(MostDownloaded {
                rest_max,
                ..MostDownloaded::default()
            })
        };
        let before_the_rise = with_bound(5);
        before_the_rise.note(id(1), 6, |_| 7);
        assert_eq!(before_the_rise.get().counts.len(), 0, "the first enters it");
        let after_the_rise = with_bound(6);
        after_the_rise.note(id(1), 5, |_| 7);
        assert_eq!(after_the_rise.get().counts.get(&id(1)), Some(&7));
    }

    #[test]
    fn records_with_equal_counts_leave_together() {
        let table = DownloadTable::load(0, |_| Ok(())).unwrap();
        (0..100_000).for_each(|number| table.add(id(number), 1));
        check(&table, 100_000);
        assert_eq!(table.own_downloads().most().rest_max(), 1);
        table.add(id(7), 1);
        let own = table.own_downloads();
        assert_eq!(own.most().ids().collect::<Vec<_>>(), [id(7)]);
    }
}
