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
use crate::cache::{OpenFiles, SearchCache, Shelf};
use crate::limiter::{ClientAddress, Quota};
use crate::request::{Credentials, bearer_token, client_address, credentials};
use crate::respond::{Envelope, NumberText};
use crate::runtime::{Body, Moment};
use crate::service::{Route, Service, UsageSums, WorkerMetrics};

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
    pub(super) shelf: Shelf,
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
    limit: NumberText,
    reset: NumberText,
}

/// The last `Authorization` value of a connection and the key that it meant.
struct Remembered {
    generation: u64,
    /// A copy: the field itself would keep the whole buffer of its request alive.
    value: Box<[u8]>,
    known: Arc<KnownKey>,
}

/// Whose request it is.
pub(super) enum Visitor<'a> {
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
    limit: NumberText,
    reset: NumberText,
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
    pub(super) fn envelope(self, recycled: HeaderMap) -> (Envelope, Tally) {
        let envelope = Envelope {
            quota: self.quota,
            is_head: self.is_head,
            recycled,
            limit: self.limit,
            reset: self.reset,
        };
        (envelope, self.tally)
    }
}

impl Caller {
    /// A connection from this address.
    pub fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            last: None,
            limit: NumberText::default(),
            reset: NumberText::default(),
        }
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
    pub(super) fn visit(&mut self, quota: Quota, is_head: bool, tally: Tally) -> Visit {
        Visit {
            quota,
            is_head,
            tally,
            limit: self.limit.of(quota.limit.into()),
            reset: self.reset.of(quota.reset),
        }
    }

    /// The key of a request. Cost: a comparison when it is that of the request before; nothing
    /// that another worker writes is touched.
    pub(super) fn identify(
        &mut self,
        service: &Service,
        headers: &HeaderMap,
        now: Moment,
    ) -> Visitor<'_> {
        let Credentials::Bearer { value } = credentials(headers) else {
            return Visitor::Nobody;
        };
        // The number is read before the table: a key found in a newer table is only looked up
        // once more than needed.
        let generation = service.api_keys.generation();
        let is_last =
            |last: &Remembered| last.generation == generation && *last.value == *value.as_bytes();
        if !self.last.as_ref().is_some_and(is_last) {
            let token = bearer_token(value.as_bytes());
            self.last = token
                .and_then(|text| service.api_keys.lookup(text))
                .map(|known| Remembered {
                    generation,
                    value: value.as_bytes().into(),
                    known,
                });
        }
        let Some(last) = &self.last else {
            return Visitor::Nobody;
        };
        match last.known.api_key.state(now.timestamp()) {
            ApiKeyState::Active => Visitor::Known(&last.known),
            ApiKeyState::Expired => Visitor::Expired,
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
        let cache_bytes = service.config.cache_search_bytes / service.config.workers.max(1);
        let desk = Desk {
            searches: SearchCache::new(cache_bytes),
            shelf: Shelf::new(),
            files: OpenFiles::new(),
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
        let status = response.status().as_u16();
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
        response
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
