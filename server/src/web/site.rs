//! What the pages share.

use std::sync::Arc;

use parking_lot::Mutex;
use subcat_engine::CounterLane;

use super::setup::Setup;
use crate::service::Service;

/// The web interface of a service. One per process, shared by all requests.
pub struct Site {
    pub(crate) service: Arc<Service>,
    pub(crate) setup: Setup,
    pub(crate) counter_lane: Mutex<CounterLane>,
}

impl Site {
    /// The pages of `service`. Takes one of the engine's counter lanes.
    pub fn new(service: Arc<Service>) -> subcat_engine::Result<Self> {
        let counter_lane = Mutex::new(service.engine.counter_lane()?);
        Ok(Self {
            service,
            setup: Setup::new(),
            counter_lane,
        })
    }

    /// Path and query of the one-time link that makes the first account (an admin), as long as
    /// there is no account. `serve` prints it after the address.
    pub fn setup_path(&self) -> Option<String> {
        let is_first_start = self.service.engine.accounts().is_empty();
        is_first_start.then(|| self.setup.path())
    }
}
