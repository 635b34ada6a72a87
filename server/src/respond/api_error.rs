//! The one table of errors: the status and body of each.

use bytes::Bytes;
use http::{Response, StatusCode};

use super::fields::{CommonHeaders, NOT_STORED, Surface};
use crate::runtime::{Body, Content};
use hyper::ext::ReasonPhrase;

/// Everything that can be refused or go wrong under `/api` (API.md, errors).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiError {
    /// HTTP's own rules: method, target or `Host`.
    BadRequest,
    /// A search without a criterion.
    NoCriterion,
    /// A record without a file at the upstream source.
    NoReleaseId,
    /// A file came that cannot be served.
    DownloadFailed,
    /// An archive that cannot be read, or a text in it.
    ExtractionFailed,
    /// A text that cannot be converted.
    ConversionFailed,
    /// No text of an archive is the one that the request means.
    FileNotInArchive,
    /// No valid key.
    Unauthorized,
    /// A key without the scope, or an expired one (setting `auth.expired_status`).
    Forbidden,
    /// No such path.
    NotFound,
    /// No such record.
    SubtitleNotFound,
    /// A known path, another method.
    MethodNotAllowed,
    /// A body with a transfer coding.
    LengthRequired,
    /// A body that is too long.
    ContentTooLarge,
    /// A target that is too long.
    UriTooLong,
    /// A file that `If-Match` does not match.
    PreconditionFailed,
    /// A range outside a file of this size in bytes.
    RangeNotSatisfiable(u64),
    /// `season` or `episode` without `video_type=episode`.
    SeasonWithoutEpisodes,
    /// A window is full.
    RateLimited,
    /// Too many or too long fields.
    FieldsTooLarge,
    /// Our own fault.
    Internal,
    /// The upstream source does not give the file.
    UpstreamFailed,
    /// No room for another connection.
    Unavailable,
    /// A node of a cluster that does not know which keys are revoked.
    Fenced,
    /// A part of the index is being built again that may have the record.
    Rebuilding,
    /// A parameter below an address that is not valid: the whole body.
    InvalidAddressParameter(&'static str),
}

/// A status, and a body with this detail.
macro_rules! detail {
    ($status:ident, $detail:literal) => {
        (
            StatusCode::$status,
            concat!(r#"{"detail":""#, $detail, r#""}"#),
        )
    };
}

impl ApiError {
    /// Status of the answer.
    pub fn status(self) -> u16 {
        self.status_and_body().0.as_u16()
    }

    /// Status and body.
    const fn status_and_body(self) -> (StatusCode, &'static str) {
        match self {
            Self::BadRequest => detail!(BAD_REQUEST, "Bad Request"),
            Self::NoCriterion => detail!(
                BAD_REQUEST,
                "Provide at least one search criteria: query, title, catalog_id or public_id"
            ),
            Self::NoReleaseId => detail!(
                BAD_REQUEST,
                "Subtitle missing source_release_id to download"
            ),
            Self::DownloadFailed => detail!(BAD_REQUEST, "Failed to download subtitle"),
            Self::ExtractionFailed => detail!(BAD_REQUEST, "Failed to extract file from archive"),
            Self::ConversionFailed => detail!(BAD_REQUEST, "Failed to convert subtitle"),
            Self::FileNotInArchive => detail!(NOT_FOUND, "File not found in archive"),
            Self::Unauthorized => detail!(UNAUTHORIZED, "Invalid authentication credentials"),
            Self::Forbidden => detail!(FORBIDDEN, "Forbidden"),
            Self::NotFound => detail!(NOT_FOUND, "Not Found"),
            Self::SubtitleNotFound => detail!(NOT_FOUND, "Subtitle not found"),
            Self::MethodNotAllowed => detail!(METHOD_NOT_ALLOWED, "Method Not Allowed"),
            Self::LengthRequired => detail!(LENGTH_REQUIRED, "Length Required"),
            Self::ContentTooLarge => detail!(PAYLOAD_TOO_LARGE, "Content Too Large"),
            Self::UriTooLong => detail!(URI_TOO_LONG, "URI Too Long"),
            Self::PreconditionFailed => detail!(PRECONDITION_FAILED, "Precondition Failed"),
            Self::RangeNotSatisfiable(_) => detail!(RANGE_NOT_SATISFIABLE, "Range Not Satisfiable"),
            Self::SeasonWithoutEpisodes => detail!(
                UNPROCESSABLE_ENTITY,
                "Parameters 'season' and 'episode' are only allowed when video_type=episode"
            ),
            Self::RateLimited => detail!(TOO_MANY_REQUESTS, "Rate limit exceeded"),
            Self::FieldsTooLarge => detail!(
                REQUEST_HEADER_FIELDS_TOO_LARGE,
                "Request Header Fields Too Large"
            ),
            Self::Internal => detail!(INTERNAL_SERVER_ERROR, "Internal Server Error"),
            Self::UpstreamFailed => detail!(BAD_GATEWAY, "Failed to fetch subtitle from source"),
            Self::InvalidAddressParameter(body) => (StatusCode::BAD_REQUEST, body),
            Self::Unavailable | Self::Fenced | Self::Rebuilding => {
                detail!(SERVICE_UNAVAILABLE, "Service Unavailable")
            }
        }
    }

    /// Returns true if the connection cannot be used any further.
    const fn closes(self) -> bool {
        matches!(
            self,
            Self::BadRequest
                | Self::LengthRequired
                | Self::ContentTooLarge
                | Self::UriTooLong
                | Self::FieldsTooLarge
                | Self::Unavailable
        )
    }
}

/// The methods of every path under `/api`.
pub(super) const METHODS: &str = "GET, HEAD, OPTIONS";

/// The response to an error: its status, its detail, and the headers that belong to it.
pub fn error_response(common: CommonHeaders, error: ApiError) -> Response<Body> {
    let (status, body) = error.status_and_body();
    if common.surface == Surface::AddressFile && is_missing_file(status) {
        return empty_file(common, status, detail(body));
    }
    let surface = common.surface;
    let mut answer = common.open_error(status);
    match error {
        ApiError::Unauthorized => {
            answer.raw_headers.add_text("www-authenticate: ", "Bearer");
        }
        ApiError::MethodNotAllowed => {
            answer.raw_headers.add_text("allow: ", METHODS);
        }
        ApiError::Fenced | ApiError::Rebuilding => {
            answer.raw_headers.add_text("retry-after: ", "5");
        }
        ApiError::RangeNotSatisfiable(size_bytes) => {
            let range = format!("bytes */{size_bytes}");
            answer.raw_headers.add_text("content-range: ", &range);
        }
        _ => {}
    }
    if error.closes() {
        answer.close_connection();
    }
    let body = match surface {
        Surface::Api => Bytes::from_static(body.as_bytes()),
        Surface::Address | Surface::AddressFile => with_error(body, detail(body)),
    };
    let mut response = answer.json(Content::Bytes(body));
    name_status(&mut response);
    response
}

/// Gives a 413 the reason phrase of RFC 9110: hyper's own is that of RFC 7231.
pub fn name_status<B>(response: &mut Response<B>) {
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let reason = ReasonPhrase::from_static(b"Content Too Large");
        response.extensions_mut().insert(reason);
    }
}

/// The detail of a finished body, as JSON has it.
fn detail(body: &'static str) -> &'static str {
    let start = body.strip_prefix(r#"{"detail":""#);
    let detail = start.and_then(|rest| rest.strip_suffix(r#""}"#));
    detail.unwrap_or_default()
}

/// The body of an error below an address: its text a second time (API.md 20.6).
fn with_error(body: &str, error: &str) -> Bytes {
    let open = body.strip_suffix('}').unwrap_or(body);
    format!(r#"{open},"error":"{error}"}}"#).into()
}

/// True for errors that a client of Bazarr's provider gets as an empty file (API.md 20.11).
fn is_missing_file(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 404 | 422 | 502)
}

/// An empty file in place of an error; a field names the error.
fn empty_file(common: CommonHeaders, status: StatusCode, detail: &str) -> Response<Body> {
    let mut answer = common.open(StatusCode::OK, NOT_STORED);
    let text = format!("{} {detail}", status.as_u16());
    answer.raw_headers.add_text("x-subcat-error: ", &text);
    answer.close(Content::Bytes(Bytes::new()))
}

/// A parameter that is not valid, as the body of a 422 names it.
pub struct InvalidParameter<'a> {
    /// Name of the parameter.
    pub name: &'a str,
    /// Message for people.
    pub message: &'a str,
    /// Kind of the error, for programs.
    pub kind: &'a str,
}

/// The response to a request with invalid parameters: 422 with all of them.
pub fn invalid_parameters<'a>(
    common: CommonHeaders,
    invalid: impl Iterator<Item = InvalidParameter<'a>>,
) -> Response<Body> {
    let mut body = String::from(r#"{"detail":["#);
    let mut first = "";
    for (idx, parameter) in invalid.enumerate() {
        let separator = if idx == 0 { "" } else { "," };
        if idx == 0 {
            first = parameter.message;
        }
        body.push_str(separator);
        // All three are texts of the program, without a character that JSON escapes.
        body.push_str(r#"{"loc":["query",""#);
        body.push_str(parameter.name);
        body.push_str(r#""],"msg":""#);
        body.push_str(parameter.message);
        body.push_str(r#"","type":""#);
        body.push_str(parameter.kind);
        body.push_str(r#""}"#);
    }
    body.push_str("]}");
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    let body = match common.surface {
        Surface::Api => body.into(),
        Surface::Address => with_error(&body, first),
        Surface::AddressFile => return empty_file(common, status, first),
    };
    common.open_error(status).json(Content::Bytes(body))
}
