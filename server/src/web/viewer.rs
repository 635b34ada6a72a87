//! The signed-in account of a request.

use subcat_engine::{Account, Role};

/// The account that is signed in, and the session by which it is.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) account: Account,
    pub(crate) session_digest: [u8; 32],
}

impl Viewer {
    /// True if the account may see the administration pages and other accounts' keys.
    pub(crate) fn is_admin(&self) -> bool {
        self.account.role == Role::Admin
    }
}
