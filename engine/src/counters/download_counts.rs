//! Our own counts of downloads, in memory: read a hundred times for every search answer.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::limits::DOWNLOAD_SLOTS_MIN;
use crate::model::RecordId;

/// Parts that grow by themselves.
const SHARDS_COUNT: usize = 16;

/// Record → count. Readers take no lock, never wait and write nothing that another core reads:
/// that would go from core to core. Counting a record that is known writes its slot and nothing
/// else; a new one, and any while its part grows, takes the lock of the part.
///
/// A slot holds a hash of the record's id in place of the id, which would take twice the memory.
/// Hashes have 64 bits and a seed of this process: that any two of a million counted records share
/// one, and thereby a count, has a probability of 3 in 100 million. What is stored is by id.
pub(crate) struct DownloadTable {
    hasher: RandomState,
    shards: Box<[CountShard]>,
}

/// A part. Slots that were outgrown go when their last reader has left them.
///
/// Alone on its cache lines: counting in one part does not slow down readers of another.
#[repr(align(128))]
struct CountShard {
    slots: ArcSwap<CountSlots>,
    /// Number of slots that are taken. Locked while a record is put in and while slots are
    /// outgrown.
    taken_count: Mutex<usize>,
}

/// In a count: it was copied to the slots that come next, and goes on there.
const MOVED: u64 = 1 << 63;

/// Open addressing with linear probing. At most three quarters are taken.
type CountSlots = Box<[CountSlot]>;

/// INVARIANT: once `count` is not 0 the hash never changes; `count` is stored after the hash. Once
/// it has `MOVED` it never changes either.
#[derive(Default)]
struct CountSlot {
    hash: AtomicU64,
    count: AtomicU64,
}

impl DownloadTable {
    /// A table without counts, which does not grow before it has this many.
    pub(crate) fn with_room(counts_count: u64) -> Self {
        // A third stays free: a look-up that finds nothing is what most are.
        let slots_count = counts_count as usize / SHARDS_COUNT * 3 / 2 + DOWNLOAD_SLOTS_MIN;
        Self {
            hasher: RandomState::default(),
            shards: (0..SHARDS_COUNT)
                .map(|_| CountShard::new(slots_count))
                .collect(),
        }
    }

    /// The count of a record. Cost: a hash, and about one cache line of the table.
    pub(crate) fn get(&self, id: RecordId) -> u64 {
        let hash = self.hash(id);
        find(&self.shards[shard_idx(hash)].slots.load(), hash).1
    }

    /// Adds to the count of a record.
    pub(crate) fn add(&self, id: RecordId, count: u64) {
        if count == 0 {
            return;
        }
        let hash = self.hash(id);
        let shard = &self.shards[shard_idx(hash)];
        if raise(&shard.slots.load(), hash, count) {
            return;
        }
        // New here, or the part grows just now: under its lock both are settled.
        let mut taken_count = shard.taken_count.lock();
        let slots = shard.slots.load();
        let (slot_idx, known) = find(&slots, hash);
        let slot = &slots[slot_idx];
        if known != 0 {
            // These stay in use while the lock is held, so nothing in them is moved.
            slot.count.fetch_add(count, Ordering::Relaxed);
            return;
        }
        *taken_count += 1;
        if *taken_count * 4 <= slots.len() * 3 {
            put(slot, hash, count);
            return;
        }
        let grown = grown(&slots);
        put(&grown[find(&grown, hash).0], hash, count);
        shard.slots.store(Arc::new(grown));
    }

    fn hash(&self, id: RecordId) -> u64 {
        self.hasher.hash_one(u128::from_be_bytes(*id.as_bytes()))
    }
}

impl CountShard {
    fn new(slots_count: usize) -> Self {
        Self {
            slots: ArcSwap::from_pointee(empty_slots(slots_count)),
            taken_count: Mutex::new(0),
        }
    }
}

/// Half as many slots again with the same counts, which do not change in `slots` any more.
fn grown(slots: &[CountSlot]) -> CountSlots {
    let grown = empty_slots(slots.len() + slots.len().div_ceil(2));
    for slot in slots {
        if slot.count.load(Ordering::Relaxed) != 0 {
            // In one step: an addition either comes before and is copied, or finds the mark and
            // waits for the lock.
            let count = slot.count.fetch_or(MOVED, Ordering::Relaxed);
            let hash = slot.hash.load(Ordering::Relaxed);
            put(&grown[find(&grown, hash).0], hash, count);
        }
    }
    grown
}

fn empty_slots(slots_count: usize) -> CountSlots {
    (0..slots_count).map(|_| CountSlot::default()).collect()
}

/// The part of a hash: from its highest bits. The others choose the slot.
fn shard_idx(hash: u64) -> usize {
    (hash >> SLOT_BITS) as usize
}

/// Bits of a hash that choose a slot of a part.
const SLOT_BITS: u32 = u64::BITS - SHARDS_COUNT.ilog2();

/// The slot of a hash, with its count: the one that holds it, or the empty one where it belongs.
fn find(slots: &[CountSlot], hash: u64) -> (usize, u64) {
    // A product in place of a remainder: slots are as many as are needed, not a power of two.
    let share = u128::from(hash << SHARDS_COUNT.ilog2()) * slots.len() as u128;
    let mut slot_idx = (share >> u64::BITS) as usize;
    loop {
        let slot = &slots[slot_idx];
        // Another thread may fill an empty slot right after this: what was seen counts.
        let count = slot.count.load(Ordering::Acquire);
        if count == 0 || slot.hash.load(Ordering::Relaxed) == hash {
            return (slot_idx, count & !MOVED);
        }
        slot_idx += 1;
        if slot_idx == slots.len() {
            slot_idx = 0;
        }
    }
}

/// Adds to the count of a known record; `false` when it is not known, or no longer counted here.
fn raise(slots: &[CountSlot], hash: u64, count: u64) -> bool {
    let (slot_idx, known) = find(slots, hash);
    if known == 0 {
        return false;
    }
    let counted = |now: u64| (now & MOVED == 0).then_some(now + count);
    let slot = &slots[slot_idx].count;
    slot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted)
        .is_ok()
}

fn put(slot: &CountSlot, hash: u64, count: u64) {
    // The count last, with release: a reader with acquire finds the hash complete.
    slot.hash.store(hash, Ordering::Relaxed);
    slot.count.store(count, Ordering::Release);
}

const _: () = assert!(SHARDS_COUNT.is_power_of_two());

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn id(number: u64) -> RecordId {
        RecordId::from_bytes(u128::from(number).wrapping_mul(0x9e37_79b9).to_be_bytes())
    }

    #[test]
    fn counts_each_record_apart_while_it_grows() {
        let table = DownloadTable::with_room(0);
        for round in 1..=3 {
            for number in 0..5_000 {
                table.add(id(number), number);
                assert_eq!(table.get(id(number)), number * round);
            }
        }
        assert_eq!(table.get(id(9_999)), 0);
    }

    #[test]
    fn with_room_it_does_not_grow() {
        let table = DownloadTable::with_room(100_000);
        let slots_count = || -> usize {
            let counts = table.shards.iter().map(|shard| shard.slots.load().len());
            counts.sum()
        };
        let before = slots_count();
        for number in 0..100_000 {
            table.add(id(number), 1);
        }
        assert_eq!(slots_count(), before);
        assert!(before * size_of::<CountSlot>() < 100_000 * 25);
        assert_eq!(table.get(id(99_999)), 1);
    }

    #[test]
    fn threads_lose_no_count_and_never_see_one_shrink() {
        let table = DownloadTable::with_room(0);
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
        let table = DownloadTable::with_room(0);
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
