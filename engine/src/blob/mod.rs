//! Cached files, stored under the SHA-256 of their content.
//!
//! `blobs/ab/<sha256>` holds a blob as it came; `<sha256>.gz` and `<sha256>.br` beside it are
//! compressed variants, which may be deleted at any time. Identical files share one blob. With a
//! limit on the size of all files, a blob's modification time is the time at which it was last
//! served.
//!
//! Blobs may have a second home, object storage: then those that were not served lately leave this
//! machine and come back when they are requested (`second_home.rs`).

mod blob_store;
mod inventory;
mod open_blob;
mod put_many;
mod second_home;
mod uploads;

pub(crate) use blob_store::BlobStore;
pub use blob_store::hash_of;
pub(crate) use inventory::{BlobFinding, Orphan, StoredContent};
pub use open_blob::Blob;
pub(crate) use second_home::SecondHome;
pub use second_home::{BlobAnswer, BlobSource};
