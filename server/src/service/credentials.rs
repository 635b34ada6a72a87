//! Accounts and API keys: the only place that changes them.
//!
//! A change of an account or a key is two steps: the event is made durable in the engine, then the
//! table that requests are checked against follows. Both happen here, so no caller can forget the
//! second one and keep serving a revoked key.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use subcat_engine::{
    AccountId, ApiKey, ApiKeyId, Change, Email, Engine, Outcome, StateEvent, Timestamp,
    TouchedCredentials,
};

use crate::auth::KeyTable;
use tokio::sync::MutexGuard;

/// The author of a change, as the audit log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor<'a> {
    /// The operator, at the command line.
    CommandLine,
    /// An account of the web interface: signed in, or the one that a sign-up creates.
    Account(&'a Email),
    /// The clock of this machine, once it is confirmed.
    Clock,
}

impl Actor<'_> {
    /// Name of the author in the audit log.
    pub fn as_str(&self) -> &str {
        match self {
            Self::CommandLine => "command line",
            Self::Account(email) => email.as_str(),
            Self::Clock => "clock",
        }
    }
}

/// The accounts and keys of an open catalog, and the table of keys made from them.
///
/// INVARIANT: when a change has returned, `key_table` agrees with the engine: it holds every key
/// that is not revoked yet and does not belong to a disabled account. After an error that leaves
/// open whether the change is durable, [`Credentials::settle`] restores that.
pub struct Credentials {
    engine: Arc<Engine>,
    key_table: KeyTable,
    /// Held while the table is changed, from reading the engine on: of two changes at once the
    /// older state could otherwise be put over the newer one.
    updating: Mutex<()>,
    /// Held while roles change and accounts are disabled.
    administering: tokio::sync::Mutex<()>,
    /// True after a failed change: it may be durable nevertheless.
    is_unsettled: AtomicBool,
    confirm: OnceLock<ConfirmFn>,
}

/// Waits until every node of a cluster obeys the changes that were applied here.
pub type ConfirmFn = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl Credentials {
    /// The current accounts and keys of `engine`.
    pub fn new(engine: Arc<Engine>) -> Self {
        let credentials = Self {
            engine,
            key_table: KeyTable::new(Vec::new()),
            updating: Mutex::new(()),
            administering: tokio::sync::Mutex::new(()),
            is_unsettled: AtomicBool::new(false),
            confirm: OnceLock::new(),
        };
        credentials.rebuild();
        credentials
    }

    /// The keys that requests may carry.
    pub fn key_table(&self) -> &KeyTable {
        &self.key_table
    }

    /// The right to change roles and to disable accounts. One caller has it at a time, so that its
    /// checks still hold when the change is made.
    pub async fn administering(&self) -> MutexGuard<'_, ()> {
        self.administering.lock().await
    }

    /// Changes accounts or keys, with a line in the audit log. When it is ready, the change is
    /// durable and every request that starts is checked against it. Blocks the thread that polls
    /// for the disk, and waits for other machines as a task.
    ///
    /// Errors: the engine's; nothing is known to be changed then.
    pub async fn change(
        &self,
        change: Change,
        actor: Actor<'_>,
        at: Timestamp,
    ) -> subcat_engine::Result<Outcome> {
        self.apply(change, None, actor, at).await
    }

    /// Changes accounts or keys as [`Credentials::change`] does, and applies `session` in the same
    /// transaction: both are durable, or neither. Returns the outcome of the change.
    pub async fn change_with_session(
        &self,
        change: Change,
        session: StateEvent,
        actor: Actor<'_>,
        at: Timestamp,
    ) -> subcat_engine::Result<Outcome> {
        self.apply(change, Some(session), actor, at).await
    }

    async fn apply(
        &self,
        change: Change,
        session: Option<StateEvent>,
        actor: Actor<'_>,
        at: Timestamp,
    ) -> subcat_engine::Result<Outcome> {
        let affected = AffectedKeys::of(&change);
        let ends_keys = ends_keys(&change);
        // Settled on every way out: a commit that reports an error, or that a panic follows, may
        // have changed the keys nevertheless.
        let unsettled = UnsettledOnDrop(self);
        let mut events = vec![change.into_event(actor.as_str(), at)];
        events.extend(session);
        let outcomes = self.engine.submit(events).await?;
        let outcome = outcomes.into_iter().next().expect(ONE_EACH);
        self.follow(affected, &outcome);
        std::mem::forget(unsettled);
        if ends_keys && let Some(confirm) = self.confirm.get() {
            confirm().await;
        }
        Ok(outcome)
    }

    /// Brings the table up to date with accounts and keys that other nodes have changed.
    pub fn refresh_touched(&self, touched: &TouchedCredentials) {
        if touched.is_everything {
            self.rebuild();
            return;
        }
        let accounts = self.engine.accounts();
        let _order = self.updating.lock();
        let mut gone = HashSet::new();
        for id in &touched.api_keys {
            match accounts.api_key(*id) {
                Some(api_key) => self.refresh(Some(api_key)),
                None => {
                    gone.insert(*id);
                }
            }
        }
        if !gone.is_empty() {
            // Revoked and removed since the table was brought up to date.
            self.key_table.retain(|api_key| !gone.contains(&api_key.id));
        }
        for id in &touched.accounts {
            self.refresh_account(*id);
        }
    }

    /// Makes what ends keys wait until every node of a cluster obeys it. Only the first call has an
    /// effect.
    pub fn confirm_with(&self, confirm: ConfirmFn) {
        let _ = self.confirm.set(confirm);
    }

    /// Makes the table agree with the engine after a change that failed; does nothing after others.
    /// Called by that change, and every second until it succeeds.
    pub fn settle(&self) {
        if !self.is_unsettled.swap(false, Ordering::AcqRel) {
            return;
        }
        if let Err(error) = self.engine.accounts().catch_up() {
            tracing::debug!(%error, "it is not known yet whether a change of keys is durable");
            self.is_unsettled.store(true, Ordering::Release);
        }
        self.rebuild();
    }

    /// Brings the table up to date with the keys that a change concerns.
    fn follow(&self, affected: AffectedKeys, outcome: &Outcome) {
        if *outcome == Outcome::KeysCorrected {
            self.rebuild();
            return;
        }
        let accounts = self.engine.accounts();
        let _order = self.updating.lock();
        match affected {
            AffectedKeys::None => {}
            AffectedKeys::Created => {
                if let Outcome::ApiKey(api_key) = outcome {
                    self.refresh(accounts.api_key(api_key.id));
                }
            }
            AffectedKeys::One(id) => self.refresh(accounts.api_key(id)),
            AffectedKeys::Rolled(old) => {
                self.refresh(accounts.api_key(old));
                if let Outcome::ApiKey(api_key) = outcome {
                    self.refresh(accounts.api_key(api_key.id));
                }
            }
            AffectedKeys::OfAccount(account) => self.refresh_account(account),
        }
    }

    /// Makes the keys of an account those that the engine has. A feed's key that another change has
    /// revoked, and the next one removed, is in the table until the first of them gets its turn.
    fn refresh_account(&self, account: AccountId) {
        let mut known = HashSet::new();
        for api_key in self.engine.accounts().api_keys_of(account) {
            known.insert(api_key.id);
            self.refresh(Some(api_key));
        }
        self.key_table
            .retain(|api_key| api_key.account != Some(account) || known.contains(&api_key.id));
    }

    /// Puts a key into the table, or removes it, as the engine has it.
    fn refresh(&self, api_key: Option<ApiKey>) {
        let Some(api_key) = api_key else {
            return;
        };
        let is_enabled = |id: AccountId| {
            let account = self.engine.accounts().get(id);
            account.is_some_and(|account| account.disabled_at.is_none())
        };
        if !self.is_revoked(&api_key) && api_key.account.is_none_or(is_enabled) {
            self.key_table.put(api_key);
        } else {
            self.key_table.remove(&api_key.digest);
        }
    }

    /// Returns true if a key is revoked by now, whatever the clock shows: a revocation stores its
    /// moment as the latest one in the same transaction, and a rolled key's end lies behind it.
    fn is_revoked(&self, api_key: &ApiKey) -> bool {
        let Some(at) = api_key.revoked_at else {
            return false;
        };
        match self.engine.usage().latest_moment() {
            Ok(latest) => at <= latest,
            Err(_) => true,
        }
    }

    /// Reads all keys and accounts and replaces the table. Cost: a copy of every key.
    pub(super) fn rebuild(&self) {
        let _order = self.updating.lock();
        let mut api_keys = self.engine.accounts().api_keys();
        let mut accounts = self.engine.accounts().all();
        accounts.retain(|account| account.disabled_at.is_none());
        let enabled: HashSet<AccountId> = accounts.iter().map(|account| account.id).collect();
        let is_enabled = |id: AccountId| enabled.contains(&id);
        api_keys
            .retain(|api_key| !self.is_revoked(api_key) && api_key.account.is_none_or(is_enabled));
        self.key_table.replace(api_keys);
    }
}

/// Returns true for a change that makes the server refuse requests that it accepted before.
const fn ends_keys(change: &Change) -> bool {
    matches!(
        change,
        Change::RevokeApiKey(_)
            | Change::RollApiKey(_)
            | Change::RenewApiKey(_)
            | Change::ReplaceFeedKey(_)
            | Change::SetDisabled(_, true)
            | Change::DeleteAccount(_)
    )
}

const ONE_EACH: &str = "the engine gives one outcome for each event";

/// Settles the table when it is dropped.
struct UnsettledOnDrop<'a>(&'a Credentials);

impl Drop for UnsettledOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_unsettled.store(true, Ordering::Release);
        self.0.settle();
    }
}

/// The keys of the table that a change can alter. A change that alters none must not cost a copy,
/// or make connections look their keys up again.
#[derive(Debug, Clone, Copy)]
enum AffectedKeys {
    None,
    /// The one that it makes, which the outcome names.
    Created,
    One(ApiKeyId),
    /// One, and the new one that the outcome names.
    Rolled(ApiKeyId),
    OfAccount(AccountId),
}

impl AffectedKeys {
    /// No arm is a wildcard, so that a new change does not compile until it is decided here.
    const fn of(change: &Change) -> Self {
        match change {
            Change::SetDisabled(id, _) | Change::DeleteAccount(id) => Self::OfAccount(*id),
            Change::CreateApiKey(_) | Change::CreateApiKeyWithin(..) => Self::Created,
            Change::ReplaceFeedKey(new) => match new.account {
                Some(owner) => Self::OfAccount(owner),
                None => Self::Created,
            },
            Change::RevokeApiKey(id) | Change::SetApiKeyLimit(id, _) => Self::One(*id),
            Change::RollApiKey(roll) => Self::Rolled(roll.old),
            Change::RenewApiKey(renewal) => Self::Rolled(renewal.roll.old),
            Change::CreateAccount(_)
            | Change::SetRole(..)
            | Change::SetEmail(..)
            | Change::SetSecondStep(..)
            | Change::SetPassword(..)
            | Change::ReplacePassword { .. }
            | Change::SetDisplayName(..)
            | Change::RenameApiKey(..)
            | Change::SetRegistration(_)
            | Change::IssueLink(_)
            | Change::WithdrawLink(_)
            | Change::ReplaceRecoveryCodes(..)
            // Its outcome says if it does.
            | Change::SetClock(_)
            | Change::AcceptInvitation(..)
            | Change::SetPasswordByLink { .. }
            | Change::CloseSessions(_) => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use subcat_engine::{
        KeyRenewal, KeyRoll, NewAccount, NewApiKey, NodeId, Options, Real, Role, Scopes, StoreKind,
        block_on,
    };

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
            node: NodeId(1),
        };
        let engine = Engine::open(std::path::Path::new("unused"), options).unwrap();
        Credentials::new(Arc::new(engine))
    }

    fn change(credentials: &Credentials, change: Change) -> Outcome {
        let changed = credentials.change(change, Actor::CommandLine, now());
        block_on(changed).unwrap()
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

    /// A feed's key that one change revokes and the next one removes is gone from the table,
    /// whichever of the two brings it up to date.
    #[test]
    fn a_key_that_was_removed_meanwhile_is_in_force_no_longer() {
        let credentials = credentials();
        let account = make_account(&credentials);
        let replaced = || {
            let text = new_api_key_text();
            let key = Change::ReplaceFeedKey(NewApiKey {
                account: Some(account),
                name: "feed".into(),
                digest: api_key_digest(&text),
                partial: api_key_partial(&text),
                scopes: Scopes::NONE,
                limit: None,
                expires_at: None,
            });
            (key, text)
        };
        let is_known = |text: &str| credentials.key_table().lookup(text).is_some();
        let touch = |api_keys: Vec<ApiKeyId>, accounts: Vec<AccountId>| TouchedCredentials {
            is_everything: false,
            api_keys: api_keys.into_iter().collect(),
            accounts: accounts.into_iter().collect(),
        };
        for is_of_account in [true, false] {
            let (first, old) = replaced();
            let Outcome::ApiKey(first) = change(&credentials, first) else {
                panic!("no key was made");
            };
            let mut last = String::new();
            for _ in 0..2 {
                let (next, text) = replaced();
                let event = next.into_event("test", now());
                credentials.engine.apply(vec![event]).unwrap();
                last = text;
            }
            assert!(is_known(&old), "nothing has brought the table up to date");
            credentials.refresh_touched(&if is_of_account {
                touch(Vec::new(), vec![account])
            } else {
                touch(vec![first.id], Vec::new())
            });
            assert!(!is_known(&old));
            assert_eq!(is_known(&last), is_of_account);
        }
    }

    /// A clock that is days ahead has rolled a key, and is set right: by an event of the clock, or
    /// by the operator after it was believed.
    #[test]
    fn a_key_that_a_wrong_clock_has_rolled_ends_sooner_in_the_table_too() {
        const WEEK: i64 = 7 * 86_400;
        let wrong = now().plus_seconds(WEEK);
        for is_believed in [false, true] {
            let credentials = credentials();
            let (old, text) = make_key(&credentials, None);
            change(&credentials, Change::SetClock(now()));
            if is_believed {
                change(&credentials, Change::SetClock(wrong));
            }
            let renewed = Change::RenewApiKey(KeyRenewal {
                roll: KeyRoll {
                    old,
                    digest: api_key_digest("new"),
                    partial: String::new(),
                    old_ends_at: wrong.plus_seconds(WEEK),
                },
                expires_at: None,
                bound: None,
            });
            let rolled = credentials.change(renewed, Actor::CommandLine, wrong);
            block_on(rolled).unwrap();
            let end = || {
                credentials
                    .key_table()
                    .lookup(&text)
                    .unwrap()
                    .api_key
                    .revoked_at
            };
            assert_eq!(end(), Some(wrong.plus_seconds(WEEK)));
            if is_believed {
                change(&credentials, Change::SetClock(now()));
            } else {
                let heard = vec![StateEvent::DropExpiredSessions(now())];
                let heard = credentials.engine.apply(heard).unwrap();
                assert_eq!(heard, [Outcome::KeysCorrected]);
                credentials.rebuild();
            }
            assert_eq!(end(), Some(now().plus_seconds(WEEK)));
        }
    }

    #[test]
    fn the_table_is_settled_after_a_panic() {
        let credentials = credentials();
        let (_, text) = make_key(&credentials, None);
        let digest = api_key_digest(&text);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _unsettled = UnsettledOnDrop(&credentials);
            // As if the change had been stopped between its two steps.
            credentials.key_table.remove(&digest);
            panic!("as an engine might, after its commit");
        }));
        assert!(panicked.is_err());
        assert!(credentials.key_table().lookup(&text).is_some());
        assert!(!credentials.is_unsettled.load(Ordering::Relaxed));
    }

    #[test]
    fn a_change_that_failed_and_is_durable_is_in_force_when_settled() {
        let credentials = credentials();
        let (id, text) = make_key(&credentials, None);
        let revoke = Change::RevokeApiKey(id).into_event("test", now());
        credentials.engine.apply(vec![revoke]).unwrap();
        assert!(credentials.key_table().lookup(&text).is_some());
        credentials.settle();
        assert!(
            credentials.key_table().lookup(&text).is_some(),
            "nothing failed"
        );
        credentials.is_unsettled.store(true, Ordering::Relaxed);
        credentials.settle();
        assert!(credentials.key_table().lookup(&text).is_none());
    }

    #[test]
    fn a_refused_change_leaves_the_table_alone() {
        let credentials = credentials();
        let before = credentials.key_table().generation();
        change(&credentials, Change::RevokeApiKey(ApiKeyId(9)));
        assert_eq!(credentials.key_table().generation(), before);
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
