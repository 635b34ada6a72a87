//! Remembered counts of deleted documents in the sets that have a stored size.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{CATALOG_ID_DIGITS_MAX, SET_COUNTS_SLOTS};

/// Bits of a set's code.
const CODE_BITS: u32 = 42;
const CODE_MASK: u64 = (1 << CODE_BITS) - 1;
/// Bits of the scrambled code that a slot stores; the slot's index gives the others.
const TAG_BITS: u32 = CODE_BITS - SET_COUNTS_SLOTS.trailing_zeros();
/// Bits of a count of documents.
const COUNT_BITS: u32 = 32;
const IS_SET: u64 = 1 << 63;
/// Odd, so that multiplication loses no code.
const SCRAMBLE: u64 = 0x9e37_79b9_7f4a_7c15;

const _: () = assert!(SET_COUNTS_SLOTS.is_power_of_two());
const _: () = assert!(COUNT_BITS + TAG_BITS < 63);
const _: () = assert!(10u64.pow(CATALOG_ID_DIGITS_MAX as u32) <= 1 << (CODE_BITS - 2));

/// A set of documents with a size stored in the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredSet {
    /// Documents with the term of this rank.
    Term(u32),
    /// Documents with a title word that begins with the term of this rank, but without the term.
    Prefixed(u32),
    /// Documents with this catalog id.
    Catalog(u64),
    /// Documents of the episodes of this catalog id that are not among its own.
    Parent(u64),
}

impl StoredSet {
    fn code(self) -> u64 {
        let (number, kind) = match self {
            Self::Term(rank) => (u64::from(rank), 0),
            Self::Prefixed(rank) => (u64::from(rank), 1),
            Self::Catalog(number) => (number, 2),
            Self::Parent(number) => (number, 3),
        };
        number << 2 | kind
    }
}

/// Remembered counts; a later one may replace any other.
///
/// Shape: a slot holds the count of one set in its lower half, and in its upper half the bits of
/// the scrambled code not implied by the slot's index: both are read and written at once, without a
/// lock.
#[derive(Debug, Default)]
pub(super) struct SetCounts {
    slots: OnceLock<Box<[AtomicU64]>>,
    /// Titles of the tombstones that are counted, ascending, one for each tombstone.
    titles: OnceLock<Box<[u32]>>,
}

impl SetCounts {
    /// The count of a set, if it is remembered.
    pub(super) fn get(&self, set: StoredSet) -> Option<u64> {
        let (slot_idx, tag) = place(set);
        // Nothing else is read according to a slot: no order between threads is needed.
        let slot = self.slots.get()?[slot_idx].load(Ordering::Relaxed);
        if slot >> COUNT_BITS != tag {
            return None;
        }
        Some(slot & ((1 << COUNT_BITS) - 1))
    }

    /// Titles of the counted tombstones, ascending; `list` makes them the first time.
    pub(super) fn titles(&self, list: impl FnOnce() -> Vec<u32>) -> &[u32] {
        self.titles.get_or_init(|| {
            let mut titles = list();
            titles.sort_unstable();
            titles.into()
        })
    }

    /// Remembers the count of a set.
    pub(super) fn put(&self, set: StoredSet, count: u64) {
        let (slot_idx, tag) = place(set);
        let empty = || (0..SET_COUNTS_SLOTS).map(|_| AtomicU64::new(0)).collect();
        debug_assert!(count >> COUNT_BITS == 0);
        let slot = tag << COUNT_BITS | count;
        self.slots.get_or_init(empty)[slot_idx].store(slot, Ordering::Relaxed);
    }
}

/// Index of the slot of a set, and the upper half of the slot's value then.
fn place(set: StoredSet) -> (usize, u64) {
    let scrambled = set.code().wrapping_mul(SCRAMBLE) & CODE_MASK;
    let tag = scrambled & ((1 << TAG_BITS) - 1);
    ((scrambled >> TAG_BITS) as usize, tag | IS_SET >> COUNT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_that_of_its_set() {
        let counts = SetCounts::default();
        let sets = |number: u32| {
            let wide = 999_999_999_999 - u64::from(number);
            [
                StoredSet::Term(number),
                StoredSet::Prefixed(number),
                StoredSet::Catalog(wide),
                StoredSet::Parent(wide),
            ]
        };
        let all: Vec<StoredSet> = (0..5_000).flat_map(sets).collect();
        assert!(all.iter().all(|&set| counts.get(set).is_none()));
        for (number, &set) in (0..).zip(&all) {
            counts.put(set, number);
            assert_eq!(counts.get(set), Some(number));
        }
        // Later numbers have replaced most, and none stands for another set.
        let kept = (0..).zip(&all).filter(|&(number, &set)| {
            let found: Option<u64> = counts.get(set);
            assert!(found.is_none_or(|found| found == number));
            found.is_some()
        });
        let kept = kept.count();
        assert!(
            (SET_COUNTS_SLOTS / 2..=SET_COUNTS_SLOTS).contains(&kept),
            "{kept}"
        );
    }
}
