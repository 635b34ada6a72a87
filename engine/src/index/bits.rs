//! A set with a bit for every document of a segment.

use std::cell::RefCell;
use std::mem::take;
use std::ops::ControlFlow;

use crate::limits::SPARE_BITS_MAX;

thread_local! {
    /// Memory of dropped sets, for the next ones: fresh pages took about a sixth of a long search
    /// with 10,000,000 records (`perf`, samples in the kernel).
    static SPARE: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
}

/// A bit for each number below a limit. Cost of every whole-set operation: limit / 64 words.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

/// Words of a roaring container: 65,536 bits.
const CONTAINER_WORDS: usize = 1024;

impl Bits {
    /// The empty set of numbers below `limit`.
    pub(crate) fn new(limit: u32) -> Self {
        let mut words = empty_words();
        words.resize((limit as usize).div_ceil(64), 0);
        Self { words }
    }

    /// Adds a number.
    #[inline(always)]
    pub(crate) fn insert(&mut self, number: u32) {
        self.words[number as usize / 64] |= 1 << (number % 64);
    }

    /// True if the number is in the set.
    #[inline(always)]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words[number as usize / 64] >> (number % 64) & 1 != 0
    }

    /// Removes all numbers.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Removes the numbers from `from` to before `to`, both multiples of 65,536 or at the end.
    pub(crate) fn clear_range(&mut self, from: u32, to: u32) {
        let len = self.words.len();
        let from = (from as usize / 64).min(len);
        let to = (to as usize).div_ceil(64).min(len);
        if from < to {
            self.words[from..to].fill(0);
        }
    }

    fn container_mut(&mut self, base: u32) -> &mut [u64] {
        let from = base as usize / 64;
        let to = self.words.len().min(from + CONTAINER_WORDS);
        &mut self.words[from.min(to)..to]
    }

    /// Adds the numbers of a container of bits at `base`.
    pub(crate) fn or_bits(&mut self, base: u32, bytes: &[u8]) {
        for (word, other) in self
            .container_mut(base)
            .iter_mut()
            .zip(bytes.chunks_exact(8))
        {
            *word |= u64::from_le_bytes(other.try_into().expect("chunks of eight"));
        }
    }

    /// Adds the numbers at `base` with these lower halves.
    pub(crate) fn or_array(&mut self, base: u32, array: &[[u8; 2]]) {
        set_lows(self.container_mut(base), array);
    }

    /// Keeps the numbers of the container at `base` that a container of bits has.
    pub(crate) fn and_bits(&mut self, base: u32, bytes: &[u8]) {
        for (word, other) in self
            .container_mut(base)
            .iter_mut()
            .zip(bytes.chunks_exact(8))
        {
            *word &= u64::from_le_bytes(other.try_into().expect("chunks of eight"));
        }
    }

    /// Keeps the numbers of the container at `base` that an array of lower halves has.
    pub(crate) fn and_array(&mut self, base: u32, array: &[[u8; 2]]) {
        // Clearing 8 KiB on the stack costs less than a search in the array for each bit.
        let mut kept = [0u64; CONTAINER_WORDS];
        set_lows(&mut kept, array);
        for (word, other) in self.container_mut(base).iter_mut().zip(kept) {
            *word &= other;
        }
    }

    /// Removes the numbers at `base` that are set in the words of a container.
    pub(crate) fn remove_words(&mut self, base: u32, words: &[u64]) {
        for (word, other) in self.container_mut(base).iter_mut().zip(words) {
            *word &= !other;
        }
    }

    /// Counts the numbers at `base` that are set in the words of a container.
    pub(crate) fn count_words(&self, base: u32, words: &[u64]) -> u64 {
        let from = (base as usize / 64).min(self.words.len());
        let both = self.words[from..].iter().zip(words);
        both.map(|(word, other)| u64::from((word & other).count_ones()))
            .sum()
    }

    /// Adds all numbers of another set of the same limit.
    pub(crate) fn or(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Keeps the numbers that the other set has too.
    pub(crate) fn and(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Removes the numbers that the other set has.
    pub(crate) fn and_not(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Numbers in the set.
    pub(crate) fn count(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    /// Estimate of [`Bits::count`], from one word of sixteen: baseline x86-64 has no instruction
    /// that counts bits, and a choice of strategy needs no exact count.
    pub(crate) fn count_estimate(&self) -> u64 {
        const STEP: usize = 16;
        let sample = self.words.iter().step_by(STEP);
        let sampled: u64 = sample.map(|word| u64::from(word.count_ones())).sum();
        sampled * STEP as u64
    }

    /// Keeps the numbers for which `keep` is true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        for (idx, word) in self.words.iter_mut().enumerate() {
            // The lowest bit is cleared in each round: one round for each number, not for each bit.
            let (mut rest, mut kept) = (*word, 0);
            while rest != 0 {
                let bit = rest.trailing_zeros();
                kept |= u64::from(keep(idx as u32 * 64 + bit)) << bit;
                rest &= rest - 1;
            }
            *word = kept;
        }
    }

    /// The bits, 64 numbers a word, lowest first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Appends all numbers to `out`, in order.
    pub(crate) fn decode(&self, out: &mut Vec<u32>) {
        for (idx, &word) in self.words.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                out.push(idx as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    /// Calls `each` with the numbers in order until it breaks.
    pub(crate) fn try_for_each(
        &self,
        mut each: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (idx, &word) in self.words.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                each(idx as u32 * 64 + rest.trailing_zeros())?;
                rest &= rest - 1;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Calls `each` with the numbers of the bits of a container, ascending.
#[inline]
pub(crate) fn for_each_bit(words: &[u64], mut each: impl FnMut(u16)) {
    for (idx, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            each((idx * 64) as u16 + rest.trailing_zeros() as u16);
            rest &= rest - 1;
        }
    }
}

/// Memory without words, if possible that of a dropped set.
fn empty_words() -> Vec<u64> {
    let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
    let mut words = spare.ok().flatten().unwrap_or_default();
    words.clear();
    words
}

/// Sets the bits of an array of lower halves.
fn set_lows(words: &mut [u64], array: &[[u8; 2]]) {
    for_each_low(array, |low| words[usize::from(low >> 6)] |= 1 << (low & 63));
}

/// Calls `set` with each number of an array of lower halves.
///
/// Neighbours in the array are often bits of one word, and each would wait for the one before to be
/// written: so four places of the array are read in turn, which takes two thirds of the time.
#[inline(always)]
pub(super) fn for_each_low(array: &[[u8; 2]], mut set: impl FnMut(u16)) {
    let mut set = |low: &[u8; 2]| set(u16::from_le_bytes(*low));
    let (first, rest) = array.split_at(array.len() / 4);
    let (second, rest) = rest.split_at(first.len());
    let (third, rest) = rest.split_at(first.len());
    for (idx, low) in first.iter().enumerate() {
        set(low);
        set(&second[idx]);
        set(&third[idx]);
        set(&rest[idx]);
    }
    rest[first.len()..].iter().for_each(set);
}

impl Drop for Bits {
    fn drop(&mut self) {
        let words = take(&mut self.words);
        // The thread may be ending, with its thread-locals dropped before this set.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_BITS_MAX {
                spare.push(words);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenly_spread_numbers_are_estimated_exactly() {
        let mut bits = Bits::new(64 * 64);
        (0..64 * 64)
            .step_by(4)
            .for_each(|number| bits.insert(number));
        assert_eq!(bits.count_estimate(), bits.count());
    }
}
