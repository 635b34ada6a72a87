//! Look-ups of numbers in a set: ascending ones by a cursor, any by a lookup.

use std::borrow::Cow;

use super::bisect::gallop;
use super::bits::Bits;
use super::number_list::ListReader;
use super::roaring_view::{
    BITS_BYTES, ContainerBody, ContainerCursor, RoaringView, bit_at, has_low, spread,
};

/// Numbers that are sought together: a bit each in a word.
pub(crate) const BLOCK: usize = u64::BITS as usize;

/// Cost of a search in an array, where setting a bit costs 1.
const SEARCH_COST: usize = 16;
/// Cost of clearing the bits of a container, where setting one costs 1.
const CLEARING_COST: usize = 128;

/// A position in a set, from which ascending numbers are sought.
///
/// Example: a list of 900 documents is reduced by the word "bad". The documents of "bad" are in two
/// containers. The first 500 are sought in one of them and the others in the next: each container
/// is found once, and an array in which many are sought becomes bits first.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    form: CursorForm<'a>,
}

#[derive(Debug, Clone)]
enum CursorForm<'a> {
    /// A list, and the last number that was read from it: -1 before the first, more than all
    /// numbers at the end.
    List(ListReader<'a>, i64),
    /// Numbers, and the index of the first one that may still be sought.
    Numbers(Vec<u32>, usize),
    Roaring(RoaringCursor<'a>),
    Bits(&'a Bits),
}

#[derive(Debug, Clone)]
struct RoaringCursor<'a> {
    containers: ContainerCursor<'a>,
    /// Numbers that will be sought in each container, estimated.
    seeks_estimate: usize,
    /// Upper half of the last number that was sought, in its place; `None` before the first.
    base: Option<u32>,
    /// The numbers that have it.
    body: CursorBody<'a>,
}

/// Lower halves of the numbers of the current container.
#[derive(Debug, Clone)]
enum CursorBody<'a> {
    /// Little-endian, ascending; empty if the set has no such container.
    Array(&'a [[u8; 2]]),
    /// A container of bits, or an array that was spread because many numbers are sought in it.
    Bits(Cow<'a, [u8]>),
}

impl<'a> Cursor<'a> {
    /// A cursor over ascending numbers.
    pub(crate) fn of_numbers(numbers: Vec<u32>) -> Self {
        Self {
            form: CursorForm::Numbers(numbers, 0),
        }
    }

    /// A cursor over a list that is read as far as numbers are sought in it.
    pub(super) fn of_list(list: ListReader<'a>) -> Self {
        Self {
            form: CursorForm::List(list, -1),
        }
    }

    /// A cursor over bits.
    pub(super) fn of_bits(bits: &'a Bits) -> Self {
        Self {
            form: CursorForm::Bits(bits),
        }
    }

    /// A cursor over a bitmap in which about `seeks` numbers will be sought.
    pub(super) fn of_roaring(set: RoaringView<'a>, seeks: usize) -> Self {
        Self {
            form: CursorForm::Roaring(RoaringCursor {
                seeks_estimate: seeks / set.containers_count().max(1),
                containers: ContainerCursor::new(set),
                base: None,
                body: CursorBody::Array(&[]),
            }),
        }
    }

    /// Seeks up to [`BLOCK`] ascending numbers: returns a bit for each, set if the set has it. None
    /// may be below any number that was sought before.
    ///
    /// Cost: a bit test each in a container of bits, else a binary search; no branch depends on a
    /// number. The container is found once for all.
    #[inline]
    pub(crate) fn seek(&mut self, numbers: &[u32]) -> u64 {
        match &mut self.form {
            CursorForm::List(list, last) => {
                // In locals, so that the loop keeps them in registers.
                let (mut reader, mut read) = (list.clone(), *last);
                let found = mask(numbers, |number| {
                    while read < i64::from(number) {
                        read = reader.next().map_or(i64::MAX, i64::from);
                    }
                    read == i64::from(number)
                });
                (*list, *last) = (reader, read);
                found
            }
            CursorForm::Numbers(list, at) => mask(numbers, |number| {
                *at = gallop(*at, list.len(), |at| list[at] < number);
                list.get(*at) == Some(&number)
            }),
            CursorForm::Roaring(cursor) => cursor.seek(numbers),
            CursorForm::Bits(bits) => mask(numbers, |number| bits.contains(number)),
        }
    }
}

/// Keeps the numbers selected by the bits of `matching`, in order; it is called with up to
/// [`BLOCK`] at a time.
#[inline]
pub(crate) fn retain_blocks(numbers: &mut Vec<u32>, mut matching: impl FnMut(&[u32]) -> u64) {
    let mut kept = 0;
    for from in (0..numbers.len()).step_by(BLOCK) {
        let to = numbers.len().min(from + BLOCK);
        // A bit for each number: the loop runs once for each kept one, not for each of the block.
        let mut rest = matching(&numbers[from..to]);
        while rest != 0 {
            numbers[kept] = numbers[from + rest.trailing_zeros() as usize];
            kept += 1;
            rest &= rest - 1;
        }
    }
    numbers.truncate(kept);
}

/// A set for look-ups in any order.
#[derive(Debug, Clone)]
pub(crate) enum Lookup<'a> {
    /// A decoded list.
    List(Vec<u32>),
    /// An encoded bitmap.
    Roaring(RoaringView<'a>),
    /// Bits in memory.
    Bits(&'a Bits),
}

impl Lookup<'_> {
    /// True if the set has the number. Cost: that of [`RoaringView::contains`], or a binary search.
    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        match self {
            Self::List(numbers) => numbers.binary_search(&number).is_ok(),
            Self::Roaring(set) => set.contains(number),
            Self::Bits(bits) => bits.contains(number),
        }
    }
}

/// A bit for each number for which `is_found` is true.
#[inline(always)]
fn mask(numbers: &[u32], mut is_found: impl FnMut(u32) -> bool) -> u64 {
    let mut bits = 0;
    for (idx, &number) in numbers.iter().enumerate() {
        bits |= u64::from(is_found(number)) << idx;
    }
    bits
}

impl<'a> RoaringCursor<'a> {
    #[inline]
    fn seek(&mut self, numbers: &[u32]) -> u64 {
        let (mut from, mut found) = (0, 0);
        while from < numbers.len() {
            let (base, rest) = (numbers[from] & !0xffff, &numbers[from..]);
            // Usually one container has the whole block.
            let count = if rest[rest.len() - 1] & !0xffff == base {
                rest.len()
            } else {
                rest.partition_point(|&number| number & !0xffff == base)
            };
            if self.base != Some(base) {
                self.enter(base);
            }
            found |= self.body.seek(&rest[..count]) << from;
            from += count;
        }
        found
    }

    /// Makes the container of an upper half the current one.
    fn enter(&mut self, base: u32) {
        self.base = Some(base);
        self.body = match self.containers.seek((base >> 16) as u16) {
            None => CursorBody::Array(&[]),
            Some(ContainerBody::Bits(bits)) => CursorBody::Bits(Cow::Borrowed(bits)),
            Some(ContainerBody::Array(array)) => self.array_body(array),
        };
    }

    fn array_body(&self, array: &'a [[u8; 2]]) -> CursorBody<'a> {
        if array.len() + CLEARING_COST < self.seeks_estimate * SEARCH_COST {
            // Setting the bits once is cheaper than a search for each number.
            let mut bits = vec![0; BITS_BYTES];
            spread(array, &mut bits);
            CursorBody::Bits(Cow::Owned(bits))
        } else {
            CursorBody::Array(array)
        }
    }
}

impl CursorBody<'_> {
    #[inline]
    fn seek(&self, numbers: &[u32]) -> u64 {
        match self {
            Self::Bits(bits) => {
                let bits = &**bits;
                mask(numbers, |number| bit_at(bits, number as u16))
            }
            Self::Array(array) => mask(numbers, |number| has_low(array, number as u16)),
        }
    }
}
