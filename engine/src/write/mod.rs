//! Everything that changes state: imports, commits, flushes and merges, counters, recovery, scrub.
//!
//! [`Database`] holds the open parts of a data directory together. Two functions change the truth,
//! one per file: `apply_state` and `apply_catalog`; everything else decides what to hand them, and
//! makes readers see what they did.

#[cfg(test)]
mod audit_test;
mod backup;
#[cfg(test)]
mod backup_test;
mod database;
#[cfg(test)]
mod database_test;
mod restore;
mod stats;
mod verify;

pub use backup::BackupSummary;
pub(crate) use database::Database;
pub use restore::{Restored, restore};
pub use stats::EngineStats;
pub use verify::Finding;
