//! Many records at once: validated, sorted by id, and then given to the log.

use std::sync::Arc;

use super::change_log::ChangeLog;
use crate::catalog::{Catalog, EncodedRecords, ExternalSorter, ImportSummary, preview_records};
use crate::error::Result;
use crate::model::{FieldError, RecordDraft};

/// An import in progress. Dropped without [`Importer::finish`], nothing more is loaded.
pub struct Importer {
    catalog: Arc<Catalog>,
    /// An error if the log is not attached.
    log: Result<Arc<dyn ChangeLog>>,
    sorter: ExternalSorter,
    /// The draft that is pushed.
    pushed: EncodedRecords,
}

impl Importer {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        log: Result<Arc<dyn ChangeLog>>,
        sorter: ExternalSorter,
    ) -> Self {
        Self {
            catalog,
            log,
            sorter,
            pushed: EncodedRecords::default(),
        }
    }

    /// Validates one draft and adds it. It is imported at the latest by [`Importer::finish`]; of
    /// two drafts with one id the later counts.
    ///
    /// Errors: the outer one is the disk failing; the inner one is the draft's fault, and the
    /// import continues.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a draft that was taken in is of no further use"
    )]
    pub fn push(&mut self, draft: RecordDraft<'_>) -> Result<Result<(), FieldError>> {
        let mut pushed = std::mem::take(&mut self.pushed);
        pushed.clear();
        let validated = pushed.push(&draft);
        let appended = self.append(&pushed);
        // The buffers are reused: an import of a million records allocates them once.
        self.pushed = pushed;
        appended.map(|()| validated)
    }

    /// Adds records that were validated before, as if their drafts were pushed one by one.
    pub fn append(&mut self, records: &EncodedRecords) -> Result<()> {
        for (id, stored) in records.iter() {
            self.sorter.push(id, stored)?;
        }
        Ok(())
    }

    /// The summary that [`Importer::finish`] would return now; imports nothing.
    ///
    /// Cost: one look-up in the store per record.
    pub fn preview(self) -> Result<ImportSummary> {
        preview_records(&self.catalog, self.sorter)
    }

    /// Sorts by id and commits in groups; calls `progress` with the number of records that are
    /// durable after each. Returns when all are searchable.
    ///
    /// A data directory alone commits them on this thread, while the next group is read on
    /// another, and segments of those before are built on more.
    pub fn finish(self, progress: &mut dyn FnMut(u64)) -> Result<ImportSummary> {
        self.log?.import(self.sorter, progress)
    }
}
