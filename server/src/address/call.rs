//! A request below an address on its way to its endpoint.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Uri;
use subcat_engine::Language;

use super::base_url::{AddressPlace, ReachedBy};
use crate::api::{Admitted, ApiWorker};
use crate::limits::URL_START_BYTES;
use crate::request::AddressPath;

/// An admitted request below an address.
pub(super) struct AddressCall<'a> {
    pub(super) worker: &'a Arc<ApiWorker>,
    pub(super) admitted: Admitted,
    pub(super) uri: &'a Uri,
    pub(super) path: &'a AddressPath<'a>,
    /// True if the request came from a trusted proxy.
    pub(super) is_proxied: bool,
    /// True if the request came by a Unix socket.
    pub(super) is_local: bool,
    /// The address that was reached; none of a Unix socket.
    pub(super) reached: Option<SocketAddr>,
    pub(super) place: AddressPlace,
}

impl AddressCall<'_> {
    /// Beginning of the URLs in the answer, the key and the tag included. All its parts were
    /// checked: it has nothing that JSON escapes.
    pub(super) fn base(&self) -> String {
        let config = self.worker.service().config();
        let reached = ReachedBy {
            config: &config,
            headers: &self.admitted.headers,
            is_proxied: self.is_proxied,
            is_local: self.is_local,
            reached: self.reached,
            place: self.place,
        };
        let mut base = String::with_capacity(URL_START_BYTES);
        reached.write_base_url(&mut base);
        base.push_str("/a/");
        base.push_str(&self.path.key);
        if let Some(tag) = &self.path.tag {
            base.push('/');
            base.push_str(tag);
        }
        base
    }

    /// The filter of every search below the address.
    pub(super) fn variety(&self) -> Option<Language> {
        self.path.tag.as_deref().and_then(Language::parse)
    }

    /// Path and query, undecoded.
    pub(super) fn target(&self) -> &str {
        let target = self.uri.path_and_query();
        target.map_or_else(|| self.uri.path(), |target| target.as_str())
    }
}
