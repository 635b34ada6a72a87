//! Accounts and keys that a transaction has changed.

use crate::model::{AccountId, ApiKeyId};

/// Accounts and keys that changes of other nodes have touched: the owner of a table of keys reads
/// these again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TouchedCredentials {
    /// Accounts that are new, changed or deleted.
    pub accounts: Vec<AccountId>,
    /// Keys that are new or changed.
    pub api_keys: Vec<ApiKeyId>,
    /// True if any may have changed: a commit had seemed to fail, and everything was read again.
    pub is_everything: bool,
}

impl TouchedCredentials {
    /// Returns true if nothing was touched.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.api_keys.is_empty() && !self.is_everything
    }

    /// Adds the accounts and keys of a later transaction.
    pub(crate) fn extend(&mut self, later: Self) {
        self.accounts.extend(later.accounts);
        self.api_keys.extend(later.api_keys);
        self.is_everything |= later.is_everything;
    }
}
