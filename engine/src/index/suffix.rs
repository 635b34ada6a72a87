//! Suffix array of the titles: every position at which a character begins, sorted by the text that
//! follows.
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

    /// Number of positions.
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

/// Positions of a text of titles between line feeds; `starts` has the start of each title, and the
/// end. Cost: that of [`sort_suffixes`].
pub(crate) fn encode_suffixes(text: &[u8], starts: &[u64]) -> Vec<u8> {
    let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let offset_bits = u64::BITS - lengths.max().unwrap_or(0).leading_zeros();
    let titles_count = starts.len() as u64;
    let mut titles = vec![0u32; text.len()];
    for (title, pair) in starts.windows(2).enumerate() {
        titles[pair[0] as usize..pair[1] as usize].fill(title as u32);
    }
    let sorted = sort_suffixes(text);
    let mut positions = PackedBuilder::new(titles_count << (1 + offset_bits), sorted.len());
    for at in sorted {
        let at = at as usize;
        let title = titles[at] as usize;
        let offset = at as u64 - starts[title];
        let begins_word = matches!(text[at - 1], b' ' | b'\n');
        positions.push((title as u64) << (1 + offset_bits) | offset << 1 | u64::from(begins_word));
    }
    let mut bytes = vec![0; HEAD_BYTES];
    bytes[0] = offset_bits as u8;
    bytes.extend(positions.finish());
    bytes
}

/// Bytes of text that are compared at once, as one number.
const STRIDE: usize = 8;

/// Positions in a text of titles between line feeds at which a character other than a space or a
/// line feed begins, sorted by the bytes up to the next line feed; equal ones by position.
///
/// Cost: a sort of as many numbers as there are characters, again for those that agree in 8 bytes.
fn sort_suffixes(text: &[u8]) -> Vec<u32> {
    let mut suffixes: Vec<(u64, u32)> = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        let is_start = byte != b' ' && byte != b'\n' && byte & 0xc0 != 0x80;
        if is_start {
            suffixes.push((stride_at(text, at), at as u32));
        }
    }
    // Numbers of eight bytes are compared, not texts: titles are short, so after two or three
    // rounds nearly all suffixes differ.
    suffixes.sort_unstable();
    let mut groups = Vec::new();
    push_groups(&suffixes, 0, STRIDE, &mut groups);
    while let Some((from, to, depth)) = groups.pop() {
        for suffix in &mut suffixes[from..to] {
            suffix.0 = stride_at(text, suffix.1 as usize + depth);
        }
        suffixes[from..to].sort_unstable();
        push_groups(&suffixes[from..to], from, depth + STRIDE, &mut groups);
    }
    suffixes.into_iter().map(|(_, at)| at).collect()
}

/// Appends to `groups` the runs of equal strides that must be sorted by their next bytes: start,
/// end and depth of each. A run whose titles end within the stride is equal to the end.
fn push_groups(
    suffixes: &[(u64, u32)],
    base: usize,
    depth: usize,
    groups: &mut Vec<(usize, usize, usize)>,
) {
    let mut from = base;
    for run in suffixes.chunk_by(|a, b| a.0 == b.0) {
        let ends_here = run[0].0 & 0xff == 0;
        if run.len() > 1 && !ends_here {
            groups.push((from, from + run.len(), depth));
        }
        from += run.len();
    }
}

/// Eight bytes as a number that sorts like them; zeros from the line feed on.
fn stride_at(text: &[u8], at: usize) -> u64 {
    let end = text.len().min(at + STRIDE);
    let mut stride = 0;
    let mut is_over = false;
    for idx in 0..STRIDE {
        let byte = if at + idx < end {
            text[at + idx]
        } else {
            b'\n'
        };
        is_over |= byte == b'\n';
        stride = stride << 8 | if is_over { 0 } else { u64::from(byte) };
    }
    stride
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_sort(titles in prop::collection::vec("[ab ñ]{1,30}", 0..20)) {
            let text = format!("\n{}\n", titles.join("\n"));
            let bytes = text.as_bytes();
            let rest = |at: u32| text[at as usize..].split('\n').next().unwrap();
            let mut expected: Vec<u32> = text
                .char_indices()
                .filter(|(_, character)| !" \n".contains(*character))
                .map(|(at, _)| at as u32)
                .collect();
            expected.sort_by_key(|&at| (rest(at), at));
            prop_assert_eq!(sort_suffixes(bytes), expected);
        }

        #[test]
        fn gives_back_every_position(
            titles in prop::collection::vec("[abñ]{1,3}( [ab]{1,9})?", 0..9),
        ) {
            let text = format!("\n{}\n", titles.join("\n"));
            let mut starts = vec![1];
            for title in &titles {
                starts.push(starts[starts.len() - 1] + title.len() as u64 + 1);
            }
            let bytes = encode_suffixes(text.as_bytes(), &starts);
            let suffixes = Suffixes::read(&bytes).unwrap();
            let sorted = sort_suffixes(text.as_bytes());
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
