//! Opening the catalog: manifest → segments → journal tail → delta → first snapshot.
//!
//! Whatever is wrong with derived files is repaired by building them anew from the records.

use std::sync::Arc;

use super::catalog_store::{Catalog, Delta, LiveSegment, ManifestChange, Writer};
use super::records::row_key_after;
use super::segment_files::file_name;
use super::tables::{
    INDEX_VERSION, JOURNAL, META, ManifestEntry, RECORDS, SEGMENTS, TOMBSTONES, read_journal,
};
use crate::codec::{FRAGMENT_VERSION, decode_record};
use crate::error::{Error, Result};
use crate::index::{SegmentBuilder, Tombstones};
use crate::limits::{BUILD_BYTES_MAX, DELTA_RECORDS_MAX, IMPORT_SEGMENT_RECORDS};
use crate::model::{Record, RecordId};
use crate::store::{Span, Transaction};
use crate::text::{FOLDING_FINGERPRINT, UNICODE_VERSION};

/// Version of what segments are built from besides text: raise it when a rule of the index changes.
/// A change of the answer fragment raises it by [`FRAGMENT_VERSION`].
const INDEX_RULES: u32 = 2 + FRAGMENT_VERSION;

/// Records read at a time.
const BATCH_RECORDS: usize = 10_000;

/// What segments must have been built with to be used.
fn index_version() -> String {
    format!("rules {INDEX_RULES}, Unicode {UNICODE_VERSION}, folding {FOLDING_FINGERPRINT:x}")
}

impl Catalog {
    /// Reads manifest and journal and publishes the first snapshot.
    pub(crate) fn open(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        self.recover(&mut writer)
    }

    /// Reads everything again. What is being built or merged meanwhile stays marked.
    pub(crate) fn recover(&self, writer: &mut Writer) -> Result<()> {
        writer.recoveries_count += 1;
        writer.segments.clear();
        writer.delta = Delta::default();
        let stored = self.store.read(|rows| rows.get(META, INDEX_VERSION))?;
        let is_ours = stored.is_some_and(|version| version == index_version().as_bytes());
        let segments = match is_ours {
            true => self.open_segments(writer)?,
            false => None,
        };
        match segments {
            Some(segments) => {
                let numbers: Vec<u64> = segments.iter().map(|live| live.number).collect();
                self.reconcile_files(writer, &numbers)?;
                writer.segments = segments;
                self.replay(writer)?;
            }
            None => self.rebuild(writer)?,
        }
        self.publish(writer);
        Ok(())
    }

    /// Builds the index anew when a segment file was cut, removed or became unreadable under its
    /// readers. False when all are whole. Cost: a system call per segment.
    pub(crate) fn repair_index(&self) -> Result<bool> {
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        let mut damaged = Vec::new();
        for live in &writer.segments {
            match self.files.ensure_not_truncated(live.number, &live.segment) {
                Err(error @ Error::Corrupt { .. }) => damaged.push(error),
                other => other?,
            }
        }
        if damaged.is_empty() {
            return Ok(false);
        }
        self.rebuild(&mut writer)?;
        writer.repaired.extend(damaged);
        self.publish(&mut writer);
        Ok(true)
    }

    /// Removes files that nobody names, unless someone is about to name one.
    fn reconcile_files(&self, writer: &mut Writer, numbers: &[u64]) -> Result<()> {
        let is_busy = !writer.building.is_empty() || writer.merging.is_some();
        if !is_busy {
            let last = self.files.remove_others(numbers)?;
            writer.last_segment = writer.last_segment.max(last);
        }
        Ok(())
    }

    /// The segments of the manifest; `None` when one is missing, damaged, or of another version.
    /// Damage is remembered for the next scrub: building anew leaves no trace of it.
    fn open_segments(&self, writer: &mut Writer) -> Result<Option<Vec<LiveSegment>>> {
        let entries = self.store.read(ManifestEntry::read_all)?;
        let mut segments = Vec::with_capacity(entries.len());
        for entry in entries {
            match self.open_segment(&entry) {
                Ok(Some(live)) => segments.push(live),
                Ok(None) => {
                    let file = format!("index/{}", file_name(entry.number));
                    writer
                        .repaired
                        .push(Error::corrupt(file, 0, "the file that was written"));
                    return Ok(None);
                }
                Err(error @ Error::Corrupt { .. }) => {
                    writer.repaired.push(error);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(segments))
    }

    fn open_segment(&self, entry: &ManifestEntry) -> Result<Option<LiveSegment>> {
        let Some(segment) = self.files.open(entry.number)? else {
            return Ok(None);
        };
        let is_same_size = segment.size_bytes().0 == entry.segment_bytes;
        if segment.len() != entry.docs_count || !is_same_size {
            return Ok(None);
        }
        let row_key = entry.number.to_be_bytes();
        let stored = self.store.read(|rows| rows.get(TOMBSTONES, &row_key))?;
        let mut live = LiveSegment::new(entry.number, segment);
        if let Some(stored) = stored {
            let name = live.segment.name();
            live.tombstones = Arc::new(Tombstones::from_bytes(&stored, name, entry.docs_count)?);
        }
        Ok(Some(live))
    }

    /// Takes in what was committed since the newest segment files.
    fn replay(&self, writer: &mut Writer) -> Result<()> {
        let (commits, ids) = self.store.read(read_journal)?;
        for id in &ids {
            writer.mark_deleted(*id)?;
        }
        writer.delta.commits = commits;
        // Without space for a segment file the delta is as large as it must be.
        let is_full = matches!(self.files.check_space(0), Err(Error::Space { .. }));
        if ids.len() <= DELTA_RECORDS_MAX || is_full {
            for record in self.read_active(&ids)? {
                writer.delta.records.insert(record.id, record);
            }
            return writer.delta.build();
        }
        let mut made = Vec::new();
        for ids in ids.chunks(IMPORT_SEGMENT_RECORDS) {
            let records = self.read_active(ids)?;
            if !records.is_empty() {
                writer.last_segment += 1;
                made.push(self.write_segment(writer.last_segment, records.iter())?);
            }
        }
        let commits = std::mem::take(&mut writer.delta.commits);
        self.store_manifest(
            writer,
            &ManifestChange {
                made: &made,
                commits: &commits,
                dropped: &[],
            },
        )?;
        writer.segments.extend(made);
        Ok(())
    }

    /// The active ones of some records.
    fn read_active(&self, ids: &[RecordId]) -> Result<Vec<Record>> {
        self.store.read(|rows| {
            let mut records = Vec::with_capacity(ids.len());
            for id in ids {
                if let Some(stored) = rows.get(RECORDS, id.as_bytes())? {
                    records.push(decode_record(*id, &stored)?);
                }
            }
            records.retain(|record| record.is_active);
            Ok(records)
        })
    }

    /// Builds every segment anew from the records, and replaces the manifest in one transaction.
    pub(crate) fn rebuild(&self, writer: &mut Writer) -> Result<()> {
        // Imports that are building segments of committed records learn that these are shown.
        writer.recoveries_count += 1;
        writer.needs_recovery = true;
        writer.segments.clear();
        writer.delta = Delta::default();
        self.reconcile_files(writer, &[])?;
        let mut made: Vec<LiveSegment> = Vec::new();
        let mut builder = SegmentBuilder::new();
        let mut from = Vec::new();
        loop {
            let batch = self.read_records(&from, BATCH_RECORDS)?;
            let Some(last) = batch.last() else { break };
            from = row_key_after(last.id);
            for record in &batch {
                builder.add(record)?;
            }
            if BUILD_BYTES_MAX <= builder.memory_bytes() {
                made.push(self.end_segment(writer, std::mem::take(&mut builder))?);
            }
        }
        if !builder.is_empty() {
            made.push(self.end_segment(writer, builder)?);
        }
        self.store.write(|rows| replace_manifest(rows, &made))?;
        writer.segments = made;
        writer.needs_recovery = false;
        Ok(())
    }

    fn end_segment(&self, writer: &mut Writer, builder: SegmentBuilder) -> Result<LiveSegment> {
        writer.last_segment += 1;
        let number = writer.last_segment;
        let segment = self.finish_segment(number, builder)?;
        Ok(LiveSegment::new(number, segment))
    }
}

/// A manifest of just these segments, which cover every commit.
fn replace_manifest(rows: &mut Transaction<'_>, made: &[LiveSegment]) -> Result<()> {
    for table in [SEGMENTS, TOMBSTONES, JOURNAL] {
        let mut row_keys = Vec::new();
        rows.range(table, Span::ALL, &mut |row_key, _| {
            row_keys.push(row_key.to_vec());
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        for row_key in row_keys {
            rows.remove(table, &row_key)?;
        }
    }
    for live in made {
        let entry = ManifestEntry {
            number: live.number,
            docs_count: live.segment.len(),
            segment_bytes: live.segment.size_bytes().0,
        };
        entry.put(rows)?;
    }
    rows.put(META, INDEX_VERSION, index_version().as_bytes())
}
