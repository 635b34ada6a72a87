//! Parts of a sign-in beside the password: a second step, and one-time links.

use super::account::Role;
use super::ids::AccountId;
use super::timestamp::Timestamp;
use crate::limits::LINK_SECONDS_MAX;

/// Bytes of a sealed secret: id of the key (8), nonce (12), secret (20) and tag (16).
pub const SEALED_SECRET_BYTES: usize = 56;

/// The secret that an authenticator app shares. Codes are computed from the plain secret: unlike a
/// password it cannot be stored as a hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StepSecret {
    /// The plain secret: older programs have stored it so.
    Plain([u8; 20]),
    /// Sealed with a key that no backup, snapshot or log has. The engine has no key: the caller has
    /// sealed the secret.
    Sealed([u8; SEALED_SECRET_BYTES]),
}

impl std::fmt::Debug for StepSecret {
    /// Leaves the secret out: it must not reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Sealed(_) => "Sealed",
        })
    }
}

/// The second step of an account's sign-in: a code that changes every 30 seconds (RFC 6238), or one
/// of the recovery codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondStep {
    /// Secret of the authenticator app.
    pub secret: StepSecret,
    /// Sequence number of the last 30-second step with a used code; its code and older ones are
    /// refused.
    pub last_step: u64,
    /// SHA-256 of the recovery codes that were not used.
    pub recovery_digests: Vec<[u8; 32]>,
}

impl SecondStep {
    /// A step that no code passes, in place of an unreadable one: only an operator can turn it off.
    pub(crate) const fn unusable() -> Self {
        Self {
            secret: StepSecret::Plain([0; 20]),
            last_step: u64::MAX,
            recovery_digests: Vec::new(),
        }
    }
}

/// A correct code of the second step, to be used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedCode {
    /// The code of these 30 seconds.
    Step(u64),
    /// The recovery code with this SHA-256.
    Recovery([u8; 32]),
}

/// Purpose of a one-time link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPurpose {
    /// Creates an account with this role.
    Invitation(Role),
    /// Sets a new password of this account.
    NewPassword(AccountId),
}

/// A link that an administrator makes for another person. Only the digest of its token is stored: a
/// copy of the data directory opens no account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeLink {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// Purpose of the link.
    pub purpose: LinkPurpose,
    /// Administrator that made it: it is valid while that account is one, and enabled. None for a
    /// link of an older program, which is no longer valid.
    pub issuer: Option<AccountId>,
    /// First second at which it is no longer valid.
    pub expires_at: Timestamp,
}

impl OneTimeLink {
    /// The account that gets a new password by it, if it sets one.
    pub const fn account(&self) -> Option<AccountId> {
        match self.purpose {
            LinkPurpose::Invitation(_) => None,
            LinkPurpose::NewPassword(id) => Some(id),
        }
    }

    /// Returns true from the second of its expiry, as with keys (API.md 9.2), and if it is valid
    /// for far longer than any: it was made by a clock that was wrong.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        let last = now.plus_seconds(LINK_SECONDS_MAX);
        self.has_ended(now) || self.expires_at.is_far_after(last)
    }

    /// Returns true from the second of its expiry.
    pub(crate) fn has_ended(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}
