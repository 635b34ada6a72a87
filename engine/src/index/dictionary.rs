//! Dictionary: sorted terms, each with its rank, as an fst.

use std::ops::Range;

use bytes::Bytes;
use fst::Streamer;
use fst::raw::{Builder, Fst, Node, Transition};

use super::alignment::{AlignmentRows, Letter};

/// Sorted terms; the value of a term is its rank, so that terms with one prefix are a range.
pub(crate) struct Dictionary {
    fst: Fst<Bytes>,
}

impl Dictionary {
    /// Opens the dictionary in these bytes; `None` when they are not an fst.
    pub(crate) fn read(bytes: Bytes) -> Option<Self> {
        let fst = Fst::new(bytes).ok()?;
        Some(Self { fst })
    }

    /// Count of terms.
    pub(crate) fn len(&self) -> usize {
        self.fst.len()
    }

    /// Calls `each` with every term, ascending.
    pub(super) fn for_each(&self, mut each: impl FnMut(&[u8])) {
        let mut terms = self.fst.stream();
        while let Some((term, _)) = terms.next() {
            each(term);
        }
    }

    /// The rank of a term. Cost: a step per byte.
    pub(crate) fn rank(&self, term: &[u8]) -> Option<u32> {
        self.fst.get(term).map(|rank| rank.value() as u32)
    }

    /// The ranks of all terms that begin with `prefix`, and true if the first of them is `prefix`
    /// itself. Cost: a step per byte of the prefix and of the last such term.
    ///
    /// An fst has the outputs of common prefixes as early as possible, so the sum of the outputs on
    /// the way to a node is the smallest rank below it.
    pub(crate) fn prefix_ranks(&self, prefix: &str) -> (Range<u32>, bool) {
        let mut node = self.fst.root();
        let mut first = 0;
        for &byte in prefix.as_bytes() {
            let Some(idx) = node.find_input(byte) else {
                return (0..0, false);
            };
            let transition = node.transition(idx);
            first += transition.out.value();
            node = self.fst.node(transition.addr);
        }
        let ranks = first as u32..(first + last_output(&self.fst, node)) as u32 + 1;
        (ranks, node.is_final())
    }

    /// Appends the ranks of the terms with the word's first character at optimal string alignment
    /// distance 1 to `distance_max` (1 or 2).
    ///
    /// Cost: one step for each node of the dictionary that some close word could pass through;
    /// bounded by the terms with that first character, however long the word is.
    pub(crate) fn close_terms(&self, word: &str, distance_max: u8, out: &mut Vec<u32>) {
        let letters: Vec<char> = word.chars().collect();
        let Some(&first) = letters.first() else {
            return;
        };
        let mut path = Path::start(self.fst.root().addr());
        let mut rows = AlignmentRows::start(distance_max);
        for &byte in first.encode_utf8(&mut [0; 4]).as_bytes() {
            let node = self.fst.node(path.addr);
            let Some(idx) = node.find_input(byte) else {
                return;
            };
            path = path.along(node.transition(idx));
        }
        // SEARCH.md 4.6 requires the same first character: the search starts below it.
        rows.step(&letters, first);
        // Depth first, one row of the distance matrix for each node: a branch is left as soon as no
        // term below it can be close, so most of the dictionary is never visited.
        let mut stack = vec![(path, rows)];
        while let Some((path, rows)) = stack.pop() {
            let node = self.fst.node(path.addr);
            if node.is_final() && path.letter.is_empty() && rows.is_close(letters.len()) {
                out.push((path.rank + node.final_output().value()) as u32);
            }
            // An fst has bytes, a distance has letters: the row changes when a letter is complete.
            for transition in node.transitions() {
                let mut letter = path.letter;
                let Some(letter) = letter.push(transition.inp) else {
                    let path = path.along(transition);
                    stack.push((Path { letter, ..path }, rows));
                    continue;
                };
                let mut rows = rows;
                if rows.step(&letters, letter) {
                    stack.push((path.along(transition), rows));
                }
            }
        }
    }

    /// All terms with their ranks, in order.
    pub(crate) fn stream(&self) -> fst::raw::Stream<'_> {
        self.fst.stream()
    }
}

/// A node of the fst, and the state of the walk that led to it.
#[derive(Clone, Copy)]
struct Path {
    addr: usize,
    /// The smallest rank of the terms below.
    rank: u64,
    /// The bytes read of a letter that is not complete.
    letter: Letter,
}

impl Path {
    fn start(addr: usize) -> Self {
        Self {
            addr,
            rank: 0,
            letter: Letter::default(),
        }
    }

    /// The end of a transition, at the start of a letter.
    fn along(self, transition: Transition) -> Self {
        Self {
            addr: transition.addr,
            rank: self.rank + transition.out.value(),
            letter: Letter::default(),
        }
    }
}

/// Sum of the outputs from a node to the last term below it: how far that term's rank is above the
/// smallest rank below the node.
fn last_output<'a>(fst: &'a Fst<Bytes>, mut node: Node<'a>) -> u64 {
    let mut output = 0;
    while !node.is_empty() {
        let transition = node.transition(node.len() - 1);
        output += transition.out.value();
        node = fst.node(transition.addr);
    }
    output + node.final_output().value()
}

/// Writes sorted, distinct terms; the rank of each is its index.
pub(crate) struct DictionaryBuilder {
    builder: Builder<Vec<u8>>,
    len: u64,
}

impl DictionaryBuilder {
    /// A dictionary without terms.
    pub(crate) fn new() -> Self {
        Self {
            builder: Builder::memory(),
            len: 0,
        }
    }

    /// Appends a term, which must come after all before it.
    pub(crate) fn push(&mut self, term: &[u8]) {
        self.builder
            .insert(term, self.len)
            .expect("terms come in order and memory takes every write");
        self.len += 1;
    }

    /// The finished bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.builder.into_inner().expect("memory takes every write")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dictionary(terms: &[String]) -> Dictionary {
        let mut builder = DictionaryBuilder::new();
        terms.iter().for_each(|term| builder.push(term.as_bytes()));
        Dictionary::read(builder.finish().into()).unwrap()
    }

    /// Insertion, deletion, substitution, adjacent transposition; no part edited twice.
    fn alignment_distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                rows[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let edit = usize::from(a[i - 1] != b[j - 1]);
                    let mut best = rows[i - 1][j - 1] + edit;
                    best = best.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = best.min(rows[i - 2][j - 2] + 1);
                    }
                    best
                };
            }
        }
        rows[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(
            terms in prop::collection::btree_set("[abñ]{1,5}", 0..60),
            word in "[abñ]{1,5}",
        ) {
            let terms: Vec<String> = terms.into_iter().collect();
            let dictionary = dictionary(&terms);
            prop_assert_eq!(dictionary.len(), terms.len());
            let rank = terms.binary_search(&word).ok().map(|rank| rank as u32);
            prop_assert_eq!(dictionary.rank(word.as_bytes()), rank);
            let (range, has_word) = dictionary.prefix_ranks(&word);
            prop_assert_eq!(rank.is_some(), has_word);
            prop_assert!(rank.is_none_or(|rank| rank == range.start));
            let expected: Vec<u32> = (0..terms.len() as u32)
                .filter(|&rank| terms[rank as usize].starts_with(&word))
                .collect();
            prop_assert_eq!(range.collect::<Vec<_>>(), expected);
        }

        #[test]
        fn finds_exactly_the_close_terms(
            terms in prop::collection::btree_set("[abcñ語]{1,10}", 0..80),
            word in "[abcñ語]{1,9}",
            distance_max in 1u8..=2,
        ) {
            let terms: Vec<String> = terms.into_iter().collect();
            let mut found = Vec::new();
            dictionary(&terms).close_terms(&word, distance_max, &mut found);
            found.sort_unstable();
            let expected: Vec<u32> = (0..terms.len() as u32)
                .filter(|&rank| {
                    let term = &terms[rank as usize];
                    let distance = alignment_distance(&word, term);
                    term.chars().next() == word.chars().next()
                        && (1..=usize::from(distance_max)).contains(&distance)
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_longest_words_cost_no_more_than_the_dictionary() {
        let letters: Vec<char> = (0..3_000)
            .filter_map(|n| char::from_u32(0x4e00 + n))
            .collect();
        let word: String = letters.iter().collect();
        let without_last: String = letters[..2_999].iter().collect();
        let mut terms = vec![word.clone(), without_last, format!("{word}z")];
        terms.extend(('a'..='z').map(|end| format!("{}{end}", letters[0])));
        terms.sort_unstable();
        let mut found = Vec::new();
        dictionary(&terms).close_terms(&word, 2, &mut found);
        found.sort_unstable();
        let close: Vec<&String> = found.iter().map(|rank| &terms[*rank as usize]).collect();
        assert_eq!(close.len(), 2);
        assert!(close.iter().all(|term| 2_000 < term.len()));
    }

    #[test]
    fn one_part_is_not_edited_twice() {
        let terms = ["xabc".to_owned()];
        let mut found = Vec::new();
        dictionary(&terms).close_terms("xca", 2, &mut found);
        assert!(
            found.is_empty(),
            "ca to abc is 2 only when a swap may be split"
        );
    }
}
