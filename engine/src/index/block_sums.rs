//! Sums of small numbers for every document of a segment, 65,536 documents at a time.
//!
//! Each of some sets adds its number to all of its documents. The sums of a block are kept as a set
//! of bits for each binary digit, and added digit by digit, by full adders as hardware has them:
//! three words of a digit become one of that digit and one of the next. A block's digits stay in
//! the caches until the next block: those of millions of documents would not.

use super::block_reader::{BLOCK_BYTES, BLOCK_NUMBERS, BlockReader};
use super::postings::Postings;

/// Binary digits of the sums.
const DIGITS: usize = 7;
/// Words that are added together.
const LANE_WORDS: usize = 8;
/// Bytes of these words.
const LANE_BYTES: usize = LANE_WORDS * size_of::<u64>();
/// Lanes of a block.
const BLOCK_LANES: usize = BLOCK_BYTES / LANE_BYTES;

const _: () = assert!(BLOCK_BYTES.is_multiple_of(LANE_BYTES));

/// One digit of some neighbouring documents.
type Lane = [u64; LANE_WORDS];
/// A digit in the stored form of a set.
type StoredLane = [u8; LANE_BYTES];

/// A set, and others; each document of any of them adds a number.
#[derive(Clone, Copy)]
pub(crate) struct Summand<'s, 'a> {
    /// Documents that add `number`.
    pub(crate) docs: &'s Postings<'a>,
    pub(crate) number: u8,
    /// Documents that add `others_number` if they are not in `docs`, each once.
    pub(crate) others: &'s [Postings<'a>],
    pub(crate) others_number: u8,
}

/// The sets of a summand as they are read.
struct SummedSets<'a> {
    docs: BlockReader<'a>,
    number: u8,
    others: Vec<BlockReader<'a>>,
    others_number: u8,
    /// Bits of the documents of the last block read that only the others have.
    only_others: Vec<u8>,
}

impl<'a> SummedSets<'a> {
    fn new(summand: Summand<'_, 'a>) -> Self {
        Self {
            docs: summand.docs.block_reader(),
            number: summand.number,
            others: summand.others.iter().map(Postings::block_reader).collect(),
            others_number: summand.others_number,
            only_others: Vec::new(),
        }
    }

    /// Bits of the documents of a block, and of those that only the others have; `None` if there is
    /// no such document.
    fn read(&mut self, block_idx: u32) -> [Option<&[u8]>; 2] {
        let (docs, only_others) = (self.docs.read(block_idx), &mut self.only_others);
        only_others.clear();
        for other in &mut self.others {
            let Some(block) = other.read(block_idx) else {
                continue;
            };
            if only_others.is_empty() {
                only_others.extend_from_slice(block);
            } else {
                let bytes = only_others.iter_mut().zip(block);
                bytes.for_each(|(united, byte)| *united |= byte);
            }
        }
        if let Some(docs) = docs {
            let bytes = only_others.iter_mut().zip(docs);
            bytes.for_each(|(united, byte)| *united &= !byte);
        }
        [
            docs,
            Some(&only_others[..]).filter(|bytes| !bytes.is_empty()),
        ]
    }
}

/// Reads sums block by block: a number below 128 for each document.
pub(crate) struct BlockSums<'a> {
    sets: Vec<SummedSets<'a>>,
    /// Count of documents in the segment.
    limit: u32,
    /// The digits of the last block that was read, lowest first; as many as the sum of all sets'
    /// numbers has.
    digits: Vec<[Lane; BLOCK_LANES]>,
    /// Words that are carried to the next digit; two for each summand.
    carries: Vec<Lane>,
}

impl<'a> BlockSums<'a> {
    /// Greatest sum.
    pub(crate) const MAX: u8 = (1 << DIGITS) - 1;

    /// Sums for the documents below `limit`. No sum may exceed [`BlockSums::MAX`].
    pub(crate) fn new<'s>(limit: u32, summands: impl Iterator<Item = Summand<'s, 'a>>) -> Self
    where
        'a: 's,
    {
        let sets: Vec<SummedSets<'a>> = summands.map(SummedSets::new).collect();
        let number_max = |set: &SummedSets<'_>| set.number.max(set.others_number);
        let sum_max: u8 = sets.iter().map(number_max).sum();
        let digits_count = (u8::BITS - sum_max.leading_zeros()) as usize;
        Self {
            carries: vec![[0; LANE_WORDS]; 2 * sets.len()],
            sets,
            limit,
            digits: vec![[[0; LANE_WORDS]; BLOCK_LANES]; digits_count],
        }
    }

    /// Adds up the sums of a block, which must be after all that were read before.
    ///
    /// Cost: some operations on a word for each set and 64 documents, however many have it.
    pub(crate) fn read(&mut self, block_idx: u32) {
        let mut added: [Vec<&[StoredLane]>; DIGITS] = Default::default();
        for set in &mut self.sets {
            let numbers = [set.number, set.others_number];
            for (block, number) in set.read(block_idx).into_iter().zip(numbers) {
                let Some(block) = block else {
                    continue;
                };
                let ones = (0..DIGITS).filter(|digit| number >> digit & 1 == 1);
                ones.for_each(|digit| added[digit].push(block.as_chunks().0));
            }
        }
        // The last block of a segment, and the only one of a small one, is not full.
        let numbers_count = (self.limit - block_idx * BLOCK_NUMBERS).min(BLOCK_NUMBERS);
        let lanes_count = (numbers_count as usize).div_ceil(8 * LANE_BYTES);
        for lane_idx in 0..lanes_count {
            let mut carried_count = 0;
            for (sums, blocks) in self.digits.iter_mut().zip(&added) {
                let carries = &mut self.carries;
                (sums[lane_idx], carried_count) =
                    sum_digit(carries, carried_count, blocks, lane_idx);
            }
        }
    }

    /// The sum of a document of the last block read, by its lower half.
    #[inline]
    pub(crate) fn get(&self, low: u16) -> u8 {
        let at = usize::from(low);
        let digits = self.digits.iter().enumerate();
        digits.fold(0, |number, (digit, sums)| {
            let word = sums.as_flattened()[at / 64];
            number | ((word >> (at % 64)) as u8 & 1) << digit
        })
    }

    /// Keeps the bits of the documents in the last block read that have a sum above a number: only
    /// of the first documents, if there are fewer words than a block has.
    pub(crate) fn retain_above(&self, number: u8, words: &mut [u64]) {
        if number >> self.digits.len() != 0 {
            // The number has a digit that no sum has.
            words.fill(0);
            return;
        }
        for (lane_idx, words) in words.chunks_mut(LANE_WORDS).enumerate() {
            // From the highest digit down: above the number is what has a one where it has a zero,
            // and is equal before.
            let (mut above, mut equal) = ([0; LANE_WORDS], [u64::MAX; LANE_WORDS]);
            for (digit, sums) in self.digits.iter().enumerate().rev() {
                let (sums, is_one) = (&sums[lane_idx], number >> digit & 1 == 1);
                for idx in 0..LANE_WORDS {
                    if is_one {
                        equal[idx] &= sums[idx];
                    } else {
                        above[idx] |= equal[idx] & sums[idx];
                        equal[idx] &= !sums[idx];
                    }
                }
            }
            for (word, above) in words.iter_mut().zip(above) {
                *word &= above;
            }
        }
    }
}

/// One lane of a digit of the sums, and the number of its carries, which replace those of the digit
/// before. Added are these, the first `carried_count`, and the lanes of the sets.
#[inline(always)]
fn sum_digit(
    carries: &mut [Lane],
    carried_count: usize,
    blocks: &[&[StoredLane]],
    lane_idx: usize,
) -> (Lane, usize) {
    let inputs_count = carried_count + blocks.len();
    let input = |carries: &[Lane], idx: usize| {
        if idx < carried_count {
            carries[idx]
        } else if idx < inputs_count {
            read_lane(&blocks[idx - carried_count][lane_idx])
        } else {
            [0; LANE_WORDS]
        }
    };
    let mut sum = input(carries, 0);
    let mut added_count = 1;
    while added_count < inputs_count {
        let (a, b) = (input(carries, added_count), input(carries, added_count + 1));
        // All inputs up to `added_count + 1` were read: no carry is overwritten unread.
        carries[added_count / 2] = add(&mut sum, &a, &b);
        added_count += 2;
    }
    (sum, inputs_count / 2)
}

#[inline(always)]
fn read_lane(stored: &StoredLane) -> Lane {
    let (words, _) = stored.as_chunks();
    std::array::from_fn(|idx| u64::from_le_bytes(words[idx]))
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

    fn alone<'s, 'a>((docs, number): &'s (Postings<'a>, u8)) -> Summand<'s, 'a> {
        Summand {
            docs,
            number: *number,
            others: &[],
            others_number: 0,
        }
    }

    /// The sums of all documents, and that blocks above a number are found.
    fn check(limit: u32, sets: &[(Vec<u32>, u8)], above: u8) -> Vec<u8> {
        let encoded = sets.iter().map(|(docs, number)| {
            let mut bytes = Vec::new();
            encode(docs, &mut bytes);
            (bytes, *number)
        });
        let encoded: Vec<(Vec<u8>, u8)> = encoded.collect();
        let read = encoded.iter();
        let read = read.map(|(bytes, number)| (Postings::read(bytes).unwrap(), *number));
        let read: Vec<_> = read.collect();
        let mut sums = BlockSums::new(limit, read.iter().map(alone));
        let mut all = Vec::new();
        for block_idx in 0..limit.div_ceil(BLOCK_NUMBERS) {
            sums.read(block_idx);
            let count = (limit - block_idx * BLOCK_NUMBERS).min(BLOCK_NUMBERS);
            let lows = 0..count;
            let of_block: Vec<u8> = lows.clone().map(|low| sums.get(low as u16)).collect();
            let mut words = vec![u64::MAX; (count as usize).div_ceil(64)];
            sums.retain_above(above, &mut words);
            for low in lows {
                let is_kept = words[low as usize / 64] >> (low % 64) & 1 == 1;
                assert_eq!(is_kept, of_block[low as usize] > above);
            }
            all.extend(of_block);
        }
        all
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
            sets in prop::collection::vec((docs(), 1u8..=8), 0..16), above in 0u8..=128,
        ) {
            let mut expected = vec![0; LIMIT as usize];
            for (docs, number) in &sets {
                docs.iter().for_each(|&doc| expected[doc as usize] += number);
            }
            prop_assert_eq!(check(LIMIT, &sets, above), expected);
        }

        #[test]
        fn blocks_may_be_passed(sets in prop::collection::vec((docs(), 1u8..=8), 1..4)) {
            let mut bytes = vec![Vec::new(); sets.len()];
            let read = sets.iter().zip(&mut bytes).map(|((docs, number), bytes)| {
                encode(docs, bytes);
                (Postings::read(bytes).unwrap(), *number)
            });
            let read: Vec<_> = read.collect();
            let mut sums = BlockSums::new(LIMIT, read.iter().map(alone));
            sums.read(2);
            for doc in 2 * BLOCK_NUMBERS..LIMIT {
                let having = sets.iter().filter(|(docs, _)| docs.binary_search(&doc).is_ok());
                let expected: u8 = having.map(|(_, number)| number).sum();
                prop_assert_eq!(sums.get(doc as u16), expected);
            }
        }
    }

    #[test]
    fn a_document_of_several_sets_counts_once() {
        let encoded = [&[1, 3][..], &[3, 4, 140_000], &[4, 5]].map(|docs| {
            let mut bytes = Vec::new();
            encode(docs, &mut bytes);
            bytes
        });
        let [docs, others @ ..] =
            [0, 1, 2].map(|idx: usize| Postings::read(&encoded[idx]).unwrap());
        let summand = Summand {
            docs: &docs,
            number: 4,
            others: &others,
            others_number: 3,
        };
        let mut sums = BlockSums::new(LIMIT, [summand].into_iter());
        sums.read(0);
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|low| sums.get(low)),
            [0, 4, 0, 4, 3, 3]
        );
        sums.read(1);
        assert_eq!(sums.get(3), 0);
        sums.read(2);
        assert_eq!(sums.get((140_000 % BLOCK_NUMBERS) as u16), 3);
    }

    #[test]
    fn carries_reach_the_highest_digit() {
        let sets = vec![(vec![69], 1); usize::from(BlockSums::MAX)];
        let sums = check(70, &sets, 100);
        assert_eq!(sums[68..], [0, BlockSums::MAX]);
    }
}
