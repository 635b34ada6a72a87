//! Orphans, blobs that no cached file refers to: storing one was interrupted, or its file was
//! deleted.

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::schedule::is_due;
use crate::blob::Orphan;
use crate::database::Database;
use crate::error::Result;
use crate::limits::{ORPHAN_SECONDS_MIN, SWEEP_SECONDS};
use crate::model::Timestamp;

/// Orphans seen, and the time of the next look.
#[derive(Default)]
pub(crate) struct OrphanSweep {
    seen: Mutex<Option<Seen>>,
}

/// Result of the last sweep.
struct Seen {
    next_at: i64,
    /// Second in which each was seen first, by name.
    first_at: HashMap<String, i64, foldhash::fast::RandomState>,
}

impl OrphanSweep {
    /// Removes blobs that were orphans for an hour, and all orphans at the first call: an earlier
    /// process left them.
    ///
    /// Cost: lists every blob, each half an hour.
    pub(crate) fn run(&self, database: &Database, now: Timestamp) -> Result<()> {
        let now = now.seconds();
        let mut seen = self.seen.lock();
        let is_due = |seen: &Seen| is_due(now, seen.next_at, SWEEP_SECONDS);
        if !seen.as_ref().is_none_or(is_due) {
            return Ok(());
        }
        database.ensure_blobs_present()?;
        // Asked for each: a copy of all references would take gigabytes beside millions of files.
        let is_referenced = |content: &_| database.state.has_content(*content);
        let orphans = database.blobs.orphans(&is_referenced)?;
        let mut first_at = HashMap::default();
        let mut old = Vec::new();
        for orphan in orphans {
            let at = match seen.as_ref() {
                // By a clock that was ahead it was seen just now.
                Some(seen) => seen
                    .first_at
                    .get(&orphan.name)
                    .map_or(now, |at| now.min(*at)),
                None => i64::MIN,
            };
            if at.saturating_add(ORPHAN_SECONDS_MIN) <= now {
                old.push(orphan);
            } else {
                first_at.insert(orphan.name, at);
            }
        }
        remove_orphans(database, &old)?;
        *seen = Some(Seen {
            next_at: now + SWEEP_SECONDS,
            first_at,
        });
        Ok(())
    }
}

/// Removes orphans, unless a file refers to them by now.
pub(super) fn remove_orphans(database: &Database, orphans: &[Orphan]) -> Result<()> {
    if orphans.is_empty() {
        return Ok(());
    }
    // Storing a file puts its blob first: no store may be between the two steps.
    let _no_store = database.storing.write();
    for orphan in orphans {
        if !database.state.has_content(orphan.content) {
            database.blobs.remove_orphan(orphan)?;
        }
    }
    Ok(())
}
