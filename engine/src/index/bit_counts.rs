//! A small number for every document of a segment, kept as a set of bits for each binary digit.
//!
//! The numbers are sums: each of some sets adds its own to all of its documents. They are added 512
//! documents at a time, digit by digit, by full adders as hardware has them: three words of a digit
//! become one of that digit and one of the next. All sets are added to a block of documents before
//! the next block, because the digits of millions of documents leave the caches between two sets.

use std::mem::swap;

use super::bits::Bits;
use super::block_reader::{BLOCK_NUMBERS, BlockReader};
use super::postings::Postings;

/// Binary digits of the numbers.
const DIGITS: usize = 7;
/// Words of a block of documents.
const BLOCK_WORDS: usize = BLOCK_NUMBERS as usize / 64;
/// Words that are added together.
const LANE_WORDS: usize = 8;

const _: () = assert!(BLOCK_WORDS.is_multiple_of(LANE_WORDS));

/// One digit of some neighbouring documents.
type Lane = [u64; LANE_WORDS];

/// A number below 128 for each document.
#[derive(Debug, Clone)]
pub(crate) struct BitCounts {
    /// Lowest digit first; as many as the sum of all sets' numbers has.
    digits: Vec<Bits>,
}

impl BitCounts {
    /// Greatest number.
    pub(crate) const MAX: u8 = (1 << DIGITS) - 1;

    /// For each document below `limit` the sum of the numbers of the sets that have it. No sum may
    /// exceed [`BitCounts::MAX`].
    ///
    /// Cost: some operations on a word for each set and 64 documents, however many have it.
    pub(crate) fn sums(limit: u32, sets: &[(Postings<'_>, u8)]) -> Self {
        let mut readers: Vec<BlockReader<'_>> =
            sets.iter().map(|(set, _)| set.block_reader()).collect();
        let number_max: u8 = sets.iter().map(|(_, number)| number).sum();
        let digits_count = (u8::BITS - number_max.leading_zeros()) as usize;
        let mut digits: Vec<Bits> = (0..digits_count)
            .map(|_| Bits::with_capacity(limit))
            .collect();
        let mut adder = Adder::default();
        for block_idx in 0..limit.div_ceil(BLOCK_NUMBERS) {
            let mut added: [Vec<&[Lane]>; DIGITS] = Default::default();
            for (reader, (_, number)) in readers.iter_mut().zip(sets) {
                let Some(block) = reader.read(block_idx) else {
                    continue;
                };
                let ones = (0..DIGITS).filter(|digit| number >> digit & 1 == 1);
                ones.for_each(|digit| added[digit].push(block.as_chunks().0));
            }
            let words_left = (limit - block_idx * BLOCK_NUMBERS).div_ceil(64) as usize;
            let words_count = words_left.min(BLOCK_WORDS);
            adder.add_block(&added, words_count.div_ceil(LANE_WORDS));
            for (bits, sum) in digits.iter_mut().zip(&adder.sums) {
                bits.push_words(&sum.as_flattened()[..words_count]);
            }
        }
        Self { digits }
    }

    /// The number of a document.
    #[inline]
    pub(crate) fn get(&self, doc: u32) -> u8 {
        let digits = self.digits.iter().enumerate();
        digits.fold(0, |number, (digit, bits)| {
            number | u8::from(bits.contains(doc)) << digit
        })
    }

    /// Number of digits.
    pub(crate) fn digits_count(&self) -> usize {
        self.digits.len()
    }

    /// The documents whose number has this digit.
    pub(crate) fn digit(&self, digit: usize) -> &Bits {
        &self.digits[digit]
    }
}

/// Sums of one block, and memory for its carries.
struct Adder {
    /// The digits of the sums, lowest first.
    sums: [Vec<Lane>; DIGITS],
    /// Words that are added up for a digit.
    inputs: Vec<Lane>,
    /// Words that are carried to the next digit.
    carries: Vec<Lane>,
}

impl Default for Adder {
    fn default() -> Self {
        Self {
            sums: std::array::from_fn(|_| vec![[0; LANE_WORDS]; BLOCK_WORDS / LANE_WORDS]),
            inputs: Vec::new(),
            carries: Vec::new(),
        }
    }
}

impl Adder {
    /// Makes the sums of the first lanes of a block, of the sets that have each digit in their
    /// number. The last block of a segment, and the only one of a small one, is not full.
    fn add_block(&mut self, added: &[Vec<&[Lane]>; DIGITS], lanes_count: usize) {
        for lane_idx in 0..lanes_count {
            self.carries.clear();
            for (sums, blocks) in self.sums.iter_mut().zip(added) {
                swap(&mut self.inputs, &mut self.carries);
                self.carries.clear();
                self.inputs
                    .extend(blocks.iter().map(|block| block[lane_idx]));
                sums[lane_idx] = sum_digit(&self.inputs, &mut self.carries);
            }
        }
    }
}

/// The digit of a sum of digits; appends what is carried.
#[inline]
fn sum_digit(inputs: &[Lane], carries: &mut Vec<Lane>) -> Lane {
    let Some((first, rest)) = inputs.split_first() else {
        return [0; LANE_WORDS];
    };
    let mut sum = *first;
    let (pairs, odd) = rest.as_chunks();
    for [a, b] in pairs {
        carries.push(add(&mut sum, a, b));
    }
    if let [last] = odd {
        carries.push(add(&mut sum, last, &[0; LANE_WORDS]));
    }
    sum
}

/// Full adder: the sum becomes the digit of `sum + a + b`; returns the carry.
#[inline(always)]
fn add(sum: &mut Lane, a: &Lane, b: &Lane) -> Lane {
    let mut carry = [0; LANE_WORDS];
    for idx in 0..LANE_WORDS {
        let half = sum[idx] ^ a[idx];
        carry[idx] = sum[idx] & a[idx] | half & b[idx];
        sum[idx] = half ^ b[idx];
    }
    carry
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    use super::super::postings::encode;

    /// More than two blocks, and no whole word at the end.
    const LIMIT: u32 = 140_001;

    fn sums(limit: u32, sets: &[(Vec<u32>, u8)]) -> BitCounts {
        let encoded = sets.iter().map(|(docs, number)| {
            let mut bytes = Vec::new();
            encode(docs, &mut bytes);
            (bytes, *number)
        });
        let encoded: Vec<(Vec<u8>, u8)> = encoded.collect();
        let read = encoded.iter();
        let read = read.map(|(bytes, number)| (Postings::read(bytes).unwrap(), *number));
        BitCounts::sums(limit, &read.collect::<Vec<_>>())
    }

    /// Ascending documents: some anywhere, some in a row.
    fn docs() -> impl Strategy<Value = Vec<u32>> {
        let singles = prop::collection::btree_set(0..LIMIT, 0..300);
        (singles, 0..LIMIT, 0..70_000u32, 1usize..9).prop_map(|(mut docs, from, count, step)| {
            docs.extend((from..LIMIT.min(from + count)).step_by(step));
            docs.into_iter().collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn sums_are_those_of_each_document(
            sets in prop::collection::vec((docs(), 1u8..=8), 0..16),
        ) {
            let counts = sums(LIMIT, &sets);
            let mut expected = vec![0; LIMIT as usize];
            for (docs, number) in &sets {
                docs.iter().for_each(|&doc| expected[doc as usize] += number);
            }
            let greatest = expected.iter().copied().max().unwrap_or(0);
            prop_assert_eq!(greatest >> counts.digits_count(), 0);
            for digit in 0..counts.digits_count() {
                let ones = expected.iter().filter(|&sum| sum >> digit & 1 == 1);
                prop_assert_eq!(counts.digit(digit).count(), ones.count() as u64);
            }
            for (doc, &sum) in expected.iter().enumerate() {
                prop_assert_eq!(counts.get(doc as u32), sum);
            }
        }
    }

    #[test]
    fn carries_reach_the_highest_digit() {
        let sets = vec![(vec![69], 1); usize::from(BitCounts::MAX)];
        let counts = sums(70, &sets);
        assert_eq!(counts.get(69), BitCounts::MAX);
        assert_eq!(counts.get(68), 0);
        assert!(counts.digit(counts.digits_count() - 1).contains(69));
    }
}
