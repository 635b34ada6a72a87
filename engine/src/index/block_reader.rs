//! A set as bits, 65,536 numbers after the other: what many sets have in common is computed where
//! all of them are in the caches.

use super::bits::set_lows;
use super::number_list::ListReader;
use super::roaring_view::{ContainerBody, RoaringView};

/// Numbers of a block: those of a container of a roaring bitmap.
pub(crate) const BLOCK_NUMBERS: u32 = 1 << 16;

/// Reads the blocks of a set in order.
pub(crate) struct BlockReader<'a> {
    form: BlockForm<'a>,
    /// The last block that was read. Not [`super::bits::Bits`], of which some are kept for the next
    /// search: these are too short for it.
    block: Vec<u64>,
}

enum BlockForm<'a> {
    /// A list, and the first number of it that was not in a block.
    List(ListReader<'a>, Option<u32>),
    /// A bitmap, and the index of its first container that was not passed.
    Roaring(RoaringView<'a>, usize),
}

impl<'a> BlockReader<'a> {
    /// A reader of a list.
    pub(super) fn of_list(mut list: ListReader<'a>) -> Self {
        let first = list.next();
        Self::new(BlockForm::List(list, first))
    }

    /// A reader of a bitmap.
    pub(super) fn of_roaring(set: RoaringView<'a>) -> Self {
        Self::new(BlockForm::Roaring(set, 0))
    }

    fn new(form: BlockForm<'a>) -> Self {
        Self {
            form,
            block: vec![0; BLOCK_NUMBERS as usize / 64],
        }
    }

    /// Words of the block of this number, which is above all that were read before; `None` if the
    /// set has no number of it.
    pub(crate) fn read(&mut self, block_idx: u32) -> Option<&[u64]> {
        let base = block_idx * BLOCK_NUMBERS;
        let block = &mut self.block;
        match &mut self.form {
            BlockForm::List(list, next) => {
                let mut number = (*next).filter(|number| number - base < BLOCK_NUMBERS)?;
                block.fill(0);
                loop {
                    let at = number - base;
                    block[at as usize / 64] |= 1 << (at % 64);
                    *next = list.next();
                    match *next {
                        Some(later) if later - base < BLOCK_NUMBERS => number = later,
                        _ => break,
                    }
                }
            }
            BlockForm::Roaring(set, next_idx) => {
                let is_there = *next_idx < set.containers_count();
                if !is_there || u32::from(set.key(*next_idx)) != block_idx {
                    return None;
                }
                match set.container(*next_idx).body {
                    ContainerBody::Bits(bytes) => {
                        for (word, bytes) in block.iter_mut().zip(bytes.as_chunks().0) {
                            *word = u64::from_le_bytes(*bytes);
                        }
                    }
                    ContainerBody::Array(array) => {
                        block.fill(0);
                        set_lows(block, array);
                    }
                }
                *next_idx += 1;
            }
        }
        Some(block)
    }
}
