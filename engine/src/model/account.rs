//! Accounts of the web interface, their sessions, and the audit log.

use super::ids::{AccountId, ApiKeyId};
use super::timestamp::Timestamp;
use super::typed_name::is_invisible;
use crate::limits::SESSION_USE_SECONDS;

/// An e-mail address: one `@` with something on both sides, no spaces, up to 254 bytes. Kept in
/// lower case and without invisible characters, so that an account is found however the address is
/// typed, and no two accounts look alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Email(Box<str>);

impl Email {
    /// Reads an address. Nothing more is checked: only a delivered message proves an address.
    pub fn parse(text: &str) -> Option<Self> {
        let text: String = text.chars().filter(|c| !is_invisible(*c)).collect();
        let text = text.trim();
        let (local, domain) = text.split_once('@')?;
        let is_printable = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        let is_whole = !local.is_empty() && !domain.is_empty() && !domain.contains('@');
        let is_short = text.len() <= 254;
        if is_printable && is_whole && is_short {
            Some(Self(text.to_lowercase().into()))
        } else {
            None
        }
    }

    /// The address in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Permissions of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The account's own keys and the catalog.
    User,
    /// Everything.
    Admin,
}

impl Role {
    /// Name of the role: `user` or `admin`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }

    /// Reads `user` or `admin`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// An account of the web interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Id of the account.
    pub id: AccountId,
    /// Address of the account; no two accounts share one.
    pub email: Email,
    /// Name shown in the pages; may be empty.
    pub display_name: String,
    /// Permissions of the account.
    pub role: Role,
    /// PHC string of its password: algorithm, parameters, salt and hash.
    pub password_hash: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time at which it was disabled, if it is.
    pub disabled_at: Option<Timestamp>,
}

/// A signed-in browser. Only the digest of its cookie is stored: a copy of the data directory
/// allows no sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie's value.
    pub digest: [u8; 32],
    /// Account that is signed in.
    pub account: AccountId,
    /// Time of the sign-in.
    pub created_at: Timestamp,
    /// Time at which it ends unless the user signs out earlier.
    pub expires_at: Timestamp,
    /// Browser and system in familiar words (`Firefox · Linux`); empty if unknown.
    pub device: String,
    /// Time of its last noted use; none before the first. Noted only once it is older than
    /// [`SESSION_USE_SECONDS`], so that a page that is read writes nothing.
    pub last_used_at: Option<Timestamp>,
    /// True between the two steps of a sign-in, after a correct password: the session is not open,
    /// and gives access only to the page that asks for the code.
    pub is_pending: bool,
}

impl Session {
    /// Returns true from the second of its expiry, as with keys (API.md 9.2), and if it was opened
    /// far in the future: by a clock that was wrong, by which it would live for years.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.has_ended(now) || self.created_at.is_far_after(now)
    }

    /// Returns true from the second of its expiry.
    pub(crate) fn has_ended(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// Returns true if a use at this time is to be noted: the last note is old, or by a clock that
    /// was wrong. A session that is not open has no uses.
    pub fn is_use_due(&self, now: Timestamp) -> bool {
        let last = self.last_used_at.unwrap_or(self.created_at);
        let is_old = last.plus_seconds(SESSION_USE_SECONDS) <= now;
        !self.is_pending && (is_old || last.is_far_after(now))
    }
}

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Time of the action.
    pub at: Timestamp,
    /// Actor: an e-mail address, or `command line`. Text, so that the entry outlives the account.
    pub actor: String,
    /// The action: `key created`, `key revoked`, `account disabled`, …
    pub action: String,
    /// The account concerned.
    pub account: Option<AccountId>,
    /// The key concerned.
    pub api_key: Option<ApiKeyId>,
    /// Details, such as the name of the key.
    pub detail: String,
}
