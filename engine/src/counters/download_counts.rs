//! Our own counts of downloads, in memory: read a hundred times for every search answer.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::limits::{DOWNLOAD_SLOTS_DOUBLINGS_MAX, DOWNLOAD_SLOTS_MIN};
use crate::model::RecordId;

/// Parts that grow by themselves.
const SHARDS_COUNT: usize = 16;

/// Record → count. Readers take no lock, never wait and write nothing: what they write goes from
/// core to core. Counting a record that is known writes its slot and nothing else; a new one, and
/// any while its part grows, takes the lock of the part.
pub(crate) struct DownloadTable {
    hasher: RandomState,
    shards: Box<[CountShard]>,
}

/// A part. Slots that were outgrown stay, as a reader may be in them: all of them together
/// are fewer than those in use.
///
/// Alone on its cache lines: counting in one part does not slow down readers of another.
#[repr(align(128))]
struct CountShard {
    by_doublings: [OnceLock<CountSlots>; DOWNLOAD_SLOTS_DOUBLINGS_MAX + 1],
    /// Which slots are in use.
    doublings_count: AtomicUsize,
    /// Number of slots that are taken. Locked while a record is put in and while slots are
    /// outgrown.
    taken_count: Mutex<usize>,
}

/// In a count: it was copied to the slots that come next, and goes on there.
const MOVED: u64 = 1 << 63;

/// Open addressing with linear probing. The length is a power of two and at most half is taken.
type CountSlots = Box<[CountSlot]>;

/// INVARIANT: once `count` is not 0 the id never changes; `count` is stored after the id. Once it
/// has `MOVED` it never changes either.
#[derive(Default)]
struct CountSlot {
    id_high: AtomicU64,
    id_low: AtomicU64,
    count: AtomicU64,
}

/// A record id as two numbers, which atomics can hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct IdHalves {
    high: u64,
    low: u64,
}

impl DownloadTable {
    /// A table without counts.
    pub(crate) fn new() -> Self {
        Self {
            hasher: RandomState::default(),
            shards: (0..SHARDS_COUNT).map(|_| CountShard::new()).collect(),
        }
    }

    /// The count of a record. Cost: a hash, and about one cache line of the table.
    pub(crate) fn get(&self, id: RecordId) -> u64 {
        let hash = self.hash(id);
        find(self.shards[shard_idx(hash)].slots(), hash, halves(id)).1
    }

    /// Adds to the count of a record.
    pub(crate) fn add(&self, id: RecordId, count: u64) {
        if count == 0 {
            return;
        }
        let hash = self.hash(id);
        let shard = &self.shards[shard_idx(hash)];
        if raise(shard.slots(), hash, halves(id), count) {
            return;
        }
        // New here, or the part grows just now: under its lock both are settled.
        let mut taken_count = shard.taken_count.lock();
        let slots = shard.slots();
        let (slot_idx, known) = find(slots, hash, halves(id));
        let slot = &slots[slot_idx];
        if known != 0 {
            // These stay in use while the lock is held, so nothing in them is moved.
            slot.count.fetch_add(count, Ordering::Relaxed);
            return;
        }
        *taken_count += 1;
        if *taken_count * 2 <= slots.len() {
            put(slot, halves(id), count);
            return;
        }
        let grown = self.grown(slots);
        put(&grown[find(&grown, hash, halves(id)).0], halves(id), count);
        shard.replace(grown);
    }

    fn hash(&self, id: RecordId) -> u64 {
        self.hasher.hash_one(halves(id))
    }

    /// Twice as many slots with the same counts, which do not change in `slots` any more.
    fn grown(&self, slots: &[CountSlot]) -> CountSlots {
        let grown = empty_slots(slots.len() * 2);
        for slot in slots {
            if slot.count.load(Ordering::Relaxed) != 0 {
                // In one step: an addition either comes before and is copied, or finds the mark and
                // waits for the lock.
                let count = slot.count.fetch_or(MOVED, Ordering::Relaxed);
                let id = slot.halves();
                let (slot_idx, _) = find(&grown, self.hasher.hash_one(id), id);
                put(&grown[slot_idx], id, count);
            }
        }
        grown
    }
}

impl CountShard {
    fn new() -> Self {
        let shard = Self {
            by_doublings: [const { OnceLock::new() }; DOWNLOAD_SLOTS_DOUBLINGS_MAX + 1],
            doublings_count: AtomicUsize::new(0),
            taken_count: Mutex::new(0),
        };
        shard.by_doublings[0].get_or_init(|| empty_slots(DOWNLOAD_SLOTS_MIN));
        shard
    }

    /// The slots in use. Cost: two loads.
    fn slots(&self) -> &[CountSlot] {
        let slots = &self.by_doublings[self.doublings_count.load(Ordering::Acquire)];
        slots.get().expect("slots are there before they are in use")
    }

    /// Uses slots that are twice as many from now on. The lock is held.
    fn replace(&self, grown: CountSlots) {
        let doublings_count = self.doublings_count.load(Ordering::Relaxed) + 1;
        self.by_doublings[doublings_count].get_or_init(|| grown);
        self.doublings_count
            .store(doublings_count, Ordering::Release);
    }
}

impl CountSlot {
    fn halves(&self) -> IdHalves {
        IdHalves {
            high: self.id_high.load(Ordering::Relaxed),
            low: self.id_low.load(Ordering::Relaxed),
        }
    }
}

fn empty_slots(slots_count: usize) -> CountSlots {
    (0..slots_count).map(|_| CountSlot::default()).collect()
}

fn halves(id: RecordId) -> IdHalves {
    let number = u128::from_be_bytes(*id.as_bytes());
    IdHalves {
        high: (number >> 64) as u64,
        low: number as u64,
    }
}

/// The part of a hash: from its highest bits, since slots use the lowest.
fn shard_idx(hash: u64) -> usize {
    (hash >> 60) as usize
}

/// The slot of an id, with its count: the one that holds it, or the empty one where it belongs.
fn find(slots: &[CountSlot], hash: u64, id: IdHalves) -> (usize, u64) {
    let mask = slots.len() - 1;
    let mut slot_idx = hash as usize & mask;
    loop {
        let slot = &slots[slot_idx];
        // Another thread may fill an empty slot right after this: what was seen counts.
        let count = slot.count.load(Ordering::Acquire);
        if count == 0 || slot.halves() == id {
            return (slot_idx, count & !MOVED);
        }
        slot_idx = (slot_idx + 1) & mask;
    }
}

/// Adds to the count of a known record; `false` when it is not known, or no longer counted here.
fn raise(slots: &[CountSlot], hash: u64, id: IdHalves, count: u64) -> bool {
    let (slot_idx, known) = find(slots, hash, id);
    if known == 0 {
        return false;
    }
    let counted = |now: u64| (now & MOVED == 0).then_some(now + count);
    let slot = &slots[slot_idx].count;
    slot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted)
        .is_ok()
}

fn put(slot: &CountSlot, id: IdHalves, count: u64) {
    // The count last, with release: a reader with acquire finds the id complete.
    slot.id_high.store(id.high, Ordering::Relaxed);
    slot.id_low.store(id.low, Ordering::Relaxed);
    slot.count.store(count, Ordering::Release);
}

const _: () = assert!(SHARDS_COUNT == 16);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn id(number: u64) -> RecordId {
        RecordId::from_bytes(u128::from(number).wrapping_mul(0x9e37_79b9).to_be_bytes())
    }

    #[test]
    fn counts_each_record_apart_while_it_grows() {
        let table = DownloadTable::new();
        for round in 1..=3 {
            for number in 0..5_000 {
                table.add(id(number), number);
                assert_eq!(table.get(id(number)), number * round);
            }
        }
        assert_eq!(table.get(id(9_999)), 0);
    }

    #[test]
    fn threads_lose_no_count_and_never_see_one_shrink() {
        let table = DownloadTable::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..20_000 {
                        table.add(id(number % 500), 1);
                        let first = table.get(id(number % 100));
                        assert!(first <= table.get(id(number % 100)));
                    }
                });
            }
        });
        for number in 0..500 {
            assert_eq!(table.get(id(number)), 160);
        }
    }

    #[test]
    fn counting_while_slots_are_outgrown_loses_nothing() {
        const KNOWN_COUNT: u64 = 64;
        const NEW_COUNT: u64 = 200_000;
        let table = DownloadTable::new();
        let is_over = AtomicBool::new(false);
        for number in 0..KNOWN_COUNT {
            table.add(id(number), 1);
        }
        let counted = std::thread::scope(|scope| {
            let counting: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut rounds = 0;
                        while !is_over.load(Ordering::Relaxed) {
                            for number in 0..KNOWN_COUNT {
                                let before = table.get(id(number));
                                table.add(id(number), 1);
                                assert!(before < table.get(id(number)));
                            }
                            rounds += 1;
                        }
                        rounds
                    })
                })
                .collect();
            for number in KNOWN_COUNT..NEW_COUNT {
                table.add(id(number), 1);
            }
            is_over.store(true, Ordering::Relaxed);
            let rounds = counting.into_iter().map(|thread| thread.join().unwrap());
            rounds.sum::<u64>()
        });
        for number in 0..NEW_COUNT {
            let more = if number < KNOWN_COUNT { counted } else { 0 };
            assert_eq!(table.get(id(number)), 1 + more);
        }
    }
}
