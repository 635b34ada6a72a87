//! The parts of the API that addresses use: searches and answers.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use subcat_engine::{LocatedHits, Query, RecordId, Snapshot};

use super::address_checks::Admitted;
use super::download;
use super::search::{downloads_of, locate_hits};
use super::worker::{ApiWorker, failed};
use crate::cache::AddressAnswer;
use crate::respond::{ApiError, json_now};
use crate::runtime::{Body, HandlerOutcome};

/// Hits of a search, with their snapshot.
pub(crate) struct SnapshotHits {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) hits: Arc<LocatedHits>,
    /// Download counts of now, in the order of the hits.
    pub(crate) downloads: Box<[u64]>,
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
            let downloads = downloads_of(self, &kept.hits);
            kept.downloads.iter().copied().eq(downloads)
        };
        if kept.base != base || !are_current() {
            return None;
        }
        self.metrics().search_cache_hits.add(1);
        Some(kept.body.clone())
    }

    /// Keeps an answer for the next request with the same target.
    pub(crate) fn keep_answer(&self, target: &str, answer: AddressAnswer) {
        self.state.lock().address_answers.put(target, answer);
    }

    /// Hits of a query: those of an equal one before, or else searched for.
    pub(crate) fn find(&self, query: &Query) -> Result<SnapshotHits, ApiError> {
        let snapshot = Arc::clone(&*self.service.engine.catalog().snapshot());
        let hits = locate_hits(self, &mut self.state.lock(), &snapshot, query);
        let hits = hits.map_err(|error| failed(&error))?;
        let downloads = downloads_of(self, &hits).collect();
        Ok(SnapshotHits {
            snapshot,
            hits,
            downloads,
        })
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
