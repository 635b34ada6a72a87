//! The records: import, commit, flush and merge of segments, recovery, and the snapshot that
//! readers see.

mod event;
mod tables;
mod validate;
mod external_sort;
mod segment_files;
mod catalog_store;
mod import;
mod merge;
mod recovery;

pub(crate) use catalog_store::Catalog;
pub(crate) use event::{CatalogEvent, CatalogOutcome};
pub use import::{ImportSummary, Importer};
pub(crate) use segment_files::{SegmentFiles, file_name};
pub(crate) use tables::{
    ACTIVE, CATALOG_TABLES, INDEX_VERSION, JOURNAL, META, ManifestEntry, RECORDS, SEGMENTS,
    TOMBSTONES, record_id_of,
};
