//! Operations on single records: show, switch on and off, delete.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use subcat_engine::RecordId;

use super::error::{OperationError, OperationRejection, RecordIds};
use super::operation::{Operation, OperationEntry, Operations};
use crate::rows::write_record;

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<SetRecordActive>(),
    OperationEntry::of::<ShowRecord>(),
    OperationEntry::of::<DeleteRecords>(),
];

/// `record set ID --active true|false`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetRecordActive {
    /// The record's id.
    pub id: String,
    /// True to make it visible: found and downloaded.
    pub is_active: bool,
}

/// Answer of [`SetRecordActive`]: its arguments, which are now in effect.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordSet {
    /// The record's id.
    pub id: String,
    /// True if it can be found and downloaded.
    pub is_active: bool,
}

impl Operation for SetRecordActive {
    const NAME: &'static str = "record/set";
    type Answer = RecordSet;

    async fn execute(self, operations: &Operations<'_>) -> Result<RecordSet, OperationError> {
        let id = record_id(&self.id)?;
        let catalog = operations.engine.catalog();
        if !catalog.submit_active(id, self.is_active).await? {
            return Err(OperationRejection::UnknownRecords(RecordIds(vec![id])).into());
        }
        Ok(RecordSet {
            id: id.to_string(),
            is_active: self.is_active,
        })
    }
}

/// `record show ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowRecord {
    /// The record's id.
    pub id: String,
}

impl Operation for ShowRecord {
    const NAME: &'static str = "record/show";
    /// The record as export writes it, and the downloads of this service, which answers of the API
    /// add to upstream's.
    type Answer = Map<String, Value>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Self::Answer, OperationError> {
        let id = record_id(&self.id)?;
        let Some(record) = operations.engine.catalog().stored_record(id)? else {
            return Err(OperationRejection::UnknownRecords(RecordIds(vec![id])).into());
        };
        let mut line = Vec::new();
        write_record(&record, &mut line);
        let mut shown: Map<String, Value> =
            serde_json::from_slice(&line).expect("export writes a JSON object");
        let own_downloads = operations.engine.usage().downloads(id);
        shown.insert("own_downloads".into(), json!(own_downloads));
        Ok(shown)
    }
}

/// `record delete ID…`: all in one transaction, or none when one of them is unknown. An id that
/// is named twice counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteRecords {
    /// The records' ids.
    pub ids: Vec<String>,
}

/// Answer of [`DeleteRecords`].
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordsDeleted {
    /// Deleted records.
    pub deleted: usize,
}

impl Operation for DeleteRecords {
    const NAME: &'static str = "record/delete";
    type Answer = RecordsDeleted;

    async fn execute(self, operations: &Operations<'_>) -> Result<RecordsDeleted, OperationError> {
        let mut ids = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            ids.push(record_id(id)?);
        }
        ids.sort_unstable();
        ids.dedup();
        let mut missing = Vec::new();
        for id in &ids {
            // Not read: a damaged record can be deleted, too.
            if !operations.engine.catalog().has_record(*id)? {
                missing.push(*id);
            }
        }
        if !missing.is_empty() {
            return Err(OperationRejection::UnknownRecords(RecordIds(missing)).into());
        }
        // Something else may have deleted one of them since: the transaction skips it.
        let lost = operations.engine.catalog().submit_deletion(&ids).await?;
        if !lost.is_empty() {
            return Err(OperationRejection::LostRecords(RecordIds(lost)).into());
        }
        Ok(RecordsDeleted { deleted: ids.len() })
    }
}

fn record_id(text: &str) -> Result<RecordId, OperationRejection> {
    RecordId::parse(text).ok_or_else(|| OperationRejection::InvalidRecordId(text.to_owned()))
}
