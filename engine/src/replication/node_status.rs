//! State of a node according to its beats, and the row that keeps it over a restart.

use std::time::Duration;

use super::frame::Beat;
use crate::codec::{Codec, Decoder, Encoder};
use crate::error::Result;
use crate::log_rows::{BeatRow, FrameOrigin};
use crate::model::NodeId;

const VERSION: u8 = 1;
/// Name of the row in errors.
const PLACE: &str = "a beat in table cluster";

/// State of a node as known to this one, from its beats.
#[derive(Debug, Clone)]
pub struct NodeStatus {
    /// The node.
    pub node: NodeId,
    /// The last beat of the node.
    pub beat: Beat,
    /// Sequence number of the beat's entry; 0 if it was in a log before this one.
    pub beat_seq: u64,
    /// Latest time of the clock at which it may have been given, and not before the start here: a
    /// beat that is read during a catch-up is as old as the end of the log that was seen.
    pub heard_at: Duration,
    /// True if its rows differ from those of this node.
    pub is_diverged: bool,
    /// Frame of the beat: earlier ones of the node are ignored.
    pub(super) origin: FrameOrigin,
}

impl NodeStatus {
    /// The row that keeps it.
    pub(super) fn to_row(&self) -> BeatRow {
        let mut out = Encoder::new(VERSION);
        out.put_integer(self.origin.incarnation);
        out.put_integer(self.origin.number);
        out.put_integer(self.beat_seq);
        self.beat.put(&mut out);
        BeatRow {
            node: self.node,
            value: Some(out.finish()),
        }
    }

    /// Status of a node with such a row and no beat since the start.
    pub(super) fn from_row(node: NodeId, stored: &[u8], now: Duration) -> Result<Self> {
        let mut from = Decoder::new(stored, VERSION, PLACE)?;
        let origin = FrameOrigin {
            node,
            incarnation: from.integer()?,
            number: from.integer()?,
        };
        let status = Self {
            node,
            beat_seq: from.integer()?,
            beat: Codec::take(&mut from)?,
            heard_at: now,
            is_diverged: false,
            origin,
        };
        from.finish()?;
        Ok(status)
    }
}

/// The row of a node in a log that is made anew, where it has given no beat. A node that was
/// stopped does not come back there under its id; any other may accept keys for a while.
pub(super) fn unheard_row(node: NodeId, stored: &[u8]) -> Result<BeatRow> {
    let mut status = NodeStatus::from_row(node, stored, Duration::ZERO)?;
    if status.beat.applied == Beat::ACCEPTS_NOTHING {
        return Ok(BeatRow { node, value: None });
    }
    status.beat_seq = 0;
    status.beat.applied = 0;
    status.beat.hashed_at = 0;
    Ok(status.to_row())
}
