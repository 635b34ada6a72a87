//! Entity tags of JSON answers (API.md 5 and 6).

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_128;

/// The line before the digits of the tag.
const HEAD: &[u8] = b"etag: W/";
/// Bytes of the tag without `W/`: its digits in quotes.
const QUOTED_BYTES: usize = 34;
const LINE_BYTES: usize = HEAD.len() + QUOTED_BYTES + 2;

/// Weak entity tag of a JSON answer, as a finished header line: equal for bodies that are equal but
/// for their counts of downloads, on every machine and after every restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyTag([u8; LINE_BYTES]);

impl BodyTag {
    fn new(sum: u128) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut line = [b'"'; LINE_BYTES];
        line[..HEAD.len()].copy_from_slice(HEAD);
        let digits = &mut line[HEAD.len() + 1..][..QUOTED_BYTES - 2];
        for (digits, byte) in digits.chunks_exact_mut(2).zip(sum.to_be_bytes()) {
            digits[0] = DIGITS[usize::from(byte >> 4)];
            digits[1] = DIGITS[usize::from(byte & 15)];
        }
        line[LINE_BYTES - 2..].copy_from_slice(b"\r\n");
        Self(line)
    }

    /// The header line with its end.
    pub(super) const fn line(&self) -> &[u8; LINE_BYTES] {
        &self.0
    }

    /// The tag without `W/`, quotes included: the part that a weak comparison compares.
    pub fn quoted(&self) -> &[u8] {
        &self.0[HEAD.len()..][..QUOTED_BYTES]
    }
}

/// A finished JSON answer and its tag.
pub struct TaggedBody {
    /// The body.
    pub body: Bytes,
    /// Tag of the body.
    pub tag: BodyTag,
    /// True if records may be missing, as a part of the index is being built again.
    pub is_partial: bool,
}

/// Sum of a body that is being written, all but its counts of downloads.
///
/// The sum does not resist forgery: an operator could import records that give two answers one tag.
/// A client would then keep the older one.
#[derive(Default)]
pub struct BodySum(u128);

impl BodySum {
    /// Adds the next part of the body. Each part has a sum of its own: a sum over several parts
    /// copies what does not fill a block.
    pub(super) fn add(&mut self, part: &[u8]) {
        // An odd factor, so that the sum tells the order of the parts.
        const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(xxh3_128(part));
    }

    /// The tag of the body.
    pub fn tag(&self) -> BodyTag {
        BodyTag::new(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_holds_the_digits_of_the_sum() {
        let tag = BodyTag::new(0x0123_4567_89ab_cdef_0000_0000_0000_00ff);
        let line = b"etag: W/\"0123456789abcdef00000000000000ff\"\r\n";
        assert_eq!(tag.line(), line);
        assert_eq!(tag.quoted(), b"\"0123456789abcdef00000000000000ff\"");
    }

    /// The tag outlives the process: another sum would make every kept answer old.
    #[test]
    fn the_sum_is_the_same_on_every_machine() {
        let tag_of = |parts: &[&[u8]]| {
            let mut sum = BodySum::default();
            parts.iter().for_each(|part| sum.add(part));
            sum.tag()
        };
        let expected = BodyTag::new(xxh3_128(b"{\"items\":[]}"));
        assert_eq!(tag_of(&[b"{\"items\":[]}"]), expected);
        let two = tag_of(&[b"{\"items\":", b"[]}"]);
        assert_eq!(two.quoted(), b"\"fdf323084f49971107b06351ac74db79\"");
        assert_ne!(two, tag_of(&[b"[]}", b"{\"items\":"]));
    }
}
