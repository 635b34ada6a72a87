//! Paths below an address (API.md 20.3).

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use subcat_engine::{Language, RecordId};

use super::route_rule::{Caching, Cost, Methods, RouteAccess, RouteRule, RouteThrottle};

/// A path `/a/<key>[/<tag>]/…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPath<'a> {
    /// The text in the place of the key, which may be anything.
    pub key: Cow<'a, str>,
    /// The language tag with a region, as written, if there is one.
    pub tag: Option<Cow<'a, str>>,
    /// The rest.
    pub endpoint: AddressEndpoint<'a>,
}

/// An endpoint below an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressEndpoint<'a> {
    /// `api/v1/info`.
    Info,
    /// `api/v1/languages`.
    Languages,
    /// `api/v1/subtitles/search`.
    Search,
    /// `api/v1/subtitles/<id>/download`; none when that is not a UUID.
    Download(Option<RecordId>),
    /// `manifest.json`.
    Manifest,
    /// `subtitles/<type>/<id>[/<extra>].json`.
    Subtitles(AddonVideo<'a>),
    /// `file/<id>.srt`; none when that is not a UUID.
    File(Option<RecordId>),
    /// Any other.
    Unknown,
}

/// Rules of the endpoints below an address. Each may have a language tag behind the key.
pub const ADDRESS_RULES: &[RouteRule] =
    &[INFO, LANGUAGES, SEARCH, DOWNLOAD, MANIFEST, SUBTITLES, FILE];

const INFO: RouteRule = RouteRule {
    path: "/a/{key}/api/v1/info",
    methods: Methods::GetAndPreflight,
    access: RouteAccess::Address,
    throttle: RouteThrottle::ApiKey,
    cost: Cost::Cheap,
    is_form_checked: false,
    caching: Caching::ApiAnswer,
};

const LANGUAGES: RouteRule = below("/a/{key}/api/v1/languages", Cost::ReadsCatalog);
const SEARCH: RouteRule = below("/a/{key}/api/v1/subtitles/search", Cost::Searches);
const DOWNLOAD: RouteRule = below(
    "/a/{key}/api/v1/subtitles/{subtitle_id}/download",
    Cost::ReadsCatalog,
);
const MANIFEST: RouteRule = below("/a/{key}/manifest.json", Cost::Cheap);
const SUBTITLES: RouteRule = below("/a/{key}/subtitles/{type}/{video}.json", Cost::Searches);
const FILE: RouteRule = below("/a/{key}/file/{subtitle_id}.srt", Cost::ReadsCatalog);

const fn below(path: &'static str, cost: Cost) -> RouteRule {
    RouteRule { path, cost, ..INFO }
}

impl AddressEndpoint<'_> {
    /// Rules of the endpoint; `None` for a path that has none.
    pub const fn rule(&self) -> Option<&'static RouteRule> {
        match self {
            Self::Info => Some(&INFO),
            Self::Languages => Some(&LANGUAGES),
            Self::Search => Some(&SEARCH),
            Self::Download(_) => Some(&DOWNLOAD),
            Self::Manifest => Some(&MANIFEST),
            Self::Subtitles(_) => Some(&SUBTITLES),
            Self::File(_) => Some(&FILE),
            Self::Unknown => None,
        }
    }
}

/// A video that the add-on lists subtitles for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddonVideo<'a> {
    /// `movie` or `series`, or anything else.
    pub kind: Cow<'a, str>,
    /// `tt…` or `tt…:S:E`, or anything else.
    pub id: Cow<'a, str>,
    /// More about the video, as an undecoded query string.
    pub extra: &'a str,
}

/// Matches a path below an address; `None` for any other path. It is split, then decoded, like
/// those under `/api` (API.md 2.1 and 2.2).
pub fn address_path(path: &str) -> Option<AddressPath<'_>> {
    if let Some(key) = plain_search(path) {
        return Some(AddressPath {
            key: Cow::Borrowed(key),
            tag: None,
            endpoint: AddressEndpoint::Search,
        });
    }
    let mut rest = path;
    if next_segment(&mut rest)? != "a" {
        return None;
    }
    let key = next_segment(&mut rest).unwrap_or_default();
    let mut after_tag = rest;
    let tag = next_segment(&mut after_tag).filter(|segment| is_regional_tag(segment));
    if tag.is_some() {
        rest = after_tag;
    }
    Some(AddressPath {
        key,
        tag,
        endpoint: endpoint(rest),
    })
}

/// The key in the path of a search in its usual form: no tag, no superfluous slash, nothing
/// encoded.
fn plain_search(path: &str) -> Option<&str> {
    let key = path
        .strip_prefix("/a/")?
        .strip_suffix("/api/v1/subtitles/search")?;
    let is_plain = !key.is_empty() && !key.bytes().any(|byte| byte == b'/' || byte == b'%');
    if is_plain { Some(key) } else { None }
}

/// True for a path below an address. Cost: its first segment.
pub fn is_below_address(path: &str) -> bool {
    let mut rest = path;
    next_segment(&mut rest).is_some_and(|first| first == "a")
}

/// True if a text is a language tag with a region.
fn is_regional_tag(text: &str) -> bool {
    Language::parse(text).is_some_and(|tag| tag.region().is_some())
}

fn endpoint(path: &str) -> AddressEndpoint<'_> {
    let mut rest = path;
    let mut next = || next_segment(&mut rest);
    let (first, second, third) = (next(), next(), next());
    // The last segments of an add-on's path are not split any further.
    if first.as_deref() == Some("subtitles") {
        let video = second.zip(third);
        return video.map_or(AddressEndpoint::Unknown, |(kind, id)| addon(kind, id, rest));
    }
    let (fourth, fifth, more) = (next(), next(), next());
    let names = [&first, &second, &third, &fourth, &fifth, &more].map(Option::as_deref);
    match names {
        [Some("api"), Some("v1"), Some("info"), None, ..] => AddressEndpoint::Info,
        [Some("api"), Some("v1"), Some("languages"), None, ..] => AddressEndpoint::Languages,
        [
            Some("api"),
            Some("v1"),
            Some("subtitles"),
            Some("search"),
            None,
            ..,
        ] => AddressEndpoint::Search,
        [
            Some("api"),
            Some("v1"),
            Some("subtitles"),
            Some(id),
            Some("download"),
            None,
        ] => AddressEndpoint::Download(RecordId::parse(id)),
        [Some("manifest.json"), None, ..] => AddressEndpoint::Manifest,
        [Some("file"), Some(name), None, ..] => match name.strip_suffix(".srt") {
            Some(id) => AddressEndpoint::File(RecordId::parse(id)),
            None => AddressEndpoint::Unknown,
        },
        _ => AddressEndpoint::Unknown,
    }
}

/// The endpoint of a video; `rest` is the undecoded part after its id.
fn addon<'a>(kind: Cow<'a, str>, id: Cow<'a, str>, rest: &'a str) -> AddressEndpoint<'a> {
    const ENDING: &str = ".json";
    let extra = rest.trim_matches('/');
    if extra.is_empty() {
        let Some(bare) = id.strip_suffix(ENDING) else {
            return AddressEndpoint::Unknown;
        };
        let id = Cow::Owned(bare.to_owned());
        return AddressEndpoint::Subtitles(AddonVideo { kind, id, extra });
    }
    match extra.strip_suffix(ENDING) {
        Some(extra) => AddressEndpoint::Subtitles(AddonVideo { kind, id, extra }),
        None => AddressEndpoint::Unknown,
    }
}

/// Takes the next segment of a path, decoded; slashes in a row count as one.
fn next_segment<'a>(rest: &mut &'a str) -> Option<Cow<'a, str>> {
    let path = rest.trim_start_matches('/');
    if path.is_empty() {
        *rest = "";
        return None;
    }
    let end = path.bytes().position(|byte| byte == b'/');
    let (segment, after) = path.split_at(end.unwrap_or(path.len()));
    *rest = after;
    if !segment.as_bytes().contains(&b'%') {
        return Some(Cow::Borrowed(segment));
    }
    Some(percent_decode_str(segment).decode_utf8_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";

    #[expect(clippy::needless_pass_by_value, reason = "cases are one line each")]
    fn check(path: &str, expected: AddressEndpoint<'_>) {
        let plain = format!("/a/KEY{path}");
        let found = address_path(&plain).unwrap();
        assert_eq!(found.endpoint, expected, "{path}");
        assert_eq!((&*found.key, found.tag), ("KEY", None), "{path}");
        let with_tag = format!("//a//K%45Y/es-419/{path}/");
        let found = address_path(&with_tag).unwrap();
        assert_eq!(found.endpoint, expected, "{with_tag}");
        assert_eq!((&*found.key, found.tag.as_deref()), ("KEY", Some("es-419")));
    }

    fn video<'a>(kind: &'a str, id: &'a str, extra: &'a str) -> AddressEndpoint<'a> {
        AddressEndpoint::Subtitles(AddonVideo {
            kind: kind.into(),
            id: id.into(),
            extra,
        })
    }

    #[test]
    fn rule_20_3_endpoints_are_found_with_and_without_a_tag() {
        let id = RecordId::parse(ID);
        check("/api/v1/info", AddressEndpoint::Info);
        check("/api/v1/languages", AddressEndpoint::Languages);
        check("/api/v1/subtitles/search", AddressEndpoint::Search);
        let download = format!("/api/v1/subtitles/{ID}/download");
        check(&download, AddressEndpoint::Download(id));
        check(
            "/api/v1/subtitles/x/download",
            AddressEndpoint::Download(None),
        );
        check("/manifest.json", AddressEndpoint::Manifest);
        check(&format!("/file/{ID}.srt"), AddressEndpoint::File(id));
        check("/file/x.srt", AddressEndpoint::File(None));
    }

    #[test]
    fn rule_20_3_what_is_not_named_is_unknown() {
        for path in [
            "",
            "/",
            "/api",
            "/api/v1",
            "/api/v2/info",
            "/api/v1/info/x",
            "/api/v1/subtitles/x",
            "/api/v1/subtitles/x/download/y",
            "/api/v1/subtitles%2Fsearch",
            "/file/x.vtt",
            "/file/x.srt/y",
            "/manifest.json/x",
            "/subtitles",
            "/subtitles/movie",
            "/subtitles/movie/tt1",
            "/subtitles/movie/tt1/filename=x",
            "/MANIFEST.JSON",
        ] {
            check(path, AddressEndpoint::Unknown);
        }
        assert_eq!(address_path("/a").unwrap().key, "");
        for path in ["/", "/api/a/KEY", "/b/KEY", "/A/KEY/manifest.json", ""] {
            assert_eq!(address_path(path), None, "{path}");
            assert!(!is_below_address(path), "{path}");
        }
    }

    #[test]
    fn rule_20_3_a_tag_has_a_region() {
        let tag = |path: &str| address_path(path).unwrap().tag.map(Cow::into_owned);
        assert_eq!(tag("/a/K/ES_mx/manifest.json").as_deref(), Some("ES_mx"));
        assert_eq!(tag("/a/K/es/manifest.json"), None);
        let found = address_path("/a/K/es/manifest.json").unwrap();
        assert_eq!(found.endpoint, AddressEndpoint::Unknown);
        let twice = address_path("/a/K/es-ES/es-ES/manifest.json").unwrap();
        assert_eq!(twice.endpoint, AddressEndpoint::Unknown);
    }

    #[test]
    fn rule_20_13_extra_is_all_that_follows_the_id() {
        check("/subtitles/movie/tt7.json", video("movie", "tt7", ""));
        let series = video("series", "tt7:1:2", "");
        check("/subtitles/series/tt7%3A1%3A2.json", series);
        let path = "/subtitles/series/tt7:1:2/filename=A%26B.mkv&videoSize=1.json";
        check(
            path,
            video("series", "tt7:1:2", "filename=A%26B.mkv&videoSize=1"),
        );
        let path = "/subtitles/movie/tt7/filename=a/b.json.json";
        check(path, video("movie", "tt7", "filename=a/b.json"));
    }
}
