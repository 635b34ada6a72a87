//! Parts of a sign-in beside the password: a second step, and one-time links.

use super::account::Role;
use super::ids::AccountId;
use super::timestamp::Timestamp;

/// The second step of an account's sign-in: a code that changes every 30 seconds (RFC 6238), or one
/// of the recovery codes.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondStep {
    /// Secret that an authenticator app shares. It is needed as it is to compute codes: unlike a
    /// password it cannot be stored as a hash.
    pub secret: [u8; 20],
    /// Number of the last 30 seconds whose code was used; its code and older ones are refused.
    pub last_step: u64,
    /// SHA-256 of the recovery codes that were not used.
    pub recovery_digests: Vec<[u8; 32]>,
}

impl SecondStep {
    /// A step that no code passes, in place of one that cannot be read: only an operator can turn
    /// it off.
    pub(crate) const fn unusable() -> Self {
        Self {
            secret: [0; 20],
            last_step: u64::MAX,
            recovery_digests: Vec::new(),
        }
    }
}

impl std::fmt::Debug for SecondStep {
    /// Leaves the secret out: it must not reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecondStep")
            .field("last_step", &self.last_step)
            .field("recovery_codes", &self.recovery_digests.len())
            .finish_non_exhaustive()
    }
}

/// A code of the second step that was found to be right, to be used up.
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

/// A link that an administrator makes for somebody else. Only the digest of its token is stored: a
/// copy of the data directory opens no account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeLink {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// Its purpose.
    pub purpose: LinkPurpose,
    /// First second at which it is not valid any more.
    pub expires_at: Timestamp,
}

impl OneTimeLink {
    /// Returns true from the second of its expiry on, as with keys (API.md 9.2).
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}
