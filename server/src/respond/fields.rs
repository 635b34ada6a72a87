//! The fields that every answer under `/api` carries.

use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH,
    CONTENT_TYPE, HeaderName, RETRY_AFTER, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::decimal::decimal;
use crate::limiter::Quota;
use crate::runtime::Body;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const WINDOW: HeaderName = HeaderName::from_static("x-ratelimit-window");

const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Window, \
     Retry-After, Content-Disposition, ETag, Content-Length",
);
const VARYING: HeaderValue = HeaderValue::from_static("Authorization, Accept-Encoding");
/// Search and record answers, and errors.
pub(super) const OF_THE_MOMENT: HeaderValue = HeaderValue::from_static("private, max-age=0");
/// Files: may be kept, must be asked for again.
pub(super) const ASK_AGAIN: HeaderValue = HeaderValue::from_static("private, no-cache");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How many fields an answer has room for without growing.
const FIELDS_COUNT: usize = 16;

/// What an answer says beside its body: a window, and whether the body is left out.
pub struct Envelope {
    /// The window of the key, or of the client's address (API.md, rate limit).
    pub quota: Quota,
    /// Whether the request was `HEAD`.
    pub is_head: bool,
    /// The fields of the request, taken over for their memory.
    pub recycled: HeaderMap,
    /// The limit of the window, as the connection keeps it.
    pub limit: NumberText,
    /// The end of the window, as the connection keeps it.
    pub reset: NumberText,
}

/// An integer as a header value, kept while it stays the same: a limit does, and the time at
/// which a window ends is fixed when it opens.
#[derive(Clone)]
pub struct NumberText {
    number: u64,
    text: HeaderValue,
}

impl NumberText {
    /// The text of a number; `self` when that is its text already.
    pub fn of(&mut self, number: u64) -> Self {
        if self.number != number {
            self.number = number;
            self.text = decimal(number);
        }
        self.clone()
    }
}

impl Default for NumberText {
    fn default() -> Self {
        Self {
            number: 0,
            text: decimal(0),
        }
    }
}

impl Envelope {
    /// A response with the common fields, and room for more.
    pub(super) fn open(self, status: StatusCode, cache_control: HeaderValue) -> Answer {
        let mut fields = self.recycled;
        fields.clear();
        fields.reserve(FIELDS_COUNT);
        fields.insert(LIMIT, self.limit.text);
        fields.insert(REMAINING, decimal(self.quota.remaining.into()));
        fields.insert(RESET, self.reset.text);
        fields.insert(WINDOW, decimal(self.quota.window_seconds.into()));
        if let Some(seconds) = self.quota.retry_after {
            fields.insert(RETRY_AFTER, decimal(seconds.into()));
        }
        fields.insert(CACHE_CONTROL, cache_control);
        fields.insert(VARY, VARYING);
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
        fields.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        Answer {
            status,
            fields,
            is_head: self.is_head,
        }
    }
}

/// An answer whose body is still to come.
pub(super) struct Answer {
    status: StatusCode,
    pub(super) fields: HeaderMap,
    is_head: bool,
}

impl Answer {
    /// With a body of JSON.
    pub(super) fn json(mut self, body: Body) -> Response<Body> {
        self.fields.insert(CONTENT_TYPE, JSON);
        self.close(body)
    }

    /// With a body, which `HEAD` leaves out but for its length.
    pub(super) fn close(mut self, body: Body) -> Response<Body> {
        let body = if self.is_head {
            let length = decimal(body.len_bytes());
            self.fields.insert(CONTENT_LENGTH, length);
            Body::Empty
        } else {
            body
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.fields;
        response
    }

    /// Without a body or a length: 204 and 304.
    pub(super) fn bare(self) -> Response<Body> {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.fields;
        response
    }
}
