//! Cached files, stored under the SHA-256 of their content.
//!
//! `blobs/ab/<sha256>` holds a content as it came; `<sha256>.gz` and `<sha256>.br` beside it are
//! compressed variants, which may be deleted at any time. Identical contents share one file.

mod blob_store;
mod open_blob;

pub(crate) use blob_store::{BlobFinding, BlobStore, Orphan};
pub use open_blob::Blob;
