//! Health, preflights, and finished JSON.

use bytes::Bytes;
use http::{Response, StatusCode};

use super::api_error::METHODS;
use super::body_tag::{BodyTag, TaggedBody};
use super::fields::{CURRENT, CURRENT_JSON, CommonHeaders};
use crate::runtime::{Body, Content};

/// The response to a health check: 200 if the status is `ok`, else 503. `following` is the lag of a
/// node of a cluster behind the log, itself `None` while it cannot follow.
pub fn health(
    common: CommonHeaders,
    status: &'static str,
    version: &'static str,
    following: Option<Option<u64>>,
) -> Response<Body> {
    let code = if status == "ok" {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let following = match following {
        None => String::new(),
        Some(Some(lag)) => format!(r#","state":"following","lag":{lag}"#),
        Some(None) => r#","state":"degraded","lag":null"#.to_owned(),
    };
    let body = format!(r#"{{"status":"{status}","version":"{version}"{following}}}"#);
    let mut answer = common.open(code, CURRENT_JSON);
    if status == "draining" {
        // The worker closes this connection soon, but may not have come to it yet.
        answer.close_connection();
    }
    answer.close(Content::Bytes(body.into()))
}

/// The answer to a CORS preflight (API.md, paths and methods).
pub fn preflight(common: CommonHeaders) -> Response<Body> {
    // A wildcard does not cover `Authorization`, which has to be named.
    const FIELDS: &str = "Authorization, *";
    let mut answer = common.open(StatusCode::NO_CONTENT, CURRENT);
    let raw_headers = &mut answer.raw_headers;
    raw_headers.add_text("allow: ", METHODS);
    raw_headers.add_text("access-control-allow-methods: ", METHODS);
    raw_headers.add_text("access-control-allow-headers: ", FIELDS);
    raw_headers.add_text("access-control-max-age: ", "86400");
    answer.bare()
}

/// The line of an answer that may lack records (API.md 5.11).
const PARTIAL_LINE: &[u8] = b"x-subcat-partial: true\r\n";

/// A finished JSON answer with its tag.
pub fn json(common: CommonHeaders, answer: TaggedBody) -> Response<Body> {
    let mut response = common.open(StatusCode::OK, CURRENT_JSON);
    response.raw_headers.add(answer.tag.line());
    if answer.is_partial {
        response.raw_headers.add(PARTIAL_LINE);
    }
    response.close(Content::Bytes(answer.body))
}

/// A JSON answer without a tag, below an address.
pub fn json_now(common: CommonHeaders, body: Bytes) -> Response<Body> {
    let response = common.open(StatusCode::OK, CURRENT_JSON);
    response.close(Content::Bytes(body))
}

/// 304: the client has the current JSON answer, but for counts of downloads.
pub fn unchanged_json(common: CommonHeaders, tag: &BodyTag) -> Response<Body> {
    let mut answer = common.open(StatusCode::NOT_MODIFIED, CURRENT);
    answer.raw_headers.add(tag.line());
    answer.bare()
}

/// A whole 503 response, head and body, for a connection that hyper never sees.
pub fn http1_bytes(error: &Response<Body>) -> Bytes {
    let mut text = b"HTTP/1.1 503 Service Unavailable\r\n".to_vec();
    for (name, value) in error.headers() {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(&error.body().raw_headers);
    let body: &[u8] = match &error.body().content {
        Content::Bytes(bytes) => bytes,
        Content::Empty | Content::File(..) => b"",
    };
    text.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    text.extend_from_slice(body);
    text.into()
}
