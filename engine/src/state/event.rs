//! Changes of accounts, keys, sessions and usage, and their bytes in a log.
//!
//! A number that was given to an event or a field never changes its meaning.

use crate::codec::codec;
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email,
    LinkPurpose, OneTimeLink, RateLimit, RecordId, ReleaseId, Role, SEALED_SECRET_BYTES, Scopes,
    SecondStep, Session, Timestamp, Usage, UsedCode,
};

/// An account to be made; its id is assigned when the event is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of an account")]
pub struct NewAccount {
    pub email: Email,
    pub display_name: String,
    pub role: Role,
    pub password_hash: String,
}

codec! { struct NewAccount { email, display_name, role, password_hash } }

/// An API key to be made; its id is assigned when the event is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of an API key")]
pub struct NewApiKey {
    pub account: Option<AccountId>,
    pub name: String,
    pub digest: [u8; 32],
    pub partial: String,
    pub scopes: Scopes,
    pub limit: Option<RateLimit>,
    pub expires_at: Option<Timestamp>,
}

codec! {
    struct NewApiKey { account, name, digest, partial, scopes, limit, expires_at }
}

/// Usage of one key on one day, to be added to the stored usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageDelta {
    /// The key; none for keyless requests and pages, which count only for the day.
    pub api_key: Option<ApiKeyId>,
    /// The day.
    pub day: Day,
    /// Usage to add. `downloads` is left 0: downloads come from the counter lanes.
    pub usage: Usage,
    /// Time of the last use of the key.
    pub last_used_at: Option<Timestamp>,
}

codec! { struct UsageDelta { api_key, day, usage, last_used_at } }

/// Usage that is added once, even if it is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageBatch {
    /// Id of the batch: one more than that of the last batch that was added.
    pub number: u64,
    /// Usage to add.
    pub deltas: Vec<UsageDelta>,
}

codec! { struct UsageBatch { number, deltas } }

/// A part of a counter file that has been read, in bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregatedPart {
    /// The file's name.
    pub name: String,
    /// First byte of the part: the bytes before it were aggregated earlier.
    pub from: u64,
    /// End of the part.
    pub to: u64,
}

codec! { struct AggregatedPart { name, from, to } }

/// Downloads read from the files of the counter lanes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DownloadAggregate {
    /// Downloads per record, to be added.
    pub records: Vec<(RecordId, u64)>,
    /// Downloads per key and day, to be added; without a key, for the day only.
    pub usage: Vec<(Option<ApiKeyId>, Day, u64)>,
    /// Part of each file that this aggregation has read.
    pub parts: Vec<AggregatedPart>,
    /// Removed files: their offsets are deleted.
    pub forgotten: Vec<String>,
}

codec! { struct DownloadAggregate { records, usage, parts, forgotten } }

/// Author and time of a change of accounts or keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// An e-mail address, or `command line`.
    pub actor: String,
    /// Time of the change, at which an account or key was made, disabled or revoked.
    pub at: Timestamp,
}

codec! { struct By { actor, at } }

/// A change of accounts and keys that the audit log records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Make an account. Refused when the address is taken.
    CreateAccount(NewAccount),
    /// Replace the password hash and end every session of the account.
    SetPassword(AccountId, String),
    /// Replace the password hash and end every session, for a user with the old password. Refused
    /// when another hash than `old` is stored by now, or the account is disabled.
    ReplacePassword {
        /// The account.
        account: AccountId,
        /// The hash that the old password was checked against.
        old: String,
        /// The hash of the new one.
        new: String,
    },
    /// Change the name shown in the pages.
    SetDisplayName(AccountId, String),
    /// Change the address. Refused when another account has it.
    SetEmail(AccountId, Email),
    /// Remove an account: its sessions end, its keys are revoked, and the audit log names it by its
    /// number from then on.
    DeleteAccount(AccountId),
    /// Make the sign-in ask for a code in a second step, or stop asking.
    SetSecondStep(AccountId, Option<SecondStep>),
    /// Change the role of the account.
    SetRole(AccountId, Role),
    /// Disable (true) or enable an account; disabling ends its sessions.
    SetDisabled(AccountId, bool),
    /// End every session of an account.
    CloseSessions(AccountId),
    /// Make an API key.
    CreateApiKey(NewApiKey),
    /// Change the name of an API key.
    RenameApiKey(ApiKeyId, String),
    /// Give an API key its own rate limit, or the server's again.
    SetApiKeyLimit(ApiKeyId, Option<RateLimit>),
    /// Revoke an API key for good.
    RevokeApiKey(ApiKeyId),
    /// Replace an API key by a new one. Refused when it is revoked, or will be.
    RollApiKey(KeyRoll),
    /// Open the registration (true), or restrict it to invitations.
    SetRegistration(bool),
    /// Store a one-time link. Another one for a new password of the same account ends. Refused when
    /// its maker is not an enabled administrator.
    IssueLink(OneTimeLink),
    /// End the one-time link with this digest.
    WithdrawLink([u8; 32]),
    /// Make an account by an invitation, which gives its role and is used up. Refused when the link
    /// is not valid, or the address is taken: then it stays.
    AcceptInvitation([u8; 32], NewAccount),
    /// Replace a password by a link, which is used up. Refused when the link is not valid.
    SetPasswordByLink {
        /// SHA-256 of the token.
        link: [u8; 32],
        /// The account.
        account: AccountId,
        /// The hash of the new password.
        hash: String,
    },
    /// Make an API key, within the bounds of its owner.
    CreateApiKeyWithin(NewApiKey, KeyBound),
    /// Replace an API key by a new one that has another expiry. Refused when it is revoked, or will
    /// be.
    RenewApiKey(KeyRenewal),
    /// Make the key of the feeds of an account, in place of the earlier one, which is revoked;
    /// those that were revoked are removed.
    ReplaceFeedKey(NewApiKey),
    /// Replace the recovery codes, given by their SHA-256, of an account with a second step.
    ReplaceRecoveryCodes(AccountId, Vec<[u8; 32]>),
    /// Set the latest second, back or ahead. What was revoked stays revoked; keys that are expired
    /// and end later become valid again, sessions and links do not.
    SetClock(Timestamp),
}

codec! {
    enum Change, "a change of accounts or keys, 0 to 24" {
        0 => CreateAccount(new),
        1 => SetPassword(account, hash),
        2 => ReplacePassword { account, old, new },
        3 => SetDisplayName(account, name),
        4 => SetEmail(account, email),
        5 => DeleteAccount(account),
        6 => SetSecondStep(account, second),
        7 => SetRole(account, role),
        8 => SetDisabled(account, is_disabled),
        9 => CloseSessions(account),
        10 => CreateApiKey(new),
        11 => RenameApiKey(api_key, name),
        12 => SetApiKeyLimit(api_key, limit),
        13 => RevokeApiKey(api_key),
        14 => RollApiKey(roll),
        15 => SetRegistration(is_open),
        16 => IssueLink(link),
        17 => WithdrawLink(digest),
        18 => AcceptInvitation(link, new),
        19 => SetPasswordByLink { account, hash, link },
        20 => CreateApiKeyWithin(new, bound),
        21 => RenewApiKey(renewal),
        22 => ReplaceFeedKey(new),
        23 => ReplaceRecoveryCodes(account, digests),
        24 => SetClock(second),
    }
}

/// Bounds of the keys of an account, those of feeds apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBound {
    /// Maximum number of keys in any state.
    pub keys_max: u64,
    /// Maximum number of active keys.
    pub active_max: u64,
}

codec! { struct KeyBound { keys_max, active_max } }

/// A new text for an API key, with a new expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRenewal {
    /// The texts, and the end of the old one.
    pub roll: KeyRoll,
    /// First second at which the new key is expired; none means never.
    pub expires_at: Option<Timestamp>,
    /// Bounds of the owner, if they apply.
    pub bound: Option<KeyBound>,
}

codec! { struct KeyRenewal { roll, expires_at, bound } }

/// A new text for an API key: a key with a new id gets the name, the account, the scopes, the
/// limit, the expiry and the usage history of the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRoll {
    /// The old key.
    pub old: ApiKeyId,
    /// SHA-256 of the new text.
    pub digest: [u8; 32],
    /// The new text, shortened for lists.
    pub partial: String,
    /// First second at which the old key is revoked.
    pub old_ends_at: Timestamp,
}

codec! { struct KeyRoll { old, digest, partial, old_ends_at } }

impl Change {
    /// Returns the event of this change, made by `actor` at `at`.
    pub fn into_event(self, actor: &str, at: Timestamp) -> StateEvent {
        let actor = actor.to_owned();
        StateEvent::Change(By { actor, at }, self)
    }

    /// The existing account that it changes.
    pub(crate) const fn account(&self) -> Option<AccountId> {
        match self {
            Self::SetPassword(id, _)
            | Self::ReplacePassword { account: id, .. }
            | Self::SetDisplayName(id, _)
            | Self::SetEmail(id, _)
            | Self::DeleteAccount(id)
            | Self::SetSecondStep(id, _)
            | Self::SetRole(id, _)
            | Self::SetDisabled(id, _)
            | Self::CloseSessions(id)
            | Self::ReplaceRecoveryCodes(id, _) => Some(*id),
            Self::CreateAccount(_)
            | Self::CreateApiKey(_)
            | Self::RenameApiKey(..)
            | Self::SetApiKeyLimit(..)
            | Self::RevokeApiKey(_)
            | Self::RollApiKey(_)
            | Self::WithdrawLink(_)
            | Self::AcceptInvitation(..)
            | Self::CreateApiKeyWithin(..)
            | Self::RenewApiKey(_)
            | Self::ReplaceFeedKey(_)
            | Self::SetRegistration(_)
            | Self::SetClock(_) => None,
            Self::SetPasswordByLink { account, .. } => Some(*account),
            Self::IssueLink(link) => link.account(),
        }
    }

    /// Name of the change in the audit log.
    pub const fn action(&self) -> &'static str {
        match self {
            Self::CreateAccount(_) | Self::AcceptInvitation(..) => "account created",
            Self::SetPassword(..)
            | Self::ReplacePassword { .. }
            | Self::SetPasswordByLink { .. } => "password changed",
            Self::IssueLink(link) => match link.purpose {
                LinkPurpose::Invitation(_) => "invitation created",
                LinkPurpose::NewPassword(_) => "password link created",
            },
            Self::WithdrawLink(_) => "link withdrawn",
            Self::ReplaceFeedKey(_) => "feed address made",
            Self::ReplaceRecoveryCodes(..) => "recovery codes replaced",
            Self::SetDisplayName(..) => "name changed",
            Self::SetEmail(..) => "address changed",
            Self::DeleteAccount(_) => "account deleted",
            Self::SetSecondStep(_, Some(_)) => "second step turned on",
            Self::SetSecondStep(_, None) => "second step turned off",
            Self::SetRole(_, Role::Admin) => "role changed to admin",
            Self::SetRole(_, Role::User) => "role changed to user",
            Self::SetDisabled(_, true) => "account disabled",
            Self::SetDisabled(_, false) => "account enabled",
            Self::CloseSessions(_) => "signed out everywhere",
            Self::CreateApiKey(_) | Self::CreateApiKeyWithin(..) => "key created",
            Self::RenameApiKey(..) => "key renamed",
            Self::SetApiKeyLimit(..) => "key limit changed",
            Self::RevokeApiKey(_) => "key revoked",
            Self::RollApiKey(_) | Self::RenewApiKey(_) => "key rolled",
            Self::SetRegistration(true) => "registration opened",
            Self::SetRegistration(false) => "registration closed",
            Self::SetClock(_) => "clock set",
        }
    }
}

/// One change of the state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateEvent {
    /// Change accounts or keys, and add its entry to the audit log: both, or neither. A change that
    /// is refused or has no effect adds no entry.
    Change(By, Change),
    /// Store a session of a user with the password of this hash. Refused when another hash is
    /// stored by now, or the account is disabled. Above the bound the oldest of its kind ends.
    OpenSession(Session, String),
    /// Replace the plain secret of a second step by the sealed one. Refused when there is no plain
    /// one.
    SealSecret(AccountId, [u8; SEALED_SECRET_BYTES]),
    /// End the session with this digest.
    CloseSession([u8; 32]),
    /// Note a use of the session with this digest. Refused while the last noted one is recent.
    UseSession([u8; 32], Timestamp),
    /// Use up a code of the second step of an account. Refused when it was used before.
    UseCode(AccountId, UsedCode),
    /// Remember a one-time link. Another one for a new password of the same account ends.
    IssueLink(OneTimeLink),
    /// Use up the one-time link with this digest. Refused when it was used before. Older programs
    /// used links so; the changes that need one use it up themselves.
    TakeLink([u8; 32]),
    /// Delete the sessions and links that have expired by this time, which is remembered.
    DropExpiredSessions(Timestamp),
    /// Add usage. Refused when this batch was added before.
    AddUsage(UsageBatch),
    /// Keep the figures of a day, in place of earlier ones, and drop the days that are too old. The
    /// engine does not interpret them.
    KeepFigures(Day, Vec<u64>),
    /// Add an entry to the audit log about something that changes nothing else.
    Audit(AuditEntry),
    /// The same about a sign-in: such entries are bounded for each account.
    AuditSignIn(AuditEntry),
    /// Store the file of a release. Refused when another content is known for it than the one to
    /// replace: another node of a cluster was first.
    RememberFile(RememberedFile),
    /// Delete the entry of a release's file, which will be fetched again.
    ForgetFile(ReleaseId),
    /// Add downloads, and store the new offsets of their files. Refused when a part does not begin
    /// at the stored offset of its file.
    AggregateDownloads(DownloadAggregate),
}

codec! {
    enum StateEvent, "a change of the state, 0 to 16" {
        0 => Change(by, change),
        1 => OpenSession(session, hash),
        2 => CloseSession(digest),
        3 => UseCode(account, used),
        4 => IssueLink(link),
        5 => TakeLink(digest),
        6 => DropExpiredSessions(now),
        7 => AddUsage(batch),
        8 => KeepFigures(day, figures),
        9 => Audit(entry),
        10 => RememberFile(remembered),
        11 => ForgetFile(release),
        13 => AggregateDownloads(aggregate),
        14 => SealSecret(account, sealed),
        15 => AuditSignIn(entry),
        16 => UseSession(digest, at),
    }
}

/// A file that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedFile {
    /// Release that the file belongs to.
    pub release: ReleaseId,
    /// The file.
    pub file: CachedFile,
    /// Content known for the release when it was fetched.
    pub replaces: Option<ContentHash>,
}

codec! { struct RememberedFile { release, file, replaces } }

/// Result of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// An account was made.
    Account(Account),
    /// An API key was made, or changed.
    ApiKey(ApiKey),
    /// A one-time link was made, or withdrawn.
    Link(OneTimeLink),
    /// Done, and keys that a wrong clock had rolled end sooner.
    KeysCorrected,
    /// Refused: the owner has the maximum number of keys.
    TooManyKeys,
    /// Refused: the owner has the maximum number of active keys.
    TooManyActiveKeys,
    /// Refused: another account has this address.
    EmailTaken,
    /// Refused: there is no such account, key or session.
    Unknown,
    /// Refused: the state has changed since the caller read it. The batch was added before, by a
    /// commit that had seemed to fail; or the account has another password by now, or is disabled.
    Stale,
}
