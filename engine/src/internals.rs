//! Parts of the engine that only its measurements, fuzz targets and tests need.
//!
//! Not part of the library's interface: `bench` measures the steps of a search one by one, `fuzz`
//! feeds the decoders, and tests compare the engine with the oracle and run it on disks that fail.
//! A program that needs one of these names needs a method of [`Engine`](crate::Engine) instead.

pub use crate::codec::{decode_record, encode_record, fragment_id, fragment_time, write_fragment};
pub use crate::disk::{Fault, Faulty, IgnoredSyncs, PowerCut};
pub use crate::index::{
    Segment, SegmentBuilder, SegmentSummary, StoredDoc, Tombstones, merge, merge_memory_bytes,
};
pub use crate::limits::{
    DELTA_RECORDS_MAX, DESCRIPTION_CHARS_MAX, TITLE_CHARS_MAX, UPLOADER_CHARS_MAX,
};
pub use crate::name::{
    FolderSeason, NameDate, Named, NumberLookup, ParsedRelease, PathName, PathRefusal, QueryName,
    ReleaseKind, language_of, tells_date,
};
pub use crate::query::{ParsedText, oracle};
pub use crate::replication::{LogFault, MemoryLog};
pub use crate::search::SearchSteps;
pub use crate::text::{
    EpisodeMarker, EpisodeWord, Markers, SpanishRegion, YearMarker, described_flags, fold,
    fold_into, has_number, named_flags, spanish_region, title_key, words,
};
