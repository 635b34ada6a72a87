//! One worker of the API, and the state that its thread owns.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::BytesMut;
use parking_lot::Mutex;
use subcat_engine::{CounterLane, RateLimit, RecordId};

use super::text_files::TextFiles;
use super::variants::FileVariants;
use crate::cache::{
    AddressAnswers, AddressItems, OpenFiles, PreparedFileCache, PreparedTextCache, RecordLocations,
    SearchCache,
};
use crate::limiter::Quota;
use crate::respond::ApiError;
use crate::runtime::{ClientNetwork, Descriptors, Moment};
use crate::service::{ContentSet, Service, UsageSums, WorkerMetrics};

/// The API as one worker serves it.
pub struct ApiWorker {
    pub(super) service: Arc<Service>,
    pub(super) variants: Arc<FileVariants>,
    pub(super) texts: Arc<TextFiles>,
    /// State of the worker's own thread. The lock is never contended: it exists because answers
    /// that wait for the control runtime hold the worker in a future that must be `Send`.
    pub(super) state: Mutex<WorkerState>,
    worker_idx: usize,
}

/// Stored files as all workers share them.
#[derive(Clone)]
pub struct SharedFiles {
    /// Files in their encodings.
    pub variants: Arc<FileVariants>,
    /// Texts out of files.
    pub texts: Arc<TextFiles>,
}

/// Caches, counters and buffers that one worker owns.
pub(super) struct WorkerState {
    /// Hits of searches, and the answers to repeated ones.
    pub(super) searches: SearchCache,
    /// Answers below addresses.
    pub(super) address_answers: AddressAnswers,
    /// Prepared items of searches below addresses.
    pub(super) address_items: AddressItems,
    /// Locations of records in the snapshot, for single records.
    pub(super) locations: RecordLocations,
    /// Files of records with their finished headers, for downloads.
    pub(super) prepared_files: PreparedFileCache<RecordId>,
    /// Texts of records' files by the query strings that asked for them.
    pub(super) prepared_texts: PreparedTextCache,
    /// Open files, for downloads.
    pub(super) open_files: OpenFiles,
    /// State of all files when `open_files` was last compared with them.
    files_generation: u64,
    /// Contents that were served since the last tick, if files are evicted.
    pub(super) served: ContentSet,
    /// The worker's log of downloads.
    pub(super) lane: CounterLane,
    /// Usage of API keys since the last tick.
    pub(super) usage: UsageSums,
    /// Buffer for JSON answers. Its memory is reused once an answer has been sent.
    pub(super) buffer: BytesMut,
}

impl ApiWorker {
    /// Worker `worker_idx` of a service, with its counter lane.
    pub fn new(
        service: Arc<Service>,
        files: SharedFiles,
        lane: CounterLane,
        worker_idx: usize,
    ) -> Self {
        let config = service.config();
        let workers_count = config.workers;
        let cache_bytes = config.cache_search_bytes / workers_count.max(1);
        let answer_bytes = cache_bytes / 4;
        let item_bytes = cache_bytes / 8;
        let mapped_max = Descriptors::of_process().worker_files_max(workers_count);
        let state = WorkerState {
            searches: SearchCache::new(cache_bytes - answer_bytes - item_bytes),
            address_answers: AddressAnswers::new(answer_bytes),
            address_items: AddressItems::new(item_bytes),
            locations: RecordLocations::new(),
            prepared_files: PreparedFileCache::new(),
            prepared_texts: PreparedTextCache::default(),
            open_files: OpenFiles::new(mapped_max),
            files_generation: service.engine.files().generation(),
            served: ContentSet::default(),
            lane,
            usage: UsageSums::default(),
            buffer: BytesMut::new(),
        };
        Self {
            service,
            variants: files.variants,
            texts: files.texts,
            state: Mutex::new(state),
            worker_idx,
        }
    }

    /// The service that all workers share.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// The worker's number.
    pub(super) const fn worker_idx(&self) -> usize {
        self.worker_idx
    }

    /// Counters of this worker.
    pub fn metrics(&self) -> &WorkerMetrics {
        &self.service.metrics.workers[self.worker_idx]
    }

    /// Rate limit of a client without a valid key.
    pub(super) fn address_limit(&self) -> RateLimit {
        self.service.rate_limits.address()
    }

    /// State of the window of a client's address; takes nothing from it.
    pub(super) fn peek_address(&self, address: IpAddr, now: Moment) -> Quota {
        let network = ClientNetwork::of(address);
        self.service
            .addresses
            .peek(network, self.address_limit(), now)
    }

    /// Hands the usage of keys and the served files to the service, and closes files that are gone.
    /// Called once a second and when the worker ends.
    pub fn tick(&self) {
        let mut state = self.state.lock();
        let state = &mut *state;
        self.service.served_files.put(&mut state.served);
        let files = self.service.engine.files();
        let generation = files.generation();
        if generation != state.files_generation {
            // An open file takes room on the disk though it was removed.
            let is_kept = |content| files.has_content(content);
            state.open_files.retain(is_kept);
            state.files_generation = generation;
        }
        if !state.usage.is_empty() {
            self.service.usage.put(&mut state.usage);
        }
        let address_bytes =
            state.address_answers.memory_bytes() + state.address_items.memory_bytes();
        let cache_bytes = state.searches.memory_bytes() + address_bytes;
        let metrics = self.metrics();
        metrics.search_cache_bytes.set(cache_bytes as u64);
        metrics.ticked_us.set(self.service.clock.now().monotonic_us);
    }
}

/// The error of a search or of a record that cannot be read, after it was logged.
pub(crate) fn failed(error: &subcat_engine::Error) -> ApiError {
    // The damage behind it was logged once.
    if matches!(error, subcat_engine::Error::Rebuilding) {
        return ApiError::Rebuilding;
    }
    tracing::error!(%error, "the index cannot be read");
    ApiError::Internal
}
