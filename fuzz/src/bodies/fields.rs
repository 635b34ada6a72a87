//! Paths and header fields.

use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{HeaderMap, HeaderValue};
use subcat_server::request::{
    ApiPath, ByteRange, accepted_variants, api_path, byte_range, is_none_match, is_range_current,
};

/// Repeated and trailing slashes never change what a path means.
pub fn path(data: &[u8]) {
    let path = String::from_utf8_lossy(data);
    let meaning = api_path(&path);
    assert_eq!(api_path(&format!("{path}/")), meaning, "{path:?}");
    assert_eq!(api_path(&path.replace('/', "//")), meaning, "{path:?}");
    assert_eq!(api_path(&format!("//{path}")), meaning, "{path:?}");
    if let Some(ApiPath::Record(Some(id)) | ApiPath::Download(Some(id))) = meaning {
        let written = format!("/api/subtitles/{id}");
        assert_eq!(
            api_path(&written),
            Some(ApiPath::Record(Some(id))),
            "{path:?}"
        );
    }
}

/// A range lies inside the file, whatever is requested; the first two bytes are the file's size.
pub fn conditional_headers(data: &[u8]) {
    let (size, rest) = data.split_at(data.len().min(2));
    let size_bytes = size
        .iter()
        .fold(0, |sum, byte| sum * 256 + u64::from(*byte));
    let Ok(value) = HeaderValue::from_bytes(rest) else {
        return;
    };
    let mut headers = HeaderMap::new();
    for name in [RANGE, IF_RANGE, IF_NONE_MATCH, ACCEPT_ENCODING] {
        headers.append(name, value.clone());
    }
    match byte_range(&headers, size_bytes) {
        ByteRange::Part(start, end) => {
            assert!(start < end, "{value:?} of {size_bytes}");
            assert!(end <= size_bytes, "{value:?} of {size_bytes}");
        }
        ByteRange::Whole | ByteRange::Unsatisfiable => {}
    }
    let is_current = is_range_current(&headers, b"\"a\"");
    assert!(
        !is_current || is_none_match(&headers, b"\"a\""),
        "{value:?}"
    );
    assert!(accepted_variants(&headers).count() <= 2, "{value:?}");
}
