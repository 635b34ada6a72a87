//! Limits of connections, in total and per client network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use parking_lot::Mutex;

use super::client_network::ClientNetwork;
use super::public_listeners::is_local_peer;
use crate::config::Connections;

/// Counts of connections.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    /// Open now.
    pub open: AtomicU64,
    /// Accepted so far.
    pub accepted: AtomicU64,
    /// Rejected because there were too many.
    pub refused: AtomicU64,
    /// Aborted because a deadline had passed.
    pub cut: AtomicU64,
    /// Ended while idle, for a new one.
    pub displaced: AtomicU64,
    /// Ended by a stop before their answer was sent.
    pub unfinished: AtomicU64,
    /// Workers that run.
    pub workers_running: AtomicU64,
}

/// Connection limiter of all workers.
pub struct ConnectionLimiter {
    /// Maximum number of open connections of all workers. Read for each new connection; a reload
    /// changes it.
    connections_max: AtomicU64,
    /// Maximum number of open connections of one client network, read and changed like the total.
    per_address_max: AtomicU32,
    /// Networks without a limit per address: proxies, behind which there are many clients.
    exempt: ArcSwap<Vec<IpNet>>,
    /// Open connections of each client network. An entry goes with its last connection.
    by_network: Mutex<HashMap<ClientNetwork, u32, foldhash::quality::RandomState>>,
    counts: Arc<ConnectionCounts>,
}

/// Permit of an admitted connection. Dropping it ends the connection's share of the limits.
pub(super) struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    /// `None` for exempt addresses.
    network: Option<ClientNetwork>,
}

impl ConnectionLimiter {
    /// A limiter with these limits.
    pub(super) fn new(
        limits: Connections,
        exempt: Vec<IpNet>,
        counts: Arc<ConnectionCounts>,
    ) -> Self {
        let limiter = Self {
            connections_max: AtomicU64::new(0),
            per_address_max: AtomicU32::new(0),
            exempt: ArcSwap::default(),
            by_network: Mutex::default(),
            counts,
        };
        limiter.set(limits, exempt);
        limiter
    }

    /// Changes the limits for connections that come from now on; none that is open ends. `exempt`
    /// are networks without a limit per address.
    pub fn set(&self, limits: Connections, exempt: Vec<IpNet>) {
        self.connections_max
            .store(limits.max as u64, Ordering::Relaxed);
        let per_address_max = u32::try_from(limits.max_per_address).unwrap_or(u32::MAX);
        self.per_address_max
            .store(per_address_max, Ordering::Relaxed);
        self.exempt.store(Arc::new(exempt));
    }

    /// Admits a connection from this address; `None` rejects it. When there are too many in all,
    /// `make_room` may end another one, which frees its place soon.
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        make_room: impl FnOnce() -> bool,
    ) -> Option<ConnectionPermit> {
        let peer = peer.to_canonical();
        let is_proxy = || {
            let exempt = self.exempt.load();
            exempt.iter().any(|network| network.contains(&peer))
        };
        let is_exempt = is_local_peer(peer) || is_proxy();
        let network = (!is_exempt).then(|| ClientNetwork::of(peer));
        // Counted first and taken back on rejection: two workers at the limit must not both see the
        // last permit.
        let open_before = self.counts.open.fetch_add(1, Ordering::Relaxed);
        // The address first: one that has its share must not displace others.
        let is_within_share = network.is_none_or(|network| self.enter(network));
        let has_room = open_before < self.connections_max.load(Ordering::Relaxed);
        let is_displacing = is_within_share && !has_room && make_room();
        if !is_within_share || !(has_room || is_displacing) {
            if let Some(network) = network.filter(|_| is_within_share) {
                self.leave(network);
            }
            self.counts.open.fetch_sub(1, Ordering::Relaxed);
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if is_displacing {
            self.counts.displaced.fetch_add(1, Ordering::Relaxed);
        }
        self.counts.accepted.fetch_add(1, Ordering::Relaxed);
        Some(ConnectionPermit {
            limiter: Arc::clone(self),
            network,
        })
    }

    /// Counts connections that were aborted.
    pub(super) fn count_aborted(&self, connections_count: u64) {
        self.counts
            .cut
            .fetch_add(connections_count, Ordering::Relaxed);
    }

    /// Counts connections that a stop ended before their answer was sent.
    pub(super) fn count_unfinished(&self, connections_count: u64) {
        self.counts
            .unfinished
            .fetch_add(connections_count, Ordering::Relaxed);
    }

    fn enter(&self, network: ClientNetwork) -> bool {
        let mut by_network = self.by_network.lock();
        let count = by_network.entry(network).or_insert(0);
        let has_room = *count < self.per_address_max.load(Ordering::Relaxed);
        if has_room {
            *count += 1;
        } else if *count == 0 {
            // The limit is 0: leave no entry behind.
            by_network.remove(&network);
        }
        has_room
    }
}

impl ConnectionLimiter {
    fn leave(&self, network: ClientNetwork) {
        let mut by_network = self.by_network.lock();
        if let Some(count) = by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                by_network.remove(&network);
            }
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limiter.counts.open.fetch_sub(1, Ordering::Relaxed);
        let Some(network) = self.network else {
            return;
        };
        self.limiter.leave(network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn limiter(connections_max: usize, per_address_max: usize) -> Arc<ConnectionLimiter> {
        let exempt = vec!["10.0.0.0/8".parse().unwrap()];
        let counts = Arc::default();
        let limits = Connections {
            max: connections_max,
            max_per_address: per_address_max,
        };
        Arc::new(ConnectionLimiter::new(limits, exempt, counts))
    }

    #[test]
    fn limits_all_connections() {
        let limiter = limiter(2, 9);
        let first = limiter.admit(address("192.0.2.1"), || false).unwrap();
        let _second = limiter.admit(address("192.0.2.2"), || false).unwrap();
        assert!(limiter.admit(address("192.0.2.3"), || false).is_none());
        drop(first);
        assert!(limiter.admit(address("192.0.2.3"), || false).is_some());
        assert_eq!(limiter.counts.refused.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_idle_connection_makes_room_but_not_for_an_address_with_its_share() {
        let limiter = limiter(1, 1);
        let first = limiter.admit(address("192.0.2.1"), || false).unwrap();
        let unasked = || unreachable!("this address has its share");
        assert!(limiter.admit(address("192.0.2.1"), unasked).is_none());
        assert!(limiter.admit(address("192.0.2.2"), || false).is_none());
        let second = limiter.admit(address("192.0.2.2"), || true).unwrap();
        let counts = &limiter.counts;
        assert_eq!(counts.displaced.load(Ordering::Relaxed), 1);
        drop(first);
        assert_eq!(counts.open.load(Ordering::Relaxed), 1);
        drop(second);
        assert!(limiter.by_network.lock().is_empty());
    }

    #[test]
    fn limits_an_address_and_a_slash_64_but_no_proxy() {
        let limiter = limiter(100, 1);
        let first = limiter.admit(address("2001:db8::1"), || false).unwrap();
        assert!(limiter.admit(address("2001:db8::2"), || false).is_none());
        assert!(
            limiter
                .admit(address("2001:db8:0:1::2"), || false)
                .is_some()
        );
        drop(first);
        assert!(limiter.admit(address("2001:db8::2"), || false).is_some());
        let proxied: Vec<ConnectionPermit> = (0..5)
            .map(|_| limiter.admit(address("::ffff:10.0.0.1"), || false).unwrap())
            .collect();
        assert_eq!(proxied.len(), 5);
        drop(proxied);
        assert!(limiter.by_network.lock().is_empty());
        assert_eq!(limiter.counts.open.load(Ordering::Relaxed), 0);
    }
}
