//! A bounded map with entries that end by themselves.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Entries that end at a time `T`: in the order in which they were inserted. While there are too
/// many, the oldest end early: a flood of keys takes no more memory.
///
/// INVARIANT: every entry has an element with its end in `oldest_first`. A key that was inserted
/// again has several; only the newest of them is current. The hash is seeded, because clients
/// choose the keys.
pub(crate) struct ExpiringMap<K, V, T> {
    count_max: usize,
    entries: HashMap<K, (V, T)>,
    oldest_first: VecDeque<(K, T)>,
}

impl<K: Clone + Eq + Hash, V, T: Copy + Ord> ExpiringMap<K, V, T> {
    /// An empty map for this many entries.
    pub(crate) fn new(count_max: usize) -> Self {
        Self {
            count_max,
            entries: HashMap::new(),
            oldest_first: VecDeque::new(),
        }
    }

    /// The value of a key, if it has not ended.
    pub(crate) fn get(&self, key: &K, now: T) -> Option<&V> {
        match self.entries.get(key) {
            Some((value, ends_at)) if now < *ends_at => Some(value),
            _ => None,
        }
    }

    /// The value of a key and its end, which may be over.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<(&mut V, T)> {
        let (value, ends_at) = self.entries.get_mut(key)?;
        Some((value, *ends_at))
    }

    /// Entries that have not ended, counted. Cost: a pass over the map.
    pub(crate) fn count(&self, now: T) -> usize {
        let ends = self.entries.values().map(|(_, ends_at)| ends_at);
        ends.filter(|ends_at| now < **ends_at).count()
    }

    /// Inserts an entry, in place of one with the same key. None inserted before may end later.
    ///
    /// Cost: amortised constant. Each call removes the ended entries at the front of the queue, so
    /// the map needs no timer.
    pub(crate) fn insert(&mut self, key: K, value: V, ends_at: T, now: T) {
        self.entries.insert(key.clone(), (value, ends_at));
        self.oldest_first.push_back((key, ends_at));
        while let Some((oldest, ends_at)) = self.oldest_first.front() {
            if now < *ends_at && self.oldest_first.len() <= self.count_max {
                return;
            }
            let current = self.entries.get(oldest);
            // One that was inserted again has a later element in the queue.
            if current.is_some_and(|(_, current)| current == ends_at) {
                self.entries.remove(oldest);
            }
            self.oldest_first.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: u64 = 30;

    fn insert(map: &mut ExpiringMap<u64, &str, u64>, key: u64, value: &'static str, now: u64) {
        map.insert(key, value, now + LIFE, now);
    }

    #[test]
    fn an_entry_ends_and_may_be_inserted_again() {
        let mut map = ExpiringMap::new(100);
        insert(&mut map, 1, "first", 0);
        assert_eq!(map.get(&1, 29), Some(&"first"));
        assert_eq!(map.get(&1, 30), None);
        assert_eq!(map.get(&2, 0), None);
        assert_eq!((map.count(29), map.count(30)), (1, 0));
        insert(&mut map, 1, "second", 20);
        insert(&mut map, 2, "other", 40);
        assert_eq!(map.get(&1, 49), Some(&"second"));
        assert_eq!(map.oldest_first.len(), 2);
    }

    #[test]
    fn the_map_is_bounded() {
        let mut map = ExpiringMap::new(100);
        for key in 0..105 {
            insert(&mut map, key, "x", 0);
        }
        assert_eq!((map.entries.len(), map.oldest_first.len()), (100, 100));
        assert_eq!(map.get(&4, 0), None);
        assert!(map.get(&5, 0).is_some());
    }

    #[test]
    fn entries_that_are_inserted_again_leave_nothing_behind() {
        let mut map = ExpiringMap::new(100);
        for round in 0..1_000 {
            insert(&mut map, 1, "x", round * LIFE);
        }
        assert_eq!((map.entries.len(), map.oldest_first.len()), (1, 1));
    }

    #[test]
    fn without_a_life_nothing_is_kept() {
        let mut map = ExpiringMap::new(100);
        map.insert(1, "x", 7, 7);
        assert_eq!(map.get(&1, 7), None);
        assert!(map.entries.is_empty());
    }
}
