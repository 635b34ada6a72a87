//! Applying the log: the one place where entries become rows.
//! The stages of an entry are drawn in the module.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::frame::{Beat, Departure, Event, LogFrame, digest_of};
use super::log::{LogEntry, ReadError};
use super::node_status::NodeStatus;
use super::read_ahead::ReadAhead;
use super::shared::{Followed, ReplicaShared, must_join_again, unavailable};
use super::ticket::EventOutcome;
use crate::catalog::{CatalogApplier, CatalogFrame};
use crate::error::{Error, Result};
use crate::limits::{LOG_READ_BYTES, LOG_READ_BYTES_MIN, SLOW_READS_COUNT, STATE_HASHES_MAX};
use crate::log_rows::{
    BeatRow, FrameOrigin, LogPosition, LogProgress, put_position, put_progress, read_sum,
};
use crate::model::NodeId;
use crate::state::{Outcome, StateEvent, StateFrame};

/// Age of a seen end of the log up to which the entries after it count as new.
const NEWS_AGE: Duration = Duration::from_secs(1);

/// Time for which the log may end before the position read from it: a server that has just become
/// the leader may not have applied all its entries.
const SHORT_LIMIT: Duration = Duration::from_secs(10);

/// Progress of this node along the log.
pub(super) struct Follower {
    /// Position of each file: a power cut may leave them at different ones.
    catalog: LogPosition,
    state: LogPosition,
    /// The last entry that was read and applied.
    last: LogPosition,
    /// Records that are durable and not shown.
    records: CatalogApplier,
    /// The last entry with only its state applied, while there was no space for records.
    obeyed: u64,
    /// Answers of own frames that are given when `records` are shown.
    held: Vec<FrameAnswer>,
    /// Runs of entries that threads build segments of, the oldest first.
    building: VecDeque<BuildingRun>,
    /// The next entries, being read.
    ahead: Option<ReadAhead>,
    /// Bytes that are asked for at a time: as many as the link brings.
    read_bytes_max: usize,
    /// Reads before more is tried again.
    slow_reads_left: u32,
    /// Sums of the rows before the last beats, with the entries of these beats.
    hashes: VecDeque<(u64, u64)>,
    /// Entries with durable records, but state events that are not applied yet.
    unfinished: Option<UnfinishedRun>,
    /// True once the log was checked to be the one that is followed; false again after a failed
    /// read.
    is_checked: bool,
    /// Time since which the log ends before the position read from it.
    short_since: Option<Duration>,
    end: SeenEnd,
    /// True while more entries are waiting than have just arrived.
    is_behind: bool,
    /// Nodes with a beat, or departed, since the state's position was stored.
    heard: BTreeSet<NodeId>,
}

/// The end of the log at some moment: entries before it are older than that moment.
struct SeenEnd {
    seq: u64,
    at: Duration,
}

/// Entries with their records applied.
struct UnfinishedRun {
    entries: Vec<Received>,
    position: LogPosition,
}

/// Entries that are shown when a segment is built.
struct BuildingRun {
    /// The last of them.
    seq: u64,
    /// Answers of own frames.
    answers: Vec<FrameAnswer>,
}

/// Outcomes of an own frame.
struct FrameAnswer {
    number: u64,
    /// One for each event.
    slots: Vec<AnswerSlot>,
}

/// Outcome of an event.
enum AnswerSlot {
    /// An event of a node, which has no outcome.
    Nothing,
    /// None if it is lost: the event was applied by a transaction that had seemed to fail.
    Outcome(Option<EventOutcome>),
}

/// An entry on its way.
struct Received {
    seq: u64,
    digest: u64,
    version: u8,
    origin: FrameOrigin,
    events: Vec<Event>,
    outcomes: Vec<Option<EventOutcome>>,
}

impl Received {
    fn new(entry: &LogEntry, frame: LogFrame) -> Self {
        Self {
            seq: entry.seq,
            version: frame.version,
            digest: digest_of(&entry.body),
            origin: frame.origin,
            events: frame.events,
            outcomes: Vec::new(),
        }
    }
}

/// Errors: the entry is not a frame that this program reads, or was made for another log.
fn decode_frame(shared: &ReplicaShared, entry: &LogEntry) -> Result<LogFrame, String> {
    let decoded = LogFrame::decode(&entry.body, shared.versions.newest);
    let frame = decoded.map_err(|error| format!("entry {} of the log: {error}", entry.seq))?;
    // The log has refused frames that were made for another one.
    if frame.epoch != shared.epoch {
        return Err(shared.another_epoch(frame.epoch));
    }
    Ok(frame)
}

impl Follower {
    pub(super) fn new(followed: &Followed, [catalog, state]: [LogPosition; 2]) -> Self {
        let last = if catalog.seq < state.seq {
            catalog
        } else {
            state
        };
        Self {
            catalog,
            state,
            last,
            records: CatalogApplier::new(Arc::clone(&followed.catalog)),
            obeyed: 0,
            held: Vec::new(),
            building: VecDeque::new(),
            ahead: None,
            read_bytes_max: LOG_READ_BYTES,
            slow_reads_left: 0,
            hashes: VecDeque::new(),
            unfinished: None,
            is_checked: false,
            short_since: None,
            end: SeenEnd {
                seq: 0,
                at: Duration::ZERO,
            },
            is_behind: true,
            heard: BTreeSet::new(),
        }
    }

    /// Position from which entries are read.
    pub(super) fn position(&self) -> LogPosition {
        self.last
    }

    /// The newest sum of the rows, and the entry before which it was taken; zeros before the first.
    pub(super) fn last_hash(&self) -> (u64, u64) {
        self.hashes.back().copied().unwrap_or_default()
    }

    /// Reads a part of the log and applies it. Returns true if there is more.
    pub(super) fn step(&mut self, shared: &ReplicaShared) -> Result<bool> {
        shared.ensure_believed()?;
        self.finish_run(shared)?;
        if !self.is_checked {
            self.check_log(shared)?;
            self.is_checked = true;
        }
        self.look_for_end(shared)?;
        let read = self.read(shared);
        if read.is_err() {
            // The log may be unavailable for long, and be another one afterwards.
            self.is_checked = false;
            self.show(shared)?;
        }
        let entries = match read {
            Err(ReadError::Truncated { oldest }) => {
                return Err(shared.stop(away_too_long(self.last.seq, oldest)));
            }
            entries => entries.map_err(|error| unavailable(&error))?,
        };
        let bytes: usize = entries.iter().map(|entry| entry.body.len()).sum();
        let is_tail = bytes < self.read_bytes_max / 2;
        let has_entries = !entries.is_empty();
        if let Some(end) = entries.last().filter(|_| !is_tail) {
            let log = Arc::clone(&shared.log);
            self.ahead = ReadAhead::start(log, end.seq, self.read_bytes_max);
        }
        let applied = self.apply_entries(shared, entries, is_tail);
        shared.can_apply.store(applied.is_ok(), Ordering::Release);
        if let Err(Error::Space { .. }) = applied {
            self.obey(shared)?;
        }
        applied?;
        if is_tail {
            self.show(shared)?;
        } else if self.records.is_full() {
            self.build(shared)?;
        }
        Ok(has_entries)
    }

    /// The next entries.
    fn read(&mut self, shared: &ReplicaShared) -> Result<Vec<LogEntry>, ReadError> {
        let read = match self.ahead.take() {
            Some(ahead) if ahead.after() == self.last.seq => ahead.wait(),
            // Those before were not applied.
            _ => shared.log.read(self.last.seq, self.read_bytes_max),
        };
        // A slow link brings a part in the time in which it brings nothing of the whole.
        match &read {
            Err(ReadError::Unavailable(_)) => {
                self.read_bytes_max = (self.read_bytes_max / 4).max(LOG_READ_BYTES_MIN);
                self.slow_reads_left = SLOW_READS_COUNT;
            }
            Ok(_) if self.slow_reads_left == 0 => {
                self.read_bytes_max = (self.read_bytes_max * 2).min(LOG_READ_BYTES);
            }
            Ok(_) => self.slow_reads_left -= 1,
            Err(_) => {}
        }
        read
    }

    /// Errors: the log is not the one that this node follows, or has lost entries that this node
    /// has seen in it.
    pub(super) fn check_log(&mut self, shared: &ReplicaShared) -> Result<()> {
        let state = shared.log.state().map_err(|error| unavailable(&error));
        if state.is_err() {
            // Its state until the next answer is unknown.
            self.short_since = None;
        }
        let state = state?;
        let seen = self.catalog.seq.max(self.state.seq).max(self.last.seq);
        if state.epoch != shared.epoch {
            return Err(shared.stop(shared.another_epoch(state.epoch)));
        }
        if state.last < seen {
            let reason = format!(
                "the log ends at entry {}, this node has applied {seen}",
                state.last
            );
            let now = (shared.clock)();
            let since = *self.short_since.get_or_insert(now);
            if now < since + SHORT_LIMIT {
                return Err(Error::LogUnavailable { reason });
            }
            return Err(shared.stop(format!(
                "{reason}: the log has lost entries, or an older copy of it answers, such as a \
                 former primary of PostgreSQL; check which server answers before anything else. \
                 If the entries are lost everywhere, `subcat cluster reseed` on the node with the \
                 highest number makes the log anew"
            )));
        }
        self.short_since = None;
        if self.last.seq + 1 < state.oldest {
            return Err(shared.stop(away_too_long(self.last.seq, state.oldest)));
        }
        for known in [self.catalog, self.state, self.last] {
            if known.seq == 0 || known.seq < state.oldest {
                continue;
            }
            let read = shared
                .log
                .read(known.seq - 1, 1)
                .map_err(|error| unavailable(&error))?;
            let Some(first) = read.first() else {
                let reason = format!("entry {} is not there yet", known.seq);
                return Err(Error::LogUnavailable { reason });
            };
            if first.digest() != known.digest {
                let problem = format!(
                    "entry {} of the log is not the one that was applied here: this is another \
                     log, or another cluster's data directory",
                    known.seq
                );
                return Err(shared.stop(problem));
            }
        }
        self.see_end(shared, state.last);
        Ok(())
    }

    /// Reads the end of the log when this node has reached the end that it saw before, unless that
    /// was a moment ago: entries after it are new then.
    fn look_for_end(&mut self, shared: &ReplicaShared) -> Result<()> {
        if !self.is_behind || self.last.seq < self.end.seq {
            return Ok(());
        }
        if (shared.clock)() < self.end.at + NEWS_AGE {
            self.is_behind = false;
            return Ok(());
        }
        let state = shared.log.state().map_err(|error| unavailable(&error))?;
        self.see_end(shared, state.last);
        Ok(())
    }

    /// Notes the end of the log. An end seen earlier dates the entries up to it better.
    fn see_end(&mut self, shared: &ReplicaShared, seq: u64) {
        if self.end.seq <= self.last.seq {
            let at = (shared.clock)();
            self.end = SeenEnd { seq, at };
            self.is_behind = self.last.seq < seq;
        }
    }

    /// Stores the position of both files in the log.
    pub(super) fn store_position(&mut self, shared: &ReplicaShared) -> Result<()> {
        let last = self.last;
        let followed = &shared.followed;
        if self.catalog.seq < last.seq {
            let store = followed.catalog.store();
            store.write(|rows| put_position(rows, &last))?;
            self.catalog = last;
        }
        if self.state.seq < last.seq {
            let progress = self.progress(shared, last);
            let store = followed.state.store();
            store.write(|rows| put_progress(rows, &progress))?;
            self.state = last;
            self.heard.clear();
        }
        Ok(())
    }

    /// A position of the state, with the beats up to it.
    fn progress(&self, shared: &ReplicaShared, position: LogPosition) -> LogProgress {
        let nodes = shared.nodes.lock();
        let beats = self.heard.iter().map(|node| match nodes.get(node) {
            Some(status) => status.to_row(),
            None => BeatRow {
                node: *node,
                value: None,
            },
        });
        let beats = beats.collect();
        LogProgress { position, beats }
    }

    /// Applies what the log says of accounts and keys, while there is no space for records: this
    /// node still answers what it has, and obeys revocations.
    fn obey(&mut self, shared: &ReplicaShared) -> Result<()> {
        self.obeyed = self.obeyed.max(self.last.seq);
        loop {
            let read = shared.log.read(self.obeyed, self.read_bytes_max);
            let entries = read.map_err(|error| unavailable(&error))?;
            let mut run = Vec::with_capacity(entries.len());
            for entry in entries {
                let frame = decode_frame(shared, &entry).map_err(|it| shared.stop(it))?;
                self.hear(shared, entry.seq, &frame);
                run.push(Received::new(&entry, frame));
            }
            let Some(end) = run.last() else {
                return Ok(());
            };
            let position = LogPosition {
                seq: end.seq,
                digest: end.digest,
                ..self.last
            };
            for received in &mut run {
                received.outcomes = received.events.iter().map(|_| None).collect();
            }
            self.apply_state(shared, &mut run, &position)
                .map_err(|error| stop_if_damaged(shared, error))?;
            self.obeyed = position.seq;
            shared.obeyed.fetch_max(position.seq, Ordering::AcqRel);
            for received in run {
                let is_catalog = |event: &Event| matches!(event, Event::Catalog(_));
                if !received.events.iter().any(is_catalog) && self.is_own(shared, &received)? {
                    FrameAnswer::of(received).give(shared);
                }
            }
        }
    }

    fn apply_entries(
        &mut self,
        shared: &ReplicaShared,
        entries: Vec<LogEntry>,
        is_tail: bool,
    ) -> Result<()> {
        let mut run = Vec::new();
        for entry in entries {
            let seq = entry.seq;
            let next = run.last().map_or(self.last.seq, |it: &Received| it.seq) + 1;
            if seq != next {
                let problem = format!("the log has entry {seq} where entry {next} was expected");
                return Err(shared.stop(problem));
            }
            let frame = match decode_frame(shared, &entry) {
                Ok(frame) => frame,
                Err(problem) => {
                    // Those before it are as good as if it had never been there.
                    self.apply_run(shared, run)?;
                    self.show(shared)?;
                    return Err(shared.stop(problem));
                }
            };
            // Every node takes the sum between the same entries: before a beat. During a long
            // catch-up no sums are compared.
            let is_beat = |event: &Event| matches!(event, Event::Beat(_));
            if is_tail && frame.events.iter().any(is_beat) {
                self.apply_run(shared, std::mem::take(&mut run))?;
                self.take_hash(shared, seq)?;
            }
            self.hear(shared, seq, &frame);
            run.push(Received::new(&entry, frame));
        }
        self.apply_run(shared, run)
    }

    /// Applies entries in one transaction of each file.
    fn apply_run(&mut self, shared: &ReplicaShared, mut entries: Vec<Received>) -> Result<()> {
        let Some(end) = entries.last() else {
            return Ok(());
        };
        let position = LogPosition {
            seq: end.seq,
            digest: end.digest,
            ..self.last
        };
        self.apply_records(&mut entries, &position)
            .map_err(|error| stop_if_damaged(shared, error))?;
        // The outcomes of records must survive a failure of the next step.
        self.unfinished = Some(UnfinishedRun { entries, position });
        self.finish_run(shared)
    }

    /// Finishes the entries with records applied, if there are any.
    fn finish_run(&mut self, shared: &ReplicaShared) -> Result<()> {
        let Some(mut run) = self.unfinished.take() else {
            return Ok(());
        };
        if let Err(error) = self.apply_state(shared, &mut run.entries, &run.position) {
            self.unfinished = Some(run);
            return Err(stop_if_damaged(shared, error));
        }
        self.last = run.position;
        for received in run.entries {
            self.answer(shared, received)?;
        }
        if self.records.is_empty() {
            shared.applied.store(self.last.seq, Ordering::Release);
        }
        Ok(())
    }

    /// Applies changes of records.
    fn apply_records(&mut self, run: &mut [Received], position: &LogPosition) -> Result<()> {
        let mut frames = Vec::new();
        for received in run.iter_mut() {
            // One slot for each event, in order, filled when its file is changed.
            received.outcomes = received.events.iter().map(|_| None).collect();
            if received.seq <= self.catalog.seq {
                continue;
            }
            let events = received.events.iter().filter_map(|event| match event {
                Event::Catalog(event) => Some(event.clone()),
                _ => None,
            });
            let events: Vec<_> = events.collect();
            if !events.is_empty() {
                frames.push(CatalogFrame {
                    version: received.version,
                    origin: received.origin,
                    events,
                });
            }
        }
        if frames.is_empty() {
            return Ok(());
        }
        let committed = self.records.commit(frames, Some(position));
        let outcomes = committed.map_err(|failed| failed.error)?;
        let mut outcomes = outcomes.into_iter();
        let already = self.catalog.seq;
        for received in run.iter_mut().filter(|received| already < received.seq) {
            for (event, slot) in received.events.iter().zip(&mut received.outcomes) {
                if matches!(event, Event::Catalog(_)) {
                    *slot = outcomes.next().flatten().map(EventOutcome::Catalog);
                }
            }
        }
        self.catalog = *position;
        Ok(())
    }

    fn apply_state(
        &mut self,
        shared: &ReplicaShared,
        run: &mut [Received],
        position: &LogPosition,
    ) -> Result<()> {
        let already = self.state.seq;
        let mut frames = Vec::new();
        for received in run.iter().filter(|received| already < received.seq) {
            let events = received.events.iter().filter_map(|event| match event {
                Event::State(event) => Some(event.clone()),
                _ => None,
            });
            let events: Vec<_> = events.collect();
            if !events.is_empty() {
                frames.push(StateFrame {
                    version: received.version,
                    origin: received.origin,
                    events,
                });
            }
        }
        if frames.is_empty() {
            return Ok(());
        }
        let progress = self.progress(shared, *position);
        let committed = shared.followed.state.apply(&frames, Some(&progress));
        let committed = committed.map_err(|failed| failed.error)?;
        self.state = *position;
        self.heard.clear();
        let mut outcomes = committed.outcomes.into_iter();
        for received in run.iter_mut().filter(|received| already < received.seq) {
            for (event, slot) in received.events.iter().zip(&mut received.outcomes) {
                if let Event::State(event) = event {
                    let outcome = outcomes.next().flatten();
                    if outcome == Some(Outcome::Done) {
                        show_downloads(shared, received.origin, event);
                    }
                    *slot = outcome.map(EventOutcome::State);
                }
            }
        }
        if !committed.touched.is_empty() {
            shared.touched.lock().extend(committed.touched);
            let is_of_state = |event: &Event| matches!(event, Event::State(_));
            let of_state = run.iter().filter(|it| it.events.iter().any(is_of_state));
            let last = of_state.map(|received| received.seq).max();
            let last = last.unwrap_or(position.seq);
            shared.keys_changed_at.fetch_max(last, Ordering::AcqRel);
            shared.is_beat_wanted.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Returns true if a frame is of this start of this node. Errors: it is of a later one, or of
    /// one that is unknown here.
    fn is_own(&self, shared: &ReplicaShared, received: &Received) -> Result<bool> {
        let origin = received.origin;
        if origin.node == shared.node && shared.incarnation < origin.incarnation {
            let problem = "another process runs with this node's data directory, or a copy of it: \
                           stop one, and give it a data directory of its own";
            return Err(shared.stop(problem.into()));
        }
        let is_unknown = |before: u64| before < origin.incarnation;
        if origin.node == shared.node
            && origin.incarnation < shared.incarnation
            && shared.start_before.is_some_and(is_unknown)
        {
            let reason = "the log has frames of a start of this node that its data directory knows \
                          nothing of: it was set back to an older copy";
            return Err(shared.stop(must_join_again(reason)));
        }
        Ok(origin.node == shared.node && origin.incarnation == shared.incarnation)
    }

    /// Answers an own frame, at once or when its records are shown.
    fn answer(&mut self, shared: &ReplicaShared, received: Received) -> Result<()> {
        if !self.is_own(shared, &received)? {
            return Ok(());
        }
        // Held until the records of this frame and of all before it are shown: a beat says that
        // everything before it is.
        let answer = FrameAnswer::of(received);
        if self.records.is_empty() {
            answer.give(shared);
        } else {
            self.held.push(answer);
        }
        Ok(())
    }

    /// Lets a thread build a segment of the records that were applied.
    fn build(&mut self, shared: &ReplicaShared) -> Result<()> {
        self.records.build()?;
        let answers = std::mem::take(&mut self.held);
        let seq = self.last.seq;
        self.building.push_back(BuildingRun { seq, answers });
        self.note_built(shared);
        Ok(())
    }

    /// Waits until no thread builds anything.
    pub(super) fn finish_building(&mut self, shared: &ReplicaShared) -> Result<()> {
        self.records.wait_for_building(0)?;
        self.note_built(shared);
        Ok(())
    }

    /// Answers callers waiting for chunks that threads have shown, or, after a failure, a recovery.
    fn note_built(&mut self, shared: &ReplicaShared) {
        let Some(building_count) = self.records.building_count() else {
            return;
        };
        while building_count < self.building.len()
            && let Some(BuildingRun { seq, answers }) = self.building.pop_front()
        {
            for answer in answers {
                answer.give(shared);
            }
            shared.applied.fetch_max(seq, Ordering::AcqRel);
        }
    }

    /// Shows the applied records, and answers the callers waiting for that.
    fn show(&mut self, shared: &ReplicaShared) -> Result<()> {
        self.records.show()?;
        let built = self.building.drain(..).flat_map(|run| run.answers);
        for answer in built.chain(self.held.drain(..)) {
            answer.give(shared);
        }
        shared.applied.store(self.last.seq, Ordering::Release);
        Ok(())
    }

    /// Takes the sum of the rows before an entry.
    fn take_hash(&mut self, shared: &ReplicaShared, seq: u64) -> Result<()> {
        // After a power cut one file is ahead: its rows are of a later moment.
        if seq <= self.catalog.seq.max(self.state.seq) {
            return Ok(());
        }
        let followed = &shared.followed;
        let catalog = followed.catalog.store().read(read_sum)?;
        let state = followed.state.store().read(read_sum)?;
        if self.hashes.len() == STATE_HASHES_MAX {
            self.hashes.pop_front();
        }
        self.hashes.push_back((seq, catalog.wrapping_add(state)));
        Ok(())
    }

    /// Notes the beats and departures in a frame.
    fn hear(&mut self, shared: &ReplicaShared, seq: u64, frame: &LogFrame) {
        // After a power cut the state may be ahead, and has them already.
        if seq <= self.state.seq {
            return;
        }
        for event in &frame.events {
            match event {
                Event::Beat(beat) => self.hear_beat(shared, frame.origin, seq, beat),
                Event::Departure(departure) => self.hear_departure(shared, *departure),
                Event::Catalog(_) | Event::State(_) => {}
            }
        }
    }

    fn hear_departure(&mut self, shared: &ReplicaShared, departure: Departure) {
        let Departure { node, as_of } = departure;
        let mut nodes = shared.nodes.lock();
        if nodes.get(&node).is_some_and(|it| it.beat_seq <= as_of) {
            nodes.remove(&node);
            self.heard.insert(node);
        }
    }

    fn hear_beat(&mut self, shared: &ReplicaShared, origin: FrameOrigin, seq: u64, beat: &Beat) {
        let own = self.hashes.iter().find(|(at, _)| *at == beat.hashed_at);
        let mut nodes = shared.nodes.lock();
        let before = nodes.get(&origin.node);
        // A repeated beat gives an outdated state, such as that of a node that was stopped.
        if before.is_some_and(|it| origin <= it.origin) {
            return;
        }
        let was_diverged = before.is_some_and(|it| it.is_diverged);
        let is_diverged = own.map_or(was_diverged, |(_, hash)| *hash != beat.state_hash);
        // Not before the node has given it: a caller that waits for its silence waits too long at
        // worst.
        let now = (shared.clock)();
        let heard_at = if seq <= self.end.seq {
            now.min(self.end.at)
        } else {
            now
        };
        let status = NodeStatus {
            node: origin.node,
            beat: beat.clone(),
            beat_seq: seq,
            heard_at,
            is_diverged,
            origin,
        };
        nodes.insert(origin.node, status);
        self.heard.insert(origin.node);
    }
}

/// Adds the downloads of another node to the counts in memory. Those of this node were added when
/// they were counted.
fn show_downloads(shared: &ReplicaShared, origin: FrameOrigin, event: &StateEvent) {
    if let StateEvent::AggregateDownloads(aggregate) = event
        && origin.node != shared.node
    {
        for (record, downloads) in &aggregate.records {
            shared.followed.downloads.add(*record, *downloads);
        }
    }
}

impl FrameAnswer {
    /// The records of the frame are not kept.
    fn of(received: Received) -> Self {
        let slots = received.events.iter().zip(received.outcomes);
        let slots = slots.map(|(event, outcome)| match event {
            Event::Beat(_) | Event::Departure(_) => AnswerSlot::Nothing,
            Event::Catalog(_) | Event::State(_) => AnswerSlot::Outcome(outcome),
        });
        Self {
            number: received.origin.number,
            slots: slots.collect(),
        }
    }

    /// Gives each caller of the frame the outcomes of its events.
    fn give(self, shared: &ReplicaShared) {
        // A frame that is in the log twice was answered at its first application.
        let Some(frame) = shared.pending.lock().remove(&self.number) else {
            return;
        };
        let mut slots = self.slots.into_iter();
        for ticket in frame.tickets {
            let own = slots.by_ref().take(ticket.events_count);
            let known = own.filter_map(|slot| match slot {
                AnswerSlot::Nothing => None,
                AnswerSlot::Outcome(outcome) => Some(outcome),
            });
            // All are taken from `slots`, also when one is lost.
            let known: Vec<Option<EventOutcome>> = known.collect();
            let known: Option<Vec<EventOutcome>> = known.into_iter().collect();
            ticket.answer(known.ok_or_else(|| Error::LogUnanswered {
                reason: "it is applied, and its outcome is lost".to_owned(),
            }));
        }
    }
}

/// Stops applying for damage that a retry meets again.
fn stop_if_damaged(shared: &ReplicaShared, error: Error) -> Error {
    match error {
        Error::Corrupt { .. } => shared.stop(format!(
            "{error}: run `subcat cluster join` with an empty data directory"
        )),
        error => error,
    }
}

fn away_too_long(applied: u64, oldest: u64) -> String {
    format!(
        "the log begins at entry {oldest}, this node has applied {applied}: it was away for too \
         long; run `subcat cluster join` with an empty data directory"
    )
}
