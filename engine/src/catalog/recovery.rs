//! Opening the catalog: manifest → segments → journal tail → delta → first snapshot.
//!
//! Segments are derived: one with which something is wrong is built again from the records
//! (`segment_repair`), and all of them if manifest or journal cannot be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::catalog_store::Catalog;
use super::live_segment::LiveSegment;
use super::manifest_change::{ManifestChange, manifest_entry};
use super::records::DamagedRecord;
use super::segment_files::file_name;
use super::segment_repair::Gap;
use super::tables::{
    ACTIVE, DAMAGED, INDEX_VERSION, JOURNAL, JournalEntry, META, ManifestEntry, RECORDS, SEGMENTS,
    TOMBSTONES, damage_of, read_damaged, read_journal,
};
use super::writer::Writer;
use crate::codec::{FRAGMENT_VERSION, decode_record, encode_number};
use crate::damage::Treatment;
use crate::error::{Error, Result};
use crate::index::Tombstones;
use crate::limits::{DAMAGED_RECORDS_MAX, DELTA_RECORDS_MAX, IMPORT_SEGMENT_RECORDS};
use crate::model::{Record, RecordId};
use crate::store::{Rows, Span, Transaction};
use crate::text::{FOLDING_FINGERPRINT, UNICODE_VERSION};

/// Version of the rules for segments besides text: raise it when a rule of the index changes, which
/// `golden_test.rs` notices. A change of the answer fragment raises it by [`FRAGMENT_VERSION`].
const INDEX_RULES: u32 = 7 + FRAGMENT_VERSION;

/// Version of the segments that can be used.
pub(super) fn index_version() -> String {
    format!("rules {INDEX_RULES}, Unicode {UNICODE_VERSION}, folding {FOLDING_FINGERPRINT:x}")
}

impl Catalog {
    /// Reads manifest and journal and publishes the first snapshot. Damaged segments are built
    /// again before, if there is space.
    pub(crate) fn open(&self) -> Result<()> {
        self.recover(&mut self.writer.lock())?;
        loop {
            match self.build_successors() {
                Ok(true) => {}
                // Maintenance tries again: a full disk prevents no reads of the rest.
                Ok(false) | Err(Error::Space { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads manifest and journal again and publishes what they say. Chunks and a merge stay open.
    ///
    /// Manifest, segment files, tombstones and journal are derived from the records. A segment that
    /// is damaged, or has damaged tombstones, is taken out; damage of manifest or journal is
    /// noted, and the index rebuilt. A damaged record is left out. So a start fails only
    /// if the file itself cannot be read.
    pub(super) fn recover(&self, writer: &mut Writer) -> Result<()> {
        writer.begin_recovery();
        self.repair_numbers()?;
        let known = |rows: &Rows<'_>| read_damaged(|each| rows.inspect(DAMAGED, Span::ALL, each));
        writer.set_damaged(self.store.read(known)?);
        let is_read = match self.read_index(writer) {
            Err(error @ Error::Corrupt { .. }) => {
                self.damage.note(&error, Treatment::Rebuilt);
                false
            }
            other => other?,
        };
        if !is_read {
            self.rebuild(writer)?;
        }
        self.publish(writer);
        Ok(())
    }

    /// Opens the segments of the manifest and replays the journal. Returns false if they were built
    /// by other rules.
    fn read_index(&self, writer: &mut Writer) -> Result<bool> {
        // First: segments of other rules can be perfectly readable, and give wrong answers.
        let stored = self.store.read(|rows| rows.get(META, INDEX_VERSION))?;
        let is_ours = stored.is_some_and(|version| version == index_version().as_bytes());
        if !is_ours {
            return Ok(false);
        }
        let entries = self.store.read(ManifestEntry::read_all)?;
        let segments = self.open_segments(writer, &entries)?;
        // Those of damaged segments stay until there are successors.
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
        // Before the replay, which may write segment files: their numbers must be beyond all that
        // were ever seen here.
        self.files.skip_numbers(&numbers)?;
        self.reconcile_files(writer, &numbers)?;
        writer.add_segments(segments);
        // The tombstones that they got may not have been stored.
        for id in Arc::clone(writer.damaged()).iter() {
            writer.mark_deleted(*id)?;
        }
        self.replay(writer)?;
        Ok(true)
    }

    /// Removes the files that the manifest does not name, unless one is being written.
    fn reconcile_files(&self, writer: &Writer, numbers: &[u64]) -> Result<()> {
        if !writer.is_writing_files() {
            self.files.remove_others(numbers)?;
        }
        Ok(())
    }

    /// The segments of the manifest; one that is missing, or not the one that was written, is taken
    /// out.
    fn open_segments(
        &self,
        writer: &mut Writer,
        entries: &[ManifestEntry],
    ) -> Result<Vec<LiveSegment>> {
        let mut segments = Vec::with_capacity(entries.len());
        for entry in entries {
            if writer.is_taken_out(entry.number) {
                continue;
            }
            match self.open_segment(entry) {
                Ok(Some(live)) => segments.push(live),
                Ok(None) => {
                    let file = format!("index/{}", file_name(entry.number));
                    let missing = Error::corrupt(file, 0, "the file that was written");
                    writer.take_out(entry.number, missing);
                }
                Err(damage @ Error::Corrupt { .. }) => writer.take_out(entry.number, damage),
                Err(error) => return Err(error),
            }
        }
        Ok(segments)
    }

    /// Opens a segment with its stored tombstones; `None` if the file is not the one that the
    /// manifest names.
    fn open_segment(&self, entry: &ManifestEntry) -> Result<Option<LiveSegment>> {
        let Some(segment) = self.files.open(entry.number)? else {
            return Ok(None);
        };
        let is_same_size = segment.size_bytes().0 == entry.segment_bytes;
        // A file of another segment with the same number, such as one of an older copy of `index/`.
        if segment.len() != entry.docs_count || !is_same_size {
            return Ok(None);
        }
        let row_key = entry.number.to_be_bytes();
        let stored = self.store.read(|rows| rows.get(TOMBSTONES, &row_key))?;
        let mut live = LiveSegment::new(entry.number, segment);
        if let Some(stored) = stored {
            let name = live.segment().name();
            let tombstones = Tombstones::from_bytes(&stored, name, entry.docs_count)?;
            live = live.with_stored_tombstones(tombstones);
        }
        Ok(Some(live))
    }

    /// Shows the commits since the newest segment files: their records go to the delta, or, if
    /// they are too many for it, to segment files.
    ///
    /// The journal has which records changed, not how: for each, the document in the segments is
    /// marked deleted, and the stored record is shown. So neither the number of a record's changes
    /// nor an earlier recovery that replayed the same commits matters.
    fn replay(&self, writer: &mut Writer) -> Result<()> {
        let (commits, entries) = self.store.read(read_journal)?;
        for entry in &entries {
            writer.mark_deleted(entry.id)?;
        }
        writer.delta_mut().cover(&commits);
        // Without space for a segment file the delta is as large as it must be.
        let is_full = matches!(self.files.check_space(0), Err(Error::Space { .. }));
        if entries.len() <= DELTA_RECORDS_MAX || is_full {
            for record in self.read_active(writer, &entries)? {
                writer.delta_mut().insert(record)?;
            }
            return writer.delta_mut().build();
        }
        let mut made = Vec::new();
        for entries in entries.chunks(IMPORT_SEGMENT_RECORDS) {
            let records = self.read_active(writer, entries)?;
            if !records.is_empty() {
                let number = self.files.next_number();
                made.push(self.write_segment(number, records.iter())?);
            }
        }
        let commits = writer.delta_mut().take_commits();
        self.store_manifest(
            writer,
            &ManifestChange {
                made: &made,
                commits: &commits,
                dropped: &[],
            },
        )?;
        writer.add_segments(made);
        Ok(())
    }

    /// The active records that commits changed. Damaged ones are left out, and those that differ
    /// from their last commit.
    fn read_active(&self, writer: &mut Writer, entries: &[JournalEntry]) -> Result<Vec<Record>> {
        let mut damaged = Vec::new();
        let records = self.store.read(|rows| {
            let mut records = Vec::with_capacity(entries.len());
            for entry in entries {
                let id = entry.id;
                let stored = rows.get(RECORDS, id.as_bytes());
                let decoded = stored.and_then(|stored| decode_committed(entry, stored.as_deref()));
                match damage_of(id, decoded)? {
                    Ok(record) => records.extend(record),
                    Err(error) => {
                        let id = Some(id);
                        damaged.push(DamagedRecord { id, error });
                    }
                }
            }
            records.retain(|record| record.is_active);
            Ok(records)
        })?;
        self.leave_out(writer, damaged, true)?;
        Ok(records)
    }

    /// Rebuilds every segment from the records, and replaces the manifest in one transaction.
    ///
    /// Killed before that transaction, the next start begins again. Cost: decodes all records.
    pub(super) fn rebuild(&self, writer: &mut Writer) -> Result<()> {
        writer.begin_recovery();
        // Until the manifest is stored, an error leaves unnamed segments here.
        writer.require_recovery();
        self.files.skip_numbers(&[])?;
        // The writer is locked, so nothing is committed.
        let built = match self.build_missing(&Gap::default()) {
            // There is no space for two indexes, and the old one is worth nothing.
            Err(Error::Space { .. }) => {
                self.reconcile_files(writer, &[])?;
                self.build_missing(&Gap::default())?
            }
            built => built?,
        };
        let known = Arc::clone(writer.damaged());
        let mut damaged = BTreeSet::new();
        for DamagedRecord { id, error } in built.damaged {
            if id.is_none_or(|id| !known.contains(&id)) {
                self.damage.note(&error, Treatment::RecordLeftOut);
            }
            if damaged.len() < DAMAGED_RECORDS_MAX {
                damaged.extend(id);
            }
        }
        let made = built.made;
        self.store.write(|rows| {
            replace_damaged(rows, &damaged)?;
            // Exact again, even after damage.
            rows.put(META, ACTIVE, &encode_number(built.active_count))?;
            replace_manifest(rows, &made)
        })?;
        let numbers: Vec<u64> = made.iter().map(LiveSegment::number).collect();
        writer.set_damaged(damaged);
        writer.forget_all_taken_out();
        writer.add_segments(made);
        writer.end_recovery();
        self.reconcile_files(writer, &numbers)
    }
}

/// The record after the commit. Errors: it is an older one, as the disk has lost a write.
fn decode_committed(entry: &JournalEntry, stored: Option<&[u8]>) -> Result<Option<Record>> {
    // First: a record of a newer version is not damage.
    let decoded = stored
        .as_ref()
        .map(|stored| decode_record(entry.id, stored));
    let decoded = decoded.transpose()?;
    if !entry.is_of(stored) {
        let place = "catalog.redb, table records";
        return Err(Error::corrupt(place, 0, "the record as it was stored last"));
    }
    Ok(decoded)
}

/// Replaces the ids of damaged records.
fn replace_damaged(rows: &mut Transaction<'_>, damaged: &BTreeSet<RecordId>) -> Result<()> {
    for row_key in rows.row_keys(DAMAGED)? {
        rows.remove(DAMAGED, &row_key)?;
    }
    for id in damaged {
        rows.put(DAMAGED, id.as_bytes(), &[])?;
    }
    Ok(())
}

/// Replaces the manifest by one of just these segments, which cover every commit.
fn replace_manifest(rows: &mut Transaction<'_>, made: &[LiveSegment]) -> Result<()> {
    // The journal of open chunks goes, too: their records are in `made`, and the chunks learn it
    // from `recoveries_count`.
    for table in [SEGMENTS, TOMBSTONES, JOURNAL] {
        // A damaged row is removed like any other: only the records matter.
        for row_key in rows.row_keys(table)? {
            rows.remove(table, &row_key)?;
        }
    }
    for live in made {
        manifest_entry(live).put(rows)?;
    }
    // In the same transaction: the version without its segments would make old ones trusted.
    rows.put(META, INDEX_VERSION, index_version().as_bytes())
}
