//! What one worker has at hand, and what it remembers of each connection.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::BytesMut;
use http::{HeaderMap, Response};
use parking_lot::Mutex;
use subcat_engine::CounterLane;
use subcat_engine::model::{ApiKeyId, ApiKeyState, RateLimit, Usage};

use super::library::Library;
use crate::auth::KnownKey;
use crate::cache::{OpenFiles, PreparedFileCache, RecordLocations, SearchCache};
use crate::limiter::{ClientAddress, Quota};
use crate::request::{
    Credentials, HeaderHints, KnownHost, bearer_token, client_address, credentials,
};
use crate::respond::CommonHeaders;
use crate::runtime::{Body, Descriptors, Moment};
use crate::service::{Route, SLOW_SEARCH_US, Service, UsageSums, WorkerMetrics};

/// The API as one worker serves it.
pub struct ApiWorker {
    pub(super) service: Arc<Service>,
    pub(super) library: Arc<Library>,
    pub(super) desk: Mutex<Desk>,
    worker_idx: usize,
}

/// What a worker has at hand. Only its own thread touches it: the lock is never contended.
pub(super) struct Desk {
    pub(super) searches: SearchCache,
    pub(super) records: RecordLocations,
    pub(super) prepared_files: PreparedFileCache,
    pub(super) files: OpenFiles,
    pub(super) lane: CounterLane,
    pub(super) usage: UsageSums,
    /// Answers are put together here; its memory is used again when an answer has left.
    pub(super) buffer: BytesMut,
}

/// What is remembered of a connection.
pub struct Caller {
    peer: IpAddr,
    last: Option<Remembered>,
    hints: HeaderHints,
    host: KnownHost,
}

/// The last `Authorization` value of a connection and the key that it meant.
struct Remembered {
    generation: u64,
    /// A copy: the field itself would keep the whole buffer of its request alive.
    value: Box<[u8]>,
    known: Arc<KnownKey>,
}

/// Whose request it is.
pub enum Visitor<'a> {
    /// That of a valid key.
    Known(&'a KnownKey),
    /// That of a key that was valid once.
    Expired,
    /// No one's that we know.
    Nobody,
}

/// What is kept of a request until it is answered.
pub(super) struct Visit {
    pub(super) quota: Quota,
    pub(super) is_head: bool,
    pub(super) tally: Tally,
    pub(super) hints: HeaderHints,
}

/// What is counted when a request has been answered.
pub(super) struct Tally {
    pub(super) route: Route,
    pub(super) api_key: Option<ApiKeyId>,
    /// Whether it consumed a window.
    pub(super) is_charged: bool,
    pub(super) started: Moment,
}

impl Visit {
    /// The envelope of the answer; `recycled` are the fields of the request.
    pub(super) fn common(self, recycled: HeaderMap) -> (CommonHeaders, Tally) {
        let common = CommonHeaders {
            quota: self.quota,
            is_head: self.is_head,
            recycled,
        };
        (common, self.tally)
    }
}

impl Caller {
    /// A connection from this address.
    pub fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            last: None,
            hints: HeaderHints::default(),
            host: KnownHost::default(),
        }
    }

    /// The `Host` that the connection is known to send.
    pub fn known_host(&mut self) -> &mut KnownHost {
        &mut self.host
    }

    /// Takes in what was seen in the head of the request that follows.
    pub fn hints(&mut self, hints: HeaderHints) {
        self.hints = hints;
    }

    /// The address of the client, behind trusted proxies.
    pub fn address(&self, service: &Service, headers: &HeaderMap) -> IpAddr {
        client_address(self.peer, headers, &service.config.trusted_proxies)
    }

    /// Whether the connection is that of a trusted proxy.
    pub fn is_proxied(&self, service: &Service) -> bool {
        let peer = self.peer.to_canonical();
        let trusted = &service.config.trusted_proxies;
        trusted.iter().any(|network| network.contains(&peer))
    }

    /// Another one of the same address, for an answer that outlives its request.
    #[must_use]
    pub fn stand_in(&self) -> Self {
        Self::new(self.peer)
    }

    /// A visit with this quota.
    pub(super) fn visit(&self, quota: Quota, is_head: bool, tally: Tally) -> Visit {
        Visit {
            quota,
            is_head,
            tally,
            hints: self.hints,
        }
    }

    /// The key of a request. Cost: a comparison when it is that of the request before; nothing
    /// that another worker writes is touched.
    pub fn identify(&mut self, service: &Service, headers: &HeaderMap, now: Moment) -> Visitor<'_> {
        let Credentials::Bearer { value } = credentials(headers) else {
            return Visitor::Nobody;
        };
        // The number is read before the table: a key found in a newer table is only looked up
        // once more than needed.
        let generation = service.api_keys().generation();
        let is_last =
            |last: &Remembered| last.generation == generation && *last.value == *value.as_bytes();
        if !self.last.as_ref().is_some_and(is_last) {
            let token = bearer_token(value.as_bytes());
            self.last = token
                .and_then(|text| service.api_keys().lookup(text))
                .map(|known| Remembered {
                    generation,
                    value: value.as_bytes().into(),
                    known,
                });
        }
        let Some(last) = &self.last else {
            return Visitor::Nobody;
        };
        let judged_at = service.judged_at(now.timestamp());
        match last.known.api_key.state(judged_at) {
            ApiKeyState::Active => Visitor::Known(&last.known),
            ApiKeyState::Expired => {
                service.see(judged_at);
                Visitor::Expired
            }
            ApiKeyState::Revoked => Visitor::Nobody,
        }
    }
}

impl ApiWorker {
    /// Worker `worker_idx` of a service, with its counter lane.
    pub fn new(
        service: Arc<Service>,
        library: Arc<Library>,
        lane: CounterLane,
        worker_idx: usize,
    ) -> Self {
        let workers_count = service.config.workers;
        let cache_bytes = service.config.cache_search_bytes / workers_count.max(1);
        let mapped_max = Descriptors::of_process().worker_files_max(workers_count);
        let desk = Desk {
            searches: SearchCache::new(cache_bytes),
            records: RecordLocations::new(),
            prepared_files: PreparedFileCache::new(),
            files: OpenFiles::new(mapped_max),
            lane,
            usage: UsageSums::default(),
            buffer: BytesMut::new(),
        };
        Self {
            service,
            library,
            desk: Mutex::new(desk),
            worker_idx,
        }
    }

    /// The service that it is a worker of.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// What this worker counts.
    pub fn metrics(&self) -> &WorkerMetrics {
        &self.service.metrics.workers[self.worker_idx]
    }

    /// The limit of a client without a valid key.
    pub(super) fn address_limit(&self) -> RateLimit {
        let limits = &self.service.config.rate_limit;
        RateLimit {
            requests: limits.anonymous_requests,
            window_seconds: limits.api_key.window_seconds,
        }
    }

    /// The window of a client's address as it is.
    pub(super) fn peek_address(&self, address: IpAddr, now: Moment) -> Quota {
        let owner = ClientAddress::of(address);
        self.service
            .addresses
            .peek(owner, self.address_limit(), now)
    }

    /// Counts an answer, and hands it on.
    pub(super) fn settle(&self, tally: &Tally, response: Response<Body>) -> Response<Body> {
        self.count(tally, response.status().as_u16());
        response
    }

    /// Counts the answer to a search, and hands it on; a slow one is kept for administrators.
    pub(super) fn settle_search(
        &self,
        tally: &Tally,
        query_string: &str,
        response: Response<Body>,
    ) -> Response<Body> {
        let latency_us = self.count(tally, response.status().as_u16());
        if SLOW_SEARCH_US < latency_us {
            let at = tally.started.timestamp();
            let slow_searches = &self.service.slow_searches;
            slow_searches.note(at, latency_us, query_string, tally.api_key);
        }
        response
    }

    /// Counts an answer; the microseconds that it took.
    fn count(&self, tally: &Tally, status: u16) -> u64 {
        let now = self.service.clock.now();
        let latency_us = now.monotonic_us.saturating_sub(tally.started.monotonic_us);
        self.metrics().answered(tally.route, status, latency_us);
        let is_limited = status == 429;
        let usage = Usage {
            requests: u64::from(tally.is_charged),
            downloads: 0,
            client_errors: u64::from((400..500).contains(&status) && !is_limited),
            limited: u64::from(is_limited),
        };
        if usage != Usage::default() {
            let mut desk = self.desk.lock();
            desk.usage.add(tally.api_key, now.timestamp(), &usage);
        }
        latency_us
    }

    /// Counts a request for a page.
    pub fn settle_page(&self, status: u16, started: Moment) {
        let now = self.service.clock.now();
        let latency_us = now.monotonic_us.saturating_sub(started.monotonic_us);
        self.metrics().answered(Route::Page, status, latency_us);
        let usage = Usage {
            requests: 1,
            client_errors: u64::from((400..500).contains(&status)),
            ..Usage::default()
        };
        self.desk.lock().usage.add(None, now.timestamp(), &usage);
    }

    /// A second has passed: hands over what keys were used for.
    pub fn tick(&self) {
        let mut desk = self.desk.lock();
        if !desk.usage.is_empty() {
            self.service.usage.put(&mut desk.usage);
        }
        let cache_bytes = desk.searches.memory_bytes() as u64;
        self.metrics().search_cache_bytes.set(cache_bytes);
    }
}
