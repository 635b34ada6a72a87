//! `manifest.json` (API.md 20.12).

use bytes::Bytes;
use http::Response;

use super::call::AddressCall;
use crate::runtime::Body;

const MANIFEST: &str = concat!(
    r#"{"id":"org.subcat","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","name":"subcat","description":"Subtitle catalog","resources":[{"name":"subtitles","#,
    r#""types":["movie","series"],"idPrefixes":["tt"]}],"types":["movie","series"],"#,
    r#""idPrefixes":["tt"],"catalogs":[]}"#,
);

/// Answers with the description of the add-on.
pub(super) fn answer(call: AddressCall<'_>) -> Response<Body> {
    call.worker
        .send(call.admitted, Bytes::from_static(MANIFEST.as_bytes()))
}
