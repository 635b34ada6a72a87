//! The latest slow searches, for administrators.

use std::collections::VecDeque;

use parking_lot::Mutex;
use subcat_engine::{ApiKeyId, Timestamp};

use crate::auth::API_KEY_PREFIX;
use crate::limits::{SLOW_SEARCH_VALUE_CHARS_MAX, SLOW_SEARCHES_MAX};
use crate::request::{SEARCH_PARAMETERS, parameters};

/// Microseconds above which a search is slow: ten times the target for the slowest ones.
pub const SLOW_SEARCH_US: u64 = 10_000;

/// One slow search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowSearch {
    /// Time of the request.
    pub at: Timestamp,
    /// From the request's head to the answer's.
    pub duration_us: u64,
    /// Parameters of the search, decoded and shortened: `query=dark s01e02 year=2017`.
    pub parameters: String,
    /// The key of the request; none for a search on a page.
    pub api_key: Option<ApiKeyId>,
}

/// The latest slow searches, newest first.
#[derive(Default)]
pub struct SlowSearches(Mutex<VecDeque<SlowSearch>>);

impl SlowSearches {
    /// Keeps a search if it was slow. Cost: a comparison for any other.
    pub fn note(
        &self,
        at: Timestamp,
        duration_us: u64,
        query_string: &str,
        api_key: Option<ApiKeyId>,
    ) {
        if duration_us <= SLOW_SEARCH_US {
            return;
        }
        let search = SlowSearch {
            at,
            duration_us,
            parameters: shortened_parameters(query_string),
            api_key,
        };
        let mut kept = self.0.lock();
        kept.truncate(SLOW_SEARCHES_MAX - 1);
        kept.push_front(search);
    }

    /// The kept searches, newest first.
    pub fn list(&self) -> Vec<SlowSearch> {
        self.0.lock().iter().cloned().collect()
    }
}

/// The parameters of a search, shortened. Other parameters are left out because they may hold
/// anything, and so are values that look like an API key in the wrong place.
pub(super) fn shortened_parameters(query_string: &str) -> String {
    let known = parameters(query_string).filter(|(name, value)| {
        let may_be_key = value.contains(API_KEY_PREFIX);
        SEARCH_PARAMETERS.contains(&&**name) && !value.trim().is_empty() && !may_be_key
    });
    let pieces = known.take(SEARCH_PARAMETERS.len()).map(|(name, value)| {
        let value = value.trim();
        let shortened: String = value
            .chars()
            .take(SLOW_SEARCH_VALUE_CHARS_MAX)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let rest = if shortened.len() < value.len() {
            "…"
        } else {
            ""
        };
        format!("{name}={shortened}{rest}")
    });
    pieces.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    #[test]
    fn only_slow_ones_are_kept_and_only_the_newest() {
        let slow = SlowSearches::default();
        slow.note(at(0), SLOW_SEARCH_US, "query=quick", None);
        assert_eq!(slow.list(), []);
        for number in 0..80 {
            let id = Some(ApiKeyId(number));
            slow.note(at(60), SLOW_SEARCH_US + number, "query=slow", id);
        }
        slow.note(at(0), 1 + SLOW_SEARCH_US, "query=slow", None);
        let kept = slow.list();
        assert_eq!(kept.len(), 20);
        assert_eq!(kept[1].api_key, Some(ApiKeyId(79)));
        assert_eq!(kept[1].duration_us, SLOW_SEARCH_US + 79);
        assert_eq!(kept[19].api_key, Some(ApiKeyId(61)));
    }

    #[test]
    fn parameters_are_short_and_hold_no_secret() {
        let check = |query_string: &str, expected: &str| {
            assert_eq!(
                shortened_parameters(query_string),
                expected,
                "{query_string}"
            );
        };
        check("query=dark+S01E02&year=2017", "query=dark S01E02 year=2017");
        check("title=&query=%20a%0Ab", "query=a b");
        check("api_key=sct_x&token=y&query=a", "query=a");
        check("query=sct_AbCd&title=b", "title=b");
        let long = "ñ".repeat(70);
        check(
            &format!("title={long}"),
            &format!("title={}…", "ñ".repeat(60)),
        );
        assert!(shortened_parameters(&"query=a&".repeat(1_000)).len() < 200);
    }
}
