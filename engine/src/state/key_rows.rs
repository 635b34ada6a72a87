//! Application of the events about API keys.

use std::ops::ControlFlow;

use super::apply::{Effect, EventStep};
use super::event::{KeyBound, KeyRenewal, KeyRoll, NewApiKey, Outcome};
use super::tables::{
    ACCOUNTS, API_KEY_TOTALS, API_KEY_USAGE, API_KEYS, LAST_API_KEY, account_row, api_key_day_row,
    api_key_row, day_of_row,
};
use crate::codec::StoredValue;
use crate::error::Result;
use crate::model::{AccountId, ApiKey, ApiKeyId, ApiKeyState, Day, Scopes, Timestamp};
use crate::store::{ScanOrder, Span};

/// Numbers that another key would add.
#[derive(Clone, Copy)]
struct NeededRoom {
    /// Moment of the change.
    at: Timestamp,
    /// Number of active keys that the change adds.
    active: u64,
}

impl EventStep<'_, '_> {
    pub(super) fn create_api_key(&mut self, new: &NewApiKey, at: Timestamp) -> Result<Outcome> {
        if let Some(account) = new.account
            && self.rows.get(ACCOUNTS, &account_row(account))?.is_none()
        {
            return Ok(Outcome::Unknown);
        }
        let api_key = ApiKey {
            id: ApiKeyId(self.next_number(LAST_API_KEY)?),
            account: new.account,
            name: new.name.clone(),
            digest: new.digest,
            partial: new.partial.clone(),
            scopes: new.scopes,
            limit: new.limit,
            created_at: at,
            expires_at: new.expires_at,
            revoked_at: None,
            replaced_by: None,
        };
        self.put_api_key(api_key)
    }

    pub(super) fn put_api_key(&mut self, api_key: ApiKey) -> Result<Outcome> {
        let row_key = api_key_row(api_key.id);
        self.rows.put(API_KEYS, &row_key, &api_key.encode())?;
        self.effects.push(Effect::ApiKey(api_key.clone()));
        Ok(Outcome::ApiKey(api_key))
    }

    pub(super) fn change_api_key(
        &mut self,
        id: ApiKeyId,
        change: impl FnOnce(&mut ApiKey),
    ) -> Result<Outcome> {
        let Some(stored) = self.rows.get(API_KEYS, &api_key_row(id))? else {
            return Ok(Outcome::Unknown);
        };
        let api_key = ApiKey::decode(&stored)?;
        let mut changed = api_key.clone();
        change(&mut changed);
        // Without an effect there is no audit entry: a repeated setting is not a change.
        if changed == api_key {
            return Ok(Outcome::ApiKey(api_key));
        }
        self.put_api_key(changed)
    }

    pub(super) fn revoke_api_key(&mut self, id: ApiKeyId, at: Timestamp) -> Result<Outcome> {
        let Some(stored) = self.rows.get(API_KEYS, &api_key_row(id))? else {
            return Ok(Outcome::Unknown);
        };
        let mut api_key = ApiKey::decode(&stored)?;
        // A clock that is set back later must not make it valid again.
        let at = self.see(at)?;
        // The time of the first revocation stands, unless it is in the future.
        if api_key.revoked_at.is_some_and(|revoked| revoked <= at) {
            return Ok(Outcome::ApiKey(api_key));
        }
        api_key.revoked_at = Some(at);
        self.put_api_key(api_key)
    }

    /// Makes a key if its owner may have another one.
    pub(super) fn create_api_key_within(
        &mut self,
        new: &NewApiKey,
        bound: KeyBound,
        at: Timestamp,
    ) -> Result<Outcome> {
        let needed = NeededRoom { at, active: 1 };
        match self.refuse_key(new.account, bound, needed)? {
            Some(refused) => Ok(refused),
            None => self.create_api_key(new, at),
        }
    }

    /// The refusal of another key; `None` if it is allowed. Feeds have one key, which does not
    /// count.
    fn refuse_key(
        &self,
        owner: Option<AccountId>,
        bound: KeyBound,
        needed: NeededRoom,
    ) -> Result<Option<Outcome>> {
        if owner.is_none() {
            return Ok(None);
        }
        let (mut all, mut active) = (0, 0);
        self.each_key_of(owner, &mut |api_key| {
            if api_key.scopes != Scopes::NONE {
                all += 1;
                active += u64::from(api_key.state(needed.at) == ApiKeyState::Active);
            }
        })?;
        Ok(if bound.keys_max <= all {
            Some(Outcome::TooManyKeys)
        } else if 0 < needed.active && bound.active_max <= active {
            Some(Outcome::TooManyActiveKeys)
        } else {
            None
        })
    }

    /// Visits the keys of an account; those that cannot be read open nothing and are left out.
    fn each_key_of(&self, owner: Option<AccountId>, each: &mut dyn FnMut(ApiKey)) -> Result<()> {
        self.rows.inspect(API_KEYS, Span::ALL, &mut |_, value| {
            if let Ok(api_key) = value.and_then(ApiKey::decode)
                && api_key.account == owner
            {
                each(api_key);
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Makes the key of the feeds of an account the only valid one.
    pub(super) fn replace_feed_key(&mut self, new: &NewApiKey, at: Timestamp) -> Result<Outcome> {
        let mut known = Vec::new();
        if new.account.is_some() {
            self.each_key_of(new.account, &mut |api_key| {
                if api_key.scopes == Scopes::NONE {
                    known.push(api_key);
                }
            })?;
        }
        for api_key in known {
            // Revoked before, so it is in no table of keys.
            if api_key.state(at) == ApiKeyState::Revoked {
                self.remove_api_key(api_key.id)?;
            } else {
                self.revoke_api_key(api_key.id, at)?;
            }
        }
        self.create_api_key(new, at)
    }

    fn remove_api_key(&mut self, id: ApiKeyId) -> Result<()> {
        self.drop_days_before(id, Day(u32::MAX))?;
        self.rows.remove(API_KEY_TOTALS, &api_key_row(id))?;
        self.rows.remove(API_KEYS, &api_key_row(id))?;
        self.effects.push(Effect::ApiKeyRemoved(id));
        Ok(())
    }

    /// Rolls a key that keeps its expiry, as older programs did.
    pub(super) fn roll_api_key(&mut self, roll: &KeyRoll, at: Timestamp) -> Result<Outcome> {
        let Some(stored) = self.rows.get(API_KEYS, &api_key_row(roll.old))? else {
            return Ok(Outcome::Unknown);
        };
        let expires_at = ApiKey::decode(&stored)?.expires_at;
        self.renew_api_key(
            &KeyRenewal {
                roll: roll.clone(),
                expires_at,
                bound: None,
            },
            at,
        )
    }

    pub(super) fn renew_api_key(&mut self, renewal: &KeyRenewal, at: Timestamp) -> Result<Outcome> {
        let roll = &renewal.roll;
        let Some(stored) = self.rows.get(API_KEYS, &api_key_row(roll.old))? else {
            return Ok(Outcome::Unknown);
        };
        let mut old = ApiKey::decode(&stored)?;
        if old.revoked_at.is_some() {
            return Ok(Outcome::Stale);
        }
        let is_revocation = roll.old_ends_at <= at;
        if let Some(bound) = renewal.bound {
            // Without a grace period the number of active keys does not change.
            let active = u64::from(!is_revocation);
            if let Some(refused) = self.refuse_key(old.account, bound, NeededRoom { at, active })? {
                return Ok(refused);
            }
        }
        let new = ApiKey {
            id: ApiKeyId(self.next_number(LAST_API_KEY)?),
            digest: roll.digest,
            partial: roll.partial.clone(),
            created_at: at,
            expires_at: renewal.expires_at,
            ..old.clone()
        };
        old.replaced_by = Some(new.id);
        self.move_usage(old.id, new.id)?;
        let at = self.see_roll(at)?;
        // Without a grace period the roll is a revocation: a clock that is set right later must not
        // make the old key valid again.
        old.revoked_at = Some(if is_revocation { at } else { roll.old_ends_at });
        self.put_api_key(old)?;
        self.put_api_key(new)
    }

    /// Gives the usage of one key to another, which has none yet.
    fn move_usage(&mut self, from: ApiKeyId, to: ApiKeyId) -> Result<()> {
        if let Some(totals) = self.rows.get(API_KEY_TOTALS, &api_key_row(from))? {
            self.rows.put(API_KEY_TOTALS, &api_key_row(to), &totals)?;
            self.rows.remove(API_KEY_TOTALS, &api_key_row(from))?;
        }
        let mut days = Vec::new();
        let span = Span {
            from: &api_key_day_row(from, Day(0)),
            to: Some(&api_key_day_row(ApiKeyId(from.0 + 1), Day(0))),
            order: ScanOrder::Ascending,
        };
        self.rows
            .inspect(API_KEY_USAGE, span, &mut |row_key, value| {
                // A damaged day stays behind.
                if let Ok(value) = value {
                    days.push((row_key.to_vec(), value.to_vec()));
                }
                Ok(ControlFlow::Continue(()))
            })?;
        for (row_key, usage) in days {
            if let Some(day) = day_of_row(&row_key) {
                let moved = api_key_day_row(to, day);
                self.rows.put(API_KEY_USAGE, &moved, &usage)?;
                self.rows.remove(API_KEY_USAGE, &row_key)?;
            }
        }
        Ok(())
    }
}
