//! Texts and numbers as JSON.

use bytes::BufMut;

/// Appends a text in quotes.
pub(super) fn write_quoted(out: &mut impl BufMut, text: &str) {
    out.put_u8(b'"');
    write_text(out, text);
    out.put_u8(b'"');
}

/// Appends a text without quotes around it.
pub(super) fn write_text(out: &mut impl BufMut, text: &str) {
    // All bytes are looked at: without a way out of the loop, many are compared at once.
    let must_escape = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    let is_plain = !text
        .bytes()
        .fold(false, |found, byte| found | must_escape(byte));
    if is_plain {
        out.put_slice(text.as_bytes());
        return;
    }
    let quoted = serde_json::to_vec(text).expect("a text always serialises");
    out.put_slice(&quoted[1..quoted.len() - 1]);
}

/// Appends a number.
pub(super) fn write_number(out: &mut impl BufMut, number: impl itoa::Integer) {
    out.put_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_serde() {
        let mut out = Vec::new();
        for character in (0..0x250).filter_map(char::from_u32) {
            let text = format!("Niño {character}2");
            out.clear();
            write_quoted(&mut out, &text);
            assert_eq!(out, serde_json::to_vec(&text).unwrap(), "{text:?}");
        }
    }
}
