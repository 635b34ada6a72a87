//! Paths: split, then decoded, then matched.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use subcat_engine::{RecordId, Scopes};

use super::route_rule::{Caching, Cost, Methods, RouteAccess, RouteRule, RouteThrottle};

/// A path under `/api`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiPath {
    /// `/api/health`.
    Health,
    /// `/api/subtitles/search`.
    Search,
    /// `/api/subtitles/{subtitle_id}`; none when that is not a UUID.
    Record(Option<RecordId>),
    /// `/api/subtitles/{subtitle_id}/download`; none when that is not a UUID.
    Download(Option<RecordId>),
    /// `/api/subtitles/{subtitle_id}/files`; none when that is not a UUID.
    Files(Option<RecordId>),
    /// Any other.
    Unknown,
}

/// Rules of the endpoints of the API. Scripts of other sites may send requests with a key that they
/// hold: no form is checked, because no cookie counts.
pub const API_RULES: &[RouteRule] = &[HEALTH, SEARCH, RECORD, DOWNLOAD, FILES];

const HEALTH: RouteRule = RouteRule {
    path: "/api/health",
    methods: Methods::GetAndPreflight,
    access: RouteAccess::Anybody,
    throttle: RouteThrottle::Nothing,
    cost: Cost::Cheap,
    is_form_checked: false,
    caching: Caching::ApiAnswer,
};

const SEARCH: RouteRule = endpoint("/api/subtitles/search", Scopes::SEARCH, Cost::Searches);
const RECORD: RouteRule = endpoint(
    "/api/subtitles/{subtitle_id}",
    Scopes::READ,
    Cost::ReadsCatalog,
);
const DOWNLOAD: RouteRule = endpoint(
    "/api/subtitles/{subtitle_id}/download",
    Scopes::DOWNLOAD,
    Cost::ReadsCatalog,
);

const FILES: RouteRule = endpoint(
    "/api/subtitles/{subtitle_id}/files",
    Scopes::DOWNLOAD,
    Cost::ReadsCatalog,
);

const fn endpoint(path: &'static str, scope: Scopes, cost: Cost) -> RouteRule {
    RouteRule {
        path,
        access: RouteAccess::ApiKey(scope),
        throttle: RouteThrottle::ApiKey,
        cost,
        ..HEALTH
    }
}

impl ApiPath {
    /// Rules of the endpoint; `None` for a path that has none.
    pub const fn rule(self) -> Option<&'static RouteRule> {
        match self {
            Self::Health => Some(&HEALTH),
            Self::Search => Some(&SEARCH),
            Self::Record(_) => Some(&RECORD),
            Self::Download(_) => Some(&DOWNLOAD),
            Self::Files(_) => Some(&FILES),
            Self::Unknown => None,
        }
    }
}

/// Matches a path under `/api`; `None` for any other path (API.md, paths).
///
/// Slashes are merged; each segment is decoded after the split, so `%2F` separates nothing. Dot
/// segments have no special meaning. Cost: no allocation unless something is percent-encoded.
///
/// ```
/// use subcat_server::request::{ApiPath, api_path};
/// assert_eq!(api_path("//api/subtitles//search/"), Some(ApiPath::Search));
/// assert_eq!(api_path("/apiary"), None);
/// ```
pub fn api_path(path: &str) -> Option<ApiPath> {
    if let Some(plain) = plain_path(path) {
        return Some(plain);
    }
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    if !path.as_bytes().contains(&b'%') {
        return route(&mut segments.map(Cow::Borrowed));
    }
    route(&mut segments.map(|segment| percent_decode_str(segment).decode_utf8_lossy()))
}

/// Matches the path of an endpoint in its usual form: no superfluous slash, nothing encoded.
fn plain_path(path: &str) -> Option<ApiPath> {
    const ID_BYTES: usize = 36;
    let name = path.strip_prefix("/api/subtitles/")?;
    if name == "search" {
        return Some(ApiPath::Search);
    }
    let (id, end) = name.split_at_checked(ID_BYTES)?;
    let id = RecordId::parse(id)?;
    match end {
        "" => Some(ApiPath::Record(Some(id))),
        "/download" => Some(ApiPath::Download(Some(id))),
        "/files" => Some(ApiPath::Files(Some(id))),
        _ => None,
    }
}

/// Matches segments. Reads at most one more than the longest known path has.
fn route<'a>(segments: &mut dyn Iterator<Item = Cow<'a, str>>) -> Option<ApiPath> {
    if segments.next()? != "api" {
        return None;
    }
    let mut next = || segments.next();
    let (first, second, third, more) = (next(), next(), next(), next());
    let names = (first.as_deref(), second.as_deref(), third.as_deref());
    Some(match names {
        _ if more.is_some() => ApiPath::Unknown,
        (Some("health"), None, None) => ApiPath::Health,
        (Some("subtitles"), Some("search"), None) => ApiPath::Search,
        (Some("subtitles"), Some(id), None) => ApiPath::Record(RecordId::parse(id)),
        (Some("subtitles"), Some(id), Some("download")) => ApiPath::Download(RecordId::parse(id)),
        (Some("subtitles"), Some(id), Some("files")) => ApiPath::Files(RecordId::parse(id)),
        _ => ApiPath::Unknown,
    })
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
    fn the_rules_are_those_of_the_paths() {
        for rule in API_RULES {
            let path = rule.path.replace("{subtitle_id}", ID);
            let found = api_path(&path).and_then(ApiPath::rule);
            assert_eq!(found.map(|found| found.path), Some(rule.path));
        }
        assert!(ApiPath::Unknown.rule().is_none());
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
