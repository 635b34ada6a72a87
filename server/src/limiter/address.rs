//! Windows of client networks, in bounded memory.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use parking_lot::Mutex;
use subcat_engine::RateLimit;

use super::word::{Quota, is_open, look, opened_tick, step};
use crate::runtime::{ClientNetwork, Moment};

/// Shards of the table; each has a lock of its own.
const SHARDS_COUNT: usize = 1024;
/// Windows in a shard. 1024 shards of 64 windows of 16 bytes are 1 MiB.
const SHARD_WINDOWS: usize = 64;

const _: () = assert!(SHARDS_COUNT.is_power_of_two());

#[derive(Debug, Clone, Copy, Default)]
struct WindowSlot {
    owner: u64,
    word: u64,
}

type WindowShard = Mutex<[WindowSlot; SHARD_WINDOWS]>;

/// The windows of clients without a valid key.
///
/// When a shard is full of open windows, the oldest is replaced: a client with very many addresses
/// can gain a fresh window, but not use more memory.
pub struct AddressLimiter {
    shards: Box<[WindowShard]>,
    hasher: RandomState,
}

impl AddressLimiter {
    /// An empty table.
    pub fn new() -> Self {
        let shard = |_| Mutex::new([WindowSlot::default(); SHARD_WINDOWS]);
        Self {
            shards: (0..SHARDS_COUNT).map(shard).collect(),
            hasher: RandomState::default(),
        }
    }

    /// Takes one request from the window of a network, or rejects it.
    pub fn take(&self, network: ClientNetwork, limit: RateLimit, now: Moment) -> Quota {
        let mut shard = self.shard(network).lock();
        let slot_idx = find(&*shard, network).unwrap_or_else(|| room(&*shard, limit, now));
        let slot = &mut shard[slot_idx];
        if slot.owner != network.bits() {
            *slot = WindowSlot {
                owner: network.bits(),
                word: 0,
            };
        }
        let (next, quota) = step(slot.word, limit, now);
        if let Some(word) = next {
            slot.word = word;
        }
        quota
    }

    /// State of the window of a network; takes nothing from it.
    pub fn peek(&self, network: ClientNetwork, limit: RateLimit, now: Moment) -> Quota {
        let shard = self.shard(network).lock();
        let word = find(&*shard, network).map_or(0, |slot_idx| shard[slot_idx].word);
        look(word, limit, now)
    }

    fn shard(&self, network: ClientNetwork) -> &WindowShard {
        let hash = self.hasher.hash_one(network);
        let shard_idx = usize::try_from(hash % SHARDS_COUNT as u64).expect("below the count");
        &self.shards[shard_idx]
    }
}

impl Default for AddressLimiter {
    fn default() -> Self {
        Self::new()
    }
}

fn find(slots: &[WindowSlot], network: ClientNetwork) -> Option<usize> {
    let is_its = |slot: &WindowSlot| slot.owner == network.bits() && slot.word != 0;
    slots.iter().position(is_its)
}

/// A slot without an open window, else the one with the oldest window.
fn room(slots: &[WindowSlot], limit: RateLimit, now: Moment) -> usize {
    let free = slots
        .iter()
        .position(|slot| !is_open(slot.word, limit, now));
    let oldest = || {
        let by_age = |idx: &usize| opened_tick(slots[*idx].word);
        (0..slots.len()).min_by_key(by_age).unwrap_or(0)
    };
    free.unwrap_or_else(oldest)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn client(text: &str) -> ClientNetwork {
        ClientNetwork::of(text.parse().unwrap())
    }

    fn at(ms: u64) -> Moment {
        Moment {
            monotonic_us: ms * 1000,
            unix_ms: i64::try_from(ms).unwrap(),
        }
    }

    #[test]
    fn each_address_has_its_own_window() {
        let limiter = AddressLimiter::new();
        let limit = RateLimit::parse("1/60").unwrap();
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(limiter.peek(one, limit, at(0)).remaining, 1);
        assert_eq!(limiter.take(one, limit, at(0)).retry_after, None);
        assert_eq!(limiter.peek(one, limit, at(1)).remaining, 0);
        assert_eq!(limiter.take(one, limit, at(1)).retry_after, Some(60));
        assert_eq!(limiter.take(other, limit, at(1)).retry_after, None);
        assert_eq!(limiter.take(one, limit, at(60_000)).retry_after, None);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_window_makes_room() {
        let limiter = AddressLimiter::new();
        let limit = RateLimit::parse("1/3600").unwrap();
        let windows_count = SHARDS_COUNT * SHARD_WINDOWS;
        for number in 0..u32::try_from(2 * windows_count).unwrap() {
            let address = ClientNetwork::of(IpAddr::V4(number.into()));
            let quota = limiter.take(address, limit, at(u64::from(number)));
            assert_eq!(quota.retry_after, None);
        }
        let last = u32::try_from(2 * windows_count - 1).unwrap();
        let newest = ClientNetwork::of(IpAddr::V4(last.into()));
        assert_eq!(
            limiter.peek(newest, limit, at(u64::from(last))).remaining,
            0
        );
    }
}
