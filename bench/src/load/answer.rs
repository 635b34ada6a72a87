//! The head of an answer, as far as a load program must read it.

use std::fmt;

use memchr::memchr;

/// Longest head that is read.
pub(super) const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Fields of an answer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Its status.
    pub status: u16,
    /// Bytes of the head, with the empty line.
    pub head_bytes: usize,
    /// Bytes of body that follow.
    pub body_bytes: u64,
    /// True if the server closes the connection afterwards.
    pub is_last: bool,
}

/// Reason why bytes are not an answer that this program understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadRejection {
    /// The first line is not an HTTP/1.1 status line.
    StatusLine,
    /// Neither `Content-Length` nor a status without a body.
    Length,
    /// No empty line within the longest head.
    TooLong,
}

impl fmt::Display for HeadRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StatusLine => "an answer does not start with an HTTP/1.1 status line",
            Self::Length => "an answer has no usable Content-Length",
            Self::TooLong => "the head of an answer is longer than 32 KiB",
        })
    }
}

impl Head {
    /// Reads the head at the start of `bytes`; `None` when it is not complete yet.
    ///
    /// Cost: one `memchr` per line.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, HeadRejection> {
        let Some(mut at) = memchr(b'\n', bytes).map(|end| end + 1) else {
            return incomplete(bytes);
        };
        let status = status(bytes).ok_or(HeadRejection::StatusLine)?;
        let mut body_bytes = None;
        let mut is_last = false;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(end) = memchr(b'\n', rest) else {
                return incomplete(bytes);
            };
            let line = rest[..end].trim_ascii_end();
            at += end + 1;
            match line.first() {
                None => break,
                Some(b'c' | b'C') => {
                    if let Some(value) = value(line, b"content-length") {
                        body_bytes = Some(number(value).ok_or(HeadRejection::Length)?);
                    } else if let Some(value) = value(line, b"connection") {
                        is_last = value.eq_ignore_ascii_case(b"close");
                    }
                }
                Some(_) => {}
            }
        }
        let has_no_body = status == 304 || status == 204;
        let body_bytes = if has_no_body { Some(0) } else { body_bytes };
        Ok(Some(Self {
            status,
            head_bytes: at,
            body_bytes: body_bytes.ok_or(HeadRejection::Length)?,
            is_last,
        }))
    }
}

fn incomplete(bytes: &[u8]) -> Result<Option<Head>, HeadRejection> {
    if bytes.len() < HEAD_BYTES_MAX {
        return Ok(None);
    }
    Err(HeadRejection::TooLong)
}

fn status(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let status = number(digits)?;
    (100..600).contains(&status).then_some(status as u16)
}

fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    if !found.eq_ignore_ascii_case(name) {
        return None;
    }
    Some(rest.strip_prefix(b":")?.trim_ascii())
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || 18 < digits.len() {
        return None;
    }
    let mut number = 0;
    for digit in digits {
        number = number * 10 + u64::from(char::from(*digit).to_digit(10)?);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Option<Head>, HeadRejection>) {
        assert_eq!(Head::parse(text.as_bytes()), expected, "{text:?}");
    }

    #[test]
    fn reads_status_length_and_close() {
        let head = Head {
            status: 200,
            head_bytes: 58,
            body_bytes: 42,
            is_last: false,
        };
        let text = "HTTP/1.1 200 OK\r\nDate: now\r\nCONTENT-LENGTH:  42 \r\nA: b\r\n\r\nbody";
        check(text, Ok(Some(head)));
        let text = "HTTP/1.1 503 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let expected = Head {
            status: 503,
            head_bytes: text.len(),
            body_bytes: 0,
            is_last: true,
        };
        check(text, Ok(Some(expected)));
    }

    #[test]
    fn an_unfinished_head_waits() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n";
        for end in 0..text.len() {
            check(&text[..end], Ok(None));
        }
        let long = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(HEAD_BYTES_MAX));
        check(&long, Err(HeadRejection::TooLong));
    }

    #[test]
    fn refuses_what_it_cannot_follow() {
        check("HTTP/1.0 200 OK\r\n\r\n", Err(HeadRejection::StatusLine));
        check("HTTP/1.1 2x0 OK\r\n\r\n", Err(HeadRejection::StatusLine));
        check(
            "HTTP/1.1 200 OK\r\na: b\r\n\r\n",
            Err(HeadRejection::Length),
        );
        let text = "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n";
        check(text, Err(HeadRejection::Length));
    }

    #[test]
    fn a_304_has_no_body() {
        let text = "HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n";
        let head = Head::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(head.body_bytes, 0);
    }
}
