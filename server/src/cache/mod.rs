//! Caches of one worker: hits and answers of searches, records, prepared and open files. All are
//! bounded.

mod generations;
mod open_files;
mod prepared_files;
mod record_locations;
mod search;
mod snapshot_cache;

pub use open_files::{OpenFile, OpenFiles};
pub use prepared_files::{FilesVersion, PreparedFile, PreparedFileCache};
pub use record_locations::RecordLocations;
pub use search::{CachedSearch, Finished, SearchCache};
