//! [`Engine`], the entry point of the library.

mod accounts_handle;
mod catalog_handle;
mod files_handle;
mod usage_handle;
mod open;
mod cluster;

#[cfg(test)]
mod audit_test;
#[cfg(test)]
mod backup_test;
#[cfg(test)]
mod bounds_test;
#[cfg(test)]
mod accounts_test;
#[cfg(test)]
mod clock_test;
#[cfg(test)]
mod cluster_faults_test;
#[cfg(test)]
mod cluster_lag_test;
#[cfg(test)]
mod cluster_promises_test;
#[cfg(test)]
mod cluster_test;
#[cfg(test)]
mod cluster_nodes_test;
#[cfg(test)]
mod counters_test;
#[cfg(test)]
mod damaged_rows_test;
#[cfg(test)]
mod database_test;
#[cfg(test)]
mod faults_test;
#[cfg(test)]
mod formats_test;
#[cfg(test)]
mod healing_test;
#[cfg(test)]
mod histories_test;
#[cfg(test)]
mod largest_events_test;
#[cfg(test)]
mod lost_records_test;
#[cfg(test)]
mod lost_writes_test;
#[cfg(test)]
mod pending_changes_test;
#[cfg(test)]
mod records_test;
#[cfg(test)]
mod second_home_test;
#[cfg(test)]
mod segment_damage_test;
#[cfg(test)]
mod tasks_test;
#[cfg(test)]
mod test_support;

pub use accounts_handle::AccountsHandle;
pub use catalog_handle::CatalogHandle;
pub use files_handle::FilesHandle;
pub use open::{Engine, Options, StoreKind};
pub use usage_handle::UsageHandle;
