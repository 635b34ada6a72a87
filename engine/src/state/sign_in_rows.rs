//! Application of the events about signing in: second steps, one-time links, and the end of an
//! account.

use std::ops::ControlFlow;

use super::apply::{Effect, EventStep};
use super::event::{NewAccount, Outcome};
use super::tables::{ACCOUNTS, API_KEYS, AUDIT, EMAILS, LINKS, SECOND_STEPS, account_row};
use crate::codec::{StoredValue, encode_number};
use crate::error::{Error, Result};
use crate::limits::ONE_TIME_LINKS_MAX;
use crate::model::{
    Account, AccountId, ApiKey, AuditEntry, Email, LinkPurpose, OneTimeLink, Role,
    SEALED_SECRET_BYTES, SecondStep, StepSecret, Timestamp, UsedCode,
};
use crate::store::{Rows, Span};

impl EventStep<'_, '_> {
    fn stored_account(&self, id: AccountId) -> Result<Option<Account>> {
        let stored = self.rows.get(ACCOUNTS, &account_row(id))?;
        stored.map(|row| Account::decode(&row)).transpose()
    }

    /// The address of an account, its name in the audit log.
    pub(super) fn address_of(&self, id: AccountId) -> Result<Option<Email>> {
        Ok(self.stored_account(id)?.map(|account| account.email))
    }

    pub(super) fn set_email(&mut self, id: AccountId, email: &Email) -> Result<Outcome> {
        let Some(mut account) = self.stored_account(id)? else {
            return Ok(Outcome::Unknown);
        };
        if account.email == *email {
            return Ok(Outcome::Done);
        }
        let row_key = email.as_str().as_bytes();
        if self.rows.get(EMAILS, row_key)?.is_some() {
            return Ok(Outcome::EmailTaken);
        }
        self.rows
            .remove(EMAILS, account.email.as_str().as_bytes())?;
        self.rows.put(EMAILS, row_key, &encode_number(id.0))?;
        account.email = email.clone();
        self.put_account(&account)?;
        Ok(Outcome::Done)
    }

    /// Removes an account, its sessions and its links. Its keys stay, revoked: their usage is part
    /// of the service's.
    pub(super) fn delete_account(&mut self, id: AccountId, at: Timestamp) -> Result<Outcome> {
        let Some(account) = self.stored_account(id)? else {
            return Ok(Outcome::Unknown);
        };
        let mut owned = Vec::new();
        self.rows.inspect(API_KEYS, Span::ALL, &mut |_, value| {
            // An unreadable key gives no access.
            let api_key = value.and_then(ApiKey::decode);
            if let Ok(api_key) = api_key
                && api_key.account == Some(id)
            {
                owned.push(api_key.id);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for api_key in owned {
            self.revoke_api_key(api_key, at)?;
        }
        self.close_sessions(|session| session.account == id)?;
        self.drop_links(|link| link.account() == Some(id) || link.issuer == Some(id))?;
        self.rows.remove(SECOND_STEPS, &account_row(id))?;
        self.rows
            .remove(EMAILS, account.email.as_str().as_bytes())?;
        self.rows.remove(ACCOUNTS, &account_row(id))?;
        self.effects.push(Effect::AccountDeleted(id));
        Ok(Outcome::Done)
    }

    /// Replaces the address of a deleted account in the audit log by its id.
    pub(super) fn forget_actor(&mut self, address: &Email, id: AccountId) -> Result<()> {
        let mut changed = Vec::new();
        self.rows.inspect(AUDIT, Span::ALL, &mut |row_key, value| {
            // A damaged entry is left out of the log.
            if let Ok(mut entry) = value.and_then(AuditEntry::decode)
                && entry.actor == address.as_str()
            {
                entry.actor = format!("account {}", id.0);
                changed.push((row_key.to_vec(), entry.encode()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for (row_key, entry) in changed {
            self.rows.put(AUDIT, &row_key, &entry)?;
        }
        Ok(())
    }

    pub(super) fn set_second_step(
        &mut self,
        id: AccountId,
        second: Option<&SecondStep>,
    ) -> Result<Outcome> {
        if self.stored_account(id)?.is_none() {
            return Ok(Outcome::Unknown);
        }
        let is_changed = match second {
            Some(second) => {
                let row = second.encode();
                self.rows.put(SECOND_STEPS, &account_row(id), &row)?;
                true
            }
            None => self.rows.remove(SECOND_STEPS, &account_row(id))?,
        };
        // Without an effect there is no audit entry: turning it off twice is not a change.
        if is_changed {
            self.effects.push(Effect::SecondStep(id, second.cloned()));
        }
        Ok(Outcome::Done)
    }

    pub(super) fn seal_secret(
        &mut self,
        id: AccountId,
        sealed: &[u8; SEALED_SECRET_BYTES],
    ) -> Result<Outcome> {
        self.change_second_step(id, |second| {
            if matches!(second.secret, StepSecret::Sealed(_)) {
                return Outcome::Stale;
            }
            second.secret = StepSecret::Sealed(*sealed);
            Outcome::Done
        })
    }

    pub(super) fn replace_codes(&mut self, id: AccountId, digests: &[[u8; 32]]) -> Result<Outcome> {
        self.change_second_step(id, |second| {
            second.recovery_digests = digests.to_vec();
            Outcome::Done
        })
    }

    /// Uses up a code, so that an observer cannot use it again.
    pub(super) fn use_code(&mut self, id: AccountId, used: &UsedCode) -> Result<Outcome> {
        self.change_second_step(id, |second| match used {
            UsedCode::Step(step) if second.last_step < *step => {
                second.last_step = *step;
                Outcome::Done
            }
            UsedCode::Step(_) => Outcome::Stale,
            UsedCode::Recovery(digest) => {
                let known = second.recovery_digests.iter().position(|it| it == digest);
                let Some(idx) = known else {
                    return Outcome::Stale;
                };
                second.recovery_digests.remove(idx);
                Outcome::Done
            }
        })
    }

    /// Stores the second step of an account as `change` leaves it, if that returns
    /// [`Outcome::Done`].
    fn change_second_step(
        &mut self,
        id: AccountId,
        change: impl FnOnce(&mut SecondStep) -> Outcome,
    ) -> Result<Outcome> {
        let row_key = account_row(id);
        let Some(stored) = self.rows.get(SECOND_STEPS, &row_key)? else {
            return Ok(Outcome::Unknown);
        };
        let mut second = SecondStep::decode(&stored)?;
        let outcome = change(&mut second);
        if matches!(outcome, Outcome::Done) {
            self.rows.put(SECOND_STEPS, &row_key, &second.encode())?;
            self.effects.push(Effect::SecondStep(id, Some(second)));
        }
        Ok(outcome)
    }

    pub(super) fn issue_link(&mut self, link: &OneTimeLink) -> Result<Outcome> {
        if matches!(link.purpose, LinkPurpose::NewPassword(_)) {
            self.drop_links(|known| known.purpose == link.purpose)?;
        }
        let known = self.links()?;
        if ONE_TIME_LINKS_MAX <= known.len()
            && let Some(oldest) = known.iter().min_by_key(|link| link.expires_at)
        {
            self.rows.remove(LINKS, &oldest.digest)?;
        }
        self.rows.put(LINKS, &link.digest, &link.encode())?;
        Ok(Outcome::Done)
    }

    /// Remembers a link of an enabled administrator.
    pub(super) fn issue_link_by(&mut self, link: &OneTimeLink) -> Result<Outcome> {
        if !self.is_issuer(link.issuer)? {
            return Ok(Outcome::Stale);
        }
        self.issue_link(link)?;
        self.effects.push(Effect::Link);
        Ok(Outcome::Link(link.clone()))
    }

    fn is_issuer(&self, issuer: Option<AccountId>) -> Result<bool> {
        let account = match issuer {
            Some(id) => self.stored_account(id)?,
            None => None,
        };
        Ok(account.is_some_and(|it| it.role == Role::Admin && it.disabled_at.is_none()))
    }

    /// The link with this digest, if it is valid at this moment.
    fn valid_link(&self, digest: &[u8; 32], at: Timestamp) -> Result<Option<OneTimeLink>> {
        let stored = self.rows.get(LINKS, digest);
        let link = match stored
            .and_then(|stored| stored.map(|row| OneTimeLink::decode(&row)).transpose())
        {
            // Like a used one, it is not valid.
            Err(Error::Corrupt { .. }) => None,
            link => link?,
        };
        match link {
            Some(link) if !link.is_expired(at) && self.is_issuer(link.issuer)? => Ok(Some(link)),
            _ => Ok(None),
        }
    }

    pub(super) fn withdraw_link(&mut self, digest: &[u8; 32]) -> Result<Outcome> {
        let known = self
            .links()?
            .into_iter()
            .find(|link| link.digest == *digest);
        let Some(link) = known else {
            return Ok(Outcome::Unknown);
        };
        self.rows.remove(LINKS, digest)?;
        self.effects.push(Effect::Link);
        Ok(Outcome::Link(link))
    }

    /// Makes an account with the role of the invitation, which is used up only then.
    pub(super) fn accept_invitation(
        &mut self,
        digest: &[u8; 32],
        new: &NewAccount,
        at: Timestamp,
    ) -> Result<Outcome> {
        let link = self.valid_link(digest, at)?;
        let Some(LinkPurpose::Invitation(role)) = link.map(|link| link.purpose) else {
            return Ok(Outcome::Unknown);
        };
        let new = NewAccount {
            role,
            ..new.clone()
        };
        let outcome = self.create_account(&new, at)?;
        if matches!(outcome, Outcome::Account(_)) {
            self.rows.remove(LINKS, digest)?;
        }
        Ok(outcome)
    }

    pub(super) fn set_password_by_link(
        &mut self,
        digest: &[u8; 32],
        id: AccountId,
        hash: &str,
        at: Timestamp,
    ) -> Result<Outcome> {
        let link = self.valid_link(digest, at)?;
        if link.map(|link| link.purpose) != Some(LinkPurpose::NewPassword(id)) {
            return Ok(Outcome::Unknown);
        }
        self.rows.remove(LINKS, digest)?;
        self.set_password(id, hash)
    }

    pub(super) fn take_link(&mut self, digest: [u8; 32]) -> Result<Outcome> {
        let is_taken = self.rows.remove(LINKS, &digest)?;
        Ok(if is_taken {
            Outcome::Done
        } else {
            Outcome::Unknown
        })
    }

    pub(super) fn drop_links(&mut self, is_ended: impl Fn(&OneTimeLink) -> bool) -> Result<()> {
        for link in self.links()? {
            if is_ended(&link) {
                self.rows.remove(LINKS, &link.digest)?;
            }
        }
        Ok(())
    }

    fn links(&self) -> Result<Vec<OneTimeLink>> {
        stored_links(&self.rows.changed())
    }
}

/// All one-time links, expired or not. Damaged ones are left out: they open nothing.
pub(super) fn stored_links(rows: &Rows<'_>) -> Result<Vec<OneTimeLink>> {
    let mut links = Vec::new();
    rows.inspect(LINKS, Span::ALL, &mut |_, value| {
        match value.and_then(OneTimeLink::decode) {
            Err(Error::Corrupt { .. }) => {}
            link => links.push(link?),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(links)
}
