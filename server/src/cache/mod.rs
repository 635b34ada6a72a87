//! Caches of one worker: hits and answers of searches, records, prepared and open files; and the
//! variants that all workers skip. All are bounded, as is [`ExpiringMap`].

mod address_answers;
mod address_items;
mod expiring_map;
mod generations;
mod open_files;
mod prepared_files;
mod record_locations;
mod search;
mod snapshot_cache;
mod useless_variants;

pub use address_answers::{AddressAnswer, AddressAnswers};
pub use address_items::{AddressItem, AddressItems, ItemTitle};
pub(crate) use expiring_map::ExpiringMap;
pub use open_files::{OpenFile, OpenFiles};
pub use prepared_files::{FilesVersion, PreparedFile, PreparedFileCache, PreparedTextCache};
pub use record_locations::{KnownRecord, RecordLocations};
pub use search::{CachedSearch, Finished, FoundHits, SearchCache};
pub use useless_variants::UselessVariants;
