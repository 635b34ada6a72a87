//! The audit log as a witness: a cross-check of revoked keys and disabled accounts.
//!
//! A disk that lost a write, and reported success, returns the page with its earlier content: a key
//! that was revoked looks valid again, and its row has a checksum that matches. The entry of the
//! revocation is in another page. So a start trusts the log.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::event::Change;
use super::tables::{ACCOUNTS, API_KEYS, AUDIT, account_row, api_key_row};
use crate::codec::StoredValue;
use crate::damage::{DamageLog, Treatment};
use crate::error::{Error, Result};
use crate::model::{Account, AccountId, ApiKey, ApiKeyId, AuditEntry, Timestamp};
use crate::store::{Span, Store, Table, Transaction};

/// Accounts and keys that are out of use by the log, with the time of that.
#[derive(Default)]
pub(super) struct Logged {
    revoked: BTreeMap<ApiKeyId, Timestamp>,
    disabled: BTreeMap<AccountId, Timestamp>,
    deleted: BTreeMap<AccountId, Timestamp>,
}

/// Disables accounts and revokes keys according to the audit log where their rows say otherwise.
/// Returns those of the log if this cannot be stored, for the tables in memory.
///
/// Cost: a read of the log and of all keys; nothing is written when both agree.
pub(super) fn revoke_as_logged(store: &Store, damage: &DamageLog) -> Result<Logged> {
    let logged = Logged::read(store)?;
    let stored = store.write(|rows| logged.put_out_of_use(rows));
    let found = match stored {
        // A full disk prevents no reads, and makes nothing valid again. The scrubber stores the
        // rows in memory once there is space.
        Err(Error::Space { .. }) => return Ok(logged),
        stored => stored?,
    };
    for error in &found {
        damage.note(error, Treatment::RevokedAgain);
    }
    Ok(Logged::default())
}

impl Logged {
    fn read(store: &Store) -> Result<Self> {
        let [revoke, disable, enable, delete] = [
            Change::RevokeApiKey(ApiKeyId(0)).action(),
            Change::SetDisabled(AccountId(0), true).action(),
            Change::SetDisabled(AccountId(0), false).action(),
            Change::DeleteAccount(AccountId(0)).action(),
        ];
        let mut logged = Self::default();
        store.read(|rows| {
            rows.inspect(AUDIT, Span::ALL, &mut |_, value| {
                // A damaged entry witnesses nothing.
                let Ok(entry) = value.and_then(AuditEntry::decode) else {
                    return Ok(ControlFlow::Continue(()));
                };
                let (action, at) = (entry.action.as_str(), entry.at);
                if action == revoke
                    && let Some(api_key) = entry.api_key
                {
                    logged.revoked.insert(api_key, at);
                } else if let Some(account) = entry.account {
                    if action == disable {
                        logged.disabled.insert(account, at);
                    } else if action == enable {
                        logged.disabled.remove(&account);
                    } else if action == delete {
                        logged.deleted.insert(account, at);
                    }
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(logged)
    }

    /// An account in the state that the log gives.
    pub(super) fn account(&self, mut account: Account, damage: &DamageLog) -> Account {
        let logged = self.disabled.get(&account.id);
        let logged = logged.or_else(|| self.deleted.get(&account.id));
        if let Some(&at) = logged
            && disable_since(&mut account, at)
        {
            let error = contradicted("accounts", account.id.0);
            damage.note(&error, Treatment::RevokedAgain);
        }
        account
    }

    /// A key in the state that the log gives.
    pub(super) fn api_key(&self, mut api_key: ApiKey, damage: &DamageLog) -> ApiKey {
        let of_deleted = api_key
            .account
            .and_then(|account| self.deleted.get(&account));
        let logged = self.revoked.get(&api_key.id).or(of_deleted);
        if let Some(&at) = logged
            && revoke_since(&mut api_key, at)
        {
            let error = contradicted("api_keys", api_key.id.0);
            damage.note(&error, Treatment::RevokedAgain);
        }
        api_key
    }

    /// Returns the rows that differed.
    fn put_out_of_use(&self, rows: &mut Transaction<'_>) -> Result<Vec<Error>> {
        let mut found = Vec::new();
        for (&id, &at) in &self.revoked {
            found.extend(revoke(rows, id, at)?);
        }
        for (&id, &at) in self.disabled.iter().chain(&self.deleted) {
            found.extend(disable(rows, id, at)?);
        }
        if !self.deleted.is_empty() {
            for (id, at) in self.keys_of_deleted(rows)? {
                found.extend(revoke(rows, id, at)?);
            }
        }
        Ok(found)
    }

    fn keys_of_deleted(&self, rows: &Transaction<'_>) -> Result<Vec<(ApiKeyId, Timestamp)>> {
        let mut owned = Vec::new();
        rows.inspect(API_KEYS, Span::ALL, &mut |_, value| {
            if let Ok(api_key) = value.and_then(ApiKey::decode)
                && let Some(account) = api_key.account
                && let Some(at) = self.deleted.get(&account)
            {
                owned.push((api_key.id, *at));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(owned)
    }
}

/// The value of a row; `None` too if it cannot be read and used.
fn readable(rows: &Transaction<'_>, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
    match rows.get(table, row_key) {
        Err(Error::Corrupt { .. }) => Ok(None),
        stored => stored,
    }
}

/// Revokes a key; returns its row. `None` if it is revoked already, or unreadable and so unusable.
fn revoke(rows: &mut Transaction<'_>, id: ApiKeyId, at: Timestamp) -> Result<Option<Error>> {
    let row_key = api_key_row(id);
    let Some(stored) = readable(rows, API_KEYS, &row_key)? else {
        return Ok(None);
    };
    let Ok(mut api_key) = ApiKey::decode(&stored) else {
        return Ok(None);
    };
    if !revoke_since(&mut api_key, at) {
        return Ok(None);
    }
    rows.put(API_KEYS, &row_key, &api_key.encode())?;
    Ok(Some(contradicted("api_keys", id.0)))
}

/// Disables an account; `None` if it is disabled already, deleted, or unreadable.
fn disable(rows: &mut Transaction<'_>, id: AccountId, at: Timestamp) -> Result<Option<Error>> {
    let row_key = account_row(id);
    let Some(stored) = readable(rows, ACCOUNTS, &row_key)? else {
        return Ok(None);
    };
    let Ok(mut account) = Account::decode(&stored) else {
        return Ok(None);
    };
    if !disable_since(&mut account, at) {
        return Ok(None);
    }
    rows.put(ACCOUNTS, &row_key, &account.encode())?;
    Ok(Some(contradicted("accounts", id.0)))
}

/// Revokes a key at a time; false if it is revoked already.
fn revoke_since(api_key: &mut ApiKey, at: Timestamp) -> bool {
    let is_revoked = api_key.revoked_at.is_some_and(|revoked| revoked <= at);
    if !is_revoked {
        api_key.revoked_at = Some(at);
    }
    !is_revoked
}

/// Disables an account at a time; false if it is disabled already.
fn disable_since(account: &mut Account, at: Timestamp) -> bool {
    let is_enabled = account.disabled_at.is_none();
    if is_enabled {
        account.disabled_at = Some(at);
    }
    is_enabled
}

fn contradicted(table: &'static str, number: u64) -> Error {
    let place = format!("state.redb, table {table}, row {number:016x}");
    Error::corrupt(place, 0, "a row as the audit log tells it")
}
