//! Maintenance of a whole data directory: backup, restore, verification, statistics.

mod schedule;
mod compact;
mod stats;
mod verify;
mod backup;
mod backup_series;
mod restore;
mod orphans;
mod eviction;
mod scrub;
mod tasks;
mod uploads;
mod salvage;

pub use backup::BackupSummary;
pub(crate) use backup::backup;
pub use backup_series::{DatedBackup, newest_backup};
pub(crate) use backup_series::{back_up_dated, remove_older};
pub use compact::CompactedStore;
pub(crate) use compact::compact;
pub use restore::{Restored, restore};
pub use salvage::salvage;
pub use stats::EngineStats;
pub(crate) use stats::stats;
pub use tasks::MaintenanceTask;
pub(crate) use tasks::Tasks;
pub use verify::Finding;
pub(crate) use verify::verify;
