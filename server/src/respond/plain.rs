//! Health, preflights, and finished JSON.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, ALLOW,
};
use http::{HeaderValue, Response, StatusCode};

use super::failure::METHODS;
use super::fields::{Envelope, OF_THE_MOMENT};
use crate::runtime::Body;

/// The state of the service: 200 when it is `ok`, else 503.
pub fn health(envelope: Envelope, status: &'static str, version: &'static str) -> Response<Body> {
    let code = if status == "ok" {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = format!(r#"{{"status":"{status}","version":"{version}"}}"#);
    let answer = envelope.open(code, OF_THE_MOMENT);
    answer.json(Body::Bytes(body.into()))
}

/// The answer to a CORS preflight (API.md, paths and methods).
pub fn preflight(envelope: Envelope) -> Response<Body> {
    const FIELDS: HeaderValue =
        HeaderValue::from_static("Authorization, If-None-Match, If-Range, Range");
    const DAY: HeaderValue = HeaderValue::from_static("86400");
    let mut answer = envelope.open(StatusCode::NO_CONTENT, OF_THE_MOMENT);
    answer.fields.insert(ALLOW, METHODS);
    answer.fields.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answer.fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, FIELDS);
    answer.fields.insert(ACCESS_CONTROL_MAX_AGE, DAY);
    answer.bare()
}

/// A finished JSON answer.
pub fn json(envelope: Envelope, body: Bytes) -> Response<Body> {
    let answer = envelope.open(StatusCode::OK, OF_THE_MOMENT);
    answer.json(Body::Bytes(body))
}

/// A whole answer for a client for whom there is no room: head and body, ready to be written.
pub fn turn_away(quota_fields: &Response<Body>) -> Bytes {
    let mut text = String::from("HTTP/1.1 503 Service Unavailable\r\n");
    for (name, value) in quota_fields.headers() {
        text.push_str(name.as_str());
        text.push_str(": ");
        text.push_str(value.to_str().unwrap_or_default());
        text.push_str("\r\n");
    }
    let body: &[u8] = match quota_fields.body() {
        Body::Bytes(bytes) => bytes,
        Body::Empty | Body::File(..) => b"",
    };
    text.push_str("content-length: ");
    text.push_str(&body.len().to_string());
    text.push_str("\r\n\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes.into()
}
