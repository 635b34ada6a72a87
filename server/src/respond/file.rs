//! Files as answers: entity tags, parts, encodings.

use std::ops::Range;

use bytes::Bytes;
use http::{Response, StatusCode};
use subcat_engine::{ContentHash, Variant};

use super::fields::{CommonHeaders, REVALIDATED, ResponseBuilder};
use crate::files::content_disposition;
use crate::runtime::{Body, Content};

/// Headers of a file in one encoding: built once, sent many times.
#[derive(Debug, Clone)]
pub struct FileFields {
    variant: Variant,
    etag: Bytes,
    /// Header lines of a response with content, except those about ranges.
    raw_headers: Bytes,
}

impl FileFields {
    /// The fields of `content` in each encoding, under a cleaned name: identity, gzip, brotli.
    pub fn of(content: &ContentHash, name: &str, content_type: &str) -> [Self; 3] {
        let disposition = content_disposition(name);
        [Variant::Identity, Variant::Gzip, Variant::Brotli].map(|variant| {
            let etag = entity_tag(content, variant);
            let encoding = match variant {
                Variant::Identity => "",
                Variant::Gzip => "content-encoding: gzip\r\n",
                Variant::Brotli => "content-encoding: br\r\n",
            };
            let raw_headers = format!(
                "content-type: {content_type}\r\n\
                 content-disposition: {disposition}\r\netag: {etag}\r\n{encoding}"
            );
            Self {
                variant,
                etag: etag.into(),
                raw_headers: raw_headers.into(),
            }
        })
    }

    /// The encoding.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The entity tag, quotes included.
    pub fn etag(&self) -> &[u8] {
        &self.etag
    }
}

/// The entity tag of `content` in one encoding, quotes included. Strong: equal tags mean equal
/// bytes.
pub fn entity_tag(content: &ContentHash, variant: Variant) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut tag = String::with_capacity(70);
    tag.push('"');
    for byte in content.0 {
        tag.push(char::from(HEX[usize::from(byte >> 4)]));
        tag.push(char::from(HEX[usize::from(byte & 15)]));
    }
    tag.push_str(match variant {
        Variant::Identity => "\"",
        Variant::Gzip => "-gz\"",
        Variant::Brotli => "-br\"",
    });
    tag
}

/// Head of an answer with a file.
pub enum FileHead {
    /// Under `/api`, or below an address.
    Api(CommonHeaders),
    /// Of a page, which sets the other fields.
    Page {
        /// True if the method was `HEAD`.
        is_head: bool,
    },
}

impl FileHead {
    fn open(self, status: StatusCode) -> ResponseBuilder {
        match self {
            Self::Api(common) => common.open(status, REVALIDATED),
            Self::Page { is_head } => ResponseBuilder::of_page(status, is_head),
        }
    }
}

/// 200: the whole file.
pub fn whole_file(head: FileHead, file: &FileFields, content: Content) -> Response<Body> {
    let mut answer = open(head, StatusCode::OK, file);
    if file.variant == Variant::Identity {
        answer.raw_headers.add(b"accept-ranges: bytes\r\n");
    }
    answer.close(content)
}

/// 206: a range of a file of `size_bytes`.
pub fn part_of_file(
    head: FileHead,
    file: &FileFields,
    range: Range<u64>,
    size_bytes: u64,
    content: Content,
) -> Response<Body> {
    let mut answer = open(head, StatusCode::PARTIAL_CONTENT, file);
    let last = range.end.saturating_sub(1);
    let range = format!("bytes {}-{last}/{size_bytes}", range.start);
    answer.raw_headers.add_text("content-range: ", &range);
    answer.close(content)
}

/// 304: the client has the current file.
pub fn unchanged_file(head: FileHead, file: &FileFields) -> Response<Body> {
    let mut answer = head.open(StatusCode::NOT_MODIFIED);
    answer.raw_headers.add(b"etag: ");
    answer.raw_headers.add(&file.etag);
    answer.raw_headers.add(b"\r\n");
    answer.bare()
}

fn open(head: FileHead, status: StatusCode, file: &FileFields) -> ResponseBuilder {
    let mut answer = head.open(status);
    answer.raw_headers.add(&file.raw_headers);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_has_a_tag_of_its_own() {
        let content = ContentHash([0xAB; 32]);
        let digits = "ab".repeat(32);
        let check = |variant, expected: String| {
            assert_eq!(entity_tag(&content, variant), expected);
        };
        check(Variant::Identity, format!("\"{digits}\""));
        check(Variant::Gzip, format!("\"{digits}-gz\""));
        check(Variant::Brotli, format!("\"{digits}-br\""));
    }
}
