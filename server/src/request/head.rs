//! HTTP's own rules: heads that are rejected before anything else is checked.

use std::net::Ipv6Addr;

use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, HOST, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE,
    TRANSFER_ENCODING,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Uri, Version};

use crate::limits::{
    BODY_BYTES_MAX, FIELD_BYTES_MAX, FIELDS_MAX, KNOWN_HOST_BYTES_MAX, URL_BYTES_MAX,
};

/// Bytes that a field takes beside its name and value.
const FIELD_FRAME_BYTES: usize = 4;

/// Rejection of a request by HTTP's own rules (API.md, requests). All of them close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadRejection {
    /// 400: the method, the target or `Host` is not valid.
    BadRequest,
    /// 411: the body has a transfer coding.
    LengthRequired,
    /// 413: the body is too long.
    ContentTooLarge,
    /// 414: the target is too long.
    UriTooLong,
    /// 431: the fields are too many or too long.
    FieldsTooLarge,
}

/// Optional header fields of a request, noted in the one pass of [`check_head`]: absent fields are
/// not looked up later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeaderHints {
    /// `Accept-Encoding`.
    pub has_coding: bool,
    /// `Range`, `If-Range`, `If-Match` or `If-None-Match`.
    pub has_condition: bool,
}

/// The last valid `Host` of a connection: clients repeat it, and a comparison costs less than a
/// check.
#[derive(Debug, Default)]
pub struct KnownHost(Box<[u8]>);

impl KnownHost {
    fn is(&self, value: &HeaderValue) -> bool {
        !self.0.is_empty() && *self.0 == *value.as_bytes()
    }

    fn keep(&mut self, value: &HeaderValue) {
        if value.len() <= KNOWN_HOST_BYTES_MAX {
            self.0 = value.as_bytes().into();
        }
    }
}

/// Checks the head of a request. Cost: one pass over its fields, no hashing, and no allocation
/// unless `Host` differs from that of the previous request.
pub fn check_head(head: &Parts, known: &mut KnownHost) -> Result<HeaderHints, HeadRejection> {
    if URL_BYTES_MAX < target_bytes(&head.uri) {
        return Err(HeadRejection::UriTooLong);
    }
    let fields = Fields::read(&head.headers)?;
    check_method(&head.method)?;
    let host = host(&fields, head.version, known)?;
    check_target(&head.uri, &head.method, host)?;
    if fields.has_transfer_encoding {
        return Err(HeadRejection::LengthRequired);
    }
    if fields.has_length {
        check_length(&head.headers)?;
    }
    Ok(fields.hints)
}

/// The fields that HTTP's own rules concern.
#[derive(Default)]
struct Fields<'a> {
    host: Option<&'a HeaderValue>,
    hosts_count: usize,
    has_transfer_encoding: bool,
    has_length: bool,
    hints: HeaderHints,
}

impl<'a> Fields<'a> {
    fn read(headers: &'a HeaderMap) -> Result<Self, HeadRejection> {
        let mut fields = Self::default();
        let mut bytes_count = 0;
        for (name, value) in headers {
            bytes_count += name.as_str().len() + value.len() + FIELD_FRAME_BYTES;
            match *name {
                HOST => {
                    fields.host = Some(value);
                    fields.hosts_count += 1;
                }
                TRANSFER_ENCODING => fields.has_transfer_encoding = true,
                CONTENT_LENGTH => fields.has_length = true,
                ACCEPT_ENCODING => fields.hints.has_coding = true,
                RANGE | IF_RANGE | IF_MATCH | IF_NONE_MATCH => {
                    fields.hints.has_condition = true;
                }
                _ => {}
            }
        }
        if FIELDS_MAX < headers.len() || FIELD_BYTES_MAX < bytes_count {
            return Err(HeadRejection::FieldsTooLarge);
        }
        Ok(fields)
    }
}

fn target_bytes(uri: &Uri) -> usize {
    const SCHEME_FRAME_BYTES: usize = "://".len();
    let path_bytes = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let scheme_bytes = uri
        .scheme_str()
        .map_or(0, |scheme| scheme.len() + SCHEME_FRAME_BYTES);
    let authority_bytes = uri.authority().map_or(0, |name| name.as_str().len());
    path_bytes + scheme_bytes + authority_bytes
}

fn check_method(method: &Method) -> Result<(), HeadRejection> {
    let is_plain = method
        .as_str()
        .bytes()
        .all(|byte| byte.is_ascii_uppercase());
    if !is_plain || *method == Method::CONNECT {
        return Err(HeadRejection::BadRequest);
    }
    Ok(())
}

/// The one valid `Host`; `None` only if there is none, which HTTP/1.0 allows.
fn host<'a>(
    fields: &Fields<'a>,
    version: Version,
    known: &mut KnownHost,
) -> Result<Option<&'a HeaderValue>, HeadRejection> {
    let value = match (fields.host, fields.hosts_count) {
        (Some(value), 1) => value,
        (None, _) if version < Version::HTTP_11 => return Ok(None),
        _ => return Err(HeadRejection::BadRequest),
    };
    if !known.is(value) {
        let host = value.to_str().map_err(|_| HeadRejection::BadRequest)?;
        if !is_host(host) {
            return Err(HeadRejection::BadRequest);
        }
        known.keep(value);
    }
    Ok(Some(value))
}

/// Returns true for `uri-host [ ":" port ]` (RFC 9110, 7.2), not empty, without commas.
fn is_host(text: &str) -> bool {
    let (name, port) = split_port(text);
    let is_port_ok = port.is_empty()
        || (port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok());
    let literal = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_name_ok = match literal {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !name.is_empty() && is_reg_name(name.as_bytes()),
    };
    is_port_ok && is_name_ok
}

/// The host and the port, which may be empty.
fn split_port(text: &str) -> (&str, &str) {
    let colon = text.bytes().rposition(|byte| byte == b':');
    match colon.and_then(|colon| text.split_at_checked(colon)) {
        Some((name, port)) if !port.contains(']') => (name, &port[1..]),
        _ => (text, ""),
    }
}

/// True for each byte that a `reg-name` may hold unescaped (RFC 3986, 3.2.2).
const IN_NAMES: [bool; 256] = {
    let mut allowed = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        allowed[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-._~!$&'()*+;=";
    let mut place = 0;
    while place < others.len() {
        allowed[others[place] as usize] = true;
        place += 1;
    }
    allowed
};

fn is_reg_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let Some((first, tail)) = rest.split_first() {
        rest = match (*first, tail) {
            (byte, _) if IN_NAMES[usize::from(byte)] => tail,
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                after
            }
            _ => return false,
        };
    }
    true
}

/// Only a path, an absolute URL of the same host, or `*` with `OPTIONS`.
fn check_target(
    uri: &Uri,
    method: &Method,
    host: Option<&HeaderValue>,
) -> Result<(), HeadRejection> {
    let is_fitting = match (uri.scheme_str(), uri.authority()) {
        (None, None) if uri.path() == "*" => *method == Method::OPTIONS,
        (None, None) => uri.path().starts_with('/'),
        (Some("http" | "https"), Some(authority)) => {
            let is_same = |host: &HeaderValue| {
                let host = host.to_str();
                host.is_ok_and(|host| is_same_host(authority.as_str(), host))
            };
            is_host(authority.as_str()) && host.is_none_or(is_same)
        }
        _ => false,
    };
    if is_fitting {
        Ok(())
    } else {
        Err(HeadRejection::BadRequest)
    }
}

/// Case does not matter; port 80 may be left out.
fn is_same_host(one: &str, other: &str) -> bool {
    let parts = |text| {
        let (name, port) = split_port(text);
        (name, if port.is_empty() { "80" } else { port })
    };
    let (name, port) = parts(one);
    let (other_name, other_port) = parts(other);
    name.eq_ignore_ascii_case(other_name) && port == other_port
}

fn check_length(headers: &HeaderMap) -> Result<(), HeadRejection> {
    for value in headers.get_all(CONTENT_LENGTH) {
        let text = value.to_str().map_err(|_| HeadRejection::BadRequest)?;
        let length: u64 = text.trim().parse().map_err(|_| HeadRejection::BadRequest)?;
        if BODY_BYTES_MAX as u64 <= length.saturating_sub(1) {
            return Err(HeadRejection::ContentTooLarge);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue, Request};

    use super::*;
    use HeadRejection::{BadRequest, ContentTooLarge, FieldsTooLarge, LengthRequired, UriTooLong};

    fn head(method: &str, target: &str, fields: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .body(())
            .unwrap();
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            let value = HeaderValue::from_str(value).unwrap();
            request.headers_mut().append(name, value);
        }
        request.into_parts().0
    }

    fn check(method: &str, target: &str, fields: &[(&str, &str)], expected: Option<HeadRejection>) {
        let fault = check_head(&head(method, target, fields), &mut KnownHost::default()).err();
        assert_eq!(fault, expected, "{method} {target} {fields:?}");
    }

    #[test]
    fn host_is_there_once_and_valid() {
        let check_host = |host: &str, expected| check("GET", "/", &[("host", host)], expected);
        check("GET", "/", &[], Some(BadRequest));
        check(
            "GET",
            "/",
            &[("host", "a"), ("host", "a")],
            Some(BadRequest),
        );
        for host in [
            "a",
            "a:80",
            "a:",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:80",
            "a%20b",
            "a_b.c",
        ] {
            check_host(host, None);
        }
        for host in [
            "", "a,b", "a b", "a/b", "u@a", "a:b", "a:99999", "[::1", "[x]", "a%2", ":80", "a:-1",
            "a?", "a#", "::1",
        ] {
            check_host(host, Some(BadRequest));
        }
    }

    #[test]
    fn a_known_host_lets_no_other_pass() {
        let mut known = KnownHost::default();
        // Twice: a value that was remembered before it was checked would pass the second time.
        let mut check = |target, host, expected: Option<HeadRejection>| {
            for time in 1..=2 {
                let fault = check_head(&head("GET", target, &[("host", host)]), &mut known).err();
                assert_eq!(fault, expected, "{target} {host}, time {time}");
            }
        };
        check("/", "", Some(BadRequest));
        check("/", "a:80", None);
        check("/", "a,b", Some(BadRequest));
        check("http://a/", "a:80", None);
        check("http://b/", "a:80", Some(BadRequest));
        check("/", "a:99999", Some(BadRequest));
        check("/", "", Some(BadRequest));
        let long = "a".repeat(300);
        check("/", &long, None);
        check("/", "a:80", None);
    }

    #[test]
    fn hints_are_seen() {
        let check = |name, has_coding, has_condition| {
            let head = head("GET", "/", &[("host", "a"), (name, "x")]);
            let seen = check_head(&head, &mut KnownHost::default());
            let expected = HeaderHints {
                has_coding,
                has_condition,
            };
            assert_eq!(seen, Ok(expected), "{name}");
        };
        check("accept", false, false);
        check("accept-encoding", true, false);
        check("range", false, true);
        check("if-range", false, true);
        check("if-none-match", false, true);
        check("if-match", false, true);
    }

    #[test]
    fn host_may_be_missing_before_http_1_1() {
        let mut old = head("GET", "/", &[]);
        old.version = Version::HTTP_10;
        assert!(check_head(&old, &mut KnownHost::default()).is_ok());
        let mut old = head("GET", "/", &[("host", "a,b")]);
        old.version = Version::HTTP_10;
        let fault = check_head(&old, &mut KnownHost::default());
        assert_eq!(fault, Err(BadRequest));
    }

    #[test]
    fn methods_are_upper_case_letters() {
        let host = [("host", "a")];
        for method in ["GET", "TRACE", "PROPFIND"] {
            check(method, "/", &host, None);
        }
        for method in ["get", "GeT", "M-SEARCH", "G3T"] {
            check(method, "/", &host, Some(BadRequest));
        }
        check("CONNECT", "a:80", &host, Some(BadRequest));
    }

    #[test]
    fn targets_are_paths_or_our_own_urls() {
        let host = [("host", "a")];
        check("GET", "/x?y", &host, None);
        check("GET", "http://a/x", &host, None);
        check("GET", "http://A:80/x", &host, None);
        check("GET", "http://b/x", &host, Some(BadRequest));
        check("GET", "http://a:81/x", &host, Some(BadRequest));
        check("GET", "http://u@a/x", &host, Some(BadRequest));
        check("GET", "ftp://a/x", &host, Some(BadRequest));
        check("GET", "a:80", &host, Some(BadRequest));
        check("OPTIONS", "*", &host, None);
        check("GET", "*", &host, Some(BadRequest));
    }

    #[test]
    fn bodies_have_a_length_within_the_limit() {
        let with = |name, value, expected| {
            check("POST", "/", &[("host", "a"), (name, value)], expected);
        };
        with("transfer-encoding", "chunked", Some(LengthRequired));
        with("transfer-encoding", "identity", Some(LengthRequired));
        with("content-length", "0", None);
        with("content-length", "65536", None);
        with("content-length", "65537", Some(ContentTooLarge));
        with("content-length", "99999999999999999999", Some(BadRequest));
    }

    #[test]
    fn sizes_are_limited() {
        let host = ("host", "a");
        let long = |bytes: usize| format!("/{}", "x".repeat(bytes - 1));
        check("GET", &long(8192), &[host], None);
        check("GET", &long(8193), &[host], Some(UriTooLong));

        let mut fields = vec![host];
        fields.resize(64, ("x", "y"));
        check("GET", "/", &fields, None);
        fields.push(("x", "y"));
        check("GET", "/", &fields, Some(FieldsTooLarge));

        // host: 4 + 1 + 4 bytes, x: 1 + value + 4.
        let value = "v".repeat((16 << 10) - 9 - 5);
        check("GET", "/", &[host, ("x", &value)], None);
        let value = "v".repeat((16 << 10) - 9 - 4);
        check("GET", "/", &[host, ("x", &value)], Some(FieldsTooLarge));
    }
}
