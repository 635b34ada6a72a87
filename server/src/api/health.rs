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
    let following = worker.service.cluster().map(|node| node.lag());
    let (common, record) = context.common(recycled);
    let answer = health(common, status, env!("CARGO_PKG_VERSION"), following);
    worker.record(&record, answer)
}
