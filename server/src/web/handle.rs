//! The door of the web interface.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::blob::Blob;

use super::site::Site;

/// The body of a page: bytes, or a stored file.
pub enum PageBody {
    /// Finished bytes.
    Bytes(Bytes),
    /// A file of the content store.
    Blob(Arc<Blob>),
}

/// Answers a request outside `/api`. Runs on the control runtime; `peer` is the client's address,
/// trusted proxies taken into account; `is_https` whether the client came by https.
pub async fn handle(
    _site: &Arc<Site>,
    _request: http::Request<Bytes>,
    _peer: IpAddr,
    _is_https: bool,
) -> http::Response<PageBody> {
    todo!()
}
