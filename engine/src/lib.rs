//! The subtitle catalog as a library: records in, searches and files out.
//!
//! The engine is synchronous. It knows no HTTP, no async, no clock and no randomness of its own:
//! they come in as parameters. [`Engine`] is the entry point.
//!
//! Modules are declared bottom-up; a module imports only from modules above it.
#![deny(unsafe_code)]

mod limits;
mod error;
mod disk;
mod model;
mod text;
mod codec;
mod query;
mod blob;
mod store;
mod data_dir;
mod state;
mod counters;
mod index;
mod plan;
mod search;
mod catalog;
mod database;
mod maintenance;
mod engine;
#[doc(hidden)]
pub mod internals;

/// An open data directory, its handles, and how to open one.
pub use engine::{
    AccountsHandle, CatalogHandle, Engine, FilesHandle, Options, StoreKind, UsageHandle,
};

/// Errors.
pub use error::{Error, Result, error_chain};

/// The file system below an engine.
pub use disk::{
    DirEntry, DirLock, Disk, DiskFile, Mapping, OsFile, Real, TruncationFlag, WritableMapping,
};

/// Records, and drafts of them.
pub use model::{
    CatalogId, DraftField, DraftValue, FieldError, Language, Number, Record, RecordDraft, RecordId,
    ReleaseId, VideoType, Year,
};

/// Importing records.
pub use catalog::{ImportSummary, Importer};

/// Search requests.
pub use query::{CatalogTerm, Filters, LanguageTerm, Query, SearchText, TooManyWords};

/// Searching a snapshot, and what is found.
pub use search::{
    CostValue, Doc, Explanation, Hit, HitExplanation, Hits, LocatedHits, PlanStep, RecordLocation,
    SegmentExplanation, Snapshot,
};

/// Cached files.
pub use blob::Blob;
pub use model::{CachedFile, ContentHash, FileKind, FileName, Variant};

/// Accounts, API keys and sessions.
pub use model::{
    Account, AccountId, ApiKey, ApiKeyId, ApiKeyState, AuditEntry, Email, Expiry, ExpiryPassed,
    KeyName, RateLimit, Role, Scopes, Session,
};

/// Events: changes of accounts, keys, files and usage.
pub use state::{
    AggregatedPart, By, Change, DownloadAggregate, NewAccount, NewApiKey, Outcome, StateEvent,
    UsageBatch, UsageDelta,
};

/// Usage and time.
pub use counters::CounterLane;
pub use model::{Day, Timestamp, Usage};

/// Care of a data directory.
pub use maintenance::{BackupSummary, EngineStats, Finding, Restored, restore};

/// Bounds that callers check or show.
pub use limits::{
    AGGREGATE_SECONDS_MAX, BLOB_BYTES_MAX, OPEN_BLOBS_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX,
    QUERY_WORDS_MAX, SEARCH_TEXT_CHARS_MAX, SEARCH_YEAR_MIN, YEAR_MAX, YEAR_MIN,
};
