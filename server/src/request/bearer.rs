//! The `Authorization` header.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

/// The value of the one `Authorization` field of a request; `None` if there is none or more than
/// one (API.md, authentication).
///
/// Cost: a comparison per field, which is less than hashing the name.
pub fn authorization(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut found = None;
    for (name, value) in headers {
        if *name == AUTHORIZATION && found.replace(value).is_some() {
            return None;
        }
    }
    found
}

/// The token of `Bearer <token>`: the scheme in any case, one space, one token.
///
/// ```
/// use subcat_server::request::bearer_token;
/// assert_eq!(bearer_token(b"bearer abc"), Some("abc"));
/// assert_eq!(bearer_token(b"Bearer a b"), None);
/// ```
pub fn bearer_token(value: &[u8]) -> Option<&str> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(SCHEME);
    let is_token = !token.is_empty() && token.iter().all(u8::is_ascii_graphic);
    if is_bearer && is_token {
        std::str::from_utf8(token).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &[u8], expected: Option<&str>) {
        assert_eq!(bearer_token(value), expected, "{}", value.escape_ascii());
    }

    #[test]
    fn reads_one_token_after_one_space() {
        check(b"Bearer abc", Some("abc"));
        check(b"BEARER abc", Some("abc"));
        check(b"Bearer", None);
        check(b"Bearer ", None);
        check(b"Bearer  abc", None);
        check(b"Bearer abc def", None);
        check(b"Bearer abc ", None);
        check(b"Bearer\tabc", None);
        check(b"Basic abc", None);
        check(b"abc", None);
        check(b"", None);
        check(b"Bearer \xff", None);
    }

    #[test]
    fn two_fields_count_as_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(authorization(&headers), None);
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert!(authorization(&headers).is_some());
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert_eq!(authorization(&headers), None);
    }
}
