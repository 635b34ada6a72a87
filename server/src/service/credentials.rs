//! Accounts and API keys: the only place that changes them.
//!
//! A change of an account or a key is two steps: the event is made durable in the engine, then the
//! table that requests are checked against is built anew. Both happen here, so no caller can
//! forget the second one and go on serving a revoked key.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use subcat_engine::{AccountId, Change, Email, Engine, Outcome, StateEvent, Timestamp};

use crate::auth::KeyTable;

/// The author of a change, as the audit log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor<'a> {
    /// The operator, at the command line.
    CommandLine,
    /// An account of the web interface: signed in, or the one that a sign-up creates.
    Account(&'a Email),
}

impl Actor<'_> {
    /// Its name in the audit log.
    pub fn as_str(&self) -> &str {
        match self {
            Self::CommandLine => "command line",
            Self::Account(email) => email.as_str(),
        }
    }
}

/// The accounts and keys of an open catalog, and the table of keys made from them.
///
/// INVARIANT: when a change has returned, with whatever result, `key_table` agrees with the
/// engine: it holds every key that is not revoked and whose account, if it has one, is enabled.
pub struct Credentials {
    engine: Arc<Engine>,
    key_table: KeyTable,
    /// Held while the table is rebuilt: two rebuilds at once could put the older list over the
    /// newer one.
    rebuilding: Mutex<()>,
}

impl Credentials {
    /// The accounts and keys that `engine` knows now.
    pub fn new(engine: Arc<Engine>) -> Self {
        let credentials = Self {
            engine,
            key_table: KeyTable::new(Vec::new()),
            rebuilding: Mutex::new(()),
        };
        credentials.rebuild();
        credentials
    }

    /// The keys that requests may carry.
    pub fn key_table(&self) -> &KeyTable {
        &self.key_table
    }

    /// Changes accounts or keys, with a line in the audit log. When it returns, the change is
    /// durable and every request that starts is checked against it.
    ///
    /// Errors: the engine's; nothing is known to be changed then.
    pub fn change(
        &self,
        change: Change,
        actor: Actor<'_>,
        at: Timestamp,
    ) -> subcat_engine::Result<Outcome> {
        // Dropped on every way out: a commit that reports an error, or that a panic follows, may
        // have changed the keys nevertheless.
        let _rebuild = RebuildOnDrop::after(&change, self);
        let event = change.into_event(actor.as_str(), at);
        let outcome = self.engine.apply(vec![event])?.pop();
        Ok(outcome.expect(ONE_EACH))
    }

    /// Changes accounts or keys as [`Credentials::change`] does, and applies `session` in the same
    /// transaction: both are durable, or neither. Returns the outcome of the change.
    pub fn change_with_session(
        &self,
        change: Change,
        session: StateEvent,
        actor: Actor<'_>,
        at: Timestamp,
    ) -> subcat_engine::Result<Outcome> {
        let _rebuild = RebuildOnDrop::after(&change, self);
        let event = change.into_event(actor.as_str(), at);
        let outcomes = self.engine.apply(vec![event, session])?;
        Ok(outcomes.into_iter().next().expect(ONE_EACH))
    }

    /// Reads keys and accounts and swaps the key table.
    fn rebuild(&self) {
        let _order = self.rebuilding.lock();
        let mut api_keys = self.engine.accounts().api_keys();
        let mut accounts = self.engine.accounts().all();
        accounts.retain(|account| account.disabled_at.is_none());
        let enabled: HashSet<AccountId> = accounts.iter().map(|account| account.id).collect();
        let is_enabled = |id: AccountId| enabled.contains(&id);
        api_keys.retain(|api_key| api_key.account.is_none_or(is_enabled));
        self.key_table.replace(api_keys);
    }
}

const ONE_EACH: &str = "the engine gives one outcome for each event";

/// Rebuilds the key table when it is dropped.
struct RebuildOnDrop<'a>(&'a Credentials);

impl<'a> RebuildOnDrop<'a> {
    /// The guard of a change that is about to be made; none when it leaves the key table alone.
    fn after(change: &Change, credentials: &'a Credentials) -> Option<Self> {
        if changes_key_table(change) {
            Some(Self(credentials))
        } else {
            None
        }
    }
}

impl Drop for RebuildOnDrop<'_> {
    fn drop(&mut self) {
        self.0.rebuild();
    }
}

/// Returns true if a change can alter the key table. The others are left out because a rebuild
/// costs a copy of every key, and makes each connection look its own up again.
///
/// No arm is a wildcard, so that a new change does not compile until it is decided here.
const fn changes_key_table(change: &Change) -> bool {
    match change {
        Change::CreateAccount(_)
        | Change::SetRole(..)
        | Change::SetDisabled(..)
        | Change::CreateApiKey(_)
        | Change::RevokeApiKey(_) => true,
        Change::SetPassword(..)
        | Change::ReplacePassword { .. }
        | Change::SetDisplayName(..)
        | Change::CloseSessions(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use subcat_engine::{ApiKeyId, NewAccount, NewApiKey, Options, Real, Role, Scopes, StoreKind};

    use super::*;
    use crate::auth::{api_key_digest, api_key_partial, new_api_key_text};

    fn now() -> Timestamp {
        Timestamp::parse("2026-05-03T12:00:00Z").unwrap()
    }

    fn credentials() -> Credentials {
        let options = Options {
            disk: Arc::new(Real),
            store: StoreKind::Memory,
            counter_lanes: 0,
        };
        let engine = Engine::open(std::path::Path::new("unused"), options).unwrap();
        Credentials::new(Arc::new(engine))
    }

    fn change(credentials: &Credentials, change: Change) -> Outcome {
        let changed = credentials.change(change, Actor::CommandLine, now());
        changed.unwrap()
    }

    fn make_account(credentials: &Credentials) -> AccountId {
        let account = Change::CreateAccount(NewAccount {
            email: Email::parse("ana@example.org").unwrap(),
            display_name: String::new(),
            role: Role::User,
            password_hash: "x".into(),
        });
        match change(credentials, account) {
            Outcome::Account(account) => account.id,
            other => panic!("no account was made: {other:?}"),
        }
    }

    fn make_key(credentials: &Credentials, account: Option<AccountId>) -> (ApiKeyId, String) {
        let text = new_api_key_text();
        let api_key = Change::CreateApiKey(NewApiKey {
            account,
            name: "test".into(),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes: Scopes::ALL,
            limit: None,
            expires_at: None,
        });
        match change(credentials, api_key) {
            Outcome::ApiKey(api_key) => (api_key.id, text),
            other => panic!("no key was made: {other:?}"),
        }
    }

    #[test]
    fn a_change_is_in_force_when_it_returns() {
        let credentials = credentials();
        let is_known = |text: &str| credentials.key_table().lookup(text).is_some();
        let account = make_account(&credentials);
        let (id, text) = make_key(&credentials, None);
        let (_, of_account) = make_key(&credentials, Some(account));
        assert!(is_known(&text));
        assert!(is_known(&of_account));
        change(&credentials, Change::RevokeApiKey(id));
        assert!(!is_known(&text));
        assert!(is_known(&of_account));
        change(&credentials, Change::SetDisabled(account, true));
        assert!(!is_known(&of_account));
        change(&credentials, Change::SetDisabled(account, false));
        assert!(is_known(&of_account));
    }

    #[test]
    fn the_key_table_is_rebuilt_on_every_way_out() {
        let credentials = credentials();
        let generation = || credentials.key_table().generation();
        let before = generation();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _rebuild = RebuildOnDrop(&credentials);
            panic!("as an engine might, after its commit");
        }));
        assert!(panicked.is_err());
        assert_eq!(generation(), before + 1);
        // Refused: there is no such key.
        change(&credentials, Change::RevokeApiKey(ApiKeyId(9)));
        assert_eq!(generation(), before + 2);
    }

    #[test]
    fn names_and_passwords_leave_the_key_table_alone() {
        let credentials = credentials();
        let account = make_account(&credentials);
        let before = credentials.key_table().generation();
        change(&credentials, Change::SetDisplayName(account, "Ana".into()));
        change(&credentials, Change::SetPassword(account, "y".into()));
        assert_eq!(credentials.key_table().generation(), before);
    }
}
