//! Records in their stored form, before they are imported.

use super::validate::Validator;
use crate::codec::encode_record;
use crate::model::{FieldError, RecordDraft, RecordId};

/// Valid records in their stored form, for [`Importer::append`](crate::Importer::append). Several
/// threads may each fill their own: validating and encoding is a third of an import.
#[derive(Debug, Default)]
pub struct EncodedRecords {
    validator: Validator,
    /// The records, one after another.
    bytes: Vec<u8>,
    entries: Vec<EncodedEntry>,
    /// Memory for one record.
    memory: Vec<u8>,
}

#[derive(Debug)]
struct EncodedEntry {
    id: RecordId,
    /// End of the record in `bytes`; it starts where the one before ends.
    end: usize,
}

impl EncodedRecords {
    /// Validates a draft and adds its record. Errors: the draft's fault; nothing is added.
    pub fn push(&mut self, draft: &RecordDraft<'_>) -> Result<(), FieldError> {
        let record = self.validator.validate(draft)?;
        self.memory = encode_record(&record, std::mem::take(&mut self.memory));
        self.bytes.extend_from_slice(&self.memory);
        self.entries.push(EncodedEntry {
            id: record.id,
            end: self.bytes.len(),
        });
        Ok(())
    }

    /// Removes all records and keeps their memory for others.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// The records in the order of their addition.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RecordId, &[u8])> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let stored = &self.bytes[start..entry.end];
            start = entry.end;
            (entry.id, stored)
        })
    }
}
