//! Download counters: one log file per lane, aggregated into `state.redb`, and the counts in
//! memory.

mod busiest;
mod most_downloaded;
mod log_file;
mod download_counts;
mod lanes;

pub(crate) use busiest::BusiestRecords;
pub use download_counts::{DownloadTable, OwnDownloads};
pub use lanes::CounterLane;
pub(crate) use lanes::Counters;
