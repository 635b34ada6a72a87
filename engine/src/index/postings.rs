//! Sorted sets of documents (or of titles) as bytes, read in place.
//!
//! Two stored forms. A roaring bitmap is searched and intersected without being decoded. A list
//! must be decoded; it is used for short sets, and where it takes less than half the bytes of the
//! bitmap (a quarter, if the set is long).
//!
//! ```text
//! head     varint   count * 2 + form
//! form 0   list     see `number_list`
//! form 1   roaring  a bitmap in the portable format: see `roaring_view`
//! ```

use std::ops::ControlFlow;

use crate::limits::{POSTINGS_LIST_MAX, POSTINGS_SHORT_LIST_MAX};

use super::bits::Bits;
use super::block_reader::BlockReader;
use super::cursor::{Cursor, Lookup, retain_blocks};
use super::number_list::{ListReader, list_bytes, write_list};
use super::roaring_view::{ContainerBody, RoaringView, portable_bytes, write_portable};
use super::varint::{read_varint, write_varint};

/// Appends the encoded form of ascending `numbers`.
pub(crate) fn encode(numbers: &[u32], out: &mut Vec<u8>) {
    let list_cost = if numbers.len() > POSTINGS_SHORT_LIST_MAX {
        4
    } else {
        2
    };
    encode_by_cost(numbers, list_cost, out);
}

/// Appends the encoded form with the fewest bytes, of a set that is never asked for single numbers.
pub(crate) fn encode_smallest(numbers: &[u32], out: &mut Vec<u8>) {
    encode_by_cost(numbers, 1, out);
}

/// Appends the encoded form. A byte of a list counts as `list_cost` bytes of a bitmap.
fn encode_by_cost(numbers: &[u32], list_cost: usize, out: &mut Vec<u8>) {
    debug_assert!(numbers.is_sorted_by(|a, b| a < b));
    let is_long = numbers.len() > POSTINGS_LIST_MAX;
    if is_long && portable_bytes(numbers) <= list_bytes(numbers) * list_cost {
        write_varint(numbers.len() as u64 * 2 + 1, out);
        write_portable(numbers, out);
    } else {
        write_varint(numbers.len() as u64 * 2, out);
        write_list(numbers, out);
    }
}

/// A view of an encoded set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Postings<'a> {
    count: u32,
    form: PostingsForm<'a>,
}

#[derive(Debug, Clone, Copy)]
enum PostingsForm<'a> {
    List(&'a [u8]),
    Roaring(RoaringView<'a>),
    /// In memory only.
    Bits(&'a Bits),
}

impl<'a> Postings<'a> {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self {
        count: 0,
        form: PostingsForm::List(&[]),
    };

    /// The set at the start of these bytes; `None` when its head is damaged.
    pub(crate) fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let head = read_varint(&mut bytes)?;
        let count = u32::try_from(head / 2).ok()?;
        if head % 2 == 0 {
            return Some(Self {
                count,
                form: PostingsForm::List(bytes),
            });
        }
        Some(Self {
            count,
            form: PostingsForm::Roaring(RoaringView::read(bytes)?),
        })
    }

    /// The same set, read from its copy in `bits`: for a set that many searches unite with others.
    pub(super) fn with_bits(self, bits: &'a Bits) -> Self {
        Self {
            count: self.count,
            form: PostingsForm::Bits(bits),
        }
    }

    /// Numbers in the set.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Calls `each` with the numbers in order until it breaks.
    pub(crate) fn try_for_each(
        &self,
        mut each: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.form {
            PostingsForm::List(bytes) => {
                ListReader::new(bytes, self.count).try_for_each(&mut each)?;
            }
            PostingsForm::Roaring(set) => {
                for container in set.containers() {
                    container.try_for_each(&mut each)?;
                }
            }
            PostingsForm::Bits(bits) => bits.try_for_each(each)?,
        }
        ControlFlow::Continue(())
    }

    /// Calls `each` with all numbers in order.
    pub(crate) fn for_each(&self, mut each: impl FnMut(u32)) {
        let _ = self.try_for_each(|number| {
            each(number);
            ControlFlow::Continue(())
        });
    }

    /// Appends all numbers in order.
    pub(crate) fn decode(&self, out: &mut Vec<u32>) {
        out.reserve(self.count as usize);
        let PostingsForm::Roaring(set) = self.form else {
            self.for_each(|number| out.push(number));
            return;
        };
        for container in set.containers() {
            match container.body {
                ContainerBody::Array(array) => {
                    let lows = array.iter().map(|low| u32::from(u16::from_le_bytes(*low)));
                    out.extend(lows.map(|low| container.base | low));
                }
                ContainerBody::Bits(_) => {
                    let _ = container.try_for_each(&mut |number| {
                        out.push(number);
                        ControlFlow::Continue(())
                    });
                }
            }
        }
    }

    /// Sets the bits of all numbers.
    pub(crate) fn union_into(&self, bits: &mut Bits) {
        match self.form {
            PostingsForm::List(_) => self.for_each(|number| bits.insert(number)),
            PostingsForm::Roaring(set) => set.union_into(bits),
            PostingsForm::Bits(own) => bits.or(own),
        }
    }

    /// Clears the bits of all numbers that are not in the set.
    pub(crate) fn intersect_into(&self, bits: &mut Bits) {
        match self.form {
            PostingsForm::List(_) => {
                let mut kept = Vec::new();
                self.decode(&mut kept);
                kept.retain(|&number| bits.contains(number));
                bits.clear();
                kept.iter().for_each(|&number| bits.insert(number));
            }
            PostingsForm::Roaring(set) => set.intersect_into(bits),
            PostingsForm::Bits(own) => bits.and(own),
        }
    }

    /// Keeps the numbers of the ascending `list` that are in the set.
    pub(crate) fn retain(&self, list: &mut Vec<u32>) {
        let mut cursor = self.cursor(list.len());
        retain_blocks(list, |block| cursor.seek(block));
    }

    /// A cursor before its first number. `seeks` is about how many numbers it will seek: a sparse
    /// container in which many are sought is prepared for that first.
    pub(crate) fn cursor(&self, seeks: usize) -> Cursor<'a> {
        match self.form {
            PostingsForm::List(bytes) => Cursor::of_list(ListReader::new(bytes, self.count)),
            PostingsForm::Roaring(set) => Cursor::of_roaring(set, seeks),
            PostingsForm::Bits(bits) => Cursor::of_bits(bits),
        }
    }

    /// The set as bits, one block after the other.
    pub(super) fn block_reader(&self) -> BlockReader<'a> {
        match self.form {
            PostingsForm::List(bytes) => BlockReader::of_list(ListReader::new(bytes, self.count)),
            PostingsForm::Roaring(set) => BlockReader::of_roaring(set),
            PostingsForm::Bits(bits) => BlockReader::of_bits(bits),
        }
    }

    /// The set for look-ups in any order.
    pub(crate) fn lookup(&self) -> Lookup<'a> {
        match self.form {
            PostingsForm::List(_) => {
                let mut numbers = Vec::new();
                self.decode(&mut numbers);
                Lookup::List(numbers)
            }
            PostingsForm::Roaring(set) => Lookup::Roaring(set),
            PostingsForm::Bits(bits) => Lookup::Bits(bits),
        }
    }

    /// True if the numbers ascend, are below `limit`, and their count is that of the head.
    pub(crate) fn is_sound(&self, limit: u32) -> bool {
        if let PostingsForm::Roaring(set) = self.form
            && !set.is_contiguous()
        {
            return false;
        }
        let (mut found, mut last) = (0, None);
        let order = self.try_for_each(|number| {
            if last >= Some(number) || number >= limit {
                return ControlFlow::Break(());
            }
            found += 1;
            last = Some(number);
            ControlFlow::Continue(())
        });
        order.is_continue() && found == self.count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    use super::super::block_reader::BLOCK_NUMBERS;
    use super::*;

    const LIMIT: u32 = 300_000;

    /// Ascending numbers, dense in places: runs of several lengths and steps.
    fn numbers() -> impl Strategy<Value = Vec<u32>> {
        let run = (0..LIMIT, 1u32..3000, 1u32..40);
        prop::collection::vec(run, 0..12).prop_map(|runs| {
            let mut numbers: Vec<u32> = runs
                .into_iter()
                .flat_map(|(start, count, step)| (0..count).map(move |idx| start + idx * step))
                .filter(|&number| number < LIMIT)
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        })
    }

    fn encoded(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(numbers, &mut bytes);
        bytes
    }

    fn bits_of(numbers: &[u32]) -> Bits {
        let mut bits = Bits::new(LIMIT);
        numbers.iter().for_each(|&number| bits.insert(number));
        bits
    }

    fn listed(bits: &Bits) -> Vec<u32> {
        let mut numbers = Vec::new();
        bits.decode(&mut numbers);
        numbers
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_roaring_library_reads_a_long_set(numbers in numbers()) {
            let bytes = encoded(&numbers);
            let mut rest = &bytes[..];
            if read_varint(&mut rest).unwrap() % 2 == 1 {
                let bitmap = RoaringBitmap::deserialize_from(rest).unwrap();
                prop_assert_eq!(bitmap.iter().collect::<Vec<_>>(), numbers);
            }
        }

        #[test]
        fn gives_back_what_was_encoded(numbers in numbers()) {
            let bytes = encoded(&numbers);
            let set = Postings::read(&bytes).unwrap();
            let mut decoded = Vec::new();
            set.decode(&mut decoded);
            prop_assert_eq!(&decoded, &numbers);
            prop_assert_eq!(set.count() as usize, numbers.len());
            prop_assert!(set.is_sound(LIMIT));
            prop_assert!(numbers.is_empty() || !set.is_sound(numbers[numbers.len() - 1]));
            let mut bits = Bits::new(LIMIT);
            set.union_into(&mut bits);
            prop_assert_eq!(bits.count() as usize, numbers.len());
            prop_assert_eq!(listed(&bits), numbers);
        }

        #[test]
        fn intersects_like_sorted_lists(numbers in numbers(), others in numbers()) {
            let bytes = encoded(&numbers);
            let set = Postings::read(&bytes).unwrap();
            let has = |other: &u32| numbers.binary_search(other).is_ok();
            let expected: Vec<u32> = others.iter().copied().filter(has).collect();
            let mut list = others.clone();
            set.retain(&mut list);
            prop_assert_eq!(&list, &expected);
            let mut bits = bits_of(&others);
            set.intersect_into(&mut bits);
            prop_assert_eq!(&listed(&bits), &expected);
            let lookup = set.lookup();
            let found = others.iter().rev().copied().filter(|&other| lookup.contains(other));
            prop_assert!(found.eq(expected.iter().rev().copied()));
            // Few seeks search arrays, many spread them.
            for seeks in [0, others.len(), usize::MAX / 8] {
                let mut cursor = set.cursor(seeks);
                let one = |&other: &u32| cursor.seek(&[other]) == 1;
                let sought = others.iter().copied().filter(one);
                prop_assert_eq!(&sought.collect::<Vec<_>>(), &expected);
                let (mut cursor, mut sought) = (set.cursor(seeks), others.clone());
                retain_blocks(&mut sought, |block| cursor.seek(block));
                prop_assert_eq!(&sought, &expected);
            }
        }

        #[test]
        fn a_set_with_bits_answers_like_the_stored_one(numbers in numbers(), others in numbers()) {
            let bytes = encoded(&numbers);
            let stored = Postings::read(&bytes).unwrap();
            let copy = bits_of(&numbers);
            let set = stored.with_bits(&copy);
            let mut decoded = Vec::new();
            set.decode(&mut decoded);
            prop_assert_eq!(&decoded, &numbers);
            let in_both = |set: &Postings<'_>| {
                let mut list = others.clone();
                let (mut cut, mut united) = (bits_of(&others), bits_of(&others));
                set.retain(&mut list);
                set.intersect_into(&mut cut);
                set.union_into(&mut united);
                let lookup = set.lookup();
                let found = others.iter().filter(|&&other| lookup.contains(other)).count();
                (list, listed(&cut), listed(&united), found)
            };
            prop_assert_eq!(in_both(&set), in_both(&stored));
            let (mut reader, mut other) = (set.block_reader(), stored.block_reader());
            for block_idx in 0..=LIMIT / BLOCK_NUMBERS {
                let block = reader.read(block_idx).map(<[u8]>::to_vec);
                prop_assert_eq!(block, other.read(block_idx).map(<[u8]>::to_vec));
            }
        }

        #[test]
        fn iteration_ends_at_a_break(numbers in numbers(), count in 1usize..50) {
            let bytes = encoded(&numbers);
            let mut seen = Vec::new();
            let _ = Postings::read(&bytes).unwrap().try_for_each(|number| {
                seen.push(number);
                if seen.len() < count {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            prop_assert_eq!(&seen[..], &numbers[..count.min(numbers.len())]);
        }
    }

    #[test]
    fn takes_the_cheaper_form() {
        let form = |numbers: &[u32]| encoded(numbers)[0] & 1;
        assert_eq!(form(&[1, 2, 3]), 0);
        assert_eq!(form(&(0..5000).collect::<Vec<_>>()), 1);
        let scattered: Vec<u32> = (0..200).map(|idx| idx * 65_536).collect();
        assert_eq!(form(&scattered), 0);
    }
}
