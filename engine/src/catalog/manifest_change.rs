//! A change of the manifest, the list of segment files in effect.

use super::live_segment::LiveSegment;
use super::tables::{JOURNAL, ManifestEntry, SEGMENTS, TOMBSTONES};
use crate::error::Result;
use crate::store::Transaction;

/// One change of the manifest, applied in one transaction.
pub(super) struct ManifestChange<'c> {
    /// New segments. Their files are durable before the manifest names them.
    pub(super) made: &'c [LiveSegment],
    /// Commits that a segment file covers from now on.
    pub(super) commits: &'c [u64],
    /// Numbers of segments that are dropped. Their files are removed afterwards.
    pub(super) dropped: &'c [u64],
}

impl ManifestChange<'_> {
    /// Writes the change, with the tombstones of all segments that lack some on disk.
    ///
    /// Both in one transaction: a journal row may be removed only when the tombstones that it
    /// stands for are stored, or a restart would show a record twice.
    pub(super) fn apply(&self, rows: &mut Transaction<'_>, segments: &[LiveSegment]) -> Result<()> {
        for live in self.made {
            manifest_entry(live).put(rows)?;
        }
        // New segments are not among `segments` yet. They have tombstones if records changed while
        // they were built.
        let has_tombstones = |live: &&LiveSegment| live.is_dirty() || !live.tombstones().is_empty();
        let made = self.made.iter().filter(has_tombstones);
        for live in segments.iter().filter(|live| live.is_dirty()).chain(made) {
            let row_key = live.number().to_be_bytes();
            rows.put(TOMBSTONES, &row_key, &live.tombstones().to_bytes())?;
        }
        // After the tombstones above: a dropped segment may be among the dirty ones, and a row of
        // it that stayed would apply to the next file with its number.
        for number in self.dropped {
            rows.remove(SEGMENTS, &number.to_be_bytes())?;
            rows.remove(TOMBSTONES, &number.to_be_bytes())?;
        }
        for commit in self.commits {
            rows.remove(JOURNAL, &commit.to_be_bytes())?;
        }
        Ok(())
    }
}

/// The entry of a segment in the manifest.
pub(super) fn manifest_entry(live: &LiveSegment) -> ManifestEntry {
    ManifestEntry {
        number: live.number(),
        docs_count: live.segment().len(),
        segment_bytes: live.segment().size_bytes().0,
    }
}
