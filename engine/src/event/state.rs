//! Changes of accounts, keys, sessions and usage.

use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email,
    RateLimit, RecordId, ReleaseId, Role, Scopes, Session, Timestamp, Usage,
};

/// An account to be made; its number is given when it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of an account")]
pub struct NewAccount {
    pub email: Email,
    pub display_name: String,
    pub role: Role,
    pub password_hash: String,
    pub created_at: Timestamp,
}

/// An API key to be made; its number is given when it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of an API key")]
pub struct NewApiKey {
    pub account: Option<AccountId>,
    pub name: String,
    pub digest: [u8; 32],
    pub partial: String,
    pub scopes: Scopes,
    pub limit: Option<RateLimit>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// Usage of one key on one day, to be added to what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageDelta {
    /// The key; none for keyless requests and pages, which count for the day only.
    pub api_key: Option<ApiKeyId>,
    /// The day.
    pub day: Day,
    /// What to add. `downloads` is left 0: downloads come from the counter lanes.
    pub usage: Usage,
    /// When the key was last used.
    pub last_used_at: Option<Timestamp>,
}

/// Downloads that were read from the files of the counter lanes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DownloadFold {
    /// Downloads per record, to be added.
    pub records: Vec<(RecordId, u64)>,
    /// Downloads per key and day, to be added; without a key, for the day only.
    pub usage: Vec<(Option<ApiKeyId>, Day, u64)>,
    /// Up to which byte each file has been read with this fold.
    pub positions: Vec<(String, u64)>,
    /// Files that are gone: their positions are forgotten.
    pub forgotten: Vec<String>,
}

/// One change of the state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateEvent {
    /// Make an account. Refused when the address is taken.
    CreateAccount(NewAccount),
    /// Replace the password hash and end every session of the account.
    SetPassword(AccountId, String),
    /// Change the name shown in the pages.
    SetDisplayName(AccountId, String),
    /// Change what the account may do.
    SetRole(AccountId, Role),
    /// Disable (`Some`) or enable (`None`) an account; disabling ends its sessions.
    SetDisabled(AccountId, Option<Timestamp>),
    /// Make an API key.
    CreateApiKey(NewApiKey),
    /// Revoke an API key for good.
    RevokeApiKey(ApiKeyId, Timestamp),
    /// Remember a session.
    OpenSession(Session),
    /// End the session with this digest.
    CloseSession([u8; 32]),
    /// End every session of an account.
    CloseSessions(AccountId),
    /// Forget the sessions that expired before this time.
    DropExpiredSessions(Timestamp),
    /// Add usage.
    AddUsage(Vec<UsageDelta>),
    /// Add a line to the audit log.
    Audit(AuditEntry),
    /// Remember the file of a release, in place of what was known of it.
    RememberFile(ReleaseId, CachedFile),
    /// Forget every file of this content, which is lost: it will be fetched again.
    ForgetContent(ContentHash),
    /// Add downloads, and remember how far their files have been read.
    FoldDownloads(DownloadFold),
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// An account was made.
    Account(Account),
    /// An API key was made, or changed.
    ApiKey(ApiKey),
    /// Refused: another account has this address.
    EmailTaken,
    /// Refused: there is no such account, key or session.
    Unknown,
}
