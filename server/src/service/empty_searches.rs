//! The latest searches that found nothing, for administrators: they show which titles people miss
//! in the catalog.

use std::collections::VecDeque;

use parking_lot::Mutex;
use subcat_engine::Timestamp;

use super::slow_searches::shortened_parameters;
use crate::auth::without_keys;
use crate::limits::EMPTY_SEARCHES_MAX;

/// A search without results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptySearch {
    /// Parameters of the search, decoded and shortened.
    pub parameters: String,
    /// Time of the latest one.
    pub at: Timestamp,
    /// Count of its occurrences.
    pub count: u64,
}

/// The latest searches without results, each once, newest first.
#[derive(Default)]
pub struct EmptySearches(Mutex<VecDeque<EmptySearch>>);

impl EmptySearches {
    /// Notes a search. A worker never waits for another one here: while the list is in use, the
    /// search is left out.
    pub fn note(&self, at: Timestamp, query_string: &str) {
        let query_string = &*without_keys(query_string);
        let Some(mut kept) = self.0.try_lock() else {
            return;
        };
        let parameters = shortened_parameters(query_string);
        let known = kept.iter().position(|known| known.parameters == parameters);
        let before = known.and_then(|idx| kept.remove(idx));
        kept.truncate(EMPTY_SEARCHES_MAX - 1);
        kept.push_front(EmptySearch {
            parameters,
            at,
            count: before.map_or(0, |before| before.count) + 1,
        });
    }

    /// The kept searches, newest first.
    pub fn list(&self) -> Vec<EmptySearch> {
        self.0.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_searches_are_one_and_the_list_is_bounded() {
        let searches = EmptySearches::default();
        let now = Timestamp::parse("2026-05-03T12:00:00Z").unwrap();
        for number in 0..EMPTY_SEARCHES_MAX + 5 {
            searches.note(now, &format!("query=x{number}"));
        }
        searches.note(now, "query=x24");
        let kept = searches.list();
        assert_eq!(kept.len(), EMPTY_SEARCHES_MAX);
        assert_eq!(
            (kept[0].parameters.as_str(), kept[0].count),
            ("query=x24", 2)
        );
    }
}
