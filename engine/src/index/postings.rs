//! Sorted sets of documents (or of titles) as bytes, read in place.
//!
//! Two forms. Chunks are searched and intersected without being decoded. A list must be decoded; it
//! is used for short sets, and where it takes less than half the bytes of chunks (a quarter, if the
//! set is long).
//!
//! ```text
//! head     varint   count * 2 + form
//! form 0   list     a varint for each: its distance from the one before (the first: from -1),
//!                   less 1
//! form 1   chunks   2  count of chunks
//!                   8  for each: 2 upper half of its numbers, 2 count - 1, 4 offset after the
//!                      table
//!                   …  each chunk: up to 2,048 numbers as their lower halves of 2 bytes, else
//!                      8,192 bytes with a bit for each
//! ```
//! Chunks follow the layout of roaring bitmaps.

use std::ops::ControlFlow;

use crate::limits::{CHUNK_ARRAY_MAX, POSTINGS_LIST_MAX, POSTINGS_SHORT_LIST_MAX};

use super::bits::Bits;

const CHUNK_BITS_BYTES: usize = 8192;
const CHUNK_ENTRY_BYTES: usize = 8;
/// Cost of a search in an array, where setting a bit costs 1.
const SEARCH_COST: usize = 8;
/// Cost of clearing the bits of a chunk, where setting one costs 1.
const CLEARING_COST: usize = 128;

/// Appends the encoded form of ascending `numbers`.
pub(crate) fn encode(numbers: &[u32], out: &mut Vec<u8>) {
    debug_assert!(numbers.is_sorted_by(|a, b| a < b));
    let list_cost = if numbers.len() > POSTINGS_SHORT_LIST_MAX {
        4
    } else {
        2
    };
    if numbers.len() > POSTINGS_LIST_MAX && chunks_bytes(numbers) <= list_bytes(numbers) * list_cost
    {
        write_varint(numbers.len() as u64 * 2 + 1, out);
        encode_chunks(numbers, out);
    } else {
        write_varint(numbers.len() as u64 * 2, out);
        let mut next = 0;
        for &number in numbers {
            write_varint(u64::from(number - next), out);
            next = number + 1;
        }
    }
}

fn list_bytes(numbers: &[u32]) -> usize {
    let mut next = 0;
    let mut bytes_count = 0;
    for &number in numbers {
        bytes_count += match number - next {
            0..0x80 => 1,
            0x80..0x4000 => 2,
            0x4000..0x20_0000 => 3,
            _ => 4,
        };
        next = number + 1;
    }
    bytes_count
}

fn chunk_bytes(count: usize) -> usize {
    if count <= CHUNK_ARRAY_MAX {
        count * 2
    } else {
        CHUNK_BITS_BYTES
    }
}

fn chunks_bytes(numbers: &[u32]) -> usize {
    let chunks = numbers.chunk_by(|a, b| a >> 16 == b >> 16);
    chunks
        .map(|chunk| CHUNK_ENTRY_BYTES + chunk_bytes(chunk.len()))
        .sum()
}

fn encode_chunks(numbers: &[u32], out: &mut Vec<u8>) {
    let chunks = || numbers.chunk_by(|a, b| a >> 16 == b >> 16);
    let chunks_count = u16::try_from(chunks().count()).expect("32 bits have 2^16 upper halves");
    out.extend_from_slice(&chunks_count.to_le_bytes());
    let mut offset = 0;
    for chunk in chunks() {
        out.extend_from_slice(&((chunk[0] >> 16) as u16).to_le_bytes());
        out.extend_from_slice(&((chunk.len() - 1) as u16).to_le_bytes());
        out.extend_from_slice(&(offset as u32).to_le_bytes());
        offset += chunk_bytes(chunk.len());
    }
    for chunk in chunks() {
        if chunk.len() <= CHUNK_ARRAY_MAX {
            for &number in chunk {
                out.extend_from_slice(&(number as u16).to_le_bytes());
            }
        } else {
            let start = out.len();
            out.resize(start + CHUNK_BITS_BYTES, 0);
            for &number in chunk {
                let low = usize::from(number as u16);
                out[start + low / 8] |= 1 << (low % 8);
            }
        }
    }
}

/// Appends a number, 7 bits a byte, lowest first.
pub(crate) fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number and leaves the rest; `None` when the bytes end in it.
#[inline]
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (idx, &byte) in bytes.iter().enumerate().take(9) {
        number |= u64::from(byte & 0x7f) << (7 * idx);
        if byte < 0x80 {
            *bytes = &bytes[idx + 1..];
            return Some(number);
        }
    }
    None
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
    Chunks { table: &'a [u8], data: &'a [u8] },
}

/// A chunk: numbers with one upper half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostingsChunk<'a> {
    base: u32,
    body: ChunkBody<'a>,
}

#[derive(Debug, Clone, Copy)]
enum ChunkBody<'a> {
    Array(&'a [u8]),
    Bits(&'a [u8]),
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
        let chunks_count = usize::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
        let table = bytes.get(2..2 + chunks_count * CHUNK_ENTRY_BYTES)?;
        let data = &bytes[2 + table.len()..];
        Some(Self {
            count,
            form: PostingsForm::Chunks { table, data },
        })
    }

    /// Numbers in the set.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    fn chunk(table: &'a [u8], data: &'a [u8], idx: usize) -> PostingsChunk<'a> {
        let entry = &table[idx * CHUNK_ENTRY_BYTES..(idx + 1) * CHUNK_ENTRY_BYTES];
        let upper = u16::from_le_bytes([entry[0], entry[1]]);
        let count = usize::from(u16::from_le_bytes([entry[2], entry[3]])) + 1;
        let offset = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]) as usize;
        let bytes = &data[offset..offset + chunk_bytes(count)];
        let body = if count <= CHUNK_ARRAY_MAX {
            ChunkBody::Array(bytes)
        } else {
            ChunkBody::Bits(bytes)
        };
        PostingsChunk {
            base: u32::from(upper) << 16,
            body,
        }
    }

    fn chunks(table: &'a [u8], data: &'a [u8]) -> impl Iterator<Item = PostingsChunk<'a>> {
        (0..table.len() / CHUNK_ENTRY_BYTES).map(move |idx| Self::chunk(table, data, idx))
    }

    /// Calls `each` with the numbers in order until it breaks.
    pub(crate) fn try_for_each(
        &self,
        mut each: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.form {
            PostingsForm::List(mut bytes) => {
                let mut next = 0;
                for _ in 0..self.count {
                    // Checksums were checked before, so this ends early only in a set that was
                    // written wrong: `is_sound` finds it.
                    let Some(distance) = read_varint(&mut bytes) else {
                        break;
                    };
                    let number = next + distance as u32;
                    next = number + 1;
                    each(number)?;
                }
            }
            PostingsForm::Chunks { table, data } => {
                for chunk in Self::chunks(table, data) {
                    chunk.try_for_each(&mut each)?;
                }
            }
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
        let PostingsForm::Chunks { table, data } = self.form else {
            self.for_each(|number| out.push(number));
            return;
        };
        for chunk in Self::chunks(table, data) {
            match chunk.body {
                ChunkBody::Array(bytes) => {
                    let lows = bytes.chunks_exact(2);
                    let low = |low: &[u8]| u32::from(u16::from_le_bytes([low[0], low[1]]));
                    out.extend(lows.map(|bytes| chunk.base | low(bytes)));
                }
                ChunkBody::Bits(_) => {
                    let _ = chunk.try_for_each(&mut |number| {
                        out.push(number);
                        ControlFlow::Continue(())
                    });
                }
            }
        }
    }

    /// Sets the bits of all numbers.
    pub(crate) fn set_bits(&self, bits: &mut Bits) {
        let PostingsForm::Chunks { table, data } = self.form else {
            self.for_each(|number| bits.insert(number));
            return;
        };
        for chunk in Self::chunks(table, data) {
            match chunk.body {
                ChunkBody::Bits(bytes) => bits.or_chunk(chunk.base, bytes),
                ChunkBody::Array(bytes) => bits.or_array(chunk.base, bytes),
            }
        }
    }

    /// Clears the bits of all numbers that are not in the set.
    pub(crate) fn keep_bits(&self, bits: &mut Bits) {
        let PostingsForm::Chunks { table, data } = self.form else {
            let mut kept = Vec::new();
            self.decode(&mut kept);
            kept.retain(|&number| bits.contains(number));
            bits.clear();
            kept.iter().for_each(|&number| bits.insert(number));
            return;
        };
        // No number of the set lies between its chunks: those ranges are cleared.
        let mut next_base = 0;
        for chunk in Self::chunks(table, data) {
            bits.clear_range(next_base, chunk.base);
            match chunk.body {
                ChunkBody::Bits(bytes) => bits.and_chunk(chunk.base, bytes),
                ChunkBody::Array(bytes) => bits.and_array(chunk.base, bytes),
            }
            next_base = chunk.base.saturating_add(1 << 16);
        }
        bits.clear_range(next_base, u32::MAX);
    }

    /// Keeps the numbers of the ascending `list` that are in the set.
    ///
    /// Cost: a bit test per number in dense chunks, a galloping search in sparse ones.
    pub(crate) fn retain(&self, list: &mut Vec<u32>) {
        let PostingsForm::Chunks { table, data } = self.form else {
            return self.retain_by_list(list);
        };
        // Both sides ascend: each chunk is paired with the run of the list that has its upper half.
        let (mut read, mut kept) = (0, 0);
        let chunks_count = table.len() / CHUNK_ENTRY_BYTES;
        let mut chunk_idx = 0;
        while read < list.len() && chunk_idx < chunks_count {
            let chunk = Self::chunk(table, data, chunk_idx);
            let upper = list[read] & !0xffff;
            if chunk.base < upper {
                chunk_idx += 1;
                continue;
            }
            let rest = &list[read..];
            let end = read + rest.partition_point(|&number| number & !0xffff <= upper);
            if chunk.base == upper {
                kept = chunk.retain(list, read..end, kept);
            }
            read = end;
        }
        list.truncate(kept);
    }

    fn retain_by_list(&self, list: &mut Vec<u32>) {
        let (mut read, mut kept) = (0, 0);
        let _ = self.try_for_each(|number| {
            while read < list.len() && list[read] < number {
                read += 1;
            }
            if read < list.len() && list[read] == number {
                list[kept] = number;
                kept += 1;
                read += 1;
            }
            if read < list.len() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        list.truncate(kept);
    }

    /// A form for looking up single numbers in any order.
    pub(crate) fn probe(&self) -> Probe<'a> {
        match self.form {
            PostingsForm::List(_) => {
                let mut numbers = Vec::new();
                self.decode(&mut numbers);
                Probe::List(numbers)
            }
            PostingsForm::Chunks { table, data } => Probe::Chunks { table, data },
        }
    }

    /// A form for looking up ascending numbers.
    pub(crate) fn seeker(&self) -> Seeker<'a> {
        match self.form {
            PostingsForm::List(_) => {
                let mut numbers = Vec::new();
                self.decode(&mut numbers);
                Seeker::of_list(numbers)
            }
            PostingsForm::Chunks { table, data } => Seeker::Chunks {
                table,
                data,
                next_idx: 0,
                chunk: None,
                at: 0,
            },
        }
    }

    /// True if the numbers ascend, are below `limit`, and their count is that of the head.
    pub(crate) fn is_sound(&self, limit: u32) -> bool {
        if let PostingsForm::Chunks { table, data } = self.form {
            let mut end = 0;
            for idx in 0..table.len() / CHUNK_ENTRY_BYTES {
                let entry = &table[idx * CHUNK_ENTRY_BYTES..];
                let count = usize::from(u16::from_le_bytes([entry[2], entry[3]])) + 1;
                let offset = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
                if offset as usize != end {
                    return false;
                }
                end += chunk_bytes(count);
            }
            if data.len() < end {
                return false;
            }
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

impl PostingsChunk<'_> {
    fn try_for_each(&self, each: &mut impl FnMut(u32) -> ControlFlow<()>) -> ControlFlow<()> {
        match self.body {
            ChunkBody::Array(bytes) => bytes.chunks_exact(2).try_for_each(|low| {
                each(self.base | u32::from(u16::from_le_bytes([low[0], low[1]])))
            }),
            ChunkBody::Bits(bytes) => {
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

    /// Moves the numbers of `list[range]` that are in the chunk to `list[kept..]`. Returns the end
    /// of what is kept.
    fn retain(&self, list: &mut [u32], range: std::ops::Range<usize>, mut kept: usize) -> usize {
        match self.body {
            ChunkBody::Bits(bytes) => {
                for idx in range {
                    let number = list[idx];
                    list[kept] = number;
                    kept += usize::from(bit_at(bytes, number as u16));
                }
            }
            // A long run of the list: setting the bits of the array once is cheaper than a search
            // for each number.
            ChunkBody::Array(bytes)
                if bytes.len() / 2 + CLEARING_COST < range.len() * SEARCH_COST =>
            {
                let mut words = [0u64; CHUNK_BITS_BYTES / 8];
                for low in bytes.chunks_exact(2) {
                    let low = u16::from_le_bytes([low[0], low[1]]);
                    words[usize::from(low >> 6)] |= 1 << (low & 63);
                }
                for idx in range {
                    let (number, low) = (list[idx], list[idx] as u16);
                    list[kept] = number;
                    kept += (words[usize::from(low >> 6)] >> (low & 63) & 1) as usize;
                }
            }
            ChunkBody::Array(bytes) => {
                let mut at = 0;
                for idx in range {
                    let number = list[idx];
                    at = gallop(bytes, at, number as u16);
                    if at * 2 == bytes.len() {
                        break;
                    }
                    list[kept] = number;
                    kept += usize::from(low_at(bytes, at) == number as u16);
                }
            }
        }
        kept
    }
}

#[inline(always)]
fn bit_at(bytes: &[u8], low: u16) -> bool {
    bytes[usize::from(low >> 3)] >> (low & 7) & 1 != 0
}

#[inline(always)]
fn low_at(bytes: &[u8], idx: usize) -> u16 {
    u16::from_le_bytes([bytes[idx * 2], bytes[idx * 2 + 1]])
}

/// First index from `at` on whose number is not below `low`.
#[inline]
fn gallop(bytes: &[u8], mut at: usize, low: u16) -> usize {
    let len = bytes.len() / 2;
    let mut step = 1;
    let mut from = at;
    while at < len && low_at(bytes, at) < low {
        from = at + 1;
        at += step;
        step *= 2;
    }
    let mut to = at.min(len);
    while from < to {
        let middle = (from + to) / 2;
        if low_at(bytes, middle) < low {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// A set for looking up single numbers in any order.
#[derive(Debug, Clone)]
pub(crate) enum Probe<'a> {
    /// All numbers, ascending.
    List(Vec<u32>),
    /// The encoded chunks.
    Chunks {
        /// Upper half, count and offset of each chunk.
        table: &'a [u8],
        /// The chunks.
        data: &'a [u8],
    },
}

impl Probe<'_> {
    /// True if the number is in the set.
    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        match self {
            Self::List(numbers) => numbers.binary_search(&number).is_ok(),
            Self::Chunks { table, data } => {
                let upper = (number >> 16) as u16;
                let upper_at = |idx: usize| {
                    let at = idx * CHUNK_ENTRY_BYTES;
                    u16::from_le_bytes([table[at], table[at + 1]])
                };
                let chunks_count = table.len() / CHUNK_ENTRY_BYTES;
                // Most long sets have every chunk: then the upper half is the index.
                let guess = usize::from(upper);
                let idx = if guess < chunks_count && upper_at(guess) == upper {
                    guess
                } else {
                    let (mut from, mut to) = (0, chunks_count);
                    while from < to {
                        let middle = (from + to) / 2;
                        if upper_at(middle) < upper {
                            from = middle + 1;
                        } else {
                            to = middle;
                        }
                    }
                    if from == chunks_count || upper_at(from) != upper {
                        return false;
                    }
                    from
                };
                match Postings::chunk(table, data, idx).body {
                    ChunkBody::Bits(bytes) => bit_at(bytes, number as u16),
                    ChunkBody::Array(bytes) => {
                        let at = lower_bound(bytes, number as u16);
                        at * 2 < bytes.len() && low_at(bytes, at) == number as u16
                    }
                }
            }
        }
    }
}

/// A set for looking up ascending numbers: each search starts from the last one.
#[derive(Debug, Clone)]
pub(crate) enum Seeker<'a> {
    /// A decoded list.
    List {
        /// All numbers, ascending.
        numbers: Vec<u32>,
        /// Index of the first number that may still be looked up.
        at: usize,
    },
    /// The encoded chunks.
    Chunks {
        /// Upper half, count and offset of each chunk.
        table: &'a [u8],
        /// The chunks.
        data: &'a [u8],
        /// The chunk after the current one.
        next_idx: usize,
        /// The current one.
        chunk: Option<PostingsChunk<'a>>,
        /// Index in its array from which the next search starts.
        at: usize,
    },
}

impl Seeker<'_> {
    /// The set of ascending numbers.
    pub(crate) fn of_list(numbers: Vec<u32>) -> Self {
        Self::List { numbers, at: 0 }
    }

    /// True if the number is in the set; it must not be below any number before it.
    ///
    /// Cost: a bit test in dense chunks; in sparse ones a galloping search from where the last one
    /// ended.
    #[inline]
    pub(crate) fn contains(&mut self, number: u32) -> bool {
        match self {
            Self::List { numbers, at } => {
                while numbers.get(*at).is_some_and(|&other| other < number) {
                    *at += 1;
                }
                numbers.get(*at) == Some(&number)
            }
            Self::Chunks {
                table,
                data,
                next_idx,
                chunk,
                at,
            } => {
                let base = number & !0xffff;
                while chunk.is_none_or(|chunk| chunk.base < base) {
                    if *next_idx * CHUNK_ENTRY_BYTES == table.len() {
                        return false;
                    }
                    *chunk = Some(Postings::chunk(table, data, *next_idx));
                    *next_idx += 1;
                    *at = 0;
                }
                let Some(current) = chunk.filter(|chunk| chunk.base == base) else {
                    return false;
                };
                match current.body {
                    ChunkBody::Bits(bytes) => bit_at(bytes, number as u16),
                    ChunkBody::Array(bytes) => {
                        *at = gallop(bytes, *at, number as u16);
                        *at * 2 < bytes.len() && low_at(bytes, *at) == number as u16
                    }
                }
            }
        }
    }
}

fn lower_bound(bytes: &[u8], low: u16) -> usize {
    let (mut from, mut to) = (0, bytes.len() / 2);
    while from < to {
        let middle = (from + to) / 2;
        if low_at(bytes, middle) < low {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            set.set_bits(&mut bits);
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
            set.keep_bits(&mut bits);
            prop_assert_eq!(&listed(&bits), &expected);
            let probe = set.probe();
            let probed = others.iter().copied().filter(|&other| probe.contains(other));
            prop_assert_eq!(&probed.collect::<Vec<_>>(), &expected);
            let mut seeker = set.seeker();
            let sought = others.iter().copied().filter(|&other| seeker.contains(other));
            prop_assert_eq!(sought.collect::<Vec<_>>(), expected);
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

    #[test]
    fn varints_come_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX) * 2 + 1] {
            let mut bytes = Vec::new();
            write_varint(number, &mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(read_varint(&mut rest), Some(number));
            assert!(rest.is_empty());
            assert_eq!(read_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
    }
}
