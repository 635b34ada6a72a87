//! Roaring bitmaps in their portable format, written by the roaring crate and read in place.
//!
//! ```text
//! 0   4  cookie 12346: no run containers
//! 4   4  number of containers
//! 8   4  for each: 2 upper half of its numbers, 2 count - 1
//! …   4  for each: offset from the cookie
//! …   …  each: up to 4,096 numbers as their lower halves of 2 bytes, else 8,192 bytes with a bit
//!        for each
//! ```
//!
//! The crate has no view of bytes: it would copy every set to the heap before the first search. Any
//! library for the format (RoaringFormatSpec) can read these bytes.

use std::ops::ControlFlow;

use roaring::RoaringBitmap;

use crate::limits::CONTAINER_ARRAY_MAX;

use super::bisect::{gallop, partition};
use super::bits::{Bits, for_each_low};

/// Bytes of a container of bits.
pub(crate) const BITS_BYTES: usize = 8192;
const COOKIE: u32 = 12_346;
const HEAD_BYTES: usize = 8;
const DESCRIPTION_BYTES: usize = 4;
const OFFSET_BYTES: usize = 4;

/// Bytes of the bitmap of ascending numbers.
pub(crate) fn portable_bytes(numbers: &[u32]) -> usize {
    let containers = numbers.chunk_by(|a, b| a >> 16 == b >> 16);
    let bytes =
        containers.map(|numbers| DESCRIPTION_BYTES + OFFSET_BYTES + body_bytes(numbers.len()));
    HEAD_BYTES + bytes.sum::<usize>()
}

fn body_bytes(count: usize) -> usize {
    if count <= CONTAINER_ARRAY_MAX {
        count * 2
    } else {
        BITS_BYTES
    }
}

/// Appends the bitmap of ascending numbers.
pub(crate) fn write_portable(numbers: &[u32], out: &mut Vec<u8>) {
    let bitmap = RoaringBitmap::from_sorted_iter(numbers.iter().copied())
        .expect("the numbers of a set ascend");
    bitmap
        .serialize_into(out)
        .expect("a vector takes every write");
}

/// View of an encoded bitmap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoaringView<'a> {
    /// All bytes, from the cookie on: offsets count from there.
    bytes: &'a [u8],
    containers_count: usize,
}

/// A container: numbers with one upper half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Container<'a> {
    /// The upper half, in its place.
    pub(crate) base: u32,
    /// The lower halves.
    pub(crate) body: ContainerBody<'a>,
}

/// Lower halves of the numbers of a container.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContainerBody<'a> {
    /// Little-endian, ascending.
    Array(&'a [[u8; 2]]),
    /// A bit for each possible one.
    Bits(&'a [u8]),
}

impl<'a> RoaringView<'a> {
    /// The bitmap in these bytes; `None` when its head is damaged.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let word = |at: usize| -> Option<u32> {
            let word = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(word.try_into().ok()?))
        };
        let containers_count = word(4)? as usize;
        let head_bytes = HEAD_BYTES + containers_count * (DESCRIPTION_BYTES + OFFSET_BYTES);
        let is_whole = containers_count <= 1 << 16 && head_bytes <= bytes.len();
        (word(0)? == COOKIE && is_whole).then_some(Self {
            bytes,
            containers_count,
        })
    }

    /// Count of containers.
    pub(crate) fn containers_count(&self) -> usize {
        self.containers_count
    }

    #[inline]
    fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Upper half of the numbers of a container.
    #[inline]
    pub(crate) fn key(&self, idx: usize) -> u16 {
        self.half(HEAD_BYTES + idx * DESCRIPTION_BYTES)
    }

    #[inline]
    fn count(&self, idx: usize) -> usize {
        usize::from(self.half(HEAD_BYTES + idx * DESCRIPTION_BYTES + 2)) + 1
    }

    #[inline]
    fn offset(&self, idx: usize) -> usize {
        let at = HEAD_BYTES + self.containers_count * DESCRIPTION_BYTES + idx * OFFSET_BYTES;
        let offset = self.bytes[at..at + OFFSET_BYTES].try_into();
        u32::from_le_bytes(offset.expect("four bytes")) as usize
    }

    /// A container by its index.
    #[inline]
    pub(crate) fn container(&self, idx: usize) -> Container<'a> {
        let (count, offset) = (self.count(idx), self.offset(idx));
        let bytes = &self.bytes[offset..offset + body_bytes(count)];
        let body = if count <= CONTAINER_ARRAY_MAX {
            ContainerBody::Array(bytes.as_chunks().0)
        } else {
            ContainerBody::Bits(bytes)
        };
        Container {
            base: u32::from(self.key(idx)) << 16,
            body,
        }
    }

    /// All containers, ascending.
    pub(crate) fn containers(self) -> impl Iterator<Item = Container<'a>> {
        (0..self.containers_count).map(move |idx| self.container(idx))
    }

    /// The container of the numbers with this upper half.
    #[inline]
    fn find(&self, key: u16) -> Option<Container<'a>> {
        // Most long sets have every container: then the upper half is the index.
        let guess = usize::from(key);
        let idx = if guess < self.containers_count && self.key(guess) == key {
            guess
        } else {
            partition(0, self.containers_count, |idx| self.key(idx) < key)
        };
        let is_found = idx < self.containers_count && self.key(idx) == key;
        is_found.then(|| self.container(idx))
    }

    /// True if the set has the number.
    ///
    /// Cost: a binary search among containers, unless the set has all of them; then a bit test, or
    /// a binary search in an array.
    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        let low = number as u16;
        match self
            .find((number >> 16) as u16)
            .map(|container| container.body)
        {
            None => false,
            Some(ContainerBody::Bits(bytes)) => bit_at(bytes, low),
            Some(ContainerBody::Array(array)) => has_low(array, low),
        }
    }

    /// Sets the bits of all numbers.
    pub(crate) fn union_into(self, bits: &mut Bits) {
        for container in self.containers() {
            match container.body {
                ContainerBody::Bits(bytes) => bits.or_bits(container.base, bytes),
                ContainerBody::Array(array) => bits.or_array(container.base, array),
            }
        }
    }

    /// Clears the bits of all numbers that are not in the set.
    pub(crate) fn intersect_into(self, bits: &mut Bits) {
        // No number of the set lies between its containers: those ranges are cleared.
        let mut next_base = 0;
        for container in self.containers() {
            bits.clear_range(next_base, container.base);
            match container.body {
                ContainerBody::Bits(bytes) => bits.and_bits(container.base, bytes),
                ContainerBody::Array(array) => bits.and_array(container.base, array),
            }
            next_base = container.base.saturating_add(1 << 16);
        }
        bits.clear_range(next_base, u32::MAX);
    }

    /// True if the containers follow each other without a gap and end with the bytes.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut end = HEAD_BYTES + self.containers_count * (DESCRIPTION_BYTES + OFFSET_BYTES);
        for idx in 0..self.containers_count {
            if self.offset(idx) != end {
                return false;
            }
            end += body_bytes(self.count(idx));
        }
        self.bytes.len() == end
    }
}

/// A position in a bitmap, from which containers are sought in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct ContainerCursor<'a> {
    set: RoaringView<'a>,
    /// Index of the next container.
    next_idx: usize,
}

impl<'a> ContainerCursor<'a> {
    /// A cursor before the first container.
    pub(crate) fn new(set: RoaringView<'a>) -> Self {
        Self { set, next_idx: 0 }
    }

    /// The container of the numbers with this upper half, which is not below any that was sought
    /// before. Cost: a galloping search.
    pub(crate) fn seek(&mut self, key: u16) -> Option<ContainerBody<'a>> {
        let count = self.set.containers_count();
        self.next_idx = gallop(self.next_idx, count, |idx| self.set.key(idx) < key);
        let is_there = self.next_idx < count && self.set.key(self.next_idx) == key;
        is_there.then(|| self.set.container(self.next_idx).body)
    }
}

impl Container<'_> {
    /// Calls `each` with the numbers in order until it breaks.
    #[inline]
    pub(crate) fn try_for_each(
        &self,
        each: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.body {
            ContainerBody::Array(array) => {
                let mut lows = array.iter().map(|low| u32::from(u16::from_le_bytes(*low)));
                lows.try_for_each(|low| each(self.base | low))
            }
            ContainerBody::Bits(bytes) => {
                for (idx, word) in bytes.chunks_exact(8).enumerate() {
                    let mut word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
                    while word != 0 {
                        let number = self.base + idx as u32 * 64 + word.trailing_zeros();
                        each(number)?;
                        word &= word - 1;
                    }
                }
                ControlFlow::Continue(())
            }
        }
    }
}

/// True if a container of bits has the number with this lower half.
#[inline(always)]
pub(crate) fn bit_at(bytes: &[u8], low: u16) -> bool {
    bytes[usize::from(low >> 3)] >> (low & 7) & 1 != 0
}

/// Sets the bits of the numbers of an array in a container of bits.
pub(crate) fn spread(array: &[[u8; 2]], bits: &mut [u8]) {
    for_each_low(array, |low| bits[usize::from(low >> 3)] |= 1 << (low & 7));
}

/// True if an array has the number with this lower half.
///
/// Cost: a branch-free binary search, 5 to 13 ns; a galloping search from the number that was
/// sought before took 4 to 23 ns, as its branches are mispredicted.
#[inline(always)]
pub(crate) fn has_low(array: &[[u8; 2]], low: u16) -> bool {
    let at = array.partition_point(|other| u16::from_le_bytes(*other) < low);
    array.get(at) == Some(&low.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_portable(numbers, &mut bytes);
        bytes
    }

    fn listed(view: RoaringView<'_>) -> Vec<u32> {
        let mut numbers = Vec::new();
        for container in view.containers() {
            let _ = container.try_for_each(&mut |number| {
                numbers.push(number);
                ControlFlow::Continue(())
            });
        }
        numbers
    }

    /// Bitmaps made as a program may make them: by insertion in any order, by ranges that fill
    /// containers and are cut again.
    fn bitmaps() -> impl Strategy<Value = RoaringBitmap> {
        let range = (0u32..1 << 19, 0u32..100_000, 0u32..100_000);
        let singles = prop::collection::vec(prop_oneof![0u32..1 << 18, any::<u32>()], 0..200);
        let ranges = prop::collection::vec(range, 0..4);
        (singles, ranges).prop_map(|(singles, ranges)| {
            let mut bitmap = RoaringBitmap::new();
            for (from, added, removed) in ranges {
                bitmap.insert_range(from..from + added);
                bitmap.remove_range(from / 2..from / 2 + removed);
            }
            bitmap.extend(singles);
            // Without runs: the format that the view reads.
            bitmap.remove_run_compression();
            bitmap
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn reads_what_the_crate_wrote(bitmap in bitmaps()) {
            let mut bytes = Vec::new();
            bitmap.serialize_into(&mut bytes).unwrap();
            let view = RoaringView::read(&bytes).unwrap();
            prop_assert!(view.is_contiguous());
            let numbers: Vec<u32> = bitmap.iter().collect();
            prop_assert_eq!(&listed(view), &numbers);
            for number in numbers.iter().copied().step_by(97) {
                prop_assert!(view.contains(number));
                let next = number.wrapping_add(1);
                prop_assert_eq!(view.contains(next), bitmap.contains(next));
            }
        }

        #[test]
        fn the_crate_reads_what_was_written(bitmap in bitmaps()) {
            let numbers: Vec<u32> = bitmap.iter().collect();
            let bytes = written(&numbers);
            prop_assert_eq!(bytes.len(), portable_bytes(&numbers));
            // Checked, as a program that does not trust the bytes would read them.
            let mut rest = &bytes[..];
            prop_assert_eq!(RoaringBitmap::deserialize_from(&mut rest).unwrap(), bitmap);
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn both_kinds_of_containers_are_written_at_their_bounds() {
        let body = |count: u32| {
            let bytes = written(&(0..count).collect::<Vec<_>>());
            let view = RoaringView::read(&bytes).unwrap();
            assert_eq!(listed(view).len() as u32, count);
            matches!(view.container(0).body, ContainerBody::Bits(_))
        };
        assert!(!body(1));
        assert!(!body(4096));
        assert!(body(4097));
        assert!(body(65_535));
        // A full container: the crate has runs for it, which are not written.
        assert!(body(65_536));
    }

    #[test]
    fn a_damaged_head_is_refused() {
        let bytes = written(&[1, 2, 70_000]);
        assert!(RoaringView::read(&bytes).is_some());
        for len in 0..HEAD_BYTES + 2 * (DESCRIPTION_BYTES + OFFSET_BYTES) {
            assert!(RoaringView::read(&bytes[..len]).is_none(), "{len} bytes");
        }
        for at in [0, 1, 2, 3, 6, 7] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x80;
            assert!(RoaringView::read(&damaged).is_none(), "byte {at}");
        }
        let mut with_runs = RoaringBitmap::from_sorted_iter(0..70_000).unwrap();
        with_runs.optimize();
        let mut bytes = Vec::new();
        with_runs.serialize_into(&mut bytes).unwrap();
        assert!(RoaringView::read(&bytes).is_none(), "runs are not written");
    }

    #[test]
    fn gaps_between_containers_are_found() {
        let bytes = written(&[1, 2, 70_000]);
        assert!(RoaringView::read(&bytes).unwrap().is_contiguous());
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(!RoaringView::read(&longer).unwrap().is_contiguous());
        let mut moved = bytes.clone();
        moved[HEAD_BYTES + 2 * DESCRIPTION_BYTES] += 2;
        assert!(!RoaringView::read(&moved).unwrap().is_contiguous());
    }
}
