//! The engine beside other search engines: the same records and queries in one run, one thread,
//! CPU time. Each peer is set up at its best for this job, and its answers are checked.

mod peer;
mod tantivy_index;
mod sqlite_index;
mod ours;
mod contest;
mod page;

pub use contest::Contest;
