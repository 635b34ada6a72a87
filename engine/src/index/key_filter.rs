//! Filter of keys: shows that a segment does not have a key, mostly by a single read.
//!
//! A search asks every segment for its words and catalog ids, and most segments are small and have
//! none of them. A walk through the dictionaries or a binary search costs more than everything else
//! that the search does there.
//!
//! Shape: a Bloom filter in which a key has two bits of one word of 64. With four keys per word,
//! one absent key of about 70 is not refused.

use xxhash_rust::xxh3::xxh3_64;

use crate::limits::FILTERED_KEYS_MAX;

const KEYS_PER_WORD: usize = 4;

const _: () = assert!(FILTERED_KEYS_MAX / KEYS_PER_WORD < 1 << 32);

/// Keys, as bits.
pub(super) struct KeyFilter {
    words: Box<[u64]>,
}

impl KeyFilter {
    /// A filter for `count` keys; `None` if they are too many.
    pub(super) fn new(count: usize) -> Option<Self> {
        if FILTERED_KEYS_MAX < count {
            return None;
        }
        let words = vec![0; count.div_ceil(KEYS_PER_WORD).max(1)].into();
        Some(Self { words })
    }

    /// Adds a key.
    pub(super) fn insert(&mut self, key: &[u8]) {
        let (word_idx, bits) = self.place(key);
        self.words[word_idx] |= bits;
    }

    /// False only for a key that was not added. Cost: a hash and a read.
    #[inline]
    pub(super) fn may_have(&self, key: &[u8]) -> bool {
        let (word_idx, bits) = self.place(key);
        self.words[word_idx] & bits == bits
    }

    /// Index of the word of a key, and its bits there.
    #[inline]
    fn place(&self, key: &[u8]) -> (usize, u64) {
        let hash = xxh3_64(key);
        // A product instead of a remainder: no division.
        let word_idx = ((hash >> 32) * self.words.len() as u64) >> 32;
        (
            word_idx as usize,
            1 << (hash % 64) | 1 << ((hash >> 6) % 64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_every_key_and_refuses_most_others() {
        for count in [0u64, 1, 5, 10_000] {
            let mut filter = KeyFilter::new(count as usize).unwrap();
            (0..count).for_each(|key| filter.insert(&key.to_le_bytes()));
            assert!((0..count).all(|key| filter.may_have(&key.to_le_bytes())));
            let others = count..count + 10_000;
            let passed = others.filter(|key| filter.may_have(&key.to_le_bytes()));
            let passed = passed.count();
            assert!(passed <= 250, "{passed} of {count}");
        }
    }

    #[test]
    fn too_many_keys_have_none() {
        assert!(KeyFilter::new(FILTERED_KEYS_MAX).is_some());
        assert!(KeyFilter::new(FILTERED_KEYS_MAX + 1).is_none());
    }
}
