//! The signed-in account of a request.

use subcat_engine::{Account, Role};

/// The account that is signed in, and the session by which it is.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) account: Account,
    pub(crate) session_digest: [u8; 32],
    /// True for an administrator who must turn on the second step of the sign-in first.
    pub(crate) is_step_missing: bool,
}

impl Viewer {
    /// True if the account may see the administration pages and other accounts' keys.
    pub(crate) fn is_admin(&self) -> bool {
        self.account.role == Role::Admin && !self.is_step_missing
    }
}
