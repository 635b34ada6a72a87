//! Application of the events about sessions, and of new passwords, which end them.

use std::ops::ControlFlow;

use super::apply::{Effect, EventStep};
use super::event::Outcome;
use super::tables::{ACCOUNTS, SESSIONS, account_row};
use crate::codec::StoredValue;
use crate::error::{Error, Result};
use crate::limits::{PENDING_SIGN_INS_MAX, SESSIONS_MAX};
use crate::model::{Account, AccountId, Session, Timestamp};
use crate::store::Span;

impl EventStep<'_, '_> {
    pub(super) fn set_password(&mut self, id: AccountId, hash: &str) -> Result<Outcome> {
        let outcome =
            self.change_account(id, |account| hash.clone_into(&mut account.password_hash))?;
        // A holder of the old password may have a session, or have made links: neither must outlive
        // the change.
        self.close_sessions(|session| session.account == id)?;
        self.drop_links(|link| link.issuer == Some(id))?;
        Ok(outcome)
    }

    /// The refusal for a password with this hash; `None` if the hash is current.
    pub(super) fn refuse_password(&self, id: AccountId, hash: &str) -> Result<Option<Outcome>> {
        // The password was verified before this transaction, because hashing takes long: it may
        // have been replaced since, or the account disabled.
        let Some(stored) = self.rows.get(ACCOUNTS, &account_row(id))? else {
            return Ok(Some(Outcome::Unknown));
        };
        let account = Account::decode(&stored)?;
        let is_current = account.password_hash == hash && account.disabled_at.is_none();
        Ok((!is_current).then_some(Outcome::Stale))
    }

    pub(super) fn open_session(&mut self, session: &Session, hash: &str) -> Result<Outcome> {
        if let Some(refused) = self.refuse_password(session.account, hash)? {
            return Ok(refused);
        }
        self.close_surplus_sessions(session)?;
        self.rows
            .put(SESSIONS, &session.digest, &session.encode())?;
        self.effects.push(Effect::Session(session.clone()));
        Ok(Outcome::Done)
    }

    /// Closes the oldest sessions of the same account and kind to make space for a new one.
    fn close_surplus_sessions(&mut self, new: &Session) -> Result<()> {
        let count_max = if new.is_pending {
            PENDING_SIGN_INS_MAX
        } else {
            SESSIONS_MAX
        };
        let mut kept = Vec::new();
        self.rows.inspect(SESSIONS, Span::ALL, &mut |_, value| {
            // An unreadable one gives no access.
            if let Ok(session) = value.and_then(Session::decode)
                && session.account == new.account
                && session.is_pending == new.is_pending
            {
                kept.push((session.created_at, session.digest));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        kept.sort_unstable();
        let surplus = (kept.len() + 1).saturating_sub(count_max);
        for (_, digest) in kept.into_iter().take(surplus) {
            self.close_session(digest)?;
        }
        Ok(())
    }

    /// Notes a use. Pages that a visitor asks for together each find it due: the first is noted.
    pub(super) fn use_session(&mut self, digest: &[u8; 32], at: Timestamp) -> Result<Outcome> {
        let Some(stored) = self.rows.get(SESSIONS, digest)? else {
            return Ok(Outcome::Unknown);
        };
        let mut session = Session::decode(&stored)?;
        if !session.is_use_due(at) {
            return Ok(Outcome::Stale);
        }
        session.last_used_at = Some(at);
        self.rows.put(SESSIONS, digest, &session.encode())?;
        self.effects.push(Effect::Session(session));
        Ok(Outcome::Done)
    }

    pub(super) fn close_session(&mut self, digest: [u8; 32]) -> Result<Outcome> {
        if !self.rows.remove(SESSIONS, &digest)? {
            return Ok(Outcome::Unknown);
        }
        self.effects.push(Effect::SessionClosed(digest));
        Ok(Outcome::Done)
    }

    pub(super) fn close_sessions(&mut self, is_ended: impl Fn(&Session) -> bool) -> Result<()> {
        let mut ended = Vec::new();
        self.rows
            .inspect(SESSIONS, Span::ALL, &mut |row_key, value| {
                match (row_key.try_into(), value.and_then(Session::decode)) {
                    (_, Ok(session)) if is_ended(&session) => ended.push(session.digest),
                    // The owner is unknown: it ends as well.
                    (Ok(digest), Err(Error::Corrupt { .. })) => ended.push(digest),
                    (_, Err(error)) if !matches!(error, Error::Corrupt { .. }) => {
                        return Err(error);
                    }
                    _ => {}
                }
                Ok(ControlFlow::Continue(()))
            })?;
        for digest in ended {
            self.close_session(digest)?;
        }
        Ok(())
    }
}
