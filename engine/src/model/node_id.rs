//! Identity of a data directory, as a node of a cluster or alone.

use std::fmt;

/// Identity of a node: a random number that its data directory was given when it was made. Unlike
/// the node's name, it is never used again by another data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
