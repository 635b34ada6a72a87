//! Header lines of a response, written one after the other into one buffer.

use std::cell::Cell;

use bytes::{Bytes, BytesMut};

/// Bytes of a buffer; a head has about 500.
const BUFFER_BYTES: usize = 16 << 10;

thread_local! {
    /// Buffer for header blocks; its memory is reused once their responses have been sent.
    static BUFFER: Cell<BytesMut> = Cell::default();
}

/// Header lines, each with its line end.
///
/// INVARIANT: names and values are texts of the program or were checked on arrival: printable
/// ASCII, so that no value ends its line.
pub(super) struct RawHeaderBlock {
    text: BytesMut,
}

impl RawHeaderBlock {
    /// An empty block. Cost: one allocation in about thirty calls.
    pub(super) fn new() -> Self {
        let mut text = BUFFER.take();
        if text.capacity() == 0 {
            text.reserve(BUFFER_BYTES);
        }
        Self { text }
    }

    /// Adds finished lines.
    #[inline]
    pub(super) fn add(&mut self, raw_headers: &[u8]) {
        self.text.extend_from_slice(raw_headers);
    }

    /// Adds a line; `name` ends with a colon and a space.
    #[inline]
    pub(super) fn add_text(&mut self, name: &str, value: &str) {
        self.add(name.as_bytes());
        self.add(value.as_bytes());
        self.add(b"\r\n");
    }

    /// Adds a line with an integer; `name` ends with a colon and a space. Inlined, so that a name
    /// of known length is stored by moves instead of a call that copies it.
    #[inline(always)]
    pub(super) fn add_number(&mut self, name: &str, number: u64) {
        self.add_text(name, itoa::Buffer::new().format(number));
    }

    /// The finished block.
    pub(super) fn finish(mut self) -> Bytes {
        let raw_headers = self.text.split().freeze();
        BUFFER.set(self.text);
        raw_headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_stay_what_they_were() {
        let write = |number| {
            let mut raw_headers = RawHeaderBlock::new();
            raw_headers.add_text("a: ", "b");
            raw_headers.add_number("c: ", number);
            raw_headers.add(b"d: e\r\n");
            raw_headers.finish()
        };
        let kept: Vec<Bytes> = (0..1000).map(write).collect();
        for (number, raw_headers) in kept.iter().enumerate() {
            assert_eq!(
                raw_headers,
                format!("a: b\r\nc: {number}\r\nd: e\r\n").as_bytes()
            );
        }
    }
}
