//! Signs of life for the service manager.

use std::sync::Arc;

use crate::limits::WORKER_STILL_MIN;
use crate::runtime::{ControlHandle, ServiceManager};
use crate::service::Service;

/// Sends the service manager heartbeats, if it wants them. They stop once a worker stalls, or no
/// work of a pool ends: then the service manager restarts the process.
pub(super) fn start(service: &Arc<Service>, control: &ControlHandle) {
    let Some(limit) = ServiceManager::watchdog() else {
        return;
    };
    let service = Arc::clone(service);
    control.spawn(async move {
        let mut interval = crate::runtime::interval(limit / 3);
        loop {
            interval.tick().await;
            let still = service.metrics.oldest_tick(service.clock.now());
            let pools = service.control.pool_states();
            if limit.max(WORKER_STILL_MIN) <= still {
                let seconds = still.as_secs();
                tracing::error!(seconds, "a worker stands still: no sign of life is sent");
            } else if let Some(pool) = pools.iter().find(|pool| pool.is_fault()) {
                let pool = pool.kind.as_str();
                tracing::error!(pool, "no work of a pool ends: no sign of life is sent");
            } else {
                ServiceManager::alive();
            }
        }
    });
}
