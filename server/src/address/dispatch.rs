//! Dispatches a request below an address to its endpoint.

use std::sync::Arc;

use super::base_url::AddressPlace;
use super::call::AddressCall;
use super::{download, file, info, languages, manifest, search, subtitles};
use crate::api::{AddressTarget, ApiRequest, ApiWorker, ConnectionMemory, RefusedRequest};
use crate::request::{AddressEndpoint, address_path};
use crate::respond::{ApiError, Surface};
use crate::runtime::HandlerOutcome;

/// Answers a request to a path below an address ([`address_path`]).
pub fn answer(
    worker: &Arc<ApiWorker>,
    connection: &mut ConnectionMemory,
    mut request: ApiRequest<'_>,
    place: AddressPlace,
) -> HandlerOutcome {
    let uri = request.head.uri.clone();
    let Some(path) = address_path(uri.path()) else {
        // Nothing that the router sends here.
        let refused = RefusedRequest {
            headers: std::mem::take(&mut request.head.headers),
            is_head: false,
            surface: Surface::Address,
        };
        return HandlerOutcome::Now(worker.reject(connection, refused, ApiError::NotFound));
    };
    request.surface = match path.endpoint {
        AddressEndpoint::Download(_) => Surface::AddressFile,
        _ => Surface::Address,
    };
    let target = AddressTarget {
        key: &path.key,
        rule: path.endpoint.rule(),
    };
    let admitted = match worker.admit(connection, &mut request, &target) {
        Ok(admitted) => admitted,
        Err(response) => return HandlerOutcome::Now(response),
    };
    let call = AddressCall {
        worker,
        admitted,
        uri: &uri,
        path: &path,
        is_proxied: connection.is_proxied(worker.service()),
        is_local: connection.is_local(),
        reached: connection.reached(),
        place,
    };
    let response = match &path.endpoint {
        AddressEndpoint::Info => info::answer(call),
        AddressEndpoint::Languages => languages::answer(call),
        AddressEndpoint::Search => search::answer(call),
        AddressEndpoint::Manifest => manifest::answer(call),
        AddressEndpoint::Subtitles(video) => subtitles::answer(call, video),
        AddressEndpoint::Download(id) => return download::answer(call, *id),
        AddressEndpoint::File(id) => return file::answer(call, *id),
        AddressEndpoint::Unknown => worker.refuse(call.admitted, ApiError::NotFound),
    };
    HandlerOutcome::Now(response)
}
