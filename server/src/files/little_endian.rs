//! Numbers at a place in bytes of unknown origin; `None` beyond their end.

/// Bytes at a place.
pub(super) fn array_at<const N: usize>(content: &[u8], from: usize) -> Option<[u8; N]> {
    content.get(from..)?.first_chunk().copied()
}

/// A number of two bytes.
pub(super) fn u16_at(content: &[u8], from: usize) -> Option<u16> {
    array_at(content, from).map(u16::from_le_bytes)
}

/// A number of four bytes.
pub(super) fn u32_at(content: &[u8], from: usize) -> Option<u32> {
    array_at(content, from).map(u32::from_le_bytes)
}

/// A number of eight bytes.
pub(super) fn u64_at(content: &[u8], from: usize) -> Option<u64> {
    array_at(content, from).map(u64::from_le_bytes)
}
