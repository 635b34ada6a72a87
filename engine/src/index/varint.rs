//! Numbers of a varying number of bytes: 7 bits in each, lowest first, the highest bit set in all
//! but the last.

/// Appends a number.
pub(crate) fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number and leaves the rest; `None` when the bytes end within it.
#[inline]
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    // Most numbers are distances of one or two bytes: no loop, and one branch for each byte.
    match **bytes {
        [first, ref rest @ ..] if first < 0x80 => {
            *bytes = rest;
            Some(u64::from(first))
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *bytes = rest;
            Some(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        _ => read_long_varint(bytes),
    }
}

fn read_long_varint(bytes: &mut &[u8]) -> Option<u64> {
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

/// Number of bytes that [`write_varint`] appends for a number.
pub(crate) fn varint_bytes(number: u64) -> usize {
    let bits = u64::BITS - (number | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX) * 2 + 1] {
            let mut bytes = Vec::new();
            write_varint(number, &mut bytes);
            assert_eq!(bytes.len(), varint_bytes(number));
            let mut rest = &bytes[..];
            assert_eq!(read_varint(&mut rest), Some(number));
            assert!(rest.is_empty());
            assert_eq!(read_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
    }
}
