//! The usage of an engine: downloads of records, requests and downloads of keys and days.

use crate::counters::{CounterLane, OwnDownloads};
use crate::database::Database;
use crate::error::Result;
use crate::model::{ApiKeyId, Day, RecordId, Timestamp, Usage};

/// The usage of an engine, from [`Engine::usage`](crate::Engine::usage).
#[derive(Clone, Copy)]
pub struct UsageHandle<'e> {
    pub(super) database: &'e Database,
}

impl<'e> UsageHandle<'e> {
    /// Count of a record's downloads from this service. Cost: one look-up in memory.
    #[inline]
    pub fn downloads(self, id: RecordId) -> u64 {
        self.database.downloads.get(id)
    }

    /// Downloads of all records from this service, for lists in the order of downloads. Cost: a
    /// lock.
    pub fn own_downloads(self) -> OwnDownloads<'e> {
        self.database.downloads.own_downloads()
    }

    /// The records with the most downloads since the start, most first, with these downloads: up to
    /// some hundreds. Only aggregated downloads are included. Cost: a sort of about a thousand
    /// numbers.
    pub fn busiest_records(self) -> Vec<(RecordId, u64)> {
        self.database.busiest.list()
    }

    /// Hands out a counter lane. Panics if more are taken than
    /// [`Options::counter_lanes`](crate::Options::counter_lanes).
    pub fn counter_lane(self) -> Result<CounterLane> {
        self.database.counters.lane()
    }

    /// Syncs all lanes (once a second): a power cut loses the downloads counted since.
    pub fn sync_counters(self) -> Result<()> {
        self.database.counters.sync()
    }

    /// Entries of log files that failed their checksum during an aggregation, and so were not
    /// counted: file below the data directory, and offset in bytes.
    pub fn passed_over(self) -> Vec<(String, u64)> {
        self.database.counters.passed_over()
    }

    /// Aggregates the downloads counted until now, so that the usage read next includes them.
    ///
    /// Does nothing if it was called in the same second, while another aggregation runs, or if the
    /// disk fails: the next call includes the missing ones. Cost: a durable transaction.
    pub fn aggregate_downloads(self, now: Timestamp) {
        self.database.aggregate_for_reader(now);
    }

    /// Total usage of a key, and the time of its last use. Includes aggregated downloads.
    pub fn api_key_totals(self, id: ApiKeyId) -> Result<(Usage, Option<Timestamp>)> {
        self.database.state.api_key_totals(id)
    }

    /// Usage of a key per day from `from` to `to`, both included; days without use are left out.
    pub fn api_key_usage(self, id: ApiKeyId, from: Day, to: Day) -> Result<Vec<(Day, Usage)>> {
        self.database.state.api_key_usage(id, from, to)
    }

    /// Usage of the whole service per day from `from` to `to`, both included; days without use are
    /// left out.
    pub fn per_day(self, from: Day, to: Day) -> Result<Vec<(Day, Usage)>> {
        self.database.state.usage(from, to)
    }

    /// Figures of the last days that were kept with
    /// [`StateEvent::KeepFigures`](crate::StateEvent::KeepFigures), in ascending order.
    pub fn figures(self) -> Result<Vec<(Day, Vec<u64>)>> {
        self.database.state.figures()
    }

    /// Id of the last [`UsageBatch`](crate::UsageBatch) that was added; 0 before the first.
    pub fn last_batch(self) -> Result<u64> {
        self.database.state.last_usage(self.database.node)
    }

    /// The latest time at which usage was ever added; 1970 before the first.
    ///
    /// A caller with a clock that may be set back takes the later of this and its clock, so that an
    /// expired key stays expired.
    pub fn latest_moment(self) -> Result<Timestamp> {
        self.database.state.latest_moment()
    }
}
