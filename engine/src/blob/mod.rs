//! Cached files, stored under the SHA-256 of their content.
//!
//! `blobs/ab/<sha256>` holds a content as it came; `<sha256>.gz` and `<sha256>.br` beside it are
//! compressed variants, which may be deleted at any time. Identical contents share one file. The
//! time of a content's last change is that of its last service, if there is a limit of all files.
//!
//! Contents may have a second home, object storage: then those that were not served lately leave
//! this machine and come back when they are wanted (`second_home.rs`).

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
pub use second_home::BlobSource;
pub(crate) use second_home::SecondHome;
