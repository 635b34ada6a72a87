//! Paths: split, then decoded, then matched.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use subcat_engine::model::RecordId;

/// A path under `/api`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiPath {
    /// `/api/health`.
    Health,
    /// `/api/subtitles/search`.
    Search,
    /// `/api/subtitles/{subtitle_id}`; none when that is no UUID.
    Record(Option<RecordId>),
    /// `/api/subtitles/{subtitle_id}/download`; none when that is no UUID.
    Download(Option<RecordId>),
    /// Any other.
    Unknown,
}

/// More segments than any known path has.
const SEGMENTS_MAX: usize = 5;

/// The path under `/api` that this is; none when it is not under `/api` (API.md, paths).
///
/// Slashes are merged; each segment is decoded after the split, so `%2F` separates nothing. Dot
/// segments mean nothing. Cost: no allocation when nothing is percent-encoded.
///
/// ```
/// use subcat_server::request::{ApiPath, api_path};
/// assert_eq!(api_path("//api/subtitles//search/"), Some(ApiPath::Search));
/// assert_eq!(api_path("/apiary"), None);
/// ```
pub fn api_path(path: &str) -> Option<ApiPath> {
    let mut parts = [const { Cow::Borrowed("") }; SEGMENTS_MAX];
    let mut parts_count = 0;
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        if parts_count == SEGMENTS_MAX {
            break;
        }
        parts[parts_count] = percent_decode_str(segment).decode_utf8_lossy();
        parts_count += 1;
    }
    let parts = parts.each_ref().map(|part| &**part);
    let (first, rest) = parts[..parts_count].split_first()?;
    (*first == "api").then(|| route(rest))
}

fn route(segments: &[&str]) -> ApiPath {
    match segments {
        ["health"] => ApiPath::Health,
        ["subtitles", "search"] => ApiPath::Search,
        ["subtitles", id] => ApiPath::Record(RecordId::parse(id)),
        ["subtitles", id, "download"] => ApiPath::Download(RecordId::parse(id)),
        _ => ApiPath::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";

    fn check(path: &str, expected: Option<ApiPath>) {
        assert_eq!(api_path(path), expected, "{path}");
    }

    #[test]
    fn finds_the_endpoints() {
        let id = RecordId::parse(ID);
        check("/api/health", Some(ApiPath::Health));
        check("/api/subtitles/search", Some(ApiPath::Search));
        check(&format!("/api/subtitles/{ID}"), Some(ApiPath::Record(id)));
        let download = format!("/api/subtitles/{ID}/download");
        check(&download, Some(ApiPath::Download(id)));
        check("/api/subtitles/x", Some(ApiPath::Record(None)));
        check("/api/subtitles/x/download", Some(ApiPath::Download(None)));
        let odd = Some(ApiPath::Download(None));
        check("/api/subtitles/search/download", odd);
    }

    #[test]
    fn merges_slashes() {
        let id = RecordId::parse(ID);
        check("//api/health", Some(ApiPath::Health));
        check("/api//health/", Some(ApiPath::Health));
        check("/api/health//", Some(ApiPath::Health));
        let path = format!("/api/subtitles//{ID}/download");
        check(&path, Some(ApiPath::Download(id)));
    }

    #[test]
    fn decodes_after_the_split() {
        check("/%61pi/health", Some(ApiPath::Health));
        check("/api%2Fhealth", None);
        check("/api/subtitles%2Fsearch", Some(ApiPath::Unknown));
        check("/api/health%", Some(ApiPath::Unknown));
        check("/api/h%zzealth", Some(ApiPath::Unknown));
        check("/api/%ff", Some(ApiPath::Unknown));
    }

    #[test]
    fn knows_what_it_does_not_know() {
        check("/api", Some(ApiPath::Unknown));
        check("/api/", Some(ApiPath::Unknown));
        check("/api/subtitles", Some(ApiPath::Unknown));
        check("/api/health/x", Some(ApiPath::Unknown));
        check("/api/../api/health", Some(ApiPath::Unknown));
        check("/api/./health", Some(ApiPath::Unknown));
        check("/api/a/b/c/d/e/f/g", Some(ApiPath::Unknown));
        check("/API/health", None);
        check("/", None);
        check("", None);
        check("/apiary", None);
        check("/x/api/health", None);
    }
}
