//! Interner: distinct texts, numbered in the order of their first use.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Distinct texts. Cost: a hash and a comparison to look one up; its bytes and about 13 more to
/// keep it.
#[derive(Default)]
pub(crate) struct Interner {
    hasher: RandomState,
    /// Numbers, found by the hash of their text.
    table: HashTable<u32>,
    /// All texts, one after another.
    text: String,
    /// End of each text; it starts where the one before ends.
    ends: Vec<usize>,
}

impl Interner {
    /// Index of a text, and true if the text is new.
    pub(crate) fn intern(&mut self, text: &str) -> (u32, bool) {
        let hash = self.hasher.hash_one(text);
        let found = self.table.find(hash, |&number| {
            text_at(&self.text, &self.ends, number) == text
        });
        if let Some(&number) = found {
            return (number, false);
        }
        let number = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        // The table holds numbers only; texts are compared where they lie in `text`.
        self.table.insert_unique(hash, number, |&number| {
            self.hasher
                .hash_one(text_at(&self.text, &self.ends, number))
        });
        (number, true)
    }

    /// The text with this number.
    pub(crate) fn get(&self, number: u32) -> &str {
        text_at(&self.text, &self.ends, number)
    }

    /// Count of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 8 + self.table.capacity() * 5
    }

    /// The numbers of all texts, in the order of the texts.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.len() as u32).collect();
        numbers.sort_unstable_by_key(|&number| self.get(number));
        numbers
    }
}

fn text_at<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let idx = number as usize;
    let start = if idx == 0 { 0 } else { ends[idx - 1] };
    &text[start..ends[idx]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_as_they_come() {
        let mut interner = Interner::default();
        assert_eq!(interner.intern("b"), (0, true));
        assert_eq!(interner.intern(""), (1, true));
        assert_eq!(interner.intern("a"), (2, true));
        assert_eq!(interner.intern("b"), (0, false));
        assert_eq!(interner.get(2), "a");
        assert_eq!(interner.sorted(), [1, 2, 0]);
    }
}
