//! `GET /api/health`.

use http::{HeaderMap, Response};

use super::desk::{ApiWorker, Visit};
use crate::respond::health;
use crate::runtime::Body;

/// What the service is doing, and its version.
pub(super) fn answer(worker: &ApiWorker, visit: Visit, recycled: HeaderMap) -> Response<Body> {
    let status = worker.service.phase().as_str();
    let (common, tally) = visit.common(recycled);
    worker.settle(&tally, health(common, status, env!("CARGO_PKG_VERSION")))
}
