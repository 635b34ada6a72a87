//! Packed numbers of one width: the columns of a segment.
//!
//! ```text
//! offset  bytes  field
//! 0       8      count of numbers, little-endian
//! 8       1      bits of each, 0 to 56
//! 9       7      zero
//! 16      …      the numbers, lowest bit first, then 8 zero bytes, so that reading 8 bytes at any
//!                number stays inside
//! ```

use bytes::{Buf, Bytes};

use crate::limits::PACKED_BITS_MAX;

const HEAD_BYTES: usize = 16;
const TAIL_BYTES: usize = 8;

/// A view of packed numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    data: &'a [u8],
    shape: PackedShape,
}

/// Shape of packed numbers, from their head.
#[derive(Debug, Clone, Copy)]
struct PackedShape {
    /// Bits of each.
    width: usize,
    mask: u64,
    len: usize,
}

impl<'a> Packed<'a> {
    /// View of packed numbers, or `None` when head and length do not agree.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES)?;
        let len = u64::from_le_bytes(head[..8].try_into().ok()?);
        let len = usize::try_from(len).ok()?;
        let width = u32::from(head[8]);
        let is_width_ok = width <= PACKED_BITS_MAX && head[9..] == [0; 7];
        let data = &bytes[HEAD_BYTES..];
        let data_bytes = len.checked_mul(width as usize)?.div_ceil(8) + TAIL_BYTES;
        if !is_width_ok || data.len() != data_bytes {
            return None;
        }
        let shape = PackedShape {
            width: width as usize,
            mask: (1u64 << width) - 1,
            len,
        };
        Some(Self { data, shape })
    }

    /// Count of numbers.
    pub(crate) fn len(&self) -> usize {
        self.shape.len
    }

    /// The number at `idx`. Cost: one unaligned read, a shift and a mask. Panics only far beyond
    /// the end; callers stay below `len`.
    #[inline(always)]
    pub(crate) fn get(&self, idx: usize) -> u64 {
        // Eight bytes hold any number of 56 bits that begins within the first of them; the eight
        // zero bytes at the end make this true of the last number.
        let bit = idx * self.shape.width;
        let at = bit >> 3;
        let bytes = self.data[at..at + 8].try_into().expect("a slice of eight");
        (u64::from_le_bytes(bytes) >> (bit & 7)) & self.shape.mask
    }

    /// The number at `idx` as an index or document.
    #[inline(always)]
    pub(crate) fn get_u32(&self, idx: usize) -> u32 {
        self.get(idx) as u32
    }

    /// The range between the numbers at `idx` and `idx + 1`, of a column of offsets.
    #[inline(always)]
    pub(crate) fn span(&self, idx: usize) -> std::ops::Range<usize> {
        self.get(idx) as usize..self.get(idx + 1) as usize
    }
}

/// Packed numbers with a handle of their bytes and a decoded head.
#[derive(Debug)]
pub(crate) struct SharedPacked {
    data: Bytes,
    shape: PackedShape,
}

impl SharedPacked {
    /// The packed numbers in these bytes, or `None` when head and length do not agree.
    pub(crate) fn read(mut bytes: Bytes) -> Option<Self> {
        let shape = Packed::read(&bytes)?.shape;
        bytes.advance(HEAD_BYTES);
        Some(Self { data: bytes, shape })
    }

    /// A view of them. Cost: their bytes are not touched.
    #[inline(always)]
    pub(crate) fn packed(&self) -> Packed<'_> {
        Packed {
            data: &self.data,
            shape: self.shape,
        }
    }
}

/// Packer for numbers up to `max`.
pub(crate) struct PackedBuilder {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet: they do not fill a word of 64.
    pending: u128,
    pending_bits: u32,
    width: u32,
    len: u64,
}

impl PackedBuilder {
    /// A builder for about `capacity` numbers up to `max`, which is below 2^56.
    pub(crate) fn new(max: u64, capacity: usize) -> Self {
        let width = u64::BITS - max.leading_zeros();
        assert!(width <= PACKED_BITS_MAX, "packed numbers are below 2^56");
        let bytes_count = HEAD_BYTES + (capacity * width as usize).div_ceil(8) + TAIL_BYTES;
        let mut bytes = Vec::with_capacity(bytes_count);
        bytes.resize(HEAD_BYTES, 0);
        Self {
            bytes,
            pending: 0,
            pending_bits: 0,
            width,
            len: 0,
        }
    }

    /// Appends a number.
    pub(crate) fn push(&mut self, number: u64) {
        debug_assert!(self.width == 0 && number == 0 || number >> self.width == 0);
        self.pending |= u128::from(number) << self.pending_bits;
        self.pending_bits += self.width;
        if self.pending_bits >= 64 {
            self.bytes
                .extend_from_slice(&(self.pending as u64).to_le_bytes());
            self.pending >>= 64;
            self.pending_bits -= 64;
        }
        self.len += 1;
    }

    /// The finished bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let rest_bytes = self.pending_bits.div_ceil(8) as usize;
        self.bytes
            .extend_from_slice(&self.pending.to_le_bytes()[..rest_bytes]);
        self.bytes.extend_from_slice(&[0; TAIL_BYTES]);
        self.bytes[..8].copy_from_slice(&self.len.to_le_bytes());
        self.bytes[8] = u8::try_from(self.width).expect("a width is at most 56");
        self.bytes
    }
}

/// Packs all of `numbers`.
pub(crate) fn pack(numbers: impl ExactSizeIterator<Item = u64> + Clone) -> Vec<u8> {
    let max = numbers.clone().max().unwrap_or(0);
    let mut builder = PackedBuilder::new(max, numbers.len());
    numbers.for_each(|number| builder.push(number));
    builder.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn gives_back_what_was_packed(
            width in 0u32..=56, seeds in prop::collection::vec(any::<u64>(), 0..200)
        ) {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let numbers: Vec<u64> = seeds.iter().map(|seed| seed & mask).collect();
            let bytes = pack(numbers.iter().copied());
            let packed = Packed::read(&bytes).unwrap();
            prop_assert_eq!(packed.len(), numbers.len());
            for (idx, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(packed.get(idx), number);
            }
        }

        #[test]
        fn refuses_any_other_length(cut in 1usize..20) {
            let bytes = pack([1u64, 2, 3, 1000].into_iter());
            prop_assert!(Packed::read(&bytes[..bytes.len().saturating_sub(cut)]).is_none());
        }
    }
}
