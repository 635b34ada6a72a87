//! States of a catalog in which engines are compared: fresh, and as it is after a while.

use crate::random::Random;

/// Seed of the order in which records are deleted.
const SEED: u64 = 4242;
/// Records of the newest segments, newest first: a full delta, and six segments that were not
/// merged yet. All older records are in one more.
const PIECES: [u32; 7] = [4_000, 2_000, 5_000, 10_000, 20_000, 35_000, 50_000];
/// Each piece has at most this share of a small catalog.
const PIECE_SHARE: u32 = 20;

/// A state in which all engines answer all queries.
#[derive(Debug, Clone)]
pub struct State {
    /// Its name in tables.
    pub name: String,
    /// Number of records that are deleted.
    pub deleted: u32,
    /// True if our index has several segments; those of the peers stay in one.
    pub in_pieces: bool,
}

impl State {
    /// The states of a run over `count` records, with fewer deleted records first: the fresh one,
    /// and, if `lived_in`, those after it.
    pub fn all(count: u32, lived_in: bool) -> Vec<Self> {
        let state = |name: &str, deleted: u32, in_pieces| Self {
            name: name.to_owned(),
            deleted,
            in_pieces,
        };
        let mut states = vec![state("clean", 0, false)];
        if lived_in {
            states.push(state("1 deleted", 1, false));
            states.push(state("0.1 % deleted", count / 1000, false));
            states.push(state("1 % deleted", count / 100, false));
            states.push(state("1 % deleted, 8 segments", count / 100, true));
            states.push(state("20 % deleted", count / 5, false));
        }
        states
    }
}

/// Ranks of the first `deleted` records to be deleted out of `count`, in that order: a state with
/// more deleted records begins with those of a state with fewer.
pub fn deleted_ranks(count: u32, deleted: u32) -> Vec<u32> {
    let mut random = Random::new(SEED);
    let mut ranks: Vec<u32> = (0..count).collect();
    for idx in 0..deleted as usize {
        let other = idx + random.below(ranks.len() - idx);
        ranks.swap(idx, other);
    }
    ranks.truncate(deleted as usize);
    ranks
}

/// First rank of each segment of a catalog in pieces, newest first.
pub fn piece_starts(count: u32) -> Vec<u32> {
    let mut starts = vec![0];
    for piece in PIECES {
        let start = starts[starts.len() - 1] + piece.min(count / PIECE_SHARE);
        starts.push(start);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_are_nested() {
        let many = deleted_ranks(1_000, 200);
        assert_eq!(many[..10], deleted_ranks(1_000, 10));
        let mut distinct = many.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 200);
        assert!(distinct.iter().all(|&rank| rank < 1_000));
    }

    #[test]
    fn states_go_from_fewer_deletions_to_more() {
        for count in [1_000, 1_000_000] {
            let states = State::all(count, true);
            assert!(states.is_sorted_by_key(|state| state.deleted));
        }
        assert_eq!(State::all(1_000, false).len(), 1);
    }

    #[test]
    fn pieces_leave_most_records_in_the_oldest_segment() {
        assert_eq!(
            piece_starts(1_000_000),
            [0, 4_000, 6_000, 11_000, 21_000, 41_000, 76_000, 126_000]
        );
        assert_eq!(piece_starts(1_000), [0, 50, 100, 150, 200, 250, 300, 350]);
    }
}
