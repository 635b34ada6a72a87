//! `If-Match`, `If-None-Match`, `Range` and `If-Range`.

use http::HeaderMap;
use http::header::{IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE};

/// Range of a file that a `Range` field requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// The whole file: no field, several ranges, or a field that cannot be parsed.
    Whole,
    /// From the first to before the second byte.
    Part(u64, u64),
    /// A part that the file does not have.
    Unsatisfiable,
}

/// The range of a file of `size_bytes` that is requested (API.md, ranges). One range only; several
/// are answered with the whole file.
pub fn byte_range(headers: &HeaderMap, size_bytes: u64) -> ByteRange {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return ByteRange::Whole;
    };
    let Some((unit, ranges)) = value.to_str().ok().and_then(|text| text.split_once('=')) else {
        return ByteRange::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return ByteRange::Whole;
    }
    one_range(ranges.trim(), size_bytes).unwrap_or(ByteRange::Whole)
}

/// Parses one range; `None` if the text is anything else.
fn one_range(text: &str, size_bytes: u64) -> Option<ByteRange> {
    let (first, last) = text.split_once('-')?;
    if first.is_empty() {
        let suffix = number(last)?;
        let start = size_bytes.saturating_sub(suffix);
        let is_empty = suffix == 0 || size_bytes == 0;
        return Some(if is_empty {
            ByteRange::Unsatisfiable
        } else {
            ByteRange::Part(start, size_bytes)
        });
    }
    let start = number(first)?;
    let end = if last.is_empty() {
        size_bytes
    } else {
        let last = number(last)?;
        if last < start {
            return None;
        }
        last.saturating_add(1).min(size_bytes)
    };
    Some(if start < size_bytes {
        ByteRange::Part(start, end)
    } else {
        ByteRange::Unsatisfiable
    })
}

/// Parses digits. A number beyond the type's range counts as its largest value.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        Some(text.parse().unwrap_or(u64::MAX))
    } else {
        None
    }
}

/// Returns true if there is no `If-Match`, or it names this entity tag (strongly compared), or any.
pub fn is_match(headers: &HeaderMap, etag: &[u8]) -> bool {
    let mut values = headers.get_all(IF_MATCH).iter().peekable();
    values.peek().is_none()
        || values
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
            .any(|tag| tag == b"*" || tag == etag)
}

/// Returns true if `If-None-Match` names this entity tag (weakly compared), or any.
pub fn is_none_match(headers: &HeaderMap, etag: &[u8]) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag)
}

/// Returns true if a range may be served: there is no `If-Range`, or it names this entity tag
/// (strongly compared). A date never matches: files have no date here.
pub fn is_range_current(headers: &HeaderMap, etag: &[u8]) -> bool {
    let mut values = headers.get_all(IF_RANGE).iter();
    values.all(|value| value.as_bytes().trim_ascii() == etag)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::HeaderName;

    use super::*;
    use ByteRange::{Part, Unsatisfiable, Whole};

    fn headers(name: &HeaderName, values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn check(range: &'static str, size_bytes: u64, expected: ByteRange) {
        let found = byte_range(&headers(&RANGE, &[range]), size_bytes);
        assert_eq!(found, expected, "{range} of {size_bytes}");
    }

    #[test]
    fn reads_one_range() {
        check("bytes=0-0", 10, Part(0, 1));
        check("bytes=0-", 10, Part(0, 10));
        check("bytes=3-5", 10, Part(3, 6));
        check("bytes=3-99", 10, Part(3, 10));
        check("bytes=-4", 10, Part(6, 10));
        check("bytes=-99", 10, Part(0, 10));
        check("Bytes=9-9", 10, Part(9, 10));
        check("bytes=0-99999999999999999999999", 10, Part(0, 10));
    }

    #[test]
    fn refuses_what_the_file_has_not() {
        check("bytes=10-", 10, Unsatisfiable);
        check("bytes=10-20", 10, Unsatisfiable);
        check("bytes=-0", 10, Unsatisfiable);
        check("bytes=0-", 0, Unsatisfiable);
        check("bytes=-1", 0, Unsatisfiable);
        check("bytes=99999999999999999999999-", 10, Unsatisfiable);
    }

    #[test]
    fn passes_over_what_it_cannot_read() {
        for range in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-3",
            "bytes=a-b",
            "bytes=0-1,3-4",
            "bytes=+1-2",
            "items=0-1",
            "bytes=0x0-1",
        ] {
            check(range, 10, Whole);
        }
        let two = headers(&RANGE, &["bytes=0-1", "bytes=2-3"]);
        assert_eq!(byte_range(&two, 10), Whole);
        assert_eq!(byte_range(&HeaderMap::new(), 10), Whole);
    }

    #[test]
    fn compares_entity_tags() {
        let check = |values: &[&'static str], expected: bool| {
            let found = is_none_match(&headers(&IF_NONE_MATCH, values), b"\"a\"");
            assert_eq!(found, expected, "{values:?}");
        };
        check(&[], false);
        check(&["\"a\""], true);
        check(&["W/\"a\""], true);
        check(&["\"b\", \"a\""], true);
        check(&["\"b\"", "\"a\""], true);
        check(&["*"], true);
        check(&["\"b\""], false);
        check(&["a"], false);
    }

    #[test]
    fn if_range_is_strong() {
        let check = |values: &[&'static str], expected: bool| {
            let found = is_range_current(&headers(&IF_RANGE, values), b"\"a\"");
            assert_eq!(found, expected, "{values:?}");
        };
        check(&[], true);
        check(&["\"a\""], true);
        check(&["W/\"a\""], false);
        check(&["\"b\""], false);
        check(&["Wed, 21 Oct 2015 07:28:00 GMT"], false);
    }

    #[test]
    fn a_file_must_match_one_of_the_tags() {
        let check = |values: &[&'static str], expected: bool| {
            let found = is_match(&headers(&IF_MATCH, values), b"\"a\"");
            assert_eq!(found, expected, "{values:?}");
        };
        check(&[], true);
        check(&["*"], true);
        check(&["\"a\""], true);
        check(&["\"b\", \"a\""], true);
        check(&["\"b\"", "\"a\""], true);
        check(&["\"b\""], false);
        check(&["W/\"a\""], false);
        check(&[""], false);
    }
}
