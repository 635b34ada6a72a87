//! Frames: the content of one append to the log.

use xxhash_rust::xxh3::xxh3_64;

use super::log::LogEntry;
use crate::catalog::CatalogEvent;
use crate::codec::{Codec, Decoder, Encoder, codec};
use crate::error::{Error, Result};
use crate::log_rows::{FRAME_VERSION, FrameOrigin};
use crate::model::NodeId;
use crate::state::StateEvent;

/// Name of a frame in errors.
const PLACE: &str = "a frame of the log";
/// Bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 8;

/// Versions of frames, and of their events, that a program knows. A node that meets a later one
/// stops applying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameVersions {
    /// The oldest version that it writes; it reads all older ones, too.
    pub(crate) oldest: u8,
    pub(crate) newest: u8,
}

impl FrameVersions {
    /// Versions of this program: while nodes are upgraded, it writes what the program before reads.
    pub(crate) const OF_THIS_PROGRAM: Self = Self {
        oldest: FRAME_VERSION,
        newest: FRAME_VERSION,
    };
}

/// Events of one node, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogFrame {
    pub(super) version: u8,
    /// Epoch of the log that the frame was made for.
    pub(super) epoch: u64,
    pub(super) origin: FrameOrigin,
    pub(super) events: Vec<Event>,
}

/// One change, or a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Catalog(CatalogEvent),
    State(StateEvent),
    Beat(Beat),
    Departure(Departure),
}

codec! {
    enum Event, "a kind of event, 0 to 3" {
        0 => Catalog(event),
        1 => State(event),
        2 => Beat(beat),
        3 => Departure(departure),
    }
}

/// End of a node's time in the cluster, announced by the node or by an operator. Other nodes stop
/// waiting for it; if it gives another beat, it is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) node: NodeId,
    /// The last entry known to the author: a beat after it voids this departure.
    pub(super) as_of: u64,
}

codec! { struct Departure { node, as_of } }

/// A node's heartbeat, every other second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// Name of the node, from its settings.
    pub name: String,
    /// Version of its program.
    pub version: String,
    /// Sequence number of the last entry that the node has applied and shows.
    pub applied: u64,
    /// Entry before which `state_hash` was taken.
    pub hashed_at: u64,
    /// Sum of the rows of both files at that entry: the same on all nodes.
    pub state_hash: u64,
    /// The newest version of frames that it reads.
    pub reads: u8,
    /// Time for which it accepts keys after this beat.
    pub promise: BeatPromise,
    /// False if it does not apply what it reads.
    pub can_apply: bool,
    /// Free bytes of its disk; 0 if they are not known.
    pub free_bytes: u64,
}

/// A node's promise to the others about requests with keys, until its next beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeatPromise {
    /// Milliseconds after the beat was given for which it accepts them at most; `u64::MAX` without
    /// end.
    pub accepts_ms: u64,
    /// Its setting `cluster.auth_max_stale_seconds`.
    pub stale_seconds: u64,
}

impl Beat {
    /// `applied` of a node that was stopped and accepts no requests: it obeys every entry.
    pub const ACCEPTS_NOTHING: u64 = u64::MAX;
}

impl LogFrame {
    /// The bytes that are appended.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::new(self.version);
        self.epoch.put(&mut out);
        self.origin.node.put(&mut out);
        self.origin.incarnation.put(&mut out);
        self.origin.number.put(&mut out);
        self.events.put(&mut out);
        let mut bytes = out.finish();
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes a frame.
    ///
    /// Errors: the bytes are damaged ([`Error::Corrupt`]), or their version is above `newest`
    /// ([`Error::NewerValue`]).
    pub(super) fn decode(bytes: &[u8], newest: u8) -> Result<Self> {
        let checked = bytes.split_last_chunk::<CHECKSUM_BYTES>();
        let checked = checked.filter(|(frame, sum)| xxh3_64(frame).to_le_bytes() == **sum);
        let Some((frame, _)) = checked else {
            return Err(Error::corrupt(PLACE, 0, "bytes that match their checksum"));
        };
        let found = frame.first().copied().unwrap_or(0);
        let version = found.clamp(FRAME_VERSION, newest);
        let mut from = Decoder::new(frame, version, PLACE)?;
        let epoch = Codec::take(&mut from)?;
        let origin = FrameOrigin {
            node: Codec::take(&mut from)?,
            incarnation: Codec::take(&mut from)?,
            number: Codec::take(&mut from)?,
        };
        let events = Codec::take(&mut from)?;
        from.finish()?;
        Ok(Self {
            version,
            epoch,
            origin,
            events,
        })
    }
}

impl LogEntry {
    /// Digest of the entry, which distinguishes a log from another. Snapshots and positions have
    /// that of their last entry.
    pub fn digest(&self) -> u64 {
        digest_of(&self.body)
    }
}

pub(super) fn digest_of(body: &[u8]) -> u64 {
    xxh3_64(body)
}

impl Codec for Beat {
    fn put(&self, out: &mut Encoder) {
        self.name.put(out);
        self.version.put(out);
        self.applied.put(out);
        self.hashed_at.put(out);
        out.put_raw(&self.state_hash.to_le_bytes());
        out.put_u8(self.reads);
        self.promise.accepts_ms.put(out);
        self.promise.stale_seconds.put(out);
        self.can_apply.put(out);
        self.free_bytes.put(out);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self {
            name: Codec::take(from)?,
            version: Codec::take(from)?,
            applied: Codec::take(from)?,
            hashed_at: Codec::take(from)?,
            state_hash: u64::from_le_bytes(from.array()?),
            reads: from.u8()?,
            promise: BeatPromise {
                accepts_ms: Codec::take(from)?,
                stale_seconds: Codec::take(from)?,
            },
            can_apply: Codec::take(from)?,
            free_bytes: Codec::take(from)?,
        })
    }
}
