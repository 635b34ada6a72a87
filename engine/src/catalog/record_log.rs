//! The log of a cluster, as an import sees it.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::event::{CatalogEvent, CatalogOutcome};
use super::external_sort::ExternalSorter;
use super::import_summary::ImportSummary;
use crate::error::Result;
use crate::limits::{IMPORT_FRAMES_MAX, IMPORT_PART_BYTES_MAX};

/// The log that changes of records go into.
pub(crate) trait RecordLog: Send + Sync {
    /// Appends changes.
    fn submit(&self, events: Vec<CatalogEvent>) -> Box<dyn PendingChanges>;
}

/// Changes that are on their way.
pub(crate) trait PendingChanges: Send {
    /// Waits until searches of this node find them.
    fn wait(self: Box<Self>) -> Result<Vec<CatalogOutcome>>;
}

/// Imports through the log: some frames ahead of what is applied.
pub(super) fn load_through(
    log: &dyn RecordLog,
    sorter: ExternalSorter,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportSummary> {
    let mut load = Load {
        log,
        part: Vec::new(),
        part_bytes: 0,
        pending: VecDeque::new(),
        summary: ImportSummary::default(),
        progress,
    };
    sorter.drain(&mut |id, stored| {
        load.push(CatalogEvent::PutRecord(id, stored))?;
        Ok(ControlFlow::Continue(()))
    })?;
    load.submit()?;
    while load.wait_for_oldest()? {}
    Ok(load.summary)
}

struct Load<'l> {
    log: &'l dyn RecordLog,
    part: Vec<CatalogEvent>,
    part_bytes: usize,
    pending: VecDeque<Box<dyn PendingChanges>>,
    summary: ImportSummary,
    progress: &'l mut dyn FnMut(u64),
}

impl Load<'_> {
    fn push(&mut self, event: CatalogEvent) -> Result<()> {
        /// About what an event takes besides its record.
        const FIXED_BYTES: usize = 64;
        if let CatalogEvent::PutRecord(_, stored) = &event {
            self.part_bytes += FIXED_BYTES + stored.len();
        }
        self.part.push(event);
        if self.part_bytes < IMPORT_PART_BYTES_MAX {
            return Ok(());
        }
        self.submit()
    }

    fn submit(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.part);
        self.part_bytes = 0;
        if !part.is_empty() {
            self.pending.push_back(self.log.submit(part));
        }
        while IMPORT_FRAMES_MAX < self.pending.len() {
            self.wait_for_oldest()?;
        }
        Ok(())
    }

    /// Returns false if nothing is on its way.
    fn wait_for_oldest(&mut self) -> Result<bool> {
        let Some(oldest) = self.pending.pop_front() else {
            return Ok(false);
        };
        self.summary.count(&oldest.wait()?);
        (self.progress)(self.summary.records());
        Ok(true)
    }
}
