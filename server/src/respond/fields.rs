//! Common headers of every response under `/api`.

use constcat::concat_bytes;
use http::header::{CONNECTION, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::raw_headers::RawHeaderBlock;
use crate::limiter::Quota;
use crate::runtime::{Body, Content};

/// Headers that are the same in every response.
const COMMON: &[u8] = b"vary: Authorization, Accept-Encoding\r\n\
    x-content-type-options: nosniff\r\n\
    access-control-allow-origin: *\r\n\
    access-control-expose-headers: X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, \
    X-RateLimit-Window, Retry-After, Content-Disposition, ETag, Content-Length, \
    Content-Range\r\n";
const MAX_AGE_0: &[u8] = b"cache-control: private, max-age=0\r\n";
const NO_CACHE: &[u8] = b"cache-control: private, no-cache\r\n";
const NO_STORE: &[u8] = b"cache-control: no-store\r\n";
const JSON: &[u8] = b"content-type: application/json\r\n";

/// Headers of an answer that is current only when it is sent: searches, records, errors. In one
/// piece, like those below: each piece is a copy more.
pub(super) const CURRENT: &[u8] = concat_bytes!(MAX_AGE_0, COMMON);
/// Headers of such an answer with a body of JSON.
pub(super) const CURRENT_JSON: &[u8] = concat_bytes!(MAX_AGE_0, COMMON, JSON);
/// Headers of a file, which may be stored and must be revalidated.
pub(super) const REVALIDATED: &[u8] = concat_bytes!(NO_CACHE, COMMON);
/// Headers of an error or a refusal below an address.
pub(super) const NOT_STORED: &[u8] = concat_bytes!(NO_STORE, COMMON);

/// The interface of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Under `/api`.
    Api,
    /// Below an address (API.md 20.4).
    Address,
    /// A download of Bazarr below an address: a missing file is an empty one (API.md 20.11).
    AddressFile,
}

/// Values of the common headers, and what else a response takes from its request.
pub struct CommonHeaders {
    /// The window of the key, or of the client's address (API.md, rate limit).
    pub quota: Quota,
    /// True if the method was `HEAD`.
    pub is_head: bool,
    /// The fields of the request, taken over for their memory.
    pub recycled: HeaderMap,
    /// The interface.
    pub surface: Surface,
}

impl CommonHeaders {
    /// An error with the common fields.
    pub(super) fn open_error(self, status: StatusCode) -> ResponseBuilder {
        let headers = match self.surface {
            Surface::Api => CURRENT,
            Surface::Address | Surface::AddressFile => NOT_STORED,
        };
        self.open(status, headers)
    }

    /// An answer with the common fields and these headers.
    pub(super) fn open(self, status: StatusCode, headers: &[u8]) -> ResponseBuilder {
        let mut fields = self.recycled;
        fields.clear();
        let quota = self.quota;
        let mut raw_headers = RawHeaderBlock::new();
        raw_headers.add_number("x-ratelimit-limit: ", quota.limit.into());
        raw_headers.add_number("x-ratelimit-remaining: ", quota.remaining.into());
        raw_headers.add_number("x-ratelimit-reset: ", quota.reset);
        raw_headers.add_number("x-ratelimit-window: ", quota.window_seconds.into());
        if let Some(seconds) = quota.retry_after {
            raw_headers.add_number("retry-after: ", seconds.into());
        }
        raw_headers.add(headers);
        if self.surface != Surface::Api {
            raw_headers.add(b"referrer-policy: no-referrer\r\n");
        }
        ResponseBuilder {
            status,
            raw_headers,
            fields,
            is_head: self.is_head,
        }
    }
}

/// An answer without its body.
pub(super) struct ResponseBuilder {
    status: StatusCode,
    pub(super) raw_headers: RawHeaderBlock,
    /// Fields that hyper itself must see.
    fields: HeaderMap,
    is_head: bool,
}

impl ResponseBuilder {
    /// The file of a page, which sets the common fields of pages itself (API.md 12.9).
    pub(super) fn of_page(status: StatusCode, is_head: bool) -> Self {
        Self {
            status,
            raw_headers: RawHeaderBlock::new(),
            fields: HeaderMap::new(),
            is_head,
        }
    }

    /// The connection ends with this answer.
    pub(super) fn close_connection(&mut self) {
        const CLOSE: HeaderValue = HeaderValue::from_static("close");
        self.fields.insert(CONNECTION, CLOSE);
    }

    /// With a body of JSON.
    pub(super) fn json(mut self, content: Content) -> Response<Body> {
        self.raw_headers.add(JSON);
        self.close(content)
    }

    /// With a body, which `HEAD` leaves out but for its length.
    pub(super) fn close(mut self, content: Content) -> Response<Body> {
        if self.is_head {
            let length = HeaderValue::from(content.len_bytes());
            self.fields.insert(CONTENT_LENGTH, length);
            return self.bare();
        }
        self.finish(content)
    }

    /// Without a body or a length: 204 and 304.
    pub(super) fn bare(self) -> Response<Body> {
        self.finish(Content::Empty)
    }

    fn finish(self, content: Content) -> Response<Body> {
        let raw_headers = self.raw_headers.finish();
        let mut response = Response::new(Body {
            content,
            raw_headers,
        });
        *response.status_mut() = self.status;
        *response.headers_mut() = self.fields;
        response
    }
}
