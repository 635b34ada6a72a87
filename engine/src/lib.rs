//! The subtitle catalog as a library: records in, searches and files out.
//!
//! The engine is synchronous. It knows no HTTP, no runtime, no clock and no randomness of its own:
//! they come in as parameters. [`Engine`] is the entry point.
//!
//! Open a data directory, import records, search:
//!
//! ```
//! use std::sync::Arc;
//! use subcat_engine::{
//!     DraftValue, Engine, Filters, NodeId, Options, Query, Real, RecordDraft, SearchText,
//!     StoreKind,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let (disk, store) = (Arc::new(Real), StoreKind::Redb);
//! let options = Options { disk, store, counter_lanes: 0, node: NodeId(1) };
//! let engine = Engine::open(&dir.path().join("data"), options)?;
//!
//! let mut importer = engine.catalog().importer();
//! for (release, title) in [("1", "Ran"), ("2", "Dersu Uzala")] {
//!     importer.push(RecordDraft {
//!         source_release_id: DraftValue::Text(release.into()),
//!         title: DraftValue::Text(title.into()),
//!         video_type: DraftValue::Text("movie".into()),
//!         posted_at: DraftValue::Text("2020-01-02T03:04:05Z".into()),
//!         ..RecordDraft::default()
//!     })??;
//! }
//! assert_eq!(importer.finish(&mut |_| {})?.inserted, 2);
//!
//! let query = Query::new(Filters::default(), 10).with_query(SearchText::query("dersu")?);
//! let snapshot = engine.catalog().snapshot();
//! let hits = snapshot.search(&query)?;
//! assert_eq!(hits.total(), 1);
//! let doc = snapshot.hit_doc(&hits, 0)?;
//! assert_eq!(doc.source_release_id(), Some("2"));
//! # drop(snapshot);
//! engine.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! A request has at least one criterion, any filters, and a page size. A filter lets records
//! without a year pass:
//!
//! ```
//! use std::sync::Arc;
//! use subcat_engine::{CatalogTerm, Filters, Language, Query, SearchText, VideoType, Year};
//! # use subcat_engine::{Engine, NodeId, Options, Real, StoreKind};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (disk, store) = (Arc::new(Real), StoreKind::Memory);
//! # let options = Options { disk, store, counter_lanes: 0, node: NodeId(1) };
//! # let engine = Engine::open("unused".as_ref(), options)?;
//! let filters = Filters {
//!     year: Year::new(1985),
//!     video_type: Some(VideoType::Movie),
//!     language: Language::parse("es-MX"),
//!     ..Filters::default()
//! };
//! let query = Query::new(filters, 20)
//!     .with_title(SearchText::title("Ran"))
//!     .with_catalog_id(Some(CatalogTerm::parse("tt0089881")));
//! assert!(query.has_criterion());
//! let hits = engine.catalog().snapshot().search(&query)?;
//! assert!(hits.is_empty(), "nothing was imported");
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` holds three short programs: `open_and_search`, `import` and `explain`.
//!
//! Modules are declared bottom-up; a module imports only from modules above it.
#![deny(unsafe_code)]

mod limits;
mod error;
mod block_on;
mod damage;
mod disk;
mod model;
mod text;
mod name;
mod codec;
mod query;
mod choice;
mod blob;
mod store;
mod log_rows;
mod data_dir;
mod state;
mod counters;
mod index;
mod plan;
mod search;
mod catalog;
mod replication;
mod database;
mod maintenance;
mod engine;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod internals;

/// An open data directory, its handles, and how to open one.
pub use engine::{
    AccountsHandle, CatalogHandle, Engine, FilesHandle, Options, StoreKind, UsageHandle,
};

/// Waiting for a future on a thread that may block.
pub use block_on::block_on;

/// Errors, and damage that was contained.
pub use damage::DamageEntry;
pub use error::{Error, Result, error_chain};
pub use store::is_panic_contained;

/// The file system below an engine.
pub use disk::{
    DirEntry, DirLock, Disk, DiskFile, Mapping, OsFile, Real, TruncationFlag, WholeSync,
    WritableMapping,
};

/// Records, and drafts of them.
pub use model::{
    CatalogId, DraftField, DraftValue, FieldError, Flag, FlagSet, Language, Number, Record,
    RecordDraft, RecordFlags, RecordId, ReleaseId, VideoType, Year,
};

/// Importing records and folders.
pub use catalog::{EncodedRecords, ImportSummary};
pub use model::ImportedPath;
pub use replication::Importer;

/// Search requests.
pub use query::{
    CatalogTerm, Filters, FlagFilter, HitOrder, LanguageTerm, PackFilter, Query, SearchText,
    TooManyWords, release_word_weight,
};

/// Folded texts and their words.
pub use text::{fold, without_accents, without_ending, words};

/// Names of files, releases and queries, read.
pub use name::{
    CorrectedPath, FolderSeason, NameDate, Named, NumberLookup, ParsedRelease, PathName,
    PathRefusal, QueryName, ReleaseFacts, ReleaseKind, ToldLanguage, is_file_ending, language_of,
    language_of_folder,
};

/// Choosing a text of an archive.
pub use choice::{
    ChoiceRecord, ListedNumbers, TextCandidate, TextRequest, choose_text, listed_numbers,
};

/// Searching a snapshot, and what is found.
pub use codec::AnswerFields;
pub use search::{
    CostValue, Doc, EpisodeSlot, Explanation, Hit, HitExplanation, Hits, ListOrder, ListPage,
    Listing, LocatedHits, PlanStep, RecordLocation, SegmentExplanation, Snapshot, TitlePart,
    WordOfRelease,
};

/// Cached files.
pub use blob::{Blob, BlobAnswer, BlobSource, hash_of};
pub use model::{BroughtFile, CachedFile, ContentHash, FileFacts, FileKind, FileName, Variant};

/// Accounts, API keys and sessions.
pub use model::{
    Account, AccountId, ApiKey, ApiKeyId, ApiKeyState, AuditEntry, DisplayName, Email, Expiry,
    ExpiryPassed, KeyName, LinkPurpose, OneTimeLink, RateLimit, Role, SEALED_SECRET_BYTES, Scopes,
    SecondStep, Session, StepSecret, UsedCode,
};

/// Events: changes of accounts, keys, files and usage.
pub use state::{
    AggregatedPart, By, Change, DownloadAggregate, KeyBound, KeyRenewal, KeyRoll, NewAccount,
    NewApiKey, Outcome, RememberedFile, StateEvent, TouchedCredentials, UsageBatch, UsageDelta,
};

/// Usage and time.
pub use counters::{CounterLane, OwnDownloads};
pub use model::{Day, Timestamp, Usage};

pub use log_rows::LogPosition;
/// A cluster: its log, its nodes.
pub use model::NodeId;
pub use replication::{
    AppendError, Beat, BeatPromise, Log, LogEntry, LogState, MonotonicClock, NodeStatus,
    PendingChange, ReadError, Replica, ReplicaProgress, ReplicaStatus, SnapshotSummary, next_epoch,
};

/// Care of a data directory.
pub use data_dir::SEALING_KEY_BYTES;
pub use maintenance::{
    BackupSummary, CompactedStore, DatedBackup, EngineStats, Finding, MaintenanceTask, Restored,
    newest_backup, restore, salvage,
};

/// Bounds that callers check or show.
pub use limits::{
    AGGREGATE_SECONDS_MAX, BLOB_BYTES_MAX, BROUGHT_FILES_MAX, CLOCK_STEP_SECONDS_MAX,
    DISPLAY_NAME_CHARS_MAX, FIGURE_DAYS_MAX, FIGURES_MAX, FREE_BYTES_MIN, LINK_SECONDS_MAX,
    OPEN_BLOBS_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, QUERY_WORDS_MAX, ROLL_DAYS_MAX,
    SEARCH_TEXT_CHARS_MAX, SEARCH_YEAR_MIN, USAGE_DELTAS_MAX, YEAR_MAX, YEAR_MIN,
};
