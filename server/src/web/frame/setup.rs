//! The one-time link that creates the first account.

use tokio::sync::Mutex;

use super::secret::Secret;

/// The token of `/setup`, created when the process starts, and the lock of the first account.
pub(crate) struct Setup {
    token: Secret,
    /// Held from the check that there is no account to the creation of the first one, so that
    /// two requests with the token cannot create two.
    pub(crate) lock: Mutex<()>,
}

impl Setup {
    /// A setup with a new token.
    pub(crate) fn new() -> Self {
        Self {
            token: Secret::random(),
            lock: Mutex::new(()),
        }
    }

    /// Path and query of the one-time link.
    pub(crate) fn path(&self) -> String {
        format!("/setup?token={}", self.token.as_str())
    }

    /// True if this is the token. Compares in constant time.
    pub(crate) fn is_token(&self, text: &str) -> bool {
        self.token.is_equal(text)
    }
}
