//! Parts of the engine that only its measurements, fuzz targets and tests need.
//!
//! Only there with the feature `testing`, which no program has: `bench` measures the steps of a
//! search one by one, `fuzz` feeds the decoders, and tests compare the engine with the oracle and
//! run it on failing disks. A program that needs one of these names needs a method of
//! [`Engine`](crate::Engine) instead.

pub use crate::codec::{decode_record, encode_record, fragment_fields, write_fragment};
pub use crate::counters::DownloadTable;
pub use crate::disk::{Fault, Faulty, IgnoredSyncs, PowerCut};
pub use crate::index::{Segment, SegmentBuilder, Tombstones, merge, merge_memory_bytes};
pub use crate::limits::{
    DELTA_RECORDS_MAX, DESCRIPTION_CHARS_MAX, TITLE_CHARS_MAX, UPLOADER_CHARS_MAX,
};
pub use crate::query::{ParsedText, oracle};
pub use crate::replication::{LogFault, MemoryLog};
pub use crate::search::SearchSteps;
pub use crate::text::{
    EpisodeWord, Markers, SpanishRegion, described_flags, fold_into, has_number, spanish_region,
    title_key,
};
