//! Paths in ascending order, in few bytes each.

/// Number of paths between two that are stored in full.
const BLOCK_PATHS: usize = 16;

/// Paths with front coding: each is stored without the beginning that it shares with the one
/// before. A walk of 200,000 files would else hold 20 MB of paths.
#[derive(Debug, Default)]
pub(super) struct PathList {
    /// For each path: the length shared with the one before, the length of the rest, the rest. The
    /// first path of a block shares nothing.
    bytes: Vec<u8>,
    /// Offsets of the blocks.
    blocks: Vec<usize>,
    count: usize,
    last: Vec<u8>,
}

impl PathList {
    /// Appends a path.
    pub(super) fn push(&mut self, path: &[u8]) {
        let mut shared = 0;
        if self.count.is_multiple_of(BLOCK_PATHS) {
            self.blocks.push(self.bytes.len());
        } else {
            let pairs = path.iter().zip(&self.last);
            shared = pairs.take_while(|(one, other)| one == other).count();
        }
        let rest = &path[shared..];
        put_length(&mut self.bytes, shared);
        put_length(&mut self.bytes, rest.len());
        self.bytes.extend_from_slice(rest);
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        self.count += 1;
    }

    /// The path of an index. Cost: up to [`BLOCK_PATHS`] steps.
    pub(super) fn get(&self, idx: usize) -> Vec<u8> {
        let mut at = self.blocks[idx / BLOCK_PATHS];
        let mut path = Vec::new();
        for _ in 0..=idx % BLOCK_PATHS {
            let shared = take_length(&self.bytes, &mut at);
            let rest = take_length(&self.bytes, &mut at);
            path.truncate(shared);
            path.extend_from_slice(&self.bytes[at..at + rest]);
            at += rest;
        }
        path
    }

    /// Returns unused memory.
    pub(super) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.blocks.shrink_to_fit();
    }
}

/// Appends a length: one byte up to 254, else 255 and four bytes.
fn put_length(bytes: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(byte) if byte != u8::MAX => bytes.push(byte),
        _ => {
            bytes.push(u8::MAX);
            bytes.extend_from_slice(&(length as u32).to_le_bytes());
        }
    }
}

fn take_length(bytes: &[u8], at: &mut usize) -> usize {
    let byte = bytes[*at];
    *at += 1;
    if byte != u8::MAX {
        return byte.into();
    }
    let mut long = [0; 4];
    long.copy_from_slice(&bytes[*at..*at + 4]);
    *at += 4;
    u32::from_le_bytes(long) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn paths_come_back(
            mut paths in prop::collection::vec("[ab/]{0,6}", 0..70),
            long in "[a-c]{0,3}",
        ) {
            paths.push(long.repeat(200));
            paths.sort_unstable();
            let mut list = PathList::default();
            for path in &paths {
                list.push(path.as_bytes());
            }
            list.shrink_to_fit();
            prop_assert_eq!(list.count, paths.len());
            for (idx, path) in paths.iter().enumerate() {
                let read = list.get(idx);
                prop_assert_eq!(&read, path.as_bytes());
            }
        }
    }
}
