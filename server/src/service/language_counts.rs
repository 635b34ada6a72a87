//! Counts of records by language, kept for a while.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use subcat_engine::{LanguageTerm, Snapshot};

use crate::limits::{LANGUAGE_COUNTS_AGE_MAX, LANGUAGES_COUNTED_MAX};
use crate::runtime::Moment;

/// Active records by language and region.
pub type LanguageCounts = Arc<BTreeMap<LanguageTerm, u64>>;

/// The last counts.
#[derive(Default)]
pub(super) struct KeptCounts(Mutex<Option<CountsOf>>);

/// Counts of a snapshot and the time at which they were made.
struct CountsOf {
    snapshot_id: u64,
    made_us: u64,
    counts: LanguageCounts,
}

impl CountsOf {
    /// True if they may still be shown: of a large catalog for a quarter of an hour.
    fn is_good(&self, snapshot_id: u64, now: Moment) -> bool {
        let records_count: u64 = self.counts.values().sum();
        let age_us = now.monotonic_us.saturating_sub(self.made_us);
        let is_young = u128::from(age_us) < LANGUAGE_COUNTS_AGE_MAX.as_micros();
        self.snapshot_id == snapshot_id || LANGUAGES_COUNTED_MAX < records_count && is_young
    }
}

impl KeptCounts {
    /// The counts of a snapshot, or those kept. Others wait while they are made.
    pub(super) fn of(
        &self,
        snapshot: &Snapshot,
        now: Moment,
    ) -> subcat_engine::Result<LanguageCounts> {
        let mut kept = self.0.lock();
        if let Some(kept) = &*kept
            && kept.is_good(snapshot.id(), now)
        {
            return Ok(Arc::clone(&kept.counts));
        }
        let counts = Arc::new(snapshot.language_counts()?);
        *kept = Some(CountsOf {
            snapshot_id: snapshot.id(),
            made_us: now.monotonic_us,
            counts: Arc::clone(&counts),
        });
        Ok(counts)
    }
}
