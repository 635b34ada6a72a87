//! Content that is compressed once, and sent as each client accepts it.

use std::collections::VecDeque;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue, Response};
use parking_lot::Mutex;
use subcat_engine::Variant;

use super::answer::PageBody;
use crate::api::compress;
use crate::limits::PACKED_PAGES_MAX;
use crate::request::accepted_variants;

/// A content of the program, compressed with gzip and brotli.
pub(crate) struct PackedContent {
    pub(crate) plain: Bytes,
    gzip: Bytes,
    brotli: Bytes,
}

impl PackedContent {
    /// Compresses `plain` at the best level: once per process.
    pub(crate) fn new(plain: Bytes) -> Self {
        let packed = |variant| {
            let packed = compress(&plain, variant);
            packed.expect("memory takes every byte").into()
        };
        Self {
            gzip: packed(Variant::Gzip),
            brotli: packed(Variant::Brotli),
            plain,
        }
    }

    /// The content in the form that the client prefers, and the name of its coding.
    pub(crate) fn accepted(&self, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
        match accepted_variants(headers).next() {
            Some(Variant::Brotli) => (self.brotli.clone(), Some("br")),
            Some(Variant::Gzip) => (self.gzip.clone(), Some("gzip")),
            _ => (self.plain.clone(), None),
        }
    }
}

/// Mark of an answer that holds nothing secret, and may be compressed: the length of a compressed
/// body reveals something of its content.
#[derive(Clone, Copy)]
pub(crate) struct Compressible;

/// Pages that were compressed lately, in gzip: the next client that gets the same bytes gets the
/// same compressed ones.
#[derive(Default)]
pub(crate) struct PackedPages(Mutex<VecDeque<PackedPage>>);

struct PackedPage {
    plain: Bytes,
    gzip: Bytes,
}

impl PackedPages {
    /// The same response with its body in gzip, if the client accepts that.
    pub(crate) fn compressed(
        &self,
        mut response: Response<PageBody>,
        request_headers: &HeaderMap,
    ) -> Response<PageBody> {
        let is_accepted = accepted_variants(request_headers).any(|it| it == Variant::Gzip);
        let packed = match response.body() {
            PageBody::Bytes(bytes) if is_accepted => self.gzip(bytes),
            _ => None,
        };
        let Some(packed) = packed else {
            return response;
        };
        *response.body_mut() = PageBody::Bytes(packed);
        let headers = response.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        response
    }

    /// The page in gzip; `None` if it cannot be compressed.
    fn gzip(&self, plain: &Bytes) -> Option<Bytes> {
        if let Some(found) = self.0.lock().iter().find(|page| page.plain == *plain) {
            return Some(found.gzip.clone());
        }
        // The lock is not held while compressing: that two compress the same page does no harm.
        let gzip = Bytes::from(compress(plain, Variant::Gzip).ok()?);
        let mut pages = self.0.lock();
        if pages.len() == PACKED_PAGES_MAX {
            pages.pop_front();
        }
        pages.push_back(PackedPage {
            plain: plain.clone(),
            gzip: gzip.clone(),
        });
        Some(gzip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_compressed_once_and_room_is_bounded() {
        let pages = PackedPages::default();
        let text = |number: usize| Bytes::from(format!("page {number}").repeat(100));
        let first = pages.gzip(&text(0)).unwrap();
        assert_eq!(first.as_ptr(), pages.gzip(&text(0)).unwrap().as_ptr());
        for number in 1..=PACKED_PAGES_MAX {
            pages.gzip(&text(number)).unwrap();
        }
        assert_eq!(pages.0.lock().len(), PACKED_PAGES_MAX);
        assert_ne!(first.as_ptr(), pages.gzip(&text(0)).unwrap().as_ptr());
    }
}
