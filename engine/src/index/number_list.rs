//! Ascending numbers as a list of distances.
//!
//! ```text
//! …  a varint for each number: its distance from the one before (the first: from -1), less 1
//! ```

use super::varint::{read_varint, varint_bytes, write_varint};

/// Bytes of the list of ascending numbers.
pub(crate) fn list_bytes(numbers: &[u32]) -> usize {
    distances(numbers).map(varint_bytes).sum()
}

/// Appends the list of ascending numbers.
pub(crate) fn write_list(numbers: &[u32], out: &mut Vec<u8>) {
    distances(numbers).for_each(|distance| write_varint(distance, out));
}

/// Distance of each number from the one before, less 1.
fn distances(numbers: &[u32]) -> impl Iterator<Item = u64> {
    let mut next = 0;
    numbers.iter().map(move |&number| {
        let distance = number - next;
        next = number + 1;
        u64::from(distance)
    })
}

/// Reads a list number by number.
#[derive(Debug, Clone)]
pub(crate) struct ListReader<'a> {
    bytes: &'a [u8],
    left_count: u32,
    /// One more than the last number that was read; 0 before the first.
    next: u32,
}

impl<'a> ListReader<'a> {
    /// A reader before the first of `count` numbers.
    pub(crate) fn new(bytes: &'a [u8], count: u32) -> Self {
        Self {
            bytes,
            left_count: count,
            next: 0,
        }
    }
}

impl Iterator for ListReader<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left_count = self.left_count.checked_sub(1)?;
        // Checksums were checked before, so this ends early only in a set that was written wrong:
        // `Postings::is_sound` finds it.
        let number = self.next + read_varint(&mut self.bytes)? as u32;
        self.next = number + 1;
        Some(number)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left_count as usize))
    }
}
