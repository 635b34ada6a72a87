//! Accounts, keys and sessions in memory.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use super::apply::{Effect, FileEffect};
use super::repair::DamagedRow;
use crate::model::{Account, AccountId, ApiKey, ApiKeyId, Email, SecondStep, Session, Timestamp};
use crate::store::Table;

type SeededMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Accounts, keys and sessions in memory, replaced row by row once a frame is durable.
#[derive(Default)]
pub(super) struct View {
    /// Row keys of accounts and keys that could not be read, by table.
    pub(super) unreadable: BTreeMap<&'static str, BTreeSet<Vec<u8>>>,
    pub(super) accounts: BTreeMap<AccountId, Account>,
    pub(super) emails: SeededMap<Email, AccountId>,
    pub(super) api_keys: BTreeMap<ApiKeyId, ApiKey>,
    /// Keys of each account.
    pub(super) owned_keys: BTreeSet<(AccountId, ApiKeyId)>,
    pub(super) second_steps: BTreeMap<AccountId, SecondStep>,
    /// True if registration is open; `None` until an administrator decides.
    pub(super) registration: Option<bool>,
    pub(super) sessions: SeededMap<[u8; 32], Session>,
    /// Sessions of each account, oldest first.
    pub(super) owned_sessions: SeededMap<AccountId, BTreeSet<(Timestamp, [u8; 32])>>,
}

impl View {
    /// Follows an effect of a frame that is durable; gives one back that is about files.
    pub(super) fn follow(&mut self, effect: Effect) -> Option<FileEffect> {
        match effect {
            Effect::Account(account) => self.put_account(account),
            Effect::AccountDeleted(id) => self.remove_account(id),
            Effect::SecondStep(id, second) => self.set_second_step(id, second),
            Effect::ApiKey(api_key) => self.put_api_key(api_key),
            Effect::ApiKeyRemoved(id) => self.remove_api_key(id),
            // Links and the latest second are read from the file.
            Effect::Link | Effect::Clock => {}
            Effect::Registration(is_open) => self.registration = Some(is_open),
            Effect::Session(session) => self.put_session(session),
            Effect::SessionClosed(digest) => self.remove_session(&digest),
            Effect::File(effect) => return Some(effect),
        }
        None
    }

    pub(super) fn note_unreadable(&mut self, table: Table, damaged: Vec<DamagedRow>) {
        let row_keys = damaged.into_iter().map(|row| row.row_key);
        self.unreadable.insert(table.0, row_keys.collect());
    }

    pub(super) fn put_account(&mut self, account: Account) {
        let (id, email) = (account.id, account.email.clone());
        if let Some(before) = self.accounts.insert(id, account)
            && before.email != email
        {
            self.emails.remove(&before.email);
        }
        self.emails.insert(email, id);
    }

    fn remove_account(&mut self, id: AccountId) {
        if let Some(account) = self.accounts.remove(&id) {
            self.emails.remove(&account.email);
        }
        self.second_steps.remove(&id);
    }

    pub(super) fn set_second_step(&mut self, id: AccountId, second: Option<SecondStep>) {
        match second {
            Some(second) => drop(self.second_steps.insert(id, second)),
            None => drop(self.second_steps.remove(&id)),
        }
    }

    pub(super) fn put_api_key(&mut self, api_key: ApiKey) {
        if let Some(account) = api_key.account {
            self.owned_keys.insert((account, api_key.id));
        }
        self.api_keys.insert(api_key.id, api_key);
    }

    fn remove_api_key(&mut self, id: ApiKeyId) {
        if let Some(api_key) = self.api_keys.remove(&id)
            && let Some(account) = api_key.account
        {
            self.owned_keys.remove(&(account, id));
        }
    }

    pub(super) fn put_session(&mut self, session: Session) {
        let owned = self.owned_sessions.entry(session.account).or_default();
        owned.insert((session.created_at, session.digest));
        self.sessions.insert(session.digest, session);
    }

    fn remove_session(&mut self, digest: &[u8; 32]) {
        let Some(session) = self.sessions.remove(digest) else {
            return;
        };
        if let Some(owned) = self.owned_sessions.get_mut(&session.account) {
            owned.remove(&(session.created_at, session.digest));
            if owned.is_empty() {
                self.owned_sessions.remove(&session.account);
            }
        }
    }
}
