//! Changes of the catalog file, and their bytes in a log.
//!
//! A number that was given to a change never has another meaning.

use crate::codec::codec;
use crate::model::RecordId;

/// One change of the catalog file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CatalogEvent {
    /// Put a record with these stored bytes in place of the one with its id.
    PutRecord(RecordId, Vec<u8>),
    /// Make a record active, or inactive.
    SetActive(RecordId, bool),
    /// Forget a record.
    DeleteRecord(RecordId),
}

codec! {
    enum CatalogEvent, "a change of records, 0 to 2" {
        0 => PutRecord(id, stored),
        1 => SetActive(id, is_active),
        2 => DeleteRecord(id),
    }
}

impl CatalogEvent {
    /// Id of the record that it changes.
    pub(crate) const fn record(&self) -> RecordId {
        match self {
            Self::PutRecord(id, _) | Self::SetActive(id, _) | Self::DeleteRecord(id) => *id,
        }
    }
}

/// Result of a change of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatalogOutcome {
    /// The record is new.
    Inserted,
    /// The record is changed or deleted.
    Changed,
    /// The record was so already.
    Unchanged,
    /// There is no such record.
    Unknown,
}
