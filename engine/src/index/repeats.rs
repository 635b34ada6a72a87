//! Repeats of a text in one title: where the suffix array has nothing new for a search.
//!
//! A title such as "aba aba aba" has a text many times, and one of them is enough. The occurrences
//! of a text are one range of the suffix array. For each position the *predecessor* is the end of
//! the array up to the position before it that tells the same: of the same title, and at the
//! beginning of a word if this one is. A position with a predecessor behind the start of the range
//! tells nothing that the range has not told already. Each block has the least predecessor of its
//! positions, so a search passes over the blocks that tell nothing.
//!
//! Example: 3 titles with 100 times "aba" each, and a range of 300 positions. Suffixes are sorted
//! by what follows, so the last "aba" of each title come first, then the last but one of each. The
//! blocks from the second on have predecessors within the range, and are passed over, but for the
//! last one: there the titles begin.
//!
//! Ordinary titles do not repeat themselves: the section is empty unless a text of
//! [`INNER_TEXT_CHARS_MIN`] characters occurs more than [`OCCURRENCES_PER_TITLE_MAX`] times as
//! often as there are titles. So a search visits that many positions for each title of the segment,
//! or for each matching title up to three blocks, besides one number for each block of the range.

use std::ops::Range;

use crate::limits::{INNER_TEXT_CHARS_MIN, OCCURRENCES_PER_TITLE_MAX};

use super::packed::{Packed, pack};

/// Positions in a block.
const BLOCK: usize = 16;

/// Least predecessor of each block of the suffix array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeats<'a>(Packed<'a>);

impl<'a> Repeats<'a> {
    /// The view of a section that is not empty, for a suffix array of `positions_count`; `None` if
    /// it is not one.
    pub(super) fn read(bytes: &'a [u8], positions_count: usize) -> Option<Self> {
        let blocks = Packed::read(bytes)?;
        (blocks.len() == positions_count.div_ceil(BLOCK)).then_some(Self(blocks))
    }

    /// Parts of `range` that may tell something new of the occurrences that begin at `from`, which
    /// is not behind the range.
    #[inline]
    pub(super) fn new_parts(
        self,
        range: Range<usize>,
        from: usize,
    ) -> impl Iterator<Item = Range<usize>> {
        (range.start / BLOCK..range.end.div_ceil(BLOCK))
            .filter(move |&block| self.0.get(block) <= from as u64)
            .map(move |block| range.start.max(block * BLOCK)..range.end.min((block + 1) * BLOCK))
    }
}

/// Last positions of a title in the suffix array so far, each as the end of the array up to it.
#[derive(Clone, Copy, Default)]
struct LastSeen {
    any: u32,
    word_begin: u32,
}

/// Builder of the section, from the positions in their order.
pub(super) struct RepeatsBuilder {
    last_seen: Vec<LastSeen>,
    least: Vec<u32>,
    positions_count: u32,
}

impl RepeatsBuilder {
    /// A builder for titles with these sorted positions in their text; `None` if no text occurs so
    /// often that the section is worth its bytes.
    pub(super) fn new(text: &[u8], sorted: &[u32], titles_count: usize) -> Option<Self> {
        let runs = sorted.chunk_by(|&a, &b| begin_alike(text, a as usize, b as usize));
        let longest = runs.map(<[u32]>::len).max().unwrap_or(0);
        if longest <= OCCURRENCES_PER_TITLE_MAX * titles_count {
            return None;
        }
        Some(Self {
            last_seen: vec![LastSeen::default(); titles_count],
            least: Vec::with_capacity(sorted.len().div_ceil(BLOCK)),
            positions_count: 0,
        })
    }

    /// Adds the next position: its title, its offset in that, and whether a word begins there.
    pub(super) fn push(&mut self, title: usize, offset: u64, begins_word: bool) {
        let last = &mut self.last_seen[title];
        let predecessor = match offset {
            // The title itself begins there: only this position tells it.
            0 => 0,
            _ if begins_word => last.word_begin,
            _ => last.any,
        };
        if (self.positions_count as usize).is_multiple_of(BLOCK) {
            self.least.push(predecessor);
        } else if let Some(least) = self.least.last_mut() {
            *least = predecessor.min(*least);
        }
        self.positions_count += 1;
        last.any = self.positions_count;
        if begins_word {
            last.word_begin = self.positions_count;
        }
    }

    /// The section.
    pub(super) fn finish(self) -> Vec<u8> {
        pack(self.least.into_iter().map(u64::from))
    }
}

/// Returns true if the same text of [`INNER_TEXT_CHARS_MIN`] characters begins at two positions of
/// titles between line feeds.
fn begin_alike(text: &[u8], a: usize, b: usize) -> bool {
    let mut chars_count = 0;
    for (&byte, &other) in text[a..].iter().zip(&text[b..]) {
        let begins_char = byte & 0xc0 != 0x80;
        if begins_char && chars_count == INNER_TEXT_CHARS_MIN {
            return true;
        }
        if byte != other || byte == b'\n' {
            return false;
        }
        chars_count += usize::from(begins_char);
    }
    false
}
