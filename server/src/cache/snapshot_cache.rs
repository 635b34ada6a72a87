//! A cache with entries that are valid for one snapshot.

use std::borrow::Borrow;
use std::hash::Hash;

use super::generations::Generations;

/// A bounded cache of values that were read from one snapshot. The first request in another
/// snapshot clears it: whatever the new snapshot changed, no old value is served.
///
/// INVARIANT: every value was read from the snapshot `snapshot_id`.
pub(super) struct SnapshotCache<K, V> {
    snapshot_id: u64,
    entries: Generations<K, V>,
}

impl<K: Hash + Eq, V> SnapshotCache<K, V> {
    /// An empty cache of at most this weight.
    pub(super) fn new(weight_max: usize) -> Self {
        Self {
            snapshot_id: 0,
            entries: Generations::new(weight_max),
        }
    }

    /// Clears the cache if this is not the snapshot of its values.
    fn follow(&mut self, snapshot_id: u64) {
        if self.snapshot_id != snapshot_id {
            self.entries.clear();
            self.snapshot_id = snapshot_id;
        }
    }

    /// The value of a key, if it was put there in this snapshot.
    pub(super) fn get<Q>(&mut self, snapshot_id: u64, wanted: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        V: Clone,
    {
        self.follow(snapshot_id);
        self.entries.get(wanted)
    }

    /// Calls `change` with the value of a key; it returns the new weight and its result.
    pub(super) fn change<Q, R>(
        &mut self,
        snapshot_id: u64,
        wanted: &Q,
        change: impl FnOnce(&mut V) -> (usize, R),
    ) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.follow(snapshot_id);
        self.entries.change(wanted, change)
    }

    /// Caches a value. Does nothing if it was read from a snapshot other than the current one: a
    /// slow request must not bring back what an import has replaced in between.
    pub(super) fn put(&mut self, snapshot_id: u64, entry_key: K, value: V, weight: usize) {
        if self.snapshot_id == snapshot_id {
            self.entries.put(entry_key, value, weight);
        }
    }

    /// Weight of all entries.
    pub(super) fn weight(&self) -> usize {
        self.entries.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_current_snapshot() {
        let mut cache = SnapshotCache::new(20);
        assert_eq!(cache.get(1, &7), None::<&str>);
        cache.put(1, 7, "old", 1);
        assert_eq!(cache.get(1, &7), Some("old"));
        assert_eq!(cache.get(2, &7), None);
        cache.put(1, 7, "late", 1);
        assert_eq!(cache.get(2, &7), None, "read from the snapshot before");
        cache.put(2, 7, "new", 1);
        assert_eq!(cache.get(2, &7), Some("new"));
        assert_eq!(cache.weight(), 1);
    }
}
