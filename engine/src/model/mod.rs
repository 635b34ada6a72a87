//! Pure values: records and their parts, accounts, API keys.
//!
//! Parse, don't check: a `Year` in hand is a valid year. Nothing here reads a clock, a file or
//! randomness.

mod account;
mod api_key;
mod catalog_id;
mod expiry;
mod file;
mod flags;
mod ids;
mod imported_path;
mod iso_639;
mod language;
mod node_id;
mod record;
mod record_id;
mod sign_in;
mod small;
mod timestamp;
mod typed_name;

pub use account::{Account, AuditEntry, Email, Role, Session};
pub use api_key::{ApiKey, ApiKeyState, RateLimit, Scopes, Usage};
pub use catalog_id::CatalogId;
pub use expiry::{Expiry, ExpiryPassed};
pub(crate) use file::is_of_made_text;
pub use file::{
    BroughtFile, CachedFile, ContentHash, FileFacts, FileKind, FileName, ReleaseId, Variant,
};
pub use flags::{Flag, FlagSet, RecordFlags};
pub use ids::{AccountId, ApiKeyId};
pub use imported_path::ImportedPath;
pub use language::Language;
pub use node_id::NodeId;
pub use record::{DraftField, DraftValue, FieldError, Record, RecordDraft, VideoType};
pub use record_id::RecordId;
pub use sign_in::{
    LinkPurpose, OneTimeLink, SEALED_SECRET_BYTES, SecondStep, StepSecret, UsedCode,
};
pub use small::{Number, Year};
pub use timestamp::{Day, Timestamp};
pub use typed_name::{DisplayName, KeyName};
