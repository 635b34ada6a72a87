//! A bounded map that evicts in two generations.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

type Map<K, V> = HashMap<K, (V, usize), foldhash::quality::RandomState>;

/// Two maps: new entries go to the young one. When it is full, it becomes the old one, and the old
/// one is dropped. An old entry that is used becomes young again. So entries in use stay, as with
/// LRU, and a hit on a young entry writes nothing.
///
/// INVARIANT: each map has at most half of the permitted weight.
pub(super) struct Generations<K, V> {
    young: Map<K, V>,
    old: Map<K, V>,
    young_weight: usize,
    old_weight: usize,
    half_weight_max: usize,
}

impl<K: Hash + Eq, V> Generations<K, V> {
    /// An empty map of at most this weight.
    pub(super) fn new(weight_max: usize) -> Self {
        Self {
            young: Map::default(),
            old: Map::default(),
            young_weight: 0,
            old_weight: 0,
            half_weight_max: weight_max / 2,
        }
    }

    /// The value of a key. Cost: one look-up, or two for an old entry.
    pub(super) fn get<Q>(&mut self, wanted: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        V: Clone,
    {
        if let Some((value, _)) = self.young.get(wanted) {
            return Some(value.clone());
        }
        let (found, (value, weight)) = self.old.remove_entry(wanted)?;
        self.old_weight -= weight;
        self.put(found, value.clone(), weight);
        Some(value)
    }

    /// Calls `change` with the value of a key; it returns the new weight and its result. Cost: as
    /// [`Generations::get`].
    pub(super) fn change<Q, R>(
        &mut self,
        wanted: &Q,
        change: impl FnOnce(&mut V) -> (usize, R),
    ) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some((value, weight)) = self.young.get_mut(wanted) {
            let (new_weight, outcome) = change(value);
            self.young_weight = self.young_weight - *weight + new_weight;
            *weight = new_weight;
            if self.half_weight_max < self.young_weight {
                let (found, (value, weight)) = self.young.remove_entry(wanted)?;
                self.young_weight -= weight;
                self.put(found, value, weight);
            }
            return Some(outcome);
        }
        let (found, (mut value, weight)) = self.old.remove_entry(wanted)?;
        self.old_weight -= weight;
        let (new_weight, outcome) = change(&mut value);
        self.put(found, value, new_weight);
        Some(outcome)
    }

    /// Drops the entries that `is_wanted` rejects, by their keys. Cost: a visit of each.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&K) -> bool) {
        for (map, map_weight) in [
            (&mut self.young, &mut self.young_weight),
            (&mut self.old, &mut self.old_weight),
        ] {
            map.retain(|place, (_, weight)| {
                let is_kept = is_wanted(place);
                if !is_kept {
                    *map_weight -= *weight;
                }
                is_kept
            });
        }
    }

    /// Keeps a value of this weight, unless it exceeds half of the permitted weight.
    pub(super) fn put(&mut self, place: K, value: V, weight: usize) {
        if self.half_weight_max < weight {
            return;
        }
        if let Some((_, replaced_weight)) = self.young.remove(&place) {
            self.young_weight -= replaced_weight;
        }
        if let Some((_, replaced_weight)) = self.old.remove(&place) {
            self.old_weight -= replaced_weight;
        }
        if self.half_weight_max < self.young_weight + weight {
            self.old = std::mem::take(&mut self.young);
            self.old_weight = std::mem::take(&mut self.young_weight);
        }
        self.young.insert(place, (value, weight));
        self.young_weight += weight;
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
        self.young_weight = 0;
        self.old_weight = 0;
    }

    /// Current weight.
    pub(super) fn weight(&self) -> usize {
        self.young_weight + self.old_weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_its_weight_and_keeps_what_is_used() {
        let mut map = Generations::new(20);
        for number in 0..1000_u32 {
            map.put(number, number, 1);
            assert!(map.weight() <= 20);
            assert_eq!(
                map.get(&0),
                Some(0),
                "requested in every round, round {number}"
            );
        }
        assert_eq!(map.get(&1), None);
        map.clear();
        assert_eq!((map.get(&0), map.weight()), (None, 0));
    }

    #[test]
    fn what_is_not_wanted_any_more_leaves_with_its_weight() {
        let mut map = Generations::new(20);
        for number in 0..15_u32 {
            map.put(number, number, 1);
        }
        map.retain(|number| number % 5 == 0);
        assert_eq!(map.weight(), 3);
        assert_eq!(
            [0, 1, 5, 10, 14].map(|n| map.get(&n)),
            [Some(0), None, Some(5), Some(10), None]
        );
    }

    #[test]
    fn what_changes_is_weighed_again() {
        let mut map = Generations::new(20);
        for number in 0..1000_u32 {
            map.put(number, 0_usize, 1);
            for grown in [2, 4, 7] {
                let earlier = map.change(&number, |value| (grown, std::mem::replace(value, grown)));
                assert!(
                    earlier.is_some_and(|earlier| earlier < grown),
                    "at {number}"
                );
                assert!(map.weight() <= 20);
            }
        }
        assert_eq!((map.get(&998), map.get(&0)), (Some(7), None));
        assert_eq!(map.change(&998, |_| (11, ())), Some(()));
        assert_eq!(map.get(&998), None, "too heavy");
        assert_eq!(map.change(&0, |_| (1, ())), None);
    }

    #[test]
    fn what_is_too_heavy_is_not_kept() {
        let mut map = Generations::new(20);
        map.put(1, 1, 11);
        assert_eq!(map.get(&1), None);
        map.put(1, 1, 10);
        map.put(1, 2, 3);
        assert_eq!((map.get(&1), map.weight()), (Some(2), 3));
    }
}
