//! Cached files, stored under the SHA-256 of their content.
//!
//! `blobs/ab/<sha256>` holds a content as it came; `<sha256>.gz` and `<sha256>.br` beside it are
//! compressed variants, which may be deleted at any time. Identical contents share one file. The
//! time of a content's last change is that of its last service, if there is a limit of all files.

mod blob_store;
mod open_blob;

pub(crate) use blob_store::{BlobFinding, BlobStore, Orphan, StoredContent};
pub use open_blob::Blob;
