//! Windows of client addresses, in bounded memory.

use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};

use foldhash::quality::RandomState;
use parking_lot::Mutex;
use subcat_engine::model::RateLimit;

use super::word::{Quota, is_open, look, opened_tick, step};
use crate::runtime::Moment;

/// Shards of the table; each has a lock of its own.
const SHARDS_COUNT: usize = 1024;
/// Windows in a shard. 1024 shards of 64 windows of 16 bytes are 1 MiB.
const SHARD_WINDOWS: usize = 64;

const _: () = assert!(SHARDS_COUNT.is_power_of_two());

/// Whose window it is: an IPv4 address, or the /64 of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(u64);

impl ClientAddress {
    /// The owner of the window of this address. IPv4 addresses, also those written as IPv6,
    /// stand in `::/32`, which is no one's network.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(u64::from(v4.to_bits())),
            IpAddr::V6(v6) => Self(prefix(v6)),
        }
    }
}

fn prefix(v6: Ipv6Addr) -> u64 {
    u64::try_from(v6.to_bits() >> 64).expect("64 of 128 bits are left")
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    owner: u64,
    word: u64,
}

type Shard = Mutex<[Slot; SHARD_WINDOWS]>;

/// The windows of clients without a valid key.
///
/// When a shard is full of open windows the oldest makes room: a client with very many addresses
/// can win a fresh window, and cannot win memory.
pub struct AddressLimiter {
    shards: Box<[Shard]>,
    hasher: RandomState,
}

impl AddressLimiter {
    /// An empty table.
    pub fn new() -> Self {
        let shard = |_| Mutex::new([Slot::default(); SHARD_WINDOWS]);
        Self {
            shards: (0..SHARDS_COUNT).map(shard).collect(),
            hasher: RandomState::default(),
        }
    }

    /// Takes one request out of the window of an address, or refuses it.
    pub fn take(&self, address: ClientAddress, limit: RateLimit, now: Moment) -> Quota {
        let mut shard = self.shard(address).lock();
        let slot_idx = find(&*shard, address).unwrap_or_else(|| room(&*shard, limit, now));
        let slot = &mut shard[slot_idx];
        if slot.owner != address.0 {
            *slot = Slot {
                owner: address.0,
                word: 0,
            };
        }
        let (next, quota) = step(slot.word, limit, now);
        if let Some(word) = next {
            slot.word = word;
        }
        quota
    }

    /// What the window of an address is, without taking anything.
    pub fn peek(&self, address: ClientAddress, limit: RateLimit, now: Moment) -> Quota {
        let shard = self.shard(address).lock();
        let word = find(&*shard, address).map_or(0, |slot_idx| shard[slot_idx].word);
        look(word, limit, now)
    }

    fn shard(&self, address: ClientAddress) -> &Shard {
        let hash = self.hasher.hash_one(address);
        let shard_idx = usize::try_from(hash % SHARDS_COUNT as u64).expect("below the count");
        &self.shards[shard_idx]
    }
}

impl Default for AddressLimiter {
    fn default() -> Self {
        Self::new()
    }
}

fn find(slots: &[Slot], address: ClientAddress) -> Option<usize> {
    let is_its = |slot: &Slot| slot.owner == address.0 && slot.word != 0;
    slots.iter().position(is_its)
}

/// A slot whose window is not open, else the one that has been open longest.
fn room(slots: &[Slot], limit: RateLimit, now: Moment) -> usize {
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
    use super::*;

    fn client(text: &str) -> ClientAddress {
        ClientAddress::of(text.parse().unwrap())
    }

    fn at(ms: u64) -> Moment {
        Moment {
            monotonic_us: ms * 1000,
            unix_ms: i64::try_from(ms).unwrap(),
        }
    }

    #[test]
    fn an_address_is_itself_or_its_slash_64() {
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
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
            let address = ClientAddress::of(IpAddr::V4(number.into()));
            let quota = limiter.take(address, limit, at(u64::from(number)));
            assert_eq!(quota.retry_after, None);
        }
        let last = u32::try_from(2 * windows_count - 1).unwrap();
        let newest = ClientAddress::of(IpAddr::V4(last.into()));
        assert_eq!(
            limiter.peek(newest, limit, at(u64::from(last))).remaining,
            0
        );
    }
}
