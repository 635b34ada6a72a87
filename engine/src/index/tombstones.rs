//! Deleted documents of a segment.

use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::limits::RECENT_TOMBSTONES_MAX;

use super::bisect::gallop;
use super::bits::Bits;
use super::set_counts::{SetCounts, StoredSet};

const BLOCK_WORDS: usize = 1024;
const BLOCK_SHIFT: u32 = 16;

/// A bit for each of 65,536 documents.
type Block = [u64; BLOCK_WORDS];

/// Documents of one segment that were replaced, deleted or made inactive since it was written.
///
/// Shape: a bit for each document, in blocks that clones share until one of them changes. So a
/// look-up of a document costs a bit test, all documents of a set are looked up word by word, and a
/// deletion beside a published snapshot copies one block. Stored as a roaring bitmap, which is
/// smaller.
///
/// The counts stored in the segment include deleted documents. [`Tombstones::count_in`] corrects
/// them: the last few tombstones are looked up in the set one by one, and the count of the others
/// is remembered. Until the next deletion the sum is, too.
#[derive(Debug, Clone, Default)]
pub struct Tombstones {
    /// By the upper half of a document; `None` without a tombstone.
    blocks: Vec<Option<Arc<Block>>>,
    count: u64,
    /// Tombstones that are not in `counts`.
    recent: Vec<u32>,
    /// INVARIANT: shared by clones that differ in `recent` only.
    counts: Arc<SetCounts>,
    /// Counts of all tombstones. INVARIANT: shared by clones that do not differ.
    current_counts: Arc<SetCounts>,
}

impl Tombstones {
    /// Tombstones of a segment without deleted documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Deletes a document. Returns false if it was deleted before.
    ///
    /// Cost: a copy of 8 KiB and of a pointer for each 65,536 documents, if a clone shares them.
    pub fn insert(&mut self, doc: u32) -> bool {
        if !self.set_bit(doc) {
            return false;
        }
        if self.recent.len() == RECENT_TOMBSTONES_MAX {
            self.recent.clear();
            self.counts = Arc::default();
        }
        self.recent.push(doc);
        self.current_counts = Arc::default();
        true
    }

    fn set_bit(&mut self, doc: u32) -> bool {
        let block_idx = (doc >> BLOCK_SHIFT) as usize;
        if self.blocks.len() <= block_idx {
            self.blocks.resize(block_idx + 1, None);
        }
        let block = self.blocks[block_idx].get_or_insert_with(|| Arc::new([0; BLOCK_WORDS]));
        let (word_idx, bit) = place(doc);
        if block[word_idx] & bit != 0 {
            return false;
        }
        Arc::make_mut(block)[word_idx] |= bit;
        self.count += 1;
        true
    }

    /// True if the document is deleted. Cost: a bit test.
    #[inline]
    pub fn contains(&self, doc: u32) -> bool {
        match self.blocks.get((doc >> BLOCK_SHIFT) as usize) {
            Some(Some(block)) => {
                let (word_idx, bit) = place(doc);
                block[word_idx] & bit != 0
            }
            _ => false,
        }
    }

    /// Count of deleted documents.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// True if no document is deleted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Deleted documents, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.present_blocks().flat_map(|(base, block)| {
            let words = (base..).step_by(64).zip(block);
            words.flat_map(|(base, &word)| bits_of(word).map(move |bit| base + bit))
        })
    }

    fn present_blocks(&self) -> impl Iterator<Item = (u32, &Block)> {
        let blocks = (0..).zip(&self.blocks);
        blocks.filter_map(|(idx, block): (u32, _)| {
            let block = block.as_deref()?;
            Some((idx << BLOCK_SHIFT, block))
        })
    }

    /// Removes the deleted documents from a set. Cost: a word for each 64 documents of the blocks
    /// that have tombstones.
    pub(crate) fn remove_from(&self, docs: &mut Bits) {
        for (base, block) in self.present_blocks() {
            docs.remove_words(base, block);
        }
    }

    /// Count of deleted documents in a set. Cost: that of [`Tombstones::remove_from`].
    pub(crate) fn count_in_bits(&self, docs: &Bits) -> u64 {
        let blocks = self.present_blocks();
        blocks
            .map(|(base, block)| docs.count_words(base, block))
            .sum()
    }

    /// Count of deleted documents in a set, if it was counted since the last deletion.
    pub(crate) fn known_count(&self, set: StoredSet) -> Option<u64> {
        self.current_counts.get(set)
    }

    /// Remembers the count of deleted documents in a set, until the next deletion.
    pub(crate) fn remember_count(&self, set: StoredSet, count: u64) {
        self.current_counts.put(set, count);
    }

    /// Count of deleted documents in a set with a stored size.
    ///
    /// `contains` asks the set; `count_all` counts its deleted documents, and is called if the
    /// count is not remembered. Cost: a call of `contains` for each of the last tombstones.
    pub(crate) fn count_in(
        &self,
        set: StoredSet,
        contains: impl Fn(u32) -> bool,
        count_all: impl FnOnce() -> u64,
    ) -> u64 {
        let recent = self.recent.iter().filter(|&&doc| contains(doc)).count() as u64;
        if self.recent.len() as u64 == self.count {
            return recent;
        }
        let older = self.counts.get(set).unwrap_or_else(|| {
            let older = count_all() - recent;
            self.counts.put(set, older);
            older
        });
        older + recent
    }

    /// Count of deleted documents that have a title of these runs, which ascend.
    ///
    /// `title_of` gives the title of a document, `is_wanted` says if a title is in a run. Cost: two
    /// galloping searches for each run, and the last tombstones one by one; the first time since
    /// many were added also reading and sorting the titles of all others.
    pub(crate) fn count_titled(
        &self,
        runs: impl Iterator<Item = Range<u32>>,
        title_of: impl Fn(u32) -> u32,
        is_wanted: impl Fn(u32) -> bool,
    ) -> u64 {
        let recent = self.recent.iter().map(|&doc| title_of(doc));
        let recent = recent.filter(|&title| is_wanted(title)).count() as u64;
        if self.recent.len() as u64 == self.count {
            return recent;
        }
        let titles = self.counts.titles(|| {
            let mut recent = self.recent.clone();
            recent.sort_unstable();
            let older = self.iter().filter(|doc| recent.binary_search(doc).is_err());
            older.map(title_of).collect()
        });
        let (mut at, mut older) = (0, 0);
        for run in runs {
            let from = gallop(at, titles.len(), |at| titles[at] < run.start);
            at = gallop(from, titles.len(), |at| titles[at] < run.end);
            older += at - from;
        }
        older as u64 + recent
    }

    /// The deleted documents in roaring's portable format.
    pub fn to_bytes(&self) -> Vec<u8> {
        let docs = RoaringBitmap::from_sorted_iter(self.iter()).expect("blocks and bits ascend");
        let mut bytes = Vec::with_capacity(docs.serialized_size());
        docs.serialize_into(&mut bytes)
            .expect("a vector takes every write");
        bytes
    }

    /// Reads the bytes of [`Tombstones::to_bytes`] for the segment `name` of `docs_count`
    /// documents.
    ///
    /// Errors: [`Error::Corrupt`] when they are not a bitmap, have bytes left over, or contain a
    /// document that the segment does not have.
    pub fn from_bytes(bytes: &[u8], name: &str, docs_count: u32) -> Result<Self> {
        let corrupt = |expected| Error::corrupt(format!("tombstones of {name}"), 0, expected);
        let mut rest = bytes;
        let docs =
            RoaringBitmap::deserialize_from(&mut rest).map_err(|_| corrupt("a roaring bitmap"))?;
        if !rest.is_empty() {
            return Err(corrupt("the end of the bitmap at the end of the bytes"));
        }
        if docs.max().is_some_and(|doc| doc >= docs_count) {
            return Err(corrupt("documents of the segment only"));
        }
        let mut tombstones = Self::default();
        for doc in docs {
            tombstones.set_bit(doc);
        }
        Ok(tombstones)
    }
}

impl PartialEq for Tombstones {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Index of a document's word in its block, and the bit there.
#[inline(always)]
fn place(doc: u32) -> (usize, u64) {
    ((doc >> 6) as usize % BLOCK_WORDS, 1 << (doc % 64))
}

fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const LIMIT: u32 = 200_000;

    #[test]
    fn comes_back_from_bytes() {
        let mut tombstones = Tombstones::new();
        assert!(tombstones.insert(7));
        assert!(tombstones.insert(70_000));
        assert!(!tombstones.insert(7));
        let bytes = tombstones.to_bytes();
        let read = Tombstones::from_bytes(&bytes, "x", 70_001).unwrap();
        assert_eq!(read, tombstones);
        assert_eq!(read.len(), 2);
        assert_eq!(read.iter().collect::<Vec<_>>(), [7, 70_000]);
    }

    #[test]
    fn refuses_foreign_documents_and_damage() {
        let mut tombstones = Tombstones::new();
        tombstones.insert(9);
        let mut bytes = tombstones.to_bytes();
        assert!(Tombstones::from_bytes(&bytes, "x", 9).is_err());
        bytes.push(0);
        assert!(Tombstones::from_bytes(&bytes, "x", 10).is_err());
        assert!(Tombstones::from_bytes(b"nonsense", "x", 10).is_err());
        assert!(Tombstones::from_bytes(&[], "x", 10).is_err());
    }

    #[test]
    fn a_clone_shares_the_blocks_that_do_not_change() {
        let mut tombstones = Tombstones::new();
        tombstones.insert(1);
        tombstones.insert(100_000);
        let published = tombstones.clone();
        tombstones.insert(2);
        assert!(!published.contains(2));
        assert_eq!((published.len(), tombstones.len()), (2, 3));
        let block = |tombstones: &Tombstones, idx: usize| {
            Arc::as_ptr(tombstones.blocks[idx].as_ref().unwrap())
        };
        assert_ne!(block(&published, 0), block(&tombstones, 0));
        assert_eq!(block(&published, 1), block(&tombstones, 1));
    }

    #[test]
    fn a_number_is_counted_once_until_many_tombstones_follow() {
        let is_even = |doc: u32| doc.is_multiple_of(2);
        let stored = [0, 1, 2, 3].map(|number| {
            let mut tombstones = Tombstones::new();
            (0..=number).for_each(|doc| _ = tombstones.insert(doc));
            Tombstones::from_bytes(&tombstones.to_bytes(), "x", LIMIT).unwrap()
        });
        let mut tombstones = stored[3].clone();
        let set = StoredSet::Term(7);
        assert_eq!(tombstones.count_in(set, is_even, || 2), 2);
        let refuse = || panic!("the number is known");
        assert_eq!(tombstones.count_in(set, is_even, refuse), 2);
        for added in 0..RECENT_TOMBSTONES_MAX as u32 {
            tombstones.insert(1_000 + added);
            let expected = 2 + u64::from(added / 2 + 1);
            assert_eq!(tombstones.count_in(set, is_even, refuse), expected);
        }
        let before = tombstones.clone();
        before.remember_count(set, 34);
        assert_eq!(tombstones.known_count(set), Some(34));
        tombstones.insert(9);
        assert_eq!(tombstones.known_count(set), None);
        let all = 2 + RECENT_TOMBSTONES_MAX as u64 / 2;
        assert_eq!(tombstones.count_in(set, is_even, || all), all);
        assert_eq!(before.count_in(set, is_even, refuse), all);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn titles_of_runs_are_counted_while_tombstones_are_added(
            docs in prop::collection::btree_set(0..LIMIT, 0..300),
            added in prop::collection::vec(0..LIMIT, 0..2 * RECENT_TOMBSTONES_MAX),
            bounds in prop::collection::btree_set(0..LIMIT / 7 + 2, 0..40),
        ) {
            let title_of = |doc: u32| doc * 31 % LIMIT / 7;
            let bounds: Vec<u32> = bounds.into_iter().collect();
            let runs: Vec<Range<u32>> = bounds.chunks_exact(2).map(|run| run[0]..run[1]).collect();
            let is_wanted = |title: u32| runs.iter().any(|run| run.contains(&title));
            let mut tombstones = Tombstones::new();
            docs.iter().for_each(|&doc| _ = tombstones.set_bit(doc));
            for doc in [None].into_iter().chain(added.into_iter().map(Some)) {
                doc.into_iter().for_each(|doc| _ = tombstones.insert(doc));
                let expected = tombstones.iter().filter(|&doc| is_wanted(title_of(doc))).count();
                let found = tombstones.count_titled(runs.iter().cloned(), title_of, is_wanted);
                prop_assert_eq!(found, expected as u64);
            }
        }

        #[test]
        fn agree_with_a_set(
            docs in prop::collection::vec((0..LIMIT, 1u32..200), 0..12),
            others in prop::collection::btree_set(0..LIMIT, 0..200),
        ) {
            let docs = docs.into_iter().flat_map(|(from, count)| from..from + count);
            let docs: BTreeSet<u32> = docs.filter(|&doc| doc < LIMIT).collect();
            let mut tombstones = Tombstones::new();
            docs.iter().for_each(|&doc| _ = tombstones.insert(doc));
            prop_assert_eq!(tombstones.len(), docs.len() as u64);
            prop_assert!(tombstones.iter().eq(docs.iter().copied()));
            prop_assert!(others.iter().all(|doc| tombstones.contains(*doc) == docs.contains(doc)));
            let mut bits = Bits::new(LIMIT);
            others.iter().chain(docs.iter().step_by(3)).for_each(|&doc| bits.insert(doc));
            let before = bits.count();
            let deleted = tombstones.count_in_bits(&bits);
            tombstones.remove_from(&mut bits);
            prop_assert_eq!(bits.count(), before - deleted);
            let mut left = Vec::new();
            bits.decode(&mut left);
            prop_assert!(left.iter().copied().eq(others.difference(&docs).copied()));
        }
    }
}
