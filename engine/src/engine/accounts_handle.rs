//! The accounts, API keys and sessions of an engine, and the audit log of their changes.
//!
//! Reading only: changes are made with [`Engine::apply`](crate::Engine::apply).

use crate::database::Database;
use crate::error::Result;
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, Email, OneTimeLink, SecondStep, Session,
};

/// The accounts of an engine, from [`Engine::accounts`](crate::Engine::accounts).
///
/// Cost: all but the audit log are kept in memory; each method takes a read lock and clones.
#[derive(Clone, Copy)]
pub struct AccountsHandle<'e> {
    pub(super) database: &'e Database,
}

impl AccountsHandle<'_> {
    /// Makes the results of the other methods agree with the file, after
    /// [`Engine::apply`](crate::Engine::apply) has failed: its commit may be durable all the same.
    ///
    /// Errors: the file cannot be read, and it is unknown if they agree.
    pub fn catch_up(self) -> Result<()> {
        self.database.state.catch_up()
    }

    /// All accounts, by id.
    pub fn all(self) -> Vec<Account> {
        self.database.state.accounts()
    }

    /// Returns true if there is an enabled administrator. Cost: a pass over the accounts up to the
    /// first one.
    pub fn has_administrator(self) -> bool {
        self.database.state.has_administrator()
    }

    /// The account with this id.
    pub fn get(self, id: AccountId) -> Option<Account> {
        self.database.state.account(id)
    }

    /// The account with this address.
    pub fn by_email(self, email: &Email) -> Option<Account> {
        self.database.state.account_by_email(email)
    }

    /// All API keys, by id.
    pub fn api_keys(self) -> Vec<ApiKey> {
        self.database.state.api_keys()
    }

    /// The API key with this id.
    pub fn api_key(self, id: ApiKeyId) -> Option<ApiKey> {
        self.database.state.api_key(id)
    }

    /// The API keys of an account in any state, by id. Cost: visits only these.
    pub fn api_keys_of(self, account: AccountId) -> Vec<ApiKey> {
        self.database.state.api_keys_of(account)
    }

    /// The open sessions of an account, expired or not, oldest first. Cost: visits only these.
    pub fn sessions_of(self, account: AccountId) -> Vec<Session> {
        self.database.state.sessions_of(account)
    }

    /// The second step of the sign-in of an account, if it has one.
    pub fn second_step(self, account: AccountId) -> Option<SecondStep> {
        self.database.state.second_step(account)
    }

    /// The second steps of all accounts, by id.
    pub fn second_steps(self) -> Vec<(AccountId, SecondStep)> {
        self.database.state.second_steps()
    }

    /// True if registration is open, false if it is by invitation only; `None` until an
    /// administrator has decided with [`Change::SetRegistration`](crate::Change::SetRegistration).
    pub fn registration(self) -> Option<bool> {
        self.database.state.registration()
    }

    /// The one-time link with this token digest, expired or not. Cost: reads the file.
    pub fn link(self, digest: &[u8; 32]) -> Result<Option<OneTimeLink>> {
        self.database.state.link(digest)
    }

    /// All one-time links, expired or not, unordered. Cost: reads the file.
    pub fn links(self) -> Result<Vec<OneTimeLink>> {
        self.database.state.links()
    }

    /// The open session with this cookie digest, expired or not.
    pub fn session(self, digest: &[u8; 32]) -> Option<Session> {
        let session = self.database.state.session(digest);
        session.filter(|session| !session.is_pending)
    }

    /// The sign-in with this cookie digest, with a correct password and waiting for its code,
    /// expired or not.
    pub fn pending_sign_in(self, digest: &[u8; 32]) -> Option<Session> {
        let session = self.database.state.session(digest);
        session.filter(|session| session.is_pending)
    }

    /// The newest `count_max` entries of the audit log, or the newest `before` an entry, with
    /// their numbers, newest first. Numbers grow by one and are never reused.
    pub fn audit_log(
        self,
        before: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<(u64, AuditEntry)>> {
        self.database.state.audit_log(before, count_max)
    }
}
