//! The one-time link that makes the first account.

use parking_lot::Mutex;

use super::secret::Secret;

/// The token of `/setup`, made when the process starts, and the turnstile before the first
/// account.
pub(crate) struct Setup {
    token: Secret,
    /// Held while somebody makes the first account, so that nobody makes it twice.
    pub(crate) turnstile: Mutex<()>,
}

impl Setup {
    /// With a new token.
    pub(crate) fn new() -> Self {
        Self {
            token: Secret::random(),
            turnstile: Mutex::new(()),
        }
    }

    /// Path and query of the link.
    pub(crate) fn path(&self) -> String {
        format!("/setup?token={}", self.token.as_str())
    }

    /// Whether this is the token. Takes the same time whatever the difference.
    pub(crate) fn is_token(&self, text: &str) -> bool {
        self.token.is_equal(text)
    }
}
