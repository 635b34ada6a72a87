//! Messages between nodes with their counts of rate limit windows.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version, 1 |
//! | 8 | node |
//! | 8 | incarnation of the node: its ticks begin anew with each |
//! | 8 | tick at which the message was made |
//! | 25 each | kind (1), id (8), seconds (4), tick at which the window opened (8), requests (4) |
//!
//! A kind is 0, a key, or 1, an account; the seconds are the length of an account's window, where 0
//! is the server's length.
//!
//! Integers are little-endian.

use std::num::NonZeroU32;

use subcat_engine::{AccountId, ApiKeyId, NodeId};

use crate::auth::WindowOwner;
use crate::limiter::OpenWindow;
use crate::limits::{COUNTS_SENT_MAX, WINDOW_REQUESTS_MAX};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 25;
const COUNT_BYTES: usize = 25;
const KIND_API_KEY: u8 = 0;
const KIND_ACCOUNT: u8 = 1;
const KIND_ACCOUNT_ADDRESSES: u8 = 2;

/// Counts of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CountMessage {
    pub node: NodeId,
    pub incarnation: u64,
    /// Tick of the node at which it made the message.
    pub tick: u64,
    pub counts: Vec<NodeCount>,
}

/// Requests that one node admitted in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeCount {
    pub owner: WindowOwner,
    /// Tick of the node at which its window opened.
    pub opened_tick: u64,
    pub count: u32,
}

impl NodeCount {
    pub(super) fn new(owner: WindowOwner, open: OpenWindow) -> Self {
        Self {
            owner,
            opened_tick: open.opened_tick,
            count: open.count,
        }
    }
}

impl CountMessage {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(HEADER_BYTES + self.counts.len() * COUNT_BYTES);
        body.push(VERSION);
        body.extend(self.node.0.to_le_bytes());
        body.extend(self.incarnation.to_le_bytes());
        body.extend(self.tick.to_le_bytes());
        for count in &self.counts {
            let (kind, id, seconds) = match count.owner {
                WindowOwner::ApiKey(id) => (KIND_API_KEY, id.0, 0),
                WindowOwner::Account(id, seconds) => {
                    (KIND_ACCOUNT, id.0, seconds.map_or(0, NonZeroU32::get))
                }
                WindowOwner::AccountAddresses(id, seconds) => {
                    let seconds = seconds.map_or(0, NonZeroU32::get);
                    (KIND_ACCOUNT_ADDRESSES, id.0, seconds)
                }
            };
            body.push(kind);
            body.extend(id.to_le_bytes());
            body.extend(seconds.to_le_bytes());
            body.extend(count.opened_tick.to_le_bytes());
            body.extend(count.count.to_le_bytes());
        }
        body
    }

    /// Reads a message; `None` if it is not one.
    pub(super) fn decode(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        if take::<1>(&mut rest)? != [VERSION] {
            return None;
        }
        let node = NodeId(u64::from_le_bytes(take(&mut rest)?));
        let incarnation = u64::from_le_bytes(take(&mut rest)?);
        let tick = u64::from_le_bytes(take(&mut rest)?);
        if COUNTS_SENT_MAX * COUNT_BYTES < rest.len() {
            return None;
        }
        let mut counts = Vec::with_capacity(rest.len() / COUNT_BYTES);
        while !rest.is_empty() {
            let count = take_count(&mut rest)?;
            if tick < count.opened_tick {
                return None;
            }
            counts.push(count);
        }
        Some(Self {
            node,
            incarnation,
            tick,
            counts,
        })
    }
}

fn take_count(rest: &mut &[u8]) -> Option<NodeCount> {
    let [kind] = take(rest)?;
    let id = u64::from_le_bytes(take(rest)?);
    let seconds = NonZeroU32::new(u32::from_le_bytes(take(rest)?));
    let opened_tick = u64::from_le_bytes(take(rest)?);
    let count = u32::from_le_bytes(take(rest)?);
    let owner = match (kind, seconds) {
        (KIND_API_KEY, None) => WindowOwner::ApiKey(ApiKeyId(id)),
        (KIND_ACCOUNT, seconds) => WindowOwner::Account(AccountId(id), seconds),
        (KIND_ACCOUNT_ADDRESSES, seconds) => WindowOwner::AccountAddresses(AccountId(id), seconds),
        _ => return None,
    };
    if count == 0 || WINDOW_REQUESTS_MAX < count {
        return None;
    }
    Some(NodeCount {
        owner,
        opened_tick,
        count,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message() -> CountMessage {
        let count = |owner| NodeCount {
            owner,
            opened_tick: 7,
            count: 3,
        };
        CountMessage {
            node: NodeId(1),
            incarnation: 2,
            tick: 9,
            counts: vec![
                count(WindowOwner::ApiKey(ApiKeyId(5))),
                count(WindowOwner::Account(AccountId(6), None)),
                count(WindowOwner::AccountAddresses(AccountId(6), None)),
                count(WindowOwner::Account(AccountId(6), NonZeroU32::new(10))),
            ],
        }
    }

    #[test]
    fn what_is_cut_or_false_is_refused() {
        let body = message().encode();
        assert_eq!(CountMessage::decode(&body), Some(message()));
        for end in 0..body.len() {
            let is_whole = HEADER_BYTES <= end && (end - HEADER_BYTES).is_multiple_of(COUNT_BYTES);
            assert_eq!(
                CountMessage::decode(&body[..end]).is_some(),
                is_whole,
                "{end}"
            );
        }
        // The version, the kind, the seconds of a key, a window of the future, too many requests.
        for (place, byte) in [(0, 9), (25, 9), (34, 1), (38, 10), (49, 255)] {
            let mut body = body.clone();
            body[place] = byte;
            assert_eq!(CountMessage::decode(&body), None, "{place}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_or_a_message(
            body in proptest::collection::vec(any::<u8>(), 0..200),
            is_version_right: bool,
        ) {
            let mut body = body;
            if is_version_right && let Some(version) = body.first_mut() {
                *version = VERSION;
            }
            if let Some(message) = CountMessage::decode(&body) {
                prop_assert_eq!(message.encode(), body);
            }
        }
    }
}
