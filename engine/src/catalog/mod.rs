//! The records: import, commit, flush and merge of segments, recovery, and the snapshot that
//! readers see.

mod event;
mod tables;
mod validate;
mod encoded_records;
mod memory_budget;
mod external_sort;
mod segment_files;
mod live_segment;
mod delta;
mod manifest_change;
mod writer;
mod catalog_store;
mod flush;
mod records;
mod containment;
mod index_witness;
mod index_check;
mod chunk;
mod import_summary;
mod import;
mod applier;
mod merge;
mod segment_repair;
mod recovery;
#[cfg(test)]
mod golden_test;

pub(crate) use applier::{CatalogApplier, CatalogFrame};
pub(crate) use catalog_store::Catalog;
pub use encoded_records::EncodedRecords;
pub(crate) use event::{CatalogEvent, CatalogOutcome};
pub(crate) use external_sort::ExternalSorter;
pub(crate) use import::{each_group, preview_records};
pub use import_summary::ImportSummary;
pub(crate) use index_check::IndexFinding;
pub(crate) use segment_files::SegmentFiles;
pub(crate) use tables::{
    ACTIVE, CATALOG_TABLES, DAMAGED, INDEX_VERSION, JOURNAL, META, RECORDS, SEGMENTS,
    SHARED_CATALOG_TABLES, TOMBSTONES, damaged_record,
};
