//! The one trait by which the engine opens, maps, syncs and renames files.

/// A file system: real, or simulated with faults.
pub trait Disk: Send + Sync {}
