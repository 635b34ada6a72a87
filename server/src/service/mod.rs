//! What the endpoints, the pages and the commands share.

use std::sync::Arc;

use subcat_engine::Engine;

use crate::auth::KeyTable;
use crate::config::Config;
use crate::upstream::Upstream;

/// The running service.
pub struct Service {
    /// Its settings.
    pub config: Config,
    /// The catalog.
    pub engine: Arc<Engine>,
    /// Who may ask.
    pub api_keys: KeyTable,
    /// Where files come from.
    pub upstream: Upstream,
}

impl Service {
    /// Reads keys and accounts again and swaps the key table: called after every change of one,
    /// before that change is acknowledged.
    pub fn reload_api_keys(&self) {
        todo!()
    }
}
