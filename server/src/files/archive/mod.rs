//! Archives, read within one budget: their directory, and one of their files at a time.
//!
//! Everything here parses bytes of unknown origin. Each step of a directory leads forward, names
//! are cut before they are decoded, and unpacking is bounded in bytes, memory and time.
//!
//! Source: API.md 16.1 to 16.4.

mod entry;
mod error;
mod rar;
mod reader;
#[cfg(test)]
mod samples;
mod texts;
#[cfg(test)]
mod unar_test;
mod zip;

pub use entry::{ArchiveEntry, EntryKind};
pub use error::ArchiveError;
pub use reader::Archive;
#[cfg(test)]
pub(super) use samples::{Sample, rar4_of, rar5_of, zip_of};
pub use texts::{ArchiveText, archive_texts, unpack_text};
