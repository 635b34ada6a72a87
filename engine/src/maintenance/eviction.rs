//! Eviction of cached files: what upstream can give again leaves when all files together take more
//! than they may. What an import brought stays, unless its second home can give it again. Texts
//! that were made from stored files have a limit of their own, also where all files are kept: else
//! a client that asks for every text in every form would fill the disk.

use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashSet;
use parking_lot::Mutex;

use super::schedule::is_due;
use crate::blob::StoredContent;
use crate::database::Database;
use crate::error::Result;
use crate::limits::{
    EVICTION_BATCH_MAX, EVICTION_SECONDS, MADE_TEXT_OVERHEAD_BYTES, MADE_TEXTS_BYTES_MAX,
    SERVED_SECONDS_MIN,
};
use crate::model::{ContentHash, Timestamp};
use crate::state::StateEvent;

/// Keeps the bytes of all cached files below their limit.
#[derive(Default)]
pub(crate) struct Eviction {
    measured: Mutex<Option<Measured>>,
    evicted_count: AtomicU64,
    evicted_bytes: AtomicU64,
}

/// Bytes on the disk as of the last listing.
struct Measured {
    stored_bytes: u64,
    /// Count of bytes written before it.
    written_bytes: u64,
    /// Earliest second of the next listing.
    next_at: i64,
}

impl Measured {
    /// Upper bound of the bytes on the disk now.
    fn stored_bytes_max(&self, written_bytes: u64) -> u64 {
        self.stored_bytes + (written_bytes - self.written_bytes)
    }
}

impl Eviction {
    /// Removes the least recently served blobs, until all files take a sixteenth less than the
    /// limit: then the next listing is some time away. A blob served within the last minute stays.
    ///
    /// Cost: nothing while they take less than the limit; otherwise lists every file.
    pub(crate) fn run(&self, database: &Database, now: Timestamp) -> Result<()> {
        let bytes_max = database.files_bytes_max.load(Ordering::Relaxed);
        self.evict_made_texts(database, bytes_max)?;
        if bytes_max == 0 {
            return Ok(());
        }
        let now = now.seconds();
        let mut measured = self.measured.lock();
        // Before the listing: data written during it counts twice rather than not at all.
        let written_bytes = database.blobs.written_bytes();
        let is_within = |measured: &Measured| {
            let is_due = is_due(now, measured.next_at, EVICTION_SECONDS);
            !is_due || measured.stored_bytes_max(written_bytes) <= bytes_max
        };
        if measured.as_ref().is_some_and(is_within) {
            return Ok(());
        }
        database.ensure_blobs_present()?;
        let mut contents = database.blobs.stored()?;
        // No upstream has what an import brought: it is not a cache, and counts only where it can
        // leave for its second home.
        if !database.second_home.comes_back() {
            let brought = database.state.brought_contents();
            contents.retain(|stored| !brought.contains(&stored.content));
        }
        let mut stored_bytes = contents.iter().map(|content| content.size_bytes).sum();
        if bytes_max < stored_bytes {
            let target_bytes = bytes_max - bytes_max / 16;
            let evicted = least_recent(database, contents, stored_bytes - target_bytes, now)?;
            let stays_known = database.second_home.comes_back();
            stored_bytes -= self.evict(database, &evicted, stays_known)?;
        }
        // The remaining excess was served just now.
        let is_too_much = bytes_max < stored_bytes;
        *measured = Some(Measured {
            stored_bytes,
            written_bytes,
            next_at: if is_too_much {
                now + EVICTION_SECONDS
            } else {
                now
            },
        });
        Ok(())
    }

    /// Removes the made texts that were served least recently, until they take a sixteenth less
    /// than half of all files may, and than [`MADE_TEXTS_BYTES_MAX`]. One that was served just now
    /// goes, too: it is made again from a file that is here.
    ///
    /// Cost: nothing while they take less; otherwise lists every file.
    fn evict_made_texts(&self, database: &Database, bytes_max: u64) -> Result<()> {
        let share = if bytes_max == 0 {
            u64::MAX
        } else {
            bytes_max / 2
        };
        let made_max = MADE_TEXTS_BYTES_MAX.min(share);
        let made_bytes = database.state.made_bytes();
        if made_bytes <= made_max {
            return Ok(());
        }
        database.ensure_blobs_present()?;
        let made = database.state.made_contents();
        let mut contents = database.blobs.stored()?;
        contents.retain(|stored| made.contains(&stored.content));
        contents.sort_unstable_by_key(|stored| stored.served_seconds);
        let excess_bytes = made_bytes - (made_max - made_max / 16);
        let cost = |stored: &StoredContent| stored.size_bytes + MADE_TEXT_OVERHEAD_BYTES;
        self.evict(database, first_of(&contents, excess_bytes, cost), false)?;
        Ok(())
    }

    /// Forgets the files of these contents, unless they stay known, then removes the contents.
    /// Returns their bytes.
    ///
    /// A process that is killed in between leaves orphans, which the next start removes.
    fn evict(
        &self,
        database: &Database,
        contents: &[StoredContent],
        stays_known: bool,
    ) -> Result<u64> {
        let mut evicted_bytes = 0;
        for batch in contents.chunks(EVICTION_BATCH_MAX) {
            // Storing a file puts its blob first: no store may be between the two steps.
            let _no_store = database.storing.write();
            let mut removed = Vec::new();
            let mut hashes: HashSet<ContentHash, _> = HashSet::default();
            for stored in batch {
                // Stored anew after it was chosen.
                if database.second_home.is_waiting(&stored.content)? {
                    continue;
                }
                removed.push(stored);
                if !stays_known {
                    hashes.insert(stored.content);
                }
            }
            let releases = database.state.releases_of(&hashes);
            if !releases.is_empty() {
                let forget = releases.into_iter().map(StateEvent::ForgetFile);
                database.change_each(forget.collect())?;
            }
            for content in removed {
                database.blobs.remove(&content.content)?;
                evicted_bytes += content.size_bytes;
                self.evicted_count.fetch_add(1, Ordering::Relaxed);
                self.evicted_bytes
                    .fetch_add(content.size_bytes, Ordering::Relaxed);
            }
        }
        Ok(evicted_bytes)
    }

    /// Counts of blobs evicted since the start, and of their bytes.
    pub(crate) fn figures(&self) -> (u64, u64) {
        (
            self.evicted_count.load(Ordering::Relaxed),
            self.evicted_bytes.load(Ordering::Relaxed),
        )
    }
}

/// The blobs that were served least recently, with a total size of about `excess_bytes`. An orphan
/// may be a file that is just being stored: the sweep removes those.
fn least_recent(
    database: &Database,
    mut contents: Vec<StoredContent>,
    excess_bytes: u64,
    now: i64,
) -> Result<Vec<StoredContent>> {
    // A queued one stays: it would have to be fetched from upstream again.
    let waiting = database.second_home.waiting()?;
    let waiting: HashSet<ContentHash, foldhash::fast::RandomState> = waiting.into_iter().collect();
    contents.retain(|stored| {
        // Ahead by seconds: it was served after this run began. By more: the clock was wrong then.
        let idle_seconds = now.saturating_sub(stored.served_seconds);
        let is_idle = !(-SERVED_SECONDS_MIN..SERVED_SECONDS_MIN).contains(&idle_seconds);
        let is_known = database.state.has_content(stored.content);
        is_idle && is_known && !waiting.contains(&stored.content)
    });
    contents.sort_unstable_by_key(|stored| stored.served_seconds);
    let needed_count = first_of(&contents, excess_bytes, |stored| stored.size_bytes).len();
    contents.truncate(needed_count);
    Ok(contents)
}

/// The first contents that take this many bytes together.
fn first_of(
    contents: &[StoredContent],
    bytes: u64,
    cost: impl Fn(&StoredContent) -> u64,
) -> &[StoredContent] {
    let mut chosen_bytes = 0;
    let needed = contents.iter().take_while(|stored| {
        let is_needed = chosen_bytes < bytes;
        chosen_bytes += cost(stored);
        is_needed
    });
    &contents[..needed.count()]
}
