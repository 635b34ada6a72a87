//! `GET /api/health`.

use http::{HeaderMap, Response};

use super::accounting::RequestContext;
use super::worker::ApiWorker;
use crate::respond::health;
use crate::runtime::Body;

/// Answers with the phase of the service and its version.
pub(super) fn answer(
    worker: &ApiWorker,
    context: RequestContext,
    recycled: HeaderMap,
) -> Response<Body> {
    let status = worker.service.phase().as_str();
    let (common, record) = context.common(recycled);
    worker.record(&record, health(common, status, env!("CARGO_PKG_VERSION")))
}
