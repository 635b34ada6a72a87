//! Use of API keys by hour, for the charts of the last day. In memory only: days are stored.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use subcat_engine::{ApiKeyId, Timestamp, Usage};

use crate::limits::{HOURLY_USE_HOURS, HOURLY_USE_KEYS_MAX};

/// Seconds of an hour.
pub const HOUR_SECONDS: i64 = 3_600;

/// Use in each of the last hours since the process started, of keys and of the whole service.
///
/// Workers hand over what they counted once a second; pages read. At most [`HOURLY_USE_KEYS_MAX`]
/// keys: then those that were not used in this hour are dropped. About 1 KB a key.
#[derive(Default)]
pub struct HourlyUse(Mutex<HourlyUseTables>);

#[derive(Default)]
struct HourlyUseTables {
    all: UseByHour,
    keys: HashMap<ApiKeyId, UseByHour, foldhash::fast::RandomState>,
    /// The hour in which keys were dropped last: they are looked for once in it.
    swept_hour: i64,
}

/// Hours since 1970 and the use in them, the oldest first.
#[derive(Default)]
struct UseByHour(VecDeque<(i64, Usage)>);

impl HourlyUse {
    /// Adds use of a key, or without one of none, at this time.
    pub fn note(&self, api_key: Option<ApiKeyId>, at: Timestamp, usage: &Usage) {
        let hour = at.seconds().div_euclid(HOUR_SECONDS);
        let mut tables = self.0.lock();
        tables.all.add(hour, usage);
        let Some(id) = api_key else {
            return;
        };
        tables.make_room(id, hour);
        if tables.keys.contains_key(&id) || tables.keys.len() < HOURLY_USE_KEYS_MAX {
            tables.keys.entry(id).or_default().add(hour, usage);
        }
    }

    /// Use of a key, or of the whole service, by hour since 1970 in ascending order; hours without
    /// use are left out.
    pub fn of(&self, api_key: Option<ApiKeyId>) -> Vec<(i64, Usage)> {
        let tables = self.0.lock();
        let hours = match api_key {
            Some(id) => tables.keys.get(&id),
            None => Some(&tables.all),
        };
        hours.map_or_else(Vec::new, |hours| hours.0.iter().copied().collect())
    }
}

impl HourlyUseTables {
    /// Drops the keys that were not used in this hour, if there is no room for another one.
    fn make_room(&mut self, id: ApiKeyId, hour: i64) {
        let is_full = self.keys.len() == HOURLY_USE_KEYS_MAX && !self.keys.contains_key(&id);
        if is_full && self.swept_hour != hour {
            self.swept_hour = hour;
            self.keys.retain(|_, hours| hours.last() == Some(hour));
        }
    }
}

impl UseByHour {
    fn last(&self) -> Option<i64> {
        self.0.back().map(|(hour, _)| *hour)
    }

    /// Adds to the last hour if it is the same one or the clock was set back; else begins another.
    fn add(&mut self, hour: i64, usage: &Usage) {
        match self.0.back_mut() {
            Some((last, sum)) if hour <= *last => sum.add(usage),
            _ => {
                self.0.push_back((hour, *usage));
                while self
                    .0
                    .front()
                    .is_some_and(|(first, _)| *first <= hour - HOURLY_USE_HOURS)
                {
                    self.0.pop_front();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_seconds(1_790_000_000 / HOUR_SECONDS * HOUR_SECONDS + hour * HOUR_SECONDS)
            .unwrap()
    }

    const ONE: Usage = Usage {
        requests: 1,
        downloads: 1,
        client_errors: 0,
        limited: 0,
    };

    fn requests(hours: &[(i64, Usage)]) -> Vec<u64> {
        hours.iter().map(|(_, usage)| usage.requests).collect()
    }

    #[test]
    fn use_is_kept_by_hour_for_a_day() {
        let used = HourlyUse::default();
        let key = Some(ApiKeyId(7));
        used.note(key, at(0), &ONE);
        used.note(key, at(0).plus_seconds(3_599), &ONE);
        used.note(None, at(1), &ONE);
        used.note(key, at(2), &ONE);
        // The clock was set back.
        used.note(key, at(1), &ONE);
        assert_eq!(requests(&used.of(key)), [2, 2]);
        assert_eq!(requests(&used.of(None)), [2, 1, 2]);
        assert_eq!(used.of(Some(ApiKeyId(8))), []);
        let first = at(2).seconds() / HOUR_SECONDS;
        used.note(key, at(25), &ONE);
        assert_eq!(used.of(key)[0].0, first, "it is 23 hours old");
        used.note(key, at(26), &ONE);
        assert_eq!(requests(&used.of(key)), [1, 1]);
    }

    #[test]
    fn keys_of_earlier_hours_make_room() {
        let used = HourlyUse::default();
        let keys_max = HOURLY_USE_KEYS_MAX as u64;
        for number in 0..keys_max {
            used.note(Some(ApiKeyId(number)), at(0), &ONE);
        }
        used.note(Some(ApiKeyId(0)), at(1), &ONE);
        used.note(Some(ApiKeyId(keys_max)), at(1), &ONE);
        assert_eq!(used.of(Some(ApiKeyId(1))), []);
        assert_eq!(requests(&used.of(Some(ApiKeyId(0)))), [1, 1]);
        assert_eq!(requests(&used.of(Some(ApiKeyId(keys_max)))), [1]);
        // More than there is room for, in one hour: the service as a whole is complete.
        for number in 0..2 * keys_max {
            used.note(Some(ApiKeyId(number)), at(2), &ONE);
        }
        assert!(used.0.lock().keys.len() <= HOURLY_USE_KEYS_MAX);
        assert_eq!(used.of(None).last().unwrap().1.requests, 2 * keys_max);
    }
}
