//! A small number for every document of a segment, kept as a set of bits for each binary digit.
//!
//! Adding the same number to all documents of a set is a ripple of carries through the digits, 64
//! documents at a time: what one release word costs does not depend on how many records have it.

use super::bits::Bits;

/// Binary digits of the numbers.
const DIGITS: usize = 7;
/// Words of bits whose carries are added together: they and their digits stay in the first cache.
const BLOCK_WORDS: usize = 256;

/// A number below 128 for each document, 0 at first.
#[derive(Debug, Clone)]
pub(crate) struct BitCounts {
    /// Lowest digit first.
    digits: [Bits; DIGITS],
}

impl BitCounts {
    /// Greatest number.
    pub(crate) const MAX: u8 = (1 << DIGITS) - 1;
    /// The highest digit, for [`BitCounts::digit`].
    pub(crate) const HIGHEST_DIGIT: usize = DIGITS - 1;

    /// Zeros for the documents below `limit`.
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            digits: std::array::from_fn(|_| Bits::new(limit)),
        }
    }

    /// Adds a number to that of each document of the set. No sum may exceed [`BitCounts::MAX`].
    pub(crate) fn add(&mut self, set: &Bits, number: u8) {
        debug_assert!(number <= Self::MAX);
        for digit in 0..DIGITS {
            if number >> digit & 1 == 1 {
                self.add_digit(set, digit);
            }
        }
    }

    fn add_digit(&mut self, set: &Bits, first_digit: usize) {
        let mut carries = [0; BLOCK_WORDS];
        for (block_idx, block) in set.words().chunks(BLOCK_WORDS).enumerate() {
            let from = block_idx * BLOCK_WORDS;
            let carries = &mut carries[..block.len()];
            carries.copy_from_slice(block);
            for digit in &mut self.digits[first_digit..] {
                let words = &mut digit.words_mut()[from..from + block.len()];
                let mut any = 0;
                for (word, carry) in words.iter_mut().zip(&mut *carries) {
                    let overflow = *word & *carry;
                    *word ^= *carry;
                    *carry = overflow;
                    any |= overflow;
                }
                if any == 0 {
                    break;
                }
            }
        }
    }

    /// The number of a document.
    #[inline]
    pub(crate) fn get(&self, doc: u32) -> u8 {
        let digits = self.digits.iter().enumerate();
        digits.fold(0, |number, (digit, bits)| {
            number | u8::from(bits.contains(doc)) << digit
        })
    }

    /// The documents whose number has this digit.
    pub(crate) fn digit(&self, digit: usize) -> &Bits {
        &self.digits[digit]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: u32 = 40_000;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn sums_are_those_of_each_document(
            added in prop::collection::vec(
                (prop::collection::vec(0..LIMIT, 0..500), 1u8..=8), 0..16,
            ),
        ) {
            let mut counts = BitCounts::new(LIMIT);
            let mut expected = vec![0; LIMIT as usize];
            for (docs, number) in &added {
                let mut set = Bits::new(LIMIT);
                docs.iter().for_each(|&doc| set.insert(doc));
                counts.add(&set, *number);
                for (doc, sum) in expected.iter_mut().enumerate() {
                    *sum += if set.contains(doc as u32) { *number } else { 0 };
                }
            }
            for (doc, &sum) in expected.iter().enumerate() {
                prop_assert_eq!(counts.get(doc as u32), sum);
            }
        }
    }

    #[test]
    fn carries_reach_the_highest_digit() {
        let mut counts = BitCounts::new(70);
        let mut set = Bits::new(70);
        set.insert(69);
        for _ in 0..BitCounts::MAX {
            counts.add(&set, 1);
        }
        assert_eq!(counts.get(69), BitCounts::MAX);
        assert_eq!(counts.get(68), 0);
        assert!(counts.digit(BitCounts::HIGHEST_DIGIT).contains(69));
    }
}
