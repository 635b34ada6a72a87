//! Detection of incomplete request heads, which wait for their rest before hyper gets them.

use crate::limits::PARTIAL_HEAD_BYTES_MAX;

/// True if `bytes` may begin a head that is not complete. The bytes before `checked_count` were
/// checked before.
///
/// False leaves them to hyper, which answers: a complete head, one that is long, and anything but a
/// head. So hyper's answers to a beginning alone come as soon as ever, but for a target or a field
/// that is not valid: it is refused when its head ends.
pub(super) fn is_partial_head(bytes: &[u8], checked_count: usize) -> bool {
    let [first, ..] = bytes else {
        return true;
    };
    // An empty line may have begun before.
    let unchecked = &bytes[checked_count.saturating_sub(2)..];
    first.is_ascii_uppercase()
        && bytes.len() < PARTIAL_HEAD_BYTES_MAX
        && unchecked.iter().all(|byte| is_allowed(*byte))
        && !has_empty_line(unchecked)
        && has_good_first_line(bytes)
}

/// True for bytes of a request line, of a header field, or of a line end.
const fn is_allowed(byte: u8) -> bool {
    !byte.is_ascii_control() || matches!(byte, b'\r' | b'\n' | b'\t')
}

/// True if a head ends within `bytes`. hyper accepts bare line feeds.
fn has_empty_line(bytes: &[u8]) -> bool {
    let has = |end: &[u8]| bytes.windows(end.len()).any(|part| part == end);
    has(b"\n\r\n") || has(b"\n\n")
}

/// True unless the first line has ended without naming HTTP/1.
fn has_good_first_line(bytes: &[u8]) -> bool {
    let Some(line_bytes) = bytes.iter().position(|byte| *byte == b'\n') else {
        return true;
    };
    let line = &bytes[..line_bytes];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: impl AsRef<[u8]>, expected: bool) {
        let bytes = bytes.as_ref();
        let shown = bytes.escape_ascii();
        assert_eq!(is_partial_head(bytes, 0), expected, "{shown}");
        for checked_count in 0..bytes.len() {
            let is_asked = is_partial_head(&bytes[..checked_count], 0);
            if is_asked {
                let is_partial = is_partial_head(bytes, checked_count);
                assert_eq!(is_partial, expected, "{shown} after {checked_count} bytes");
            }
        }
    }

    #[test]
    fn the_rest_of_a_head_is_waited_for() {
        let head = "GET /api/health?a=\u{e1} HTTP/1.1\r\nHost: a\r\nX:\ty\r\n\r\n";
        for bytes_count in 0..head.len() {
            check(&head.as_bytes()[..bytes_count], true);
        }
        check("GET / HTTP/1.0\nHost: a\n", true);
    }

    #[test]
    fn a_head_that_is_complete_is_not_waited_for() {
        check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false);
        check("GET / HTTP/1.1\nHost: a\n\n", false);
        check("GET / HTTP/1.1\r\nHost: a\r\n\n", false);
        check("GET / HTTP/1.1\r\n\r\nGET / HT", false);
    }

    #[test]
    fn what_hyper_would_refuse_now_is_left_to_it() {
        check(b"\x16\x03\x01\x02", false);
        check("get / HTTP/1.1\r\n", false);
        check("\r\nGET", false);
        check("GET /\r\n", false);
        check("GET / HTTP/2.0\r\n", false);
        check("GET / HTTP/1.1 \0", false);
        check("GET / HTTP/1.1\r\nA: \x7f", false);
    }

    #[test]
    fn a_long_one_is_left_to_hyper() {
        let mut head = b"GET /".to_vec();
        head.resize(PARTIAL_HEAD_BYTES_MAX - 1, b'a');
        assert!(is_partial_head(&head, 0));
        head.push(b'a');
        assert!(!is_partial_head(&head, 0));
    }
}
