//! Messages between nodes that may be lost.

use subcat_engine::NodeId;

/// Messages between nodes. One may be lost, or come late; no call waits, and none fails: a failure
/// is logged once, and nothing comes until it is over.
pub trait Exchange: Send + Sync {
    /// Sends a message to the other nodes. A newer one replaces it if it was not sent yet.
    fn publish(&self, node: NodeId, body: Vec<u8>);

    /// Messages that have come since the last call. A node's own may be among them.
    fn take(&self) -> Vec<Vec<u8>>;
}
