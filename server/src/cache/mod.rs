//! What has a worker found before? Hits of searches, and open files; both bounded.

mod generations;
mod open_files;
mod search;
mod shelf;

pub use open_files::{OpenFile, OpenFiles};
pub use search::{CachedSearch, SearchCache};
pub use shelf::{Shelf, Title};
