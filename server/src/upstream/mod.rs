//! Files that are not cached yet: the only module that dials out.

mod names;
mod sniff;

use std::sync::Arc;

use subcat_engine::Engine;
use subcat_engine::model::{CachedFile, FileName, ReleaseId};

use crate::config::UpstreamSettings;

pub use names::upstream_name;
pub use sniff::kind_of;

/// Why a file could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchFailure {
    /// 502: unavailable, removed, or a network problem.
    Unavailable,
    /// 400: it came, but is empty, too large or of no known kind.
    Unusable,
    /// 500: it came, but could not be stored.
    NotStored,
}

/// Fetches, one at a time per release; remembers failures for a while. Lives on the control
/// runtime; its methods may be awaited on any runtime.
pub struct Upstream {}

impl Upstream {
    /// An upstream with these settings, spawning on `control`.
    pub fn new(
        _settings: UpstreamSettings,
        _engine: Arc<Engine>,
        _control: tokio::runtime::Handle,
    ) -> Self {
        todo!()
    }

    /// The file of `release`: joins a fetch under way, or starts one that goes on even when the
    /// caller leaves. `record_name` is the record's own file name, a hint for the kind of text.
    pub async fn fetch(
        &self,
        _release: &ReleaseId,
        _record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchFailure> {
        todo!()
    }
}
