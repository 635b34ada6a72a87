//! The tables of `catalog.redb`, and the one function that applies events to them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use xxhash_rust::xxh3::xxh3_64;

use super::event::{CatalogEvent, CatalogOutcome};
use crate::codec::{
    Decoder, Encoder, decode_number, decode_record, encode_number, encode_record, is_active,
};
use crate::error::{Error, Result};
use crate::log_rows::CLUSTER;
use crate::model::RecordId;
use crate::store::{Inspector, Rows, ScanOrder, Span, Table, Transaction};

/// Single numbers and texts, by name.
pub(crate) const META: Table = Table("meta");
/// Record id → record.
pub(crate) const RECORDS: Table = Table("records");
/// Commit number → ids of the records that it changed, each with a digest of the record, until a
/// segment file covers them.
pub(crate) const JOURNAL: Table = Table("journal");
/// First byte of a journal row. Rows of ids alone, of older versions, have none.
const JOURNAL_VERSION: u8 = 1;
/// Bytes of an id and of a digest.
const JOURNAL_ENTRY_BYTES: usize = 24;
/// Segment number → description of the segment file.
pub(crate) const SEGMENTS: Table = Table("segments");
/// Segment number → tombstones of the segment file.
pub(crate) const TOMBSTONES: Table = Table("tombstones");

/// Id of a record with a damaged stored value → nothing. Derived from the records.
pub(crate) const DAMAGED: Table = Table("damaged");

/// Every table of `catalog.redb`.
pub(crate) const CATALOG_TABLES: &[Table] = &[
    META, RECORDS, JOURNAL, SEGMENTS, TOMBSTONES, DAMAGED, CLUSTER,
];

/// Tables with the same rows on every node of a cluster. The others belong to a node.
pub(crate) const SHARED_CATALOG_TABLES: &[Table] = &[RECORDS];

/// Name of the file in errors about the file as a whole; errors about a value say more.
const STORE_FILE: &str = "catalog.redb";

/// Sequence number of the last commit.
pub(crate) const APPLIED: &[u8] = b"applied";
/// Count of active records.
pub(crate) const ACTIVE: &[u8] = b"active records";
/// Version of the rules that the segments were built with.
pub(crate) const INDEX_VERSION: &[u8] = b"index version";

/// A segment file in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ManifestEntry {
    pub(crate) number: u64,
    pub(crate) docs_count: u32,
    pub(crate) segment_bytes: u64,
}

const MANIFEST_VERSION: u8 = 1;

impl ManifestEntry {
    pub(crate) fn put(&self, rows: &mut Transaction<'_>) -> Result<()> {
        let mut out = Encoder::new(MANIFEST_VERSION);
        out.put_integer(self.docs_count.into());
        out.put_integer(self.segment_bytes);
        // Big-endian: rows are in the order of their numbers.
        rows.put(SEGMENTS, &self.number.to_be_bytes(), &out.finish())
    }

    /// The whole manifest, by number.
    pub(crate) fn read_all(rows: &Rows<'_>) -> Result<Vec<Self>> {
        let mut entries = Vec::new();
        rows.range(SEGMENTS, Span::ALL, &mut |row_key, value| {
            let mut from = Decoder::new(value, MANIFEST_VERSION, "catalog.redb, table segments")?;
            entries.push(Self {
                number: number_of(row_key)?,
                docs_count: from.small("a number of documents")?,
                segment_bytes: from.integer()?,
            });
            from.finish()?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(entries)
    }
}

/// A record that a frame has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordChange {
    pub(crate) id: RecordId,
    /// True if there was a record before.
    pub(crate) was_there: bool,
    /// The record's bytes now; `None` when it is gone.
    pub(crate) stored: Option<Vec<u8>>,
}

/// Result of a frame.
#[derive(Debug, Default)]
pub(crate) struct AppliedChanges {
    /// Sequence number of the commit, its key in the journal.
    pub(crate) number: u64,
    /// One per event.
    pub(crate) outcomes: Vec<CatalogOutcome>,
    /// The changed records, in the order of the events.
    pub(crate) changes: Vec<RecordChange>,
}

/// Applies a frame of events in order. Deterministic. Puts no row if they change nothing.
pub(crate) fn apply_catalog(
    rows: &mut Transaction<'_>,
    frame: Vec<CatalogEvent>,
) -> Result<AppliedChanges> {
    let mut applied = AppliedChanges {
        number: meta_number(rows, APPLIED)? + 1,
        ..AppliedChanges::default()
    };
    // Read once per frame, not per event: records come in order of ids, and most of a first import
    // are new.
    let mut last_id = last_record(rows)?;
    let mut active_count = meta_number(rows, ACTIVE)?;
    let damaged = read_damaged(|each| rows.inspect(DAMAGED, Span::ALL, each))?;
    for event in frame {
        let (id, old) = before(rows, &event, last_id)?;
        // Also for an event without an effect: a bound that is too high only costs a look-up, one
        // that is too low would overlook a record.
        last_id = last_id.max(Some(id));
        let Some(new) = after(event, id, &old)? else {
            applied.outcomes.push(CatalogOutcome::Unknown);
            continue;
        };
        // Byte for byte: an import repeated every night writes nothing, and no segment is rebuilt.
        if old.is_same_as(new.as_deref()) {
            applied.outcomes.push(CatalogOutcome::Unchanged);
            continue;
        }
        // Kept by differences: counting active records would decode all of them.
        let was_active = old.is_counted_active(damaged.contains(&id));
        active_count = active_count.saturating_sub(u64::from(was_active));
        active_count += u64::from(new.as_deref().is_some_and(is_active));
        if damaged.contains(&id) {
            rows.remove(DAMAGED, id.as_bytes())?;
        }
        match &new {
            Some(stored) => rows.put(RECORDS, id.as_bytes(), stored)?,
            None => {
                rows.remove(RECORDS, id.as_bytes())?;
            }
        }
        // A damaged one existed, too: a document of it may be in a segment.
        let was_there = !matches!(old, OldRecord::Absent);
        applied.outcomes.push(if was_there {
            CatalogOutcome::Changed
        } else {
            CatalogOutcome::Inserted
        });
        applied.changes.push(RecordChange {
            id,
            was_there,
            stored: new,
        });
    }
    // A nightly import without changes must not sync a hundred times for nothing; and an empty
    // journal row would keep the delta from being empty.
    if applied.changes.is_empty() {
        return Ok(applied);
    }
    // In the transaction of the records: a commit without its journal row would be missing from the
    // index after a restart.
    write_journal(rows, &applied)?;
    rows.put(META, ACTIVE, &encode_number(active_count))?;
    rows.put(META, APPLIED, &encode_number(applied.number))?;
    Ok(applied)
}

/// A record before an event.
enum OldRecord {
    /// There is none.
    Absent,
    /// The bytes that were written.
    Whole(Vec<u8>),
    /// A stored value with other bytes than were written.
    Damaged,
}

impl OldRecord {
    /// Returns true if these bytes, or none, are stored.
    fn is_same_as(&self, new: Option<&[u8]>) -> bool {
        match self {
            Self::Absent => new.is_none(),
            Self::Whole(old) => new == Some(old),
            Self::Damaged => false,
        }
    }

    /// Returns true if the number of active records includes it.
    fn is_counted_active(&self, is_known_damage: bool) -> bool {
        match self {
            Self::Absent => false,
            Self::Whole(stored) => is_active(stored),
            // Records known to be damaged are no longer counted. Nothing is known of one that is
            // first met here: nearly all are active, and a rebuild counts again.
            Self::Damaged => !is_known_damage,
        }
    }
}

/// The current version of the record that an event is about. Ids beyond the last one need no
/// look-up; a first import has no others.
fn before(
    rows: &Transaction<'_>,
    event: &CatalogEvent,
    last_id: Option<RecordId>,
) -> Result<(RecordId, OldRecord)> {
    let (CatalogEvent::PutRecord(id, _)
    | CatalogEvent::SetActive(id, _)
    | CatalogEvent::DeleteRecord(id)) = event;
    let is_beyond = last_id.is_none_or(|last_id| last_id < *id);
    if is_beyond && matches!(event, CatalogEvent::PutRecord(..)) {
        return Ok((*id, OldRecord::Absent));
    }
    let old = match damage_of(*id, rows.get(RECORDS, id.as_bytes()))? {
        Ok(None) => OldRecord::Absent,
        Ok(Some(stored)) => OldRecord::Whole(stored),
        // An unreadable record can be replaced and deleted all the same.
        Err(_) => OldRecord::Damaged,
    };
    Ok((*id, old))
}

/// The record after the event, itself `None` if deleted; `None` if the event needs a record and
/// there is none.
fn after(event: CatalogEvent, id: RecordId, old: &OldRecord) -> Result<Option<Option<Vec<u8>>>> {
    match (event, old) {
        (CatalogEvent::PutRecord(_, stored), _) => Ok(Some(Some(stored))),
        (CatalogEvent::DeleteRecord(_) | CatalogEvent::SetActive(..), OldRecord::Absent) => {
            Ok(None)
        }
        (CatalogEvent::DeleteRecord(_), _) => Ok(Some(None)),
        (CatalogEvent::SetActive(_, is_active), OldRecord::Whole(old)) => {
            let mut record = decode_record(id, old)?;
            record.is_active = is_active;
            Ok(Some(Some(encode_record(&record, Vec::new()))))
        }
        (CatalogEvent::SetActive(..), OldRecord::Damaged) => Err(damaged_record(id)),
    }
}

/// The error of a record that is known to be damaged.
pub(crate) fn damaged_record(id: RecordId) -> Error {
    let place = format!("{STORE_FILE}, record {id}");
    Error::corrupt(place, 0, "a value that matches its checksum")
}

/// Separates damage of one record's value, as the inner error and with the id of the record, from
/// everything else that can go wrong.
pub(crate) fn damage_of<T>(id: RecordId, read: Result<T>) -> Result<Result<T>> {
    match read {
        Err(Error::Corrupt {
            file,
            offset,
            expected,
        }) if file != STORE_FILE => {
            let place = format!("{STORE_FILE}, record {id}");
            Ok(Err(Error::corrupt(place, offset, expected)))
        }
        Err(error) => Err(error),
        Ok(value) => Ok(Ok(value)),
    }
}

/// The ids in the table of damaged records. Their values are ignored: damage of this table itself
/// has no consequences.
pub(crate) fn read_damaged(
    inspect: impl FnOnce(&mut Inspector<'_>) -> Result<()>,
) -> Result<BTreeSet<RecordId>> {
    let mut damaged = BTreeSet::new();
    inspect(&mut |row_key, _| {
        damaged.extend(record_id_of(row_key).ok());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(damaged)
}

fn write_journal(rows: &mut Transaction<'_>, applied: &AppliedChanges) -> Result<()> {
    let mut row = Vec::with_capacity(1 + applied.changes.len() * JOURNAL_ENTRY_BYTES);
    row.push(JOURNAL_VERSION);
    for change in &applied.changes {
        row.extend_from_slice(change.id.as_bytes());
        row.extend_from_slice(&digest_of(change.stored.as_deref()).to_le_bytes());
    }
    rows.put(JOURNAL, &applied.number.to_be_bytes(), &row)
}

/// Digest of a record's bytes; for a deleted record, that of no bytes.
fn digest_of(stored: Option<&[u8]>) -> u64 {
    xxh3_64(stored.unwrap_or_default())
}

/// A record that a commit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JournalEntry {
    pub(crate) id: RecordId,
    /// Digest of its bytes after the commit.
    digest: u64,
}

impl JournalEntry {
    /// Returns true if these are the record's bytes after the commit.
    pub(crate) fn is_of(&self, stored: Option<&[u8]>) -> bool {
        self.digest == digest_of(stored)
    }
}

/// The commits that no segment file covers: their sequence numbers, and their changes in ascending
/// order of ids. A record that several commits changed has its last change.
pub(crate) fn read_journal(rows: &Rows<'_>) -> Result<(Vec<u64>, Vec<JournalEntry>)> {
    let mut numbers = Vec::new();
    let mut entries: Vec<JournalEntry> = Vec::new();
    rows.range(JOURNAL, Span::ALL, &mut |row_key, value| {
        numbers.push(number_of(row_key)?);
        push_entries(value, &mut entries)?;
        Ok(ControlFlow::Continue(()))
    })?;
    // Stable: changes of one record stay in the order of their commits.
    entries.sort_by_key(|entry| entry.id);
    entries.dedup_by(|later, kept| {
        let is_same = later.id == kept.id;
        if is_same {
            kept.digest = later.digest;
        }
        is_same
    });
    Ok((numbers, entries))
}

/// Adds the entries of a journal row.
fn push_entries(row: &[u8], out: &mut Vec<JournalEntry>) -> Result<()> {
    let version_and_entries = row.split_first();
    let entries = version_and_entries.map(|(version, rest)| (version, rest.as_chunks()));
    let Some((&JOURNAL_VERSION, (entries, []))) = entries else {
        let place = "catalog.redb, table journal";
        return Err(Error::corrupt(place, 0, "a list of record ids"));
    };
    for entry in entries {
        let entry: &[u8; JOURNAL_ENTRY_BYTES] = entry;
        let (id, digest) = entry
            .split_first_chunk()
            .expect("an entry begins with an id");
        let digest = digest.try_into().expect("an entry ends with a digest");
        out.push(JournalEntry {
            id: RecordId::from_bytes(*id),
            digest: u64::from_le_bytes(digest),
        });
    }
    Ok(())
}

/// A number of the table `meta`; 0 when there is none.
pub(crate) fn meta_number(rows: &Transaction<'_>, name: &[u8]) -> Result<u64> {
    match rows.get(META, name)? {
        Some(stored) => decode_number(&stored),
        None => Ok(0),
    }
}

fn last_record(rows: &Transaction<'_>) -> Result<Option<RecordId>> {
    let mut last = None;
    let span = Span {
        order: ScanOrder::Descending,
        ..Span::ALL
    };
    // Not read: the last record may be damaged, and must not block changes of others.
    rows.inspect(RECORDS, span, &mut |row_key, _| {
        last = Some(record_id_of(row_key)?);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

/// The id in a row key of the table `records`.
pub(crate) fn record_id_of(row_key: &[u8]) -> Result<RecordId> {
    let id = row_key.try_into().map_err(|_| {
        let place = "catalog.redb, table records";
        Error::corrupt(place, 0, "row keys of 16 bytes")
    })?;
    Ok(RecordId::from_bytes(id))
}

fn number_of(row_key: &[u8]) -> Result<u64> {
    let bytes = row_key.try_into().map_err(|_| {
        let place = "catalog.redb, tables journal and segments";
        Error::corrupt(place, 0, "row keys of 8 bytes")
    })?;
    Ok(u64::from_be_bytes(bytes))
}
