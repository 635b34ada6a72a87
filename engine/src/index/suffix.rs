//! Suffix array of the titles: the position of each character, sorted by the text from there on.
//!
//! ```text
//! offset  bytes  field
//! 0       1      bits of an offset
//! 1       7      zero
//! 8       …      packed: from the lowest bit 1 where a word begins, the offset in the title, the
//!                title
//! ```
//! The title is a part of the number, so that ten thousand occurrences of a text are ten thousand
//! neighbouring numbers, and no text is read for them.

use super::packed::{Packed, PackedBuilder};
use super::repeats::RepeatsBuilder;
use super::suffix_sort::sort_suffixes;

const HEAD_BYTES: usize = 8;

/// A position in a title at which a character begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TitlePosition {
    /// The title.
    pub(crate) title: u32,
    /// Bytes of the title before it.
    pub(crate) offset: usize,
    /// True if a word begins there.
    pub(crate) begins_word: bool,
}

/// View of the positions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suffixes<'a> {
    positions: Packed<'a>,
    offset_bits: u32,
}

impl<'a> Suffixes<'a> {
    /// The view, or `None` when the head is broken.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES)?;
        let offset_bits = u32::from(head[0]);
        if offset_bits > 32 {
            return None;
        }
        Some(Self {
            positions: Packed::read(&bytes[HEAD_BYTES..])?,
            offset_bits,
        })
    }

    /// Count of positions.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The position at `idx`.
    #[inline(always)]
    pub(crate) fn get(&self, idx: usize) -> TitlePosition {
        let number = self.positions.get(idx);
        TitlePosition {
            title: (number >> (1 + self.offset_bits)) as u32,
            offset: (number >> 1 & ((1 << self.offset_bits) - 1)) as usize,
            begins_word: number & 1 != 0,
        }
    }
}

/// Byte that is greater than any of a title.
const END: u8 = u8::MAX;
/// Bytes of text for which the first title is kept.
const STRIDE: usize = 64;

/// Sections of the suffix array.
pub(super) struct EncodedSuffixes {
    pub(super) positions: Vec<u8>,
    /// Empty if no text is repeated in many titles.
    pub(super) repeats: Vec<u8>,
}

/// Positions of a text of distinct, sorted titles between line feeds; `starts` has the start of
/// each title, and the end.
///
/// Cost: linear in the text. Memory besides it: about 6 bytes for each of its bytes.
pub(super) fn encode_suffixes(text: &mut Vec<u8>, starts: &[u64]) -> EncodedSuffixes {
    let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let offset_bits = u64::BITS - lengths.max().unwrap_or(0).leading_zeros();
    let titles_count = starts.len() as u64;
    let first_titles = first_titles(text.len(), starts);
    let sorted = sort_positions(text);
    let mut repeats = RepeatsBuilder::new(text, &sorted, starts.len() - 1);
    let mut positions = PackedBuilder::new(titles_count << (1 + offset_bits), sorted.len());
    for at in sorted {
        let at = at as usize;
        let mut title = first_titles[at / STRIDE] as usize;
        while starts[title + 1] <= at as u64 {
            title += 1;
        }
        let offset = at as u64 - starts[title];
        let begins_word = matches!(text[at - 1], b' ' | b'\n');
        positions.push((title as u64) << (1 + offset_bits) | offset << 1 | u64::from(begins_word));
        if let Some(repeats) = &mut repeats {
            repeats.push(title, offset, begins_word);
        }
    }
    let mut bytes = vec![0; HEAD_BYTES];
    bytes[0] = offset_bits as u8;
    bytes.extend(positions.finish());
    EncodedSuffixes {
        positions: bytes,
        repeats: repeats.map(RepeatsBuilder::finish).unwrap_or_default(),
    }
}

/// The title that each stride of the text begins in.
fn first_titles(text_bytes: usize, starts: &[u64]) -> Vec<u32> {
    let mut title = 0;
    let mut first_titles = Vec::with_capacity(text_bytes / STRIDE + 1);
    for at in (0..text_bytes as u64).step_by(STRIDE) {
        while title + 2 < starts.len() && starts[title + 1] <= at {
            title += 1;
        }
        first_titles.push(title as u32);
    }
    first_titles
}

/// Positions in a text of distinct, sorted titles between line feeds at which a character other
/// than a space or a line feed begins, sorted by the bytes up to the next line feed; equal ones by
/// position. The text is as before afterwards.
fn sort_positions(text: &mut Vec<u8>) -> Vec<u32> {
    // Beyond its line feed a suffix is compared by the titles that follow, which are sorted: so
    // equal ones are in the order of their positions, if what follows the last title is greatest.
    text.push(END);
    let mut sorted = sort_suffixes(text);
    text.pop();
    sorted.retain(|&at| {
        let byte = text.get(at as usize).copied().unwrap_or(b' ');
        byte != b' ' && byte != b'\n' && byte & 0xc0 != 0x80
    });
    sorted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Distinct titles, sorted, between line feeds.
    fn text_of(mut titles: Vec<String>) -> String {
        titles.sort_unstable();
        titles.dedup();
        let lines = titles.iter().map(|title| format!("{title}\n"));
        format!("\n{}", lines.collect::<String>())
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_sort(titles in prop::collection::vec("[ab ñ]{1,30}", 0..20)) {
            let text = text_of(titles);
            let rest = |at: u32| text[at as usize..].split('\n').next().unwrap();
            let mut expected: Vec<u32> = text
                .char_indices()
                .filter(|(_, character)| !" \n".contains(*character))
                .map(|(at, _)| at as u32)
                .collect();
            expected.sort_by_key(|&at| (rest(at), at));
            prop_assert_eq!(sort_positions(&mut text.clone().into()), expected);
        }

        #[test]
        fn gives_back_every_position(
            titles in prop::collection::vec("[abñ]{1,3}( [ab]{1,9})?", 0..9),
        ) {
            let text = text_of(titles);
            let ends = text.match_indices('\n').map(|(at, _)| at as u64 + 1);
            let starts: Vec<u64> = ends.collect();
            let encoded = encode_suffixes(&mut text.clone().into(), &starts);
            let suffixes = Suffixes::read(&encoded.positions).unwrap();
            let sorted = sort_positions(&mut text.clone().into());
            prop_assert_eq!(suffixes.len(), sorted.len());
            for (idx, at) in sorted.into_iter().enumerate() {
                let position = suffixes.get(idx);
                let found = starts[position.title as usize] + position.offset as u64;
                prop_assert_eq!(found, u64::from(at));
                let before = text.as_bytes()[at as usize - 1];
                prop_assert_eq!(position.begins_word, b" \n".contains(&before));
            }
        }
    }
}
