//! Rows that tie a store file to the log of a cluster: the position up to which the log was
//! applied, and the frames that were.
//!
//! Each file has its own, written in the same transaction as the changes that they describe: after
//! a power cut the two files may have applied the log up to different entries.

use std::ops::ControlFlow;

use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::model::NodeId;
use crate::store::{RowSum, Rows, Span, Table, Transaction};

/// Position, sum, the last frame of each node, and, in the state, its last beat. No rows: the
/// directory is in no cluster.
pub(crate) const CLUSTER: Table = Table("cluster");

/// Version of the log's frames, and of the meaning of their events.
pub(crate) const FRAME_VERSION: u8 = 1;

/// Row of the position.
const POSITION: &[u8] = b"log position";
/// Sum of the rows that are the same on every node.
const SUM: &[u8] = b"sum";
/// Row of the number of this node's last start that has appended.
const START: &[u8] = b"start";
/// Row of the epoch of the log that this node is about to make.
const INTENDED: &[u8] = b"intended epoch";
/// Row of the reason why the shared rows of the file cannot be believed.
const DOUBT: &[u8] = b"doubt";
/// Beginning of the row of a node's last beat; the node follows.
const BEAT: &[u8] = b"beat ";
/// Name of this file's table, for errors.
const PLACE: &str = "table cluster";
const VERSION: u8 = 1;

/// Position up to which a log was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPosition {
    /// Id of this node.
    pub node: NodeId,
    /// Epoch of the log.
    pub epoch: u64,
    /// Sequence number of the last applied entry.
    pub seq: u64,
    /// Digest of that entry: a log with another digest there is another log.
    pub digest: u64,
}

/// Progress along the log, of the state: its position, and the beats up to it.
pub(crate) struct LogProgress {
    pub(crate) position: LogPosition,
    /// Nodes with a new beat, and those that have left.
    pub(crate) beats: Vec<BeatRow>,
}

/// The stored form of a node's last beat.
pub(crate) struct BeatRow {
    pub(crate) node: NodeId,
    /// None if the node has left.
    pub(crate) value: Option<Vec<u8>>,
}

/// Author and number of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameOrigin {
    pub(crate) node: NodeId,
    /// Incarnation of that node: each start has a larger one.
    pub(crate) incarnation: u64,
    /// Sequence number of the frame within the incarnation, from 1.
    pub(crate) number: u64,
}

/// The sum over these tables without some rows, in the form that a store file keeps.
pub(crate) const fn sum_over(
    tables: &'static [Table],
    left_out: &'static [(Table, &'static [u8])],
) -> RowSum {
    RowSum {
        tables,
        left_out,
        kept_in: CLUSTER,
        row_key: SUM,
    }
}

/// The position; `None` if the file is in no cluster.
pub(crate) fn read_position(rows: &Rows<'_>) -> Result<Option<LogPosition>> {
    let Some(stored) = rows.get(CLUSTER, POSITION)? else {
        return Ok(None);
    };
    let mut from = Decoder::new(&stored, VERSION, PLACE)?;
    let position = LogPosition {
        node: NodeId(from.integer()?),
        epoch: from.integer()?,
        seq: from.integer()?,
        digest: from.integer()?,
    };
    from.finish()?;
    Ok(Some(position))
}

/// Stores the position.
pub(crate) fn put_position(rows: &mut Transaction<'_>, position: &LogPosition) -> Result<()> {
    let mut out = Encoder::new(VERSION);
    out.put_integer(position.node.0);
    out.put_integer(position.epoch);
    out.put_integer(position.seq);
    out.put_integer(position.digest);
    rows.put(CLUSTER, POSITION, &out.finish())
}

/// Notes the number of a start of this node, before it appends.
pub(crate) fn note_start(rows: &mut Transaction<'_>, number: u64) -> Result<()> {
    rows.put(CLUSTER, START, &number.to_le_bytes())
}

/// The number of this node's last start that has appended, as this file knows it.
pub(crate) fn read_start(rows: &Rows<'_>) -> Result<Option<u64>> {
    read_number(rows, START)
}

/// Notes the epoch of the log that this node is about to make, until it enters that log: it knows
/// the log for its own then, whatever has interrupted it.
pub(crate) fn note_intended(rows: &mut Transaction<'_>, epoch: u64) -> Result<()> {
    rows.put(CLUSTER, INTENDED, &epoch.to_le_bytes())
}

/// The epoch of the log that this node was about to make, if it has not entered that log.
pub(crate) fn read_intended(rows: &Rows<'_>) -> Result<Option<u64>> {
    read_number(rows, INTENDED)
}

fn read_number(rows: &Rows<'_>, row: &[u8]) -> Result<Option<u64>> {
    let stored = rows.get(CLUSTER, row)?;
    let stored = stored.and_then(|value| value.try_into().ok());
    Ok(stored.map(u64::from_le_bytes))
}

/// Forgets the log that this node was about to make.
pub(crate) fn forget_intended(rows: &mut Transaction<'_>) -> Result<()> {
    rows.remove(CLUSTER, INTENDED).map(drop)
}

/// Notes that shared rows of this file may be lost or older than they were, if it is in a cluster:
/// its node must join again.
pub(crate) fn note_doubt(rows: &mut Transaction<'_>, reason: &str) -> Result<()> {
    if rows.get(CLUSTER, POSITION)?.is_some() {
        rows.put(CLUSTER, DOUBT, reason.as_bytes())?;
    }
    Ok(())
}

/// The reason why shared rows of this file may be lost or older than they were; `None` if they are
/// believed.
pub(crate) fn read_doubt(rows: &Rows<'_>) -> Result<Option<String>> {
    let stored = rows.get(CLUSTER, DOUBT)?;
    Ok(stored.map(|reason| String::from_utf8_lossy(&reason).into_owned()))
}

/// Stores the position, and the beats up to it.
pub(crate) fn put_progress(rows: &mut Transaction<'_>, progress: &LogProgress) -> Result<()> {
    for BeatRow { node, value } in &progress.beats {
        let row_key = beat_row(*node);
        match value {
            Some(value) => rows.put(CLUSTER, &row_key, value)?,
            None => drop(rows.remove(CLUSTER, &row_key)?),
        }
    }
    put_position(rows, &progress.position)
}

/// The last beat of each node.
pub(crate) fn last_beats(rows: &Rows<'_>) -> Result<Vec<(NodeId, Vec<u8>)>> {
    let mut beats = Vec::new();
    let from_first = Span {
        from: BEAT,
        ..Span::ALL
    };
    rows.range(CLUSTER, from_first, &mut |row_key, value| {
        let Some(node) = node_of_beat(row_key) else {
            return Ok(ControlFlow::Continue(()));
        };
        beats.push((node, value.to_vec()));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(beats)
}

fn beat_row(node: NodeId) -> Vec<u8> {
    [BEAT, &node.0.to_be_bytes()].concat()
}

fn node_of_beat(row_key: &[u8]) -> Option<NodeId> {
    let node = row_key.strip_prefix(BEAT)?.try_into().ok()?;
    Some(NodeId(u64::from_be_bytes(node)))
}

/// The sum of the rows; 0 if none is kept.
pub(crate) fn read_sum(rows: &Rows<'_>) -> Result<u64> {
    let stored = rows.get(CLUSTER, SUM)?;
    let stored = stored.and_then(|value| value.try_into().ok());
    Ok(stored.map_or(0, u64::from_le_bytes))
}

/// Notes a frame as applied. Returns false if it was before, or belongs to an earlier incarnation
/// of its node: an append that was repeated is in the log twice.
pub(crate) fn note_frame(rows: &mut Transaction<'_>, origin: FrameOrigin) -> Result<bool> {
    let row_key = origin.node.0.to_be_bytes();
    if let Some(stored) = rows.get(CLUSTER, &row_key)? {
        let mut from = Decoder::new(&stored, VERSION, PLACE)?;
        let last = (from.integer()?, from.integer()?);
        if (origin.incarnation, origin.number) <= last {
            return Ok(false);
        }
    }
    let mut out = Encoder::new(VERSION);
    out.put_integer(origin.incarnation);
    out.put_integer(origin.number);
    rows.put(CLUSTER, &row_key, &out.finish())?;
    Ok(true)
}

/// Returns true for a row with a node's frames or beat, which is the same on all nodes. Position
/// and sum have names of other lengths.
pub(crate) fn is_node_row(row_key: &[u8]) -> bool {
    row_key.len() == size_of::<u64>() || node_of_beat(row_key).is_some()
}

/// The last incarnation of a node that has a frame in this file.
pub(crate) fn last_start(rows: &Rows<'_>, node: NodeId) -> Result<Option<u64>> {
    let Some(stored) = rows.get(CLUSTER, &node.0.to_be_bytes())? else {
        return Ok(None);
    };
    let mut from = Decoder::new(&stored, VERSION, PLACE)?;
    from.integer().map(Some)
}

/// Forgets the log.
pub(crate) fn forget_log(rows: &mut Transaction<'_>) -> Result<()> {
    for row_key in rows.row_keys(CLUSTER)? {
        rows.remove(CLUSTER, &row_key)?;
    }
    Ok(())
}
