//! Changes through a shared log; of an import some frames ahead of those that are applied.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::change_log::ChangeLog;
use super::frame::Event;
use super::pending_change::PendingChange;
use super::replica::Replica;
use super::snapshot::SnapshotSummary;
use super::ticket::{ChangeTicket, bytes_of, of_catalog, of_state};
use crate::catalog::{CatalogEvent, CatalogOutcome, ExternalSorter, ImportSummary};
use crate::error::Result;
use crate::limits::{
    FRAME_BYTES_MAX, FRAME_DOWNLOADS_MAX, IMPORT_FRAMES_MAX, IMPORT_PART_BYTES_MAX,
};
use crate::state::{Outcome, StateEvent};

impl ChangeLog for Replica {
    fn change_state(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        let events = events.into_iter().map(Event::State).collect();
        self.change(events).map(of_state)
    }

    fn change_each(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(events.len());
        let (mut part, mut part_bytes) = (Vec::new(), 0);
        for event in events.into_iter().map(Event::State) {
            let bytes = bytes_of(&event);
            if FRAME_BYTES_MAX / 2 < part_bytes + bytes && !part.is_empty() {
                outcomes.extend(of_state(self.change(std::mem::take(&mut part))?));
                part_bytes = 0;
            }
            part_bytes += bytes;
            part.push(event);
        }
        // No events are no frame.
        if !part.is_empty() {
            outcomes.extend(of_state(self.change(part)?));
        }
        Ok(outcomes)
    }

    fn submit_state(&self, events: Vec<StateEvent>) -> PendingChange {
        let events = events.into_iter().map(Event::State).collect();
        PendingChange::logged(self.enqueue(events))
    }

    fn change_catalog(&self, events: Vec<CatalogEvent>) -> Result<Vec<CatalogOutcome>> {
        let events = events.into_iter().map(Event::Catalog).collect();
        self.change(events).map(of_catalog)
    }

    fn import(
        &self,
        records: ExternalSorter,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportSummary> {
        FramesAhead::new(self, progress).import(records)
    }

    fn downloads_max(&self) -> u64 {
        FRAME_DOWNLOADS_MAX
    }

    fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        Self::write_snapshot(self, out)
    }
}

/// Frames of an import that are on their way, and what comes into the next one.
struct FramesAhead<'r> {
    replica: &'r Replica,
    part: Vec<Event>,
    part_bytes: usize,
    pending: VecDeque<Arc<ChangeTicket>>,
    summary: ImportSummary,
    progress: &'r mut dyn FnMut(u64),
}

impl<'r> FramesAhead<'r> {
    fn new(replica: &'r Replica, progress: &'r mut dyn FnMut(u64)) -> Self {
        Self {
            replica,
            part: Vec::new(),
            part_bytes: 0,
            pending: VecDeque::new(),
            summary: ImportSummary::default(),
            progress,
        }
    }

    /// Puts all records; returns when searches of this node find them.
    fn import(mut self, records: ExternalSorter) -> Result<ImportSummary> {
        /// About what an event takes besides its record.
        const FIXED_BYTES: usize = 64;
        records.drain(&mut |id, stored| {
            self.part_bytes += FIXED_BYTES + stored.len();
            self.part
                .push(Event::Catalog(CatalogEvent::PutRecord(id, stored)));
            if IMPORT_PART_BYTES_MAX <= self.part_bytes {
                self.submit()?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.submit()?;
        while self.wait_for_oldest()? {}
        Ok(self.summary)
    }

    fn submit(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.part);
        self.part_bytes = 0;
        if !part.is_empty() {
            self.pending.push_back(self.replica.submit(part));
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
        let outcomes = self.replica.wait_for(&oldest)?;
        self.summary.count(&of_catalog(outcomes));
        (self.progress)(self.summary.records());
        Ok(true)
    }
}
