//! `api/v1/info` (API.md 20.8).

use bytes::Bytes;
use http::Response;

use super::call::AddressCall;
use crate::runtime::Body;

const INFO: &str = concat!(
    r#"{"name":"subcat","description":"Subtitle catalog","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","features":{"search_by_imdb_id":true,"search_by_title":true,"search_by_slug":false,"#,
    r#""search_by_season_episode":true,"hearing_impaired_filter":true,"language_filter":true}}"#,
);

/// Answers with the name of the service and its features.
pub(super) fn answer(call: AddressCall<'_>) -> Response<Body> {
    call.worker
        .send(call.admitted, Bytes::from_static(INFO.as_bytes()))
}
