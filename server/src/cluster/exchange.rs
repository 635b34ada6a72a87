//! Messages between nodes that may be lost.

use subcat_engine::NodeId;

/// Kind of a message: one that was not sent yet is replaced by one of the same kind alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// All counts of a node.
    Round = 0,
    /// The part that cannot wait for the next round.
    ShortRound = 1,
}

impl MessageKind {
    /// Both kinds, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Round, Self::ShortRound];
}

/// Messages between nodes. One may be lost, or come late; no call waits, and none fails: a failure
/// is logged once, and no message arrives until it is resolved.
pub trait Exchange: Send + Sync {
    /// Sends a message to the other nodes. A newer one of its kind replaces it if it was not sent
    /// yet.
    fn publish(&self, node: NodeId, kind: MessageKind, body: Vec<u8>);

    /// Messages that have come since the last call. A node's own may be among them.
    fn take(&self) -> Vec<Vec<u8>>;
}
