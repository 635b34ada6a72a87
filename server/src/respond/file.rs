//! Files as answers: entity tags, parts, encodings.

use http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG,
};
use http::{HeaderValue, Response, StatusCode};
use subcat_engine::model::{ContentHash, Variant};

use super::fields::{ASK_AGAIN, Envelope};
use super::file_name::content_disposition;
use crate::runtime::Body;

/// What answers say of a file in one encoding: finished once, sent many times.
#[derive(Debug, Clone)]
pub struct FileFields {
    variant: Variant,
    etag: HeaderValue,
    disposition: HeaderValue,
}

impl FileFields {
    /// The fields of a content in each encoding, under a cleaned name: identity, gzip, brotli.
    pub fn of(content: &ContentHash, name: &str) -> [Self; 3] {
        let disposition = field(&content_disposition(name));
        [Variant::Identity, Variant::Gzip, Variant::Brotli].map(|variant| Self {
            variant,
            etag: field(&entity_tag(content, variant)),
            disposition: disposition.clone(),
        })
    }

    /// The encoding.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The entity tag, quotes included.
    pub fn etag(&self) -> &str {
        self.etag.to_str().unwrap_or_default()
    }
}

/// The entity tag of a content in one encoding, quotes included. Strong: equal tags mean equal
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

/// 200: the whole file.
pub fn whole_file(envelope: Envelope, file: &FileFields, body: Body) -> Response<Body> {
    const BYTES: HeaderValue = HeaderValue::from_static("bytes");
    let mut answer = open(envelope, StatusCode::OK, file);
    if file.variant == Variant::Identity {
        answer.fields.insert(ACCEPT_RANGES, BYTES);
    }
    answer.close(body)
}

/// 206: the bytes from `start` to before `end`, of `size_bytes`.
pub fn part_of_file(
    envelope: Envelope,
    file: &FileFields,
    (start, end): (u64, u64),
    size_bytes: u64,
    body: Body,
) -> Response<Body> {
    let mut answer = open(envelope, StatusCode::PARTIAL_CONTENT, file);
    let last = end.saturating_sub(1);
    let range = HeaderValue::from_str(&format!("bytes {start}-{last}/{size_bytes}"))
        .expect("digits are allowed in a field");
    answer.fields.insert(CONTENT_RANGE, range);
    answer.close(body)
}

/// 304: the client has it.
pub fn unchanged_file(envelope: Envelope, file: &FileFields) -> Response<Body> {
    let mut answer = envelope.open(StatusCode::NOT_MODIFIED, ASK_AGAIN);
    answer.fields.insert(ETAG, file.etag.clone());
    answer.bare()
}

fn open(envelope: Envelope, status: StatusCode, file: &FileFields) -> super::fields::Answer {
    const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");
    let mut answer = envelope.open(status, ASK_AGAIN);
    answer.fields.insert(CONTENT_TYPE, OCTETS);
    let disposition = file.disposition.clone();
    answer.fields.insert(CONTENT_DISPOSITION, disposition);
    answer.fields.insert(ETAG, file.etag.clone());
    let encoding = match file.variant {
        Variant::Identity => return answer,
        Variant::Gzip => "gzip",
        Variant::Brotli => "br",
    };
    let encoding = HeaderValue::from_static(encoding);
    answer.fields.insert(CONTENT_ENCODING, encoding);
    answer
}

fn field(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("our own text is printable ASCII")
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
