//! `subcat import DIR`: a folder of subtitles (API.md 13.11).
//!
//! A folder is walked (`walk.rs`), the path of each file is read as a record (`record.rs`), its
//! content is stored unless that was done before (`memory.rs`, `scan.rs`), and the records that
//! differ from the last time are loaded as lines (`lines.rs`). `run.rs` puts that together.

mod corrections;
mod lines;
mod memory;
mod nfo;
mod path_list;
mod record;
mod report;
mod run;
mod scan;
mod table_of;
#[cfg(test)]
mod vectors_test;
mod walk;

pub(super) use run::{FolderImport, FolderNotes, PruneMode};
