//! The scrubber: reads everything again, a little at a time, so that damage is found before it is
//! needed.
//!
//! A damaged record is left out of searches, the entry of a damaged cached file is deleted (the
//! next download fetches it), and a damaged segment is noticed by maintenance, which rebuilds the
//! index.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::compact::{ReclaimableBytes, reclaimable_bytes};
use super::schedule::is_due;
use crate::damage::Treatment;
use crate::database::{Database, SUM_OF_ROWS, check_pages};
use crate::error::{Error, Result};
use crate::index::Segment;
use crate::limits::{SCRUB_BYTES, SCRUB_ROUND_SECONDS, SCRUB_ROWS};
use crate::model::{CachedFile, Timestamp};
use crate::state::{STATE_TABLES, files_from, key_after, scrub_rows};

/// Progress of the round, and figures of all rounds.
#[derive(Default)]
pub(crate) struct Scrub {
    round: Mutex<Round>,
    rounds_done: AtomicU64,
    findings: AtomicU64,
    /// Measurement of the last round.
    reclaimable: Mutex<Option<ReclaimableBytes>>,
}

#[derive(Default)]
struct Round {
    /// Second in which the next round begins; 0 before the first.
    next_at: i64,
    stage: Stage,
}

/// Part of the data directory that is read next.
#[derive(Default)]
enum Stage {
    /// Between two rounds.
    #[default]
    Idle,
    /// Records, beginning at a row key.
    Records(Vec<u8>),
    /// Tables of the state, by index, beginning at a row key.
    State(usize, Vec<u8>),
    /// The files of both, as a whole.
    Stores,
    /// Contents of cached files, from a row key on.
    Blobs(Vec<u8>),
    /// Segments that are left; the last one, beginning at a block. Not held: one that is merged
    /// before its turn would keep its file for hours.
    Segments(Vec<Weak<Segment>>, usize),
}

impl Scrub {
    /// Reads a little more. Returns true if the round is not over.
    ///
    /// Cost: about [`SCRUB_BYTES`]. Errors: the disk fails; unreadable parts are passed over.
    pub(crate) fn step(&self, database: &Database, now: Timestamp) -> Result<bool> {
        let mut round = self.round.lock();
        let stage = std::mem::take(&mut round.stage);
        let is_due = is_due(now.seconds(), round.next_at, SCRUB_ROUND_SECONDS);
        let (next, result) = self.run(database, stage, is_due);
        if matches!(next, Stage::Records(_)) && is_due {
            round.next_at = now.seconds() + SCRUB_ROUND_SECONDS;
        }
        round.stage = next;
        result.map(|()| !matches!(round.stage, Stage::Idle))
    }

    /// Counts of finished rounds, and of damage found.
    pub(crate) fn figures(&self) -> (u64, u64) {
        let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        (read(&self.rounds_done), read(&self.findings))
    }

    /// Number of bytes that compaction may free; `None` before the first round.
    pub(crate) fn reclaimable(&self) -> Option<ReclaimableBytes> {
        *self.reclaimable.lock()
    }

    /// Measures the files after the round has read every row: their pages are in memory.
    pub(crate) fn measure(&self, database: &Database) -> Result<()> {
        *self.reclaimable.lock() = Some(reclaimable_bytes(database)?);
        Ok(())
    }

    fn run(&self, database: &Database, stage: Stage, is_due: bool) -> (Stage, Result<()>) {
        match stage {
            Stage::Idle if is_due => (Stage::Records(Vec::new()), Ok(())),
            Stage::Idle => (Stage::Idle, Ok(())),
            Stage::Records(from) => match database.catalog.scrub_records(&from, SCRUB_ROWS) {
                Ok(scrubbed) => {
                    self.found(scrubbed.damaged_count);
                    let next = scrubbed.next.map(Stage::Records);
                    (next.unwrap_or(Stage::State(0, Vec::new())), Ok(()))
                }
                Err(error) => (Stage::State(0, Vec::new()), Err(error)),
            },
            Stage::State(table_idx, from) => {
                let (store, table) = (database.state.store(), STATE_TABLES[table_idx]);
                match scrub_rows(store, table, &from, SCRUB_ROWS) {
                    Ok(scrubbed) => {
                        self.found(scrubbed.damaged_count);
                        let next = match scrubbed.next {
                            Some(from) => Stage::State(table_idx, from),
                            None if table_idx + 1 == STATE_TABLES.len() => Stage::Stores,
                            None => Stage::State(table_idx + 1, Vec::new()),
                        };
                        (next, Ok(()))
                    }
                    Err(error) => (Stage::Blobs(Vec::new()), Err(error)),
                }
            }
            Stage::Stores => (Stage::Blobs(Vec::new()), self.check_stores(database)),
            Stage::Blobs(from) => self.check_blobs(database, from),
            Stage::Segments(segments, block_idx) => {
                (self.check_blocks(segments, block_idx), Ok(()))
            }
        }
    }

    /// Checks the files page by page, and their tables in memory.
    fn check_stores(&self, database: &Database) -> Result<()> {
        if check_pages(database.catalog.store(), &database.damage) {
            self.found(1 + database.catalog.contain_all_contradicted()?);
        }
        let is_state_doubtful = check_pages(database.state.store(), &database.damage);
        self.found(count_sums_again(database)?);
        self.found(u64::from(is_state_doubtful));
        self.found(database.state.store_again_what_differs()?);
        self.measure(database)
    }

    /// Checks contents of the files from a row key on; the next stage.
    fn check_blobs(&self, database: &Database, mut from: Vec<u8>) -> (Stage, Result<()>) {
        let files = match files_from(database.state.store(), &from, SCRUB_ROWS) {
            Ok(files) if !files.is_empty() => files,
            read => return (Stage::Segments(segments_of(database), 0), read.map(drop)),
        };
        let mut bytes = 0;
        for (row_key, file) in files {
            if SCRUB_BYTES <= bytes {
                break;
            }
            from = key_after(row_key);
            let Some(file) = file else { continue };
            bytes += file.size_bytes;
            if let Err(error) = self.check_blob(database, &file) {
                return (Stage::Blobs(from), Err(error));
            }
        }
        (Stage::Blobs(from), Ok(()))
    }

    fn check_blob(&self, database: &Database, file: &CachedFile) -> Result<()> {
        match database.blobs.check_content(file) {
            Err(Error::Corrupt { .. }) if is_elsewhere(database, file)? => Ok(()),
            Err(error @ Error::Corrupt { .. }) => {
                database.ensure_blobs_present()?;
                self.found(1);
                if remove_copy(database, file)? {
                    database.damage.note(&error, Treatment::BroughtBack);
                    return Ok(());
                }
                database.damage.note(&error, Treatment::Forgotten);
                database.forget_content(file.content)
            }
            checked => checked,
        }
    }

    /// Checks blocks of the last segment; returns the rest of the round. The segment remembers
    /// damage, and maintenance asks it each second.
    fn check_blocks(&self, mut segments: Vec<Weak<Segment>>, block_idx: usize) -> Stage {
        let Some(segment) = segments.last() else {
            self.rounds_done.fetch_add(1, Ordering::Relaxed);
            return Stage::Idle;
        };
        let checked = segment
            .upgrade()
            .map(|segment| segment.check_blocks(block_idx, SCRUB_BYTES));
        match checked {
            Some(Ok(Some(next))) => return Stage::Segments(segments, next),
            // The end of it, or it is gone.
            Some(Ok(None)) | None => {}
            Some(Err(_)) => self.found(1),
        }
        segments.pop();
        Stage::Segments(segments, 0)
    }

    fn found(&self, count: u64) {
        self.findings.fetch_add(count, Ordering::Relaxed);
    }
}

/// Removes a damaged blob that would come back. Returns false if it would not.
fn remove_copy(database: &Database, file: &CachedFile) -> Result<bool> {
    // No store may repair it between the two steps.
    let _no_store = database.storing.write();
    let second_home = &database.second_home;
    // In a cluster the row belongs to all nodes.
    if !second_home.is_shared() && !second_home.has(&file.content)? {
        return Ok(false);
    }
    if database.blobs.check_content(file).is_err() {
        database.blobs.remove(&file.content)?;
    }
    Ok(true)
}

/// Counts the rows again that nodes share: a row that is lost, or older than it was, gives another
/// sum. Returns the number of files in which there is one.
fn count_sums_again(database: &Database) -> Result<u64> {
    let mut count = 0;
    for (store, file) in database.stores() {
        if !store.has_its_sum()? {
            let error = Error::corrupt(file, 0, SUM_OF_ROWS);
            database.damage.note(&error, Treatment::Unverified);
            count += 1;
        }
    }
    Ok(count)
}

fn is_elsewhere(database: &Database, file: &CachedFile) -> Result<bool> {
    let second_home = &database.second_home;
    second_home.is_elsewhere(&file.content, &database.blobs)
}

fn segments_of(database: &Database) -> Vec<Weak<Segment>> {
    let snapshot = database.catalog.snapshot();
    let parts = snapshot.parts().iter();
    parts.map(|(segment, _)| Arc::downgrade(segment)).collect()
}
