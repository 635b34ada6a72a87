//! What has a worker found before? Hits of searches, records, and open files; all bounded.

mod generations;
mod open_files;
mod record_locations;
mod search;
mod prepared_files;

pub use open_files::{OpenFile, OpenFiles};
pub use prepared_files::{PreparedFile, PreparedFileCache};
pub use record_locations::RecordLocations;
pub use search::{CachedSearch, Finished, SearchCache};
