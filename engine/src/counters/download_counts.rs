//! Our own counts of downloads, in memory: read a hundred times for every search answer.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::error::Result;
use crate::limits::DOWNLOAD_SLOTS_MIN;
use crate::model::RecordId;

use super::most_downloaded::{MostDownloaded, SharedMost};

/// Parts that grow by themselves.
const SHARDS_COUNT: usize = 16;

/// Record → count. Readers take no lock, never wait and write nothing that another core reads:
/// that would go from core to core. Counting a record that is known writes its slot and nothing
/// else; a new one, and any while its part grows, takes the lock of the part.
///
/// A slot holds a hash of the record's id in place of the id, which would take twice the memory.
/// Hashes have 64 bits and a seed of this process: that any two of a million counted records share
/// one, and thereby a count, has a probability of 3 in 100 million. What is stored is by id.
pub struct DownloadTable {
    hasher: RandomState,
    shards: Box<[CountShard]>,
    most: SharedMost,
}

/// Downloads from this service, for lists in the order of downloads.
pub struct OwnDownloads<'t> {
    table: &'t DownloadTable,
    most: Arc<MostDownloaded>,
}

impl OwnDownloads<'_> {
    /// The count of a record. Cost: one look-up in memory.
    pub(crate) fn of(&self, id: RecordId) -> u64 {
        self.table.get(id)
    }

    /// The records with the most.
    pub(crate) fn most(&self) -> &MostDownloaded {
        &self.most
    }
}

/// A part. Slots that were outgrown go when their last reader has left them.
///
/// Alone on its cache lines: counting in one part does not slow down readers of another.
#[repr(align(128))]
struct CountShard {
    slots: ArcSwap<CountSlots>,
    /// Count of slots that are taken. Locked while a record is put in and while slots are outgrown.
    taken_count: Mutex<usize>,
}

/// Groups in which counts are gathered while the table is loaded: see [`Gathered`].
const GROUPS_COUNT: usize = 256;

/// Bit of a count that was copied to the next slots and continues there.
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
    /// Builds the table from the counts that `read` gives, about `counts_count`, each of another
    /// record. The table is not shared yet, so no lock is taken.
    pub fn load(
        counts_count: u64,
        read: impl FnOnce(&mut dyn FnMut(RecordId, u64)) -> Result<()>,
    ) -> Result<Self> {
        let hasher = RandomState::default();
        let mut gathered = Gathered::with_room(counts_count as usize);
        let mut most = MostDownloaded::default();
        read(&mut |id, count| {
            gathered.add(hash(&hasher, id), count);
            most.load(id, count);
        })?;
        Ok(Self {
            hasher,
            shards: gathered.into_shards(),
            most: SharedMost::new(most),
        })
    }

    /// The count of a record. Cost: a hash, and about one cache line of the table.
    pub(crate) fn get(&self, id: RecordId) -> u64 {
        let hash = hash(&self.hasher, id);
        find(&self.shards[shard_idx(hash)].slots.load(), hash).1
    }

    /// The counts, for lists.
    pub fn own_downloads(&self) -> OwnDownloads<'_> {
        OwnDownloads {
            table: self,
            most: self.most.get(),
        }
    }

    /// Adds to the count of a record.
    pub(crate) fn add(&self, id: RecordId, count: u64) {
        if count == 0 {
            return;
        }
        let hash = hash(&self.hasher, id);
        let shard = &self.shards[shard_idx(hash)];
        let raised = raise(&shard.slots.load(), hash, count);
        let before = raised.unwrap_or_else(|| shard.add_locked(hash, count));
        self.most.note(id, before, |id| self.get(id));
    }
}

impl CountShard {
    /// Adds to a count that is new here, or whose slots grow just now; returns the count before.
    fn add_locked(&self, hash: u64, count: u64) -> u64 {
        // Under the lock both are settled.
        let mut taken_count = self.taken_count.lock();
        let slots = self.slots.load();
        let (slot_idx, known) = find(&slots, hash);
        let slot = &slots[slot_idx];
        if known != 0 {
            // These stay in use while the lock is held, so nothing in them is moved.
            return slot.count.fetch_add(count, Ordering::SeqCst);
        }
        *taken_count += 1;
        if *taken_count * 4 <= slots.len() * 3 {
            put(slot, hash, count);
            return 0;
        }
        let grown = grown(&slots);
        put(&grown[find(&grown, hash).0], hash, count);
        self.slots.store(Arc::new(grown));
        0
    }
}

/// Counts that are to be put into a new table, by the beginning of their hashes.
///
/// In the order of their rows each count would be put into another cache line of a table that is
/// larger than the caches, and a miss for each would be waited for. The slots of a group are a
/// stretch of the table that fits into the caches.
struct Gathered {
    groups: Vec<Vec<(u64, u64)>>,
}

impl Gathered {
    fn with_room(counts_count: usize) -> Self {
        // Groups differ in size by a few times the square root of it.
        let each = counts_count / GROUPS_COUNT;
        let room = each + each / 8;
        Self {
            groups: (0..GROUPS_COUNT)
                .map(|_| Vec::with_capacity(room))
                .collect(),
        }
    }

    fn add(&mut self, hash: u64, count: u64) {
        if count != 0 {
            self.groups[(hash >> GROUP_SHIFT) as usize].push((hash, count));
        }
    }

    fn into_shards(self) -> Box<[CountShard]> {
        let mut shards = Vec::with_capacity(SHARDS_COUNT);
        let mut groups = self.groups.into_iter();
        while groups.len() != 0 {
            let groups = groups.by_ref().take(GROUPS_COUNT / SHARDS_COUNT);
            shards.push(CountShard::of(groups.collect()));
        }
        shards.into()
    }
}

impl CountShard {
    /// A part with the counts of its groups.
    fn of(groups: Vec<Vec<(u64, u64)>>) -> Self {
        let taken_count = groups.iter().map(Vec::len).sum::<usize>();
        // A third stays free: a look-up that finds nothing is what most are.
        let slots = empty_slots(taken_count * 3 / 2 + DOWNLOAD_SLOTS_MIN);
        for (hash, count) in groups.into_iter().flatten() {
            let (slot_idx, known) = find(&slots, hash);
            put(&slots[slot_idx], hash, known + count);
        }
        Self {
            slots: ArcSwap::from_pointee(slots),
            taken_count: Mutex::new(taken_count),
        }
    }
}

fn hash(hasher: &RandomState, id: RecordId) -> u64 {
    hasher.hash_one(u128::from_be_bytes(*id.as_bytes()))
}

/// Half as many slots again with the same counts, which no longer change in `slots`.
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

/// Bits of a hash below those that choose a group.
const GROUP_SHIFT: u32 = u64::BITS - GROUPS_COUNT.ilog2();

/// Bits of a hash that choose a slot of a part.
const SLOT_BITS: u32 = u64::BITS - SHARDS_COUNT.ilog2();

/// The slot where the search for a hash begins.
#[inline]
fn first_slot_idx(slots: &[CountSlot], hash: u64) -> usize {
    // A product in place of a remainder: slots are as many as are needed, not a power of two.
    let share = u128::from(hash << SHARDS_COUNT.ilog2()) * slots.len() as u128;
    (share >> u64::BITS) as usize
}

/// The slot of a hash, with its count: the one that holds it, or the empty one where it belongs.
fn find(slots: &[CountSlot], hash: u64) -> (usize, u64) {
    let mut slot_idx = first_slot_idx(slots, hash);
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

/// Adds to the count of a known record, and returns the count before; `None` when it is not known,
/// or no longer counted here.
fn raise(slots: &[CountSlot], hash: u64, count: u64) -> Option<u64> {
    let (slot_idx, known) = find(slots, hash);
    if known == 0 {
        return None;
    }
    let counted = |now: u64| (now & MOVED == 0).then_some(now + count);
    let slot = &slots[slot_idx].count;
    // The list of the most downloaded relies on the order: see `SharedMost::note`.
    slot.fetch_update(Ordering::SeqCst, Ordering::Relaxed, counted)
        .ok()
}

fn put(slot: &CountSlot, hash: u64, count: u64) {
    // The count last, with a release: a reader with acquire finds the hash complete.
    slot.hash.store(hash, Ordering::Relaxed);
    slot.count.store(count, Ordering::SeqCst);
}

const _: () = assert!(SHARDS_COUNT.is_power_of_two());
const _: () = assert!(GROUPS_COUNT.is_multiple_of(SHARDS_COUNT));

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn id(number: u64) -> RecordId {
        RecordId::from_bytes(u128::from(number).wrapping_mul(0x9e37_79b9).to_be_bytes())
    }

    #[test]
    fn counts_each_record_apart_while_it_grows() {
        let table = empty();
        for round in 1..=3 {
            for number in 0..5_000 {
                table.add(id(number), number);
                assert_eq!(table.get(id(number)), number * round);
            }
        }
        assert_eq!(table.get(id(9_999)), 0);
    }

    fn empty() -> DownloadTable {
        DownloadTable::load(0, |_| Ok(())).unwrap()
    }

    #[test]
    fn what_is_loaded_is_counted_on_and_takes_little_memory() {
        for expected_count in [0, 100_000] {
            let loaded = DownloadTable::load(expected_count, |add| {
                (0..100_000).for_each(|number| add(id(number), number));
                Ok(())
            });
            let table = loaded.unwrap();
            for number in 0..100_100 {
                table.add(id(number), 1);
            }
            for number in 0..100_100 {
                let loaded = if number < 100_000 { number } else { 0 };
                assert_eq!(table.get(id(number)), loaded + 1);
            }
            let slots = table.shards.iter().map(|shard| shard.slots.load().len());
            let bytes = slots.sum::<usize>() * size_of::<CountSlot>();
            assert!(bytes < 100_000 * 33, "{bytes}");
            assert!(expected_count == 0 || bytes < 100_000 * 25, "{bytes}");
        }
    }

    #[test]
    fn threads_lose_no_count_and_never_see_one_shrink() {
        let table = empty();
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
        let table = empty();
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
