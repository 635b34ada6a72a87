//! The records with the most downloads since the start.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::limits::BUSIEST_RECORDS_MAX;
use crate::model::RecordId;

/// Downloads by record since the start, of those with the most.
///
/// Fed by the aggregation of the counters, so that no download pays for it. Holds at most twice
/// [`BUSIEST_RECORDS_MAX`] records: when there are more, those with the fewest downloads leave, and
/// begin anew if they come again. A record that is downloaded often never leaves.
#[derive(Default)]
pub(crate) struct BusiestRecords(Mutex<BTreeMap<RecordId, u64>>);

impl BusiestRecords {
    /// Adds what one aggregation has read. Cost: a look-up for each, and one sort for each
    /// [`BUSIEST_RECORDS_MAX`] new ones.
    pub(crate) fn add(&self, counts: &[(RecordId, u64)]) {
        let mut kept = self.0.lock();
        for (id, count) in counts {
            *kept.entry(*id).or_default() += count;
            if 2 * BUSIEST_RECORDS_MAX < kept.len() {
                let best = sorted(&kept).into_iter().take(BUSIEST_RECORDS_MAX);
                *kept = best.collect();
            }
        }
    }

    /// The records with the most downloads, most first, [`BUSIEST_RECORDS_MAX`] at most.
    pub(crate) fn list(&self) -> Vec<(RecordId, u64)> {
        let mut list = sorted(&self.0.lock());
        list.truncate(BUSIEST_RECORDS_MAX);
        list
    }
}

fn sorted(kept: &BTreeMap<RecordId, u64>) -> Vec<(RecordId, u64)> {
    let mut list: Vec<_> = kept.iter().map(|(id, count)| (*id, *count)).collect();
    list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> RecordId {
        RecordId::from_bytes(u128::from(number).to_be_bytes())
    }

    #[test]
    fn what_is_downloaded_often_stays_among_many_that_are_not() {
        let busiest = BusiestRecords::default();
        busiest.add(&[(id(0), 5), (id(1), 9)]);
        for number in 2..20_000 {
            busiest.add(&[(id(number), 1), (id(0), 1)]);
        }
        let list = busiest.list();
        assert_eq!(list[..2], [(id(0), 20_003), (id(1), 9)]);
        assert_eq!(list.len(), BUSIEST_RECORDS_MAX);
        assert!(busiest.0.lock().len() <= 2 * BUSIEST_RECORDS_MAX);
    }
}
