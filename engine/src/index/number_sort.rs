//! A sort of documents that come title by title: ascending in each, in no order together.

use std::cell::RefCell;
use std::mem::take;

use crate::limits::BIT_SORTED_MIN;

thread_local! {
    /// The bits of the last sort, for the next one.
    static SORTER: RefCell<BitSorter> = RefCell::default();
}

/// Sorts numbers below `limit`, and drops repeated ones.
///
/// Cost: some nanoseconds each, and a word for each 4,096 numbers below the limit: bits without a
/// summary cost a word for each 64, which for most searches was more than all else.
pub(crate) fn sort_numbers(numbers: &mut Vec<u32>, limit: u32) {
    let words_count = (limit as usize).div_ceil(64);
    let summary_count = words_count.div_ceil(64);
    if numbers.len() < summary_count.max(BIT_SORTED_MIN) {
        numbers.sort_unstable();
        numbers.dedup();
        return;
    }
    // Taken out: if a damaged number panics, no bit of it stays for the next sort.
    let sorter = SORTER.try_with(RefCell::take);
    let mut sorter = sorter.unwrap_or_default();
    sorter.resize(words_count, summary_count);
    sorter.sort(numbers);
    let _ = SORTER.try_with(|spare| spare.replace(sorter));
}

/// INVARIANT: between sorts no bit is set.
#[derive(Default)]
struct BitSorter {
    /// A bit for each number.
    words: Vec<u64>,
    /// A bit for each word that has one.
    summary: Vec<u64>,
}

impl BitSorter {
    fn resize(&mut self, words_count: usize, summary_count: usize) {
        self.words.resize(words_count, 0);
        self.summary.resize(summary_count, 0);
    }

    fn sort(&mut self, numbers: &mut Vec<u32>) {
        for &number in numbers.iter() {
            let word_idx = number as usize / 64;
            self.words[word_idx] |= 1 << (number % 64);
            self.summary[word_idx / 64] |= 1 << (word_idx % 64);
        }
        numbers.clear();
        for (summary_idx, summary) in self.summary.iter_mut().enumerate() {
            let mut words_left = take(summary);
            while words_left != 0 {
                let word_idx = summary_idx * 64 + words_left.trailing_zeros() as usize;
                words_left &= words_left - 1;
                let mut word = take(&mut self.words[word_idx]);
                while word != 0 {
                    numbers.push(word_idx as u32 * 64 + word.trailing_zeros());
                    word &= word - 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_sorted_and_distinct(
            limit in 1u32..400_000, numbers in prop::collection::vec(any::<u32>(), 0..3_000),
        ) {
            let mut numbers: Vec<u32> = numbers.iter().map(|number| number % limit).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            expected.dedup();
            sort_numbers(&mut numbers, limit);
            prop_assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn a_sort_that_panicked_leaves_nothing_behind() {
        let damaged: Vec<u32> = (0..100).chain([u32::MAX]).collect();
        let failed = std::panic::catch_unwind(|| sort_numbers(&mut damaged.clone(), 1_000));
        assert!(failed.is_err());
        let mut numbers: Vec<u32> = (500..700).rev().collect();
        sort_numbers(&mut numbers, 1_000);
        assert!(numbers.into_iter().eq(500..700));
    }
}
