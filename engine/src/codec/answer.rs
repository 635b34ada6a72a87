//! A record as the fragment of an answer: finished JSON, complete but for the download count.
//!
//! JSON is written once, when a segment is built, and copied into every answer. The count comes
//! last, because it is the only value of an answer that changes without an import.

use std::io::Write;

use crate::model::{Number, Record, RecordId, Timestamp, Year};

/// Version of the fragment: raise it with every change of [`write_fragment`], so that all segments,
/// which hold fragments, are built again.
pub(crate) const FRAGMENT_VERSION: u32 = 1;
/// Start of every fragment; the id's 36 characters follow. Fixed positions let [`fragment_id`] and
/// [`fragment_time`] read both without parsing JSON.
const HEAD: &[u8] = b"{\"id\":\"";
/// Bytes before the time.
const TIME_NAME: &[u8] = b",\"posted_at\":\"";
/// End of every fragment, after the time's 20 characters.
const TAIL: &[u8] = b"\",\"downloads\":";
const ID_CHARS: usize = 36;
const TIME_CHARS: usize = 20;

/// Appends the record's fields in the order of the interface, from `{"id":` to `"downloads":`;
/// the count and `}` complete it.
///
/// Shape: one JSON object without its last value; strings are escaped as far as JSON demands.
/// Cost: one copy of the record's text. Source: API.md, subtitle record.
///
/// ```
/// use subcat_engine::{Record, RecordId, internals::write_fragment};
///
/// let record = Record::new(RecordId::from_bytes([0; 16]), "Ran");
/// let mut fragment = Vec::new();
/// write_fragment(&record, &mut fragment);
/// assert!(fragment.ends_with(br#""posted_at":"1970-01-01T00:00:00Z","downloads":"#));
/// ```
pub fn write_fragment(record: &Record, out: &mut Vec<u8>) {
    out.extend_from_slice(HEAD);
    write_id(record.id, out);
    out.extend_from_slice(b"\",\"video_type\":\"");
    out.extend_from_slice(record.video_type.as_str().as_bytes());
    out.extend_from_slice(b"\",\"title\":");
    write_string(&record.title, out);
    let number = |number: Option<u16>, out: &mut Vec<u8>| match number {
        Some(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        None => out.extend_from_slice(b"null"),
    };
    out.extend_from_slice(b",\"season\":");
    number(record.season.map(Number::get), out);
    out.extend_from_slice(b",\"episode\":");
    number(record.episode.map(Number::get), out);
    out.extend_from_slice(b",\"year\":");
    number(record.year.map(Year::get), out);
    out.extend_from_slice(b",\"catalog_id\":");
    match record.catalog_id {
        Some(id) => write!(out, "\"{id}\"").expect("a vector takes every write"),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"description\":");
    write_text(record.description.as_deref(), out);
    out.extend_from_slice(b",\"uploader_name\":");
    write_text(record.uploader_name.as_deref(), out);
    out.extend_from_slice(TIME_NAME);
    write_time(record.posted_at, out);
    out.extend_from_slice(TAIL);
}

/// The part of a fragment behind its id.
pub(super) fn after_id(fragment: &[u8]) -> Option<&[u8]> {
    let rest = fragment.strip_prefix(HEAD)?.get(ID_CHARS..)?;
    rest.strip_prefix(b"\"")
}

/// The id at the start of a fragment; `None` when it is not a fragment. Cost: some hundred
/// instructions without a branch; answers and searches by id read it for every document.
pub fn fragment_id(fragment: &[u8]) -> Option<RecordId> {
    let (text, _) = fragment
        .get(HEAD.len()..)?
        .split_first_chunk::<ID_CHARS>()?;
    let mut digits = [0; 32];
    digits[..8].copy_from_slice(&text[..8]);
    digits[8..12].copy_from_slice(&text[9..13]);
    digits[12..16].copy_from_slice(&text[14..18]);
    digits[16..20].copy_from_slice(&text[19..23]);
    digits[20..].copy_from_slice(&text[24..]);
    let mut bytes = [0; 16];
    let mut is_canonical = [8, 13, 18, 23].map(|at| text[at]) == [b'-'; 4];
    let groups = digits.as_chunks::<8>().0.iter();
    for (digits, out) in groups.zip(bytes.as_chunks_mut::<4>().0) {
        let (value, is_group_canonical) = eight_digits(*digits);
        *out = value;
        is_canonical &= is_group_canonical;
    }
    if is_canonical {
        Some(RecordId::from_bytes(bytes))
    } else {
        None
    }
}

/// The value of eight hexadecimal digits, and true if they are in lower case. All eight are
/// computed at once, each in a byte of one word.
fn eight_digits(digits: [u8; 8]) -> ([u8; 4], bool) {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let text = u64::from_le_bytes(digits);
    // A letter has bit 6 set, and its low half is 1 for `a`: 9 more make its value.
    let values = (text & (15 * ONES)) + ((text >> 6) & ONES) * 9;
    let letters = ((values + 6 * ONES) >> 4) & ONES;
    // Writing the digits again from their values and comparing the text finds every other character
    // without a branch for each digit.
    let written = values + u64::from(b'0') * ONES + letters * u64::from(b'a' - b'9' - 1);
    let is_canonical = written == text && values & (0xF0 * ONES) == 0;
    let [first, _, second, _, third, _, fourth, _] = (values << 4 | values >> 8).to_le_bytes();
    ([first, second, third, fourth], is_canonical)
}

/// The text of `posted_at` in a fragment, `YYYY-MM-DDTHH:MM:SSZ`: its bytes sort by time. `None`
/// when it is not a fragment.
pub fn fragment_time(fragment: &[u8]) -> Option<&[u8]> {
    let end = fragment.len().checked_sub(TAIL.len())?;
    fragment.get(end.checked_sub(TIME_CHARS)?..end)
}

fn write_id(id: RecordId, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (idx, byte) in id.as_bytes().iter().enumerate() {
        if matches!(idx, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn write_time(time: Timestamp, out: &mut Vec<u8>) {
    write!(out, "{time}").expect("a vector takes every write");
}

fn write_text(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => write_string(text, out),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends a JSON string: runs of plain bytes are copied whole.
fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain_from = 0;
    for (idx, &byte) in bytes.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain_from..idx]);
        plain_from = idx + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            _ => write!(out, "\\u{byte:04x}").expect("a vector takes every write"),
        }
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CatalogId, VideoType};

    fn record() -> Record {
        let id = RecordId::parse("d4ed735c-a1a4-457d-a19d-7f4e0f46b848").unwrap();
        Record {
            video_type: VideoType::Episode,
            season: Number::new(3),
            episode: Number::new(2),
            year: Year::new(1992),
            catalog_id: CatalogId::parse("tt0012"),
            description: Some("ñ\\ a\r\nb\u{1}\u{7f}/".into()),
            posted_at: Timestamp::parse("2026-09-17T05:32:37Z").unwrap(),
            downloads: 2871,
            ..Record::new(id, "Sailor \"Moon\"")
        }
    }

    #[test]
    fn holds_the_fields_in_order() {
        let mut fragment = Vec::new();
        write_fragment(&record(), &mut fragment);
        let expected = concat!(
            r#"{"id":"d4ed735c-a1a4-457d-a19d-7f4e0f46b848","video_type":"episode","#,
            r#""title":"Sailor \"Moon\"","season":3,"episode":2,"year":1992,"#,
            r#""catalog_id":"tt0012","description":"ñ\\ a\r\nb\u0001"#,
            "\u{7f}",
            r#"/","uploader_name":null,"posted_at":"2026-09-17T05:32:37Z","downloads":"#
        );
        assert_eq!(String::from_utf8(fragment).unwrap(), expected);
    }

    #[test]
    fn is_json_with_the_same_strings() {
        let record = record();
        let mut fragment = Vec::new();
        write_fragment(&record, &mut fragment);
        fragment.extend_from_slice(b"5}");
        let value: serde_json::Value = serde_json::from_slice(&fragment).unwrap();
        assert_eq!(value["title"], record.title);
        assert_eq!(value["description"], record.description.unwrap());
        assert_eq!(value["downloads"], 5);
    }

    #[test]
    fn gives_back_id_and_time() {
        let mut fragment = Vec::new();
        write_fragment(&record(), &mut fragment);
        assert_eq!(fragment_id(&fragment), Some(record().id));
        let mut other = record();
        for first in 0..=255_u8 {
            let bytes = std::array::from_fn(|idx| first.wrapping_add(17 * idx as u8));
            other.id = RecordId::from_bytes(bytes);
            let mut fragment = Vec::new();
            write_fragment(&other, &mut fragment);
            assert_eq!(fragment_id(&fragment), Some(other.id));
        }
        assert_eq!(fragment_time(&fragment), Some(&b"2026-09-17T05:32:37Z"[..]));
        assert_eq!(fragment_id(b"{}"), None);
        for place in (0..ID_CHARS).filter(|place| !matches!(place, 8 | 13 | 18 | 23)) {
            let mut damaged = fragment.clone();
            for byte in (0..=255_u8).filter(|byte| !b"0123456789abcdef".contains(byte)) {
                damaged[HEAD.len() + place] = byte;
                assert_eq!(fragment_id(&damaged), None, "{byte} at {place}");
            }
        }
        assert_eq!(fragment_time(b"{}"), None);
    }
}
