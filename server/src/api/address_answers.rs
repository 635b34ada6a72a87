//! The parts of the API that addresses use: searches and answers.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::Response;
use subcat_engine::{LocatedHits, Query, RecordId, RecordLocation, Snapshot};

use super::address_checks::Admitted;
use super::download;
use super::search::{downloads_of, locate_hits};
use super::worker::{ApiWorker, failed};
use crate::cache::{AddressAnswer, AddressItems};
use crate::respond::{ApiError, json_now};
use crate::runtime::{Body, HandlerOutcome};

/// Hits of a search, with their snapshot.
pub(crate) struct SnapshotHits {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) hits: Arc<LocatedHits>,
}

impl ApiWorker {
    /// The kept answer to a target with URLs below `base`, while its counts are current.
    pub(crate) fn kept_answer(&self, target: &str, base: &str) -> Option<Bytes> {
        let snapshot = self.service.engine.catalog().snapshot();
        let kept = self
            .state
            .lock()
            .address_answers
            .get(snapshot.id(), target)?;
        let are_current = || {
            let downloads = downloads_of(self, &kept.counted);
            kept.downloads.iter().copied().eq(downloads)
        };
        if kept.base != base || !are_current() {
            return None;
        }
        self.metrics().search_cache_hits.add(1);
        Some(kept.body.clone())
    }

    /// Keeps the answer to a target that was sent before, for the next request with it.
    pub(crate) fn keep_answer(
        &self,
        snapshot_id: u64,
        target: &str,
        answer: impl FnOnce() -> AddressAnswer,
    ) {
        let answers = &mut self.state.lock().address_answers;
        answers.put(snapshot_id, target, answer);
    }

    /// Current download counts of records, in their order.
    pub(crate) fn downloads(&self, locations: &[RecordLocation]) -> Box<[u64]> {
        downloads_of(self, locations).collect()
    }

    /// The JSON that `write` puts together out of prepared items. It is a slice of the worker's
    /// buffer: what is kept of it must be copied.
    pub(crate) fn assemble(
        &self,
        write: impl FnOnce(&mut AddressItems, &mut BytesMut) -> Result<(), ApiError>,
    ) -> Result<Bytes, ApiError> {
        let mut state = self.state.lock();
        let state = &mut *state;
        // A request that panicked may have left a part of its answer.
        state.buffer.clear();
        write(&mut state.address_items, &mut state.buffer)?;
        Ok(state.buffer.split().freeze())
    }

    /// Hits of a query: those of an equal one before, or else searched for.
    pub(crate) fn find(&self, query: &Query) -> Result<SnapshotHits, ApiError> {
        let snapshot = Arc::clone(&*self.service.engine.catalog().snapshot());
        let hits = locate_hits(self, &mut self.state.lock(), &snapshot, query);
        let hits = hits.map_err(|error| failed(&error))?;
        Ok(SnapshotHits { snapshot, hits })
    }

    /// Answers a search below an address with finished JSON. `searched` describes the search in the
    /// log if it was slow.
    pub(crate) fn send_hits(
        &self,
        admitted: Admitted,
        body: Bytes,
        searched: &str,
    ) -> Response<Body> {
        let (common, record) = admitted.context.common(admitted.headers);
        self.record_search(&record, searched, json_now(common, body))
    }

    /// Answers a request below an address with finished JSON.
    pub(crate) fn send(&self, admitted: Admitted, body: Bytes) -> Response<Body> {
        let (common, record) = admitted.context.common(admitted.headers);
        self.record(&record, json_now(common, body))
    }

    /// Answers a download below an address with one text; `query` is that of a text download.
    pub(crate) fn download(
        self: &Arc<Self>,
        admitted: Admitted,
        id: Option<RecordId>,
        query: &str,
    ) -> HandlerOutcome {
        download::answer(self, admitted.context, admitted.headers, id, Some(query))
    }

    /// Answers a request below an address with an error.
    pub(crate) fn refuse(&self, admitted: Admitted, error: ApiError) -> Response<Body> {
        self.fail(admitted.context, admitted.headers, error)
    }
}
