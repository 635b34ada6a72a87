//! Frames: what one append puts into the log.

use xxhash_rust::xxh3::xxh3_64;

use super::event_codec::{catalog_event, put_all, put_catalog_event, put_state_event, state_event};
use crate::catalog::CatalogEvent;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::log_rows::FrameOrigin;
use crate::model::NodeId;
use crate::state::StateEvent;

/// Version of frames and of what events mean: a node that meets a later one stops applying.
const VERSION: u8 = 1;
/// Name of a frame in errors.
const PLACE: &str = "a frame of the log";
/// Bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 8;

/// Events of one node, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogFrame {
    /// Number of the log that it was made for.
    pub(super) epoch: u64,
    pub(super) origin: FrameOrigin,
    pub(super) events: Vec<Event>,
}

/// One change, or a sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Catalog(CatalogEvent),
    State(StateEvent),
    Beat(Beat),
}

/// A node's sign of life, every other second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// Name of the node, as its settings have it.
    pub name: String,
    /// Version of its program.
    pub version: String,
    /// Number of the last entry that it has applied and shows.
    pub applied: u64,
    /// Entry before which `state_hash` was taken.
    pub hashed_at: u64,
    /// Sum of the rows of both files then: the same on all nodes.
    pub state_hash: u64,
}

impl LogFrame {
    /// The bytes that are appended.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::new(VERSION);
        out.put_integer(self.epoch);
        out.put_integer(self.origin.node.0);
        out.put_integer(self.origin.incarnation);
        out.put_integer(self.origin.number);
        put_all(&mut out, &self.events, |out, event| match event {
            Event::Catalog(event) => {
                out.put_u8(0);
                put_catalog_event(out, event);
            }
            Event::State(event) => {
                out.put_u8(1);
                put_state_event(out, event);
            }
            Event::Beat(beat) => {
                out.put_u8(2);
                put_beat(out, beat);
            }
        });
        let mut bytes = out.finish();
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// The frame that these bytes are.
    ///
    /// Errors: they are damaged ([`Error::Corrupt`]), or a newer version has written them
    /// ([`Error::NewerValue`]).
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let checked = bytes.split_last_chunk::<CHECKSUM_BYTES>();
        let checked = checked.filter(|(frame, sum)| xxh3_64(frame).to_le_bytes() == **sum);
        let Some((frame, _)) = checked else {
            return Err(Error::corrupt(PLACE, 0, "bytes that match their checksum"));
        };
        let mut from = Decoder::new(frame, VERSION, PLACE)?;
        let epoch = from.integer()?;
        let origin = FrameOrigin {
            node: NodeId(from.integer()?),
            incarnation: from.integer()?,
            number: from.integer()?,
        };
        let count = from.integer()?;
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(match from.u8()? {
                0 => Event::Catalog(catalog_event(&mut from)?),
                1 => Event::State(state_event(&mut from)?),
                2 => Event::Beat(beat(&mut from)?),
                _ => return Err(from.error("a kind of event, 0 to 2")),
            });
        }
        from.finish()?;
        Ok(Self {
            epoch,
            origin,
            events,
        })
    }
}

/// Digest of an entry, by which a log is told from another.
pub(super) fn digest_of(body: &[u8]) -> u64 {
    xxh3_64(body)
}

fn put_beat(out: &mut Encoder, beat: &Beat) {
    out.put_text(&beat.name);
    out.put_text(&beat.version);
    out.put_integer(beat.applied);
    out.put_integer(beat.hashed_at);
    out.put_raw(&beat.state_hash.to_le_bytes());
}

fn beat(from: &mut Decoder<'_>) -> Result<Beat> {
    Ok(Beat {
        name: from.text()?.to_owned(),
        version: from.text()?.to_owned(),
        applied: from.integer()?,
        hashed_at: from.integer()?,
        state_hash: u64::from_le_bytes(from.array()?),
    })
}
