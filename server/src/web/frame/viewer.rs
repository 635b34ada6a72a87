//! The signed-in account of a request.

use subcat_engine::{Account, Role};

/// The signed-in account, and its session.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) account: Account,
    pub(crate) session_digest: [u8; 32],
    /// True if the use of the session is to be noted.
    pub(crate) is_use_due: bool,
    /// True for an administrator without a second step of the sign-in, which must be turned on
    /// first.
    pub(crate) is_step_missing: bool,
}

impl Viewer {
    /// True if the account may see the administration pages and other accounts' keys.
    pub(crate) fn is_admin(&self) -> bool {
        self.account.role == Role::Admin && !self.is_step_missing
    }
}
