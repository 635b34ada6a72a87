//! Changes through a shared log; of an import some frames ahead of those that are applied.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use super::change_log::ChangeLog;
use super::frame::Event;
use super::pending_change::PendingChange;
use super::replica::Replica;
use super::snapshot::SnapshotSummary;
use super::ticket::{ChangeTicket, bytes_of, of_catalog, of_state};
use crate::catalog::{CatalogEvent, CatalogOutcome, ExternalSorter, ImportSummary, each_group};
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
        for frame in frames_of(events) {
            outcomes.extend(of_state(self.change(frame)?));
        }
        Ok(outcomes)
    }

    fn submit_state(&self, events: Vec<StateEvent>) -> PendingChange {
        let events = events.into_iter().map(Event::State).collect();
        PendingChange::logged(self.enqueue(events), of_state)
    }

    fn submit_each(&self, events: Vec<StateEvent>) -> Vec<PendingChange> {
        let frames = frames_of(events).into_iter();
        let submitted = frames.map(|frame| PendingChange::logged(self.enqueue(frame), of_state));
        submitted.collect()
    }

    fn change_catalog(&self, events: Vec<CatalogEvent>) -> Result<Vec<CatalogOutcome>> {
        let events = events.into_iter().map(Event::Catalog).collect();
        self.change(events).map(of_catalog)
    }

    fn submit_catalog(&self, events: Vec<CatalogEvent>) -> PendingChange<CatalogOutcome> {
        let events = events.into_iter().map(Event::Catalog).collect();
        PendingChange::logged(self.enqueue(events), of_catalog)
    }

    fn import(
        &self,
        records: ExternalSorter,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportSummary> {
        let mut ahead = FramesAhead::new(self, progress);
        each_group(records, IMPORT_PART_BYTES_MAX, &mut |part| {
            ahead.submit(part)
        })?;
        while ahead.wait_for_oldest()? {}
        Ok(ahead.summary)
    }

    fn downloads_max(&self) -> u64 {
        FRAME_DOWNLOADS_MAX
    }

    fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        Self::write_snapshot(self, out)
    }
}

/// The frames that events which stand by themselves need; none for no events.
fn frames_of(events: Vec<StateEvent>) -> Vec<Vec<Event>> {
    let mut frames: Vec<Vec<Event>> = Vec::new();
    let mut last_bytes = 0;
    for event in events.into_iter().map(Event::State) {
        let bytes = bytes_of(&event);
        match frames.last_mut() {
            Some(last) if last_bytes + bytes <= FRAME_BYTES_MAX / 2 => {
                last_bytes += bytes;
                last.push(event);
            }
            _ => {
                last_bytes = bytes;
                frames.push(vec![event]);
            }
        }
    }
    frames
}

/// Frames of an import that are on their way.
struct FramesAhead<'r> {
    replica: &'r Replica,
    pending: VecDeque<Arc<ChangeTicket>>,
    summary: ImportSummary,
    progress: &'r mut dyn FnMut(u64),
}

impl<'r> FramesAhead<'r> {
    fn new(replica: &'r Replica, progress: &'r mut dyn FnMut(u64)) -> Self {
        Self {
            replica,
            pending: VecDeque::new(),
            summary: ImportSummary::default(),
            progress,
        }
    }

    fn submit(&mut self, part: Vec<CatalogEvent>) -> Result<()> {
        let part = part.into_iter().map(Event::Catalog).collect();
        self.pending.push_back(self.replica.submit(part));
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
        self.summary.count(of_catalog(outcomes));
        (self.progress)(self.summary.records());
        Ok(true)
    }
}
