//! A set as bits, 65,536 numbers after the other: operations on many sets are done block by block,
//! while the block is in the caches.

use super::bits::Bits;
use super::number_list::ListReader;
use super::roaring_view::{BITS_BYTES, ContainerBody, ContainerCursor, RoaringView, spread};

/// Numbers of a block: those of a container of a roaring bitmap.
pub(crate) const BLOCK_NUMBERS: u32 = 1 << 16;
/// Bytes of a block, a bit for each number.
pub(crate) const BLOCK_BYTES: usize = BITS_BYTES;

const _: () = assert!(BLOCK_BYTES * 8 == BLOCK_NUMBERS as usize);

/// Reads the blocks of a set in order.
pub(crate) struct BlockReader<'a> {
    form: BlockForm<'a>,
    /// Bits of the last block that was read, unless it is stored as bits.
    spread: Vec<u8>,
}

enum BlockForm<'a> {
    /// A list, and the first number of it that was not in a block.
    List(ListReader<'a>, Option<u32>),
    /// A bitmap; its containers are the blocks.
    Roaring(ContainerCursor<'a>),
    Bits(&'a Bits),
}

impl<'a> BlockReader<'a> {
    /// A reader of a list.
    pub(super) fn of_list(mut list: ListReader<'a>) -> Self {
        let first = list.next();
        Self::new(BlockForm::List(list, first))
    }

    /// A reader of a bitmap.
    pub(super) fn of_roaring(set: RoaringView<'a>) -> Self {
        Self::new(BlockForm::Roaring(ContainerCursor::new(set)))
    }

    /// A reader of bits.
    pub(super) fn of_bits(bits: &'a Bits) -> Self {
        Self::new(BlockForm::Bits(bits))
    }

    fn new(form: BlockForm<'a>) -> Self {
        Self {
            form,
            spread: Vec::new(),
        }
    }

    /// Bits of the block of this index, which must be above all that were read before; `None` if
    /// the set has no number in it.
    pub(crate) fn read(&mut self, block_idx: u32) -> Option<&[u8]> {
        let base = block_idx * BLOCK_NUMBERS;
        match &mut self.form {
            BlockForm::List(list, next) => {
                while next.is_some_and(|number| number < base) {
                    *next = list.next();
                }
                let is_there = next.is_some_and(|number| number - base < BLOCK_NUMBERS);
                if !is_there {
                    return None;
                }
                clear(&mut self.spread);
                while let Some(number) = next.filter(|number| number - base < BLOCK_NUMBERS) {
                    let low = number - base;
                    self.spread[low as usize / 8] |= 1 << (low % 8);
                    *next = list.next();
                }
            }
            BlockForm::Roaring(containers) => match containers.seek(block_idx as u16)? {
                ContainerBody::Bits(bytes) => return Some(bytes),
                ContainerBody::Array(array) => {
                    clear(&mut self.spread);
                    spread(array, &mut self.spread);
                }
            },
            BlockForm::Bits(bits) => {
                let words = bits
                    .words()
                    .chunks(BLOCK_BYTES / 8)
                    .nth(block_idx as usize)?;
                if words.iter().all(|&word| word == 0) {
                    return None;
                }
                clear(&mut self.spread);
                for (bytes, word) in self.spread.chunks_exact_mut(8).zip(words) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            }
        }
        Some(&self.spread)
    }
}

/// Clears the bits of a block; makes them if there are none, as sets of bits need none.
fn clear(bits: &mut Vec<u8>) {
    bits.clear();
    bits.resize(BLOCK_BYTES, 0);
}
