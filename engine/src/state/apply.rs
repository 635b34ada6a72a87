//! The one function that applies events to `state.redb`, and decides conflicts.
//!
//! It is deterministic: the same rows and the same frame give the same rows and outcomes.

use std::ops::ControlFlow;

use super::event::{
    By, Change, DownloadAggregate, NewAccount, Outcome, RememberedFile, StateEvent, UsageBatch,
};
use super::repair::last_number;
use super::tables::{
    ACCOUNTS, API_KEY_TOTALS, API_KEY_USAGE, APPLIED, AuditClass, DOWNLOADS, EMAILS, FIGURES,
    FILES, LAST_ACCOUNT, META, OFFSETS, REGISTRATION, USAGE, account_row, api_key_day_row,
    api_key_row, day_row, last_usage_row, offset_row,
};
use super::touched::TouchedCredentials;
use crate::codec::{ApiKeyTotals, StoredValue, decode_number, encode_figures, encode_number};
use crate::error::{Error, Result};
use crate::limits::{FIGURE_DAYS_MAX, FIGURES_MAX, USAGE_DAYS_MAX};
use crate::log_rows::{FRAME_VERSION, FrameOrigin, LogProgress, note_frame, put_progress};
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, Day, LinkPurpose, NodeId,
    ReleaseId, Role, SecondStep, Session, Timestamp, Usage,
};
use crate::store::{ScanOrder, Span, Table, Transaction};

/// A change that the tables in memory must follow once a frame is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// An account is new or has changed.
    Account(Account),
    /// An account is gone.
    AccountDeleted(AccountId),
    /// The second step of an account was set, or turned off.
    SecondStep(AccountId, Option<SecondStep>),
    /// A key is new or has changed.
    ApiKey(ApiKey),
    /// The key of a feed that was revoked is gone.
    ApiKeyRemoved(ApiKeyId),
    /// A one-time link was made, or has ended.
    Link,
    /// Registration is open (true), or by invitation only.
    Registration(bool),
    /// The latest second was set.
    Clock,
    /// A session was opened, or a use of it was noted.
    Session(Session),
    /// A session was ended.
    SessionClosed([u8; 32]),
    /// Files were cached or forgotten.
    File(FileEffect),
}

/// A change that the table of cached files must follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileEffect {
    /// A file was cached.
    Cached(ReleaseId, CachedFile),
    /// The file of a release is no longer cached.
    ReleaseForgotten(ReleaseId),
}

/// Events of one node, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateFrame {
    pub(crate) version: u8,
    pub(crate) origin: FrameOrigin,
    pub(crate) events: Vec<StateEvent>,
}

/// Result of frames in one transaction.
#[derive(Debug, Default)]
pub(super) struct AppliedFrames {
    /// Sequence number of the transaction.
    pub(super) number: u64,
    /// One per event; none for the events of a frame that was applied before.
    pub(super) outcomes: Vec<Option<Outcome>>,
    /// In order.
    pub(super) effects: Vec<Effect>,
    /// Damaged sums that were counted from zero again.
    pub(super) discarded: Vec<Error>,
}

/// Applies frames in order. `progress` is that of a shared log, and is noted with what it brought:
/// a frame may be in such a log twice, and is applied once.
pub(super) fn apply_state(
    rows: &mut Transaction<'_>,
    frames: &[StateFrame],
    progress: Option<&LogProgress>,
) -> Result<AppliedFrames> {
    let mut applied = AppliedFrames {
        number: number(rows, META, APPLIED)? + 1,
        ..AppliedFrames::default()
    };
    for frame in frames {
        if progress.is_none() || note_frame(rows, frame.origin)? {
            applied.apply(rows, frame)?;
        } else {
            applied.outcomes.extend(frame.events.iter().map(|_| None));
        }
    }
    if let Some(progress) = progress {
        put_progress(rows, progress)?;
    }
    rows.put(META, APPLIED, &encode_number(applied.number))?;
    applied.discarded = rows.take_discarded();
    Ok(applied)
}

impl AppliedFrames {
    /// The accounts and keys that requests are checked against and that were changed.
    pub(super) fn touched(&self) -> TouchedCredentials {
        let mut touched = TouchedCredentials::default();
        for effect in &self.effects {
            match effect {
                Effect::Account(account) => touched.accounts.push(account.id),
                Effect::AccountDeleted(id) => touched.accounts.push(*id),
                Effect::ApiKey(api_key) => touched.api_keys.push(api_key.id),
                Effect::SecondStep(..)
                // A key is removed only after it was revoked.
                | Effect::ApiKeyRemoved(_)
                | Effect::Link
                | Effect::Registration(_)
                | Effect::Clock
                | Effect::Session(_)
                | Effect::SessionClosed(_)
                | Effect::File(_) => {}
            }
        }
        touched
    }

    fn apply(&mut self, rows: &mut Transaction<'_>, frame: &StateFrame) -> Result<()> {
        let author = EventAuthor {
            version: frame.version,
            node: frame.origin.node,
        };
        for event in &frame.events {
            let outcome = EventStep {
                rows,
                effects: &mut self.effects,
                author,
            }
            .apply(event)?;
            self.outcomes.push(Some(outcome));
        }
        Ok(())
    }
}

/// Author of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventAuthor {
    /// Version of the frame. A changed rule depends on it: a program that knows both rules must
    /// treat a frame like a program that knows only the older one.
    version: u8,
    /// Its node: what is numbered per node is numbered for it.
    pub(super) node: NodeId,
}

pub(super) struct EventStep<'s, 't> {
    pub(super) rows: &'s mut Transaction<'t>,
    pub(super) effects: &'s mut Vec<Effect>,
    pub(super) author: EventAuthor,
}

impl EventStep<'_, '_> {
    fn apply(&mut self, event: &StateEvent) -> Result<Outcome> {
        assert!(FRAME_VERSION <= self.author.version);
        match event {
            StateEvent::Change(by, change) => self.change_and_audit(change, by),
            StateEvent::OpenSession(session, hash) => self.open_session(session, hash),
            StateEvent::CloseSession(digest) => self.close_session(*digest),
            StateEvent::UseSession(digest, at) => self.use_session(digest, *at),
            StateEvent::SealSecret(id, sealed) => self.seal_secret(*id, sealed),
            StateEvent::UseCode(id, used) => self.use_code(*id, used),
            StateEvent::IssueLink(link) => self.issue_link(link),
            StateEvent::TakeLink(digest) => self.take_link(*digest),
            StateEvent::DropExpiredSessions(now) => {
                // By a clock that is far ahead nothing ends for good.
                let seen = self.see(*now)?;
                self.close_sessions(|session| session.has_ended(seen))?;
                self.drop_links(|link| link.has_ended(seen))?;
                if seen == *now {
                    self.doubt_rolls(seen)
                } else {
                    Ok(Outcome::Done)
                }
            }
            StateEvent::AddUsage(batch) => self.add_usage(batch),
            StateEvent::KeepFigures(day, figures) => self.keep_figures(*day, figures),
            StateEvent::Audit(entry) => self.audit(entry, AuditClass::Routine),
            StateEvent::AuditSignIn(entry) => self.audit(entry, AuditClass::SignIn),
            StateEvent::RememberFile(remembered) => self.remember_file(remembered),
            StateEvent::ForgetFile(release) => self.forget_file(release),
            StateEvent::AggregateDownloads(aggregate) => self.aggregate_downloads(aggregate),
        }
    }

    /// Changes accounts or keys, and adds an entry to the audit log if anything has changed.
    fn change_and_audit(&mut self, change: &Change, by: &By) -> Result<Outcome> {
        let effects_count = self.effects.len();
        let forgotten = match change {
            Change::DeleteAccount(id) => self.address_of(*id)?,
            _ => None,
        };
        let outcome = self.change(change, by)?;
        // An effect is the proof of a change: see the invariant of `change`.
        if effects_count < self.effects.len() {
            let entry = audit_entry_of(change, by, &outcome);
            let class = self.class_of(change, by, &entry)?;
            self.audit(&entry, class)?;
            if let (Some(address), Some(id)) = (forgotten, change.account()) {
                self.forget_actor(&address, id)?;
            }
        }
        Ok(outcome)
    }

    /// INVARIANT: a step that changes a row of an account, a key or a session adds an effect; a
    /// step that changes nothing adds none.
    fn change(&mut self, change: &Change, by: &By) -> Result<Outcome> {
        match change {
            Change::CreateAccount(new) => self.create_account(new, by.at),
            Change::SetPassword(id, hash) => self.set_password(*id, hash),
            Change::ReplacePassword { account, old, new } => {
                match self.refuse_password(*account, old)? {
                    Some(refused) => Ok(refused),
                    None => self.set_password(*account, new),
                }
            }
            Change::SetDisplayName(id, name) => self.change_account(*id, |account| {
                account.display_name.clone_from(name);
            }),
            Change::SetEmail(id, email) => self.set_email(*id, email),
            Change::DeleteAccount(id) => self.delete_account(*id, by.at),
            Change::SetSecondStep(id, second) => self.set_second_step(*id, second.as_ref()),
            Change::SetRole(id, role) => self.set_role(*id, *role),
            // Sessions end in the same transaction: a disabled account is signed out, or still
            // enabled.
            Change::SetDisabled(id, true) => {
                let outcome = self.change_account(*id, |account| {
                    account.disabled_at.get_or_insert(by.at);
                })?;
                self.close_sessions(|session| session.account == *id)?;
                self.drop_links(|link| link.issuer == Some(*id))?;
                Ok(outcome)
            }
            Change::SetDisabled(id, false) => {
                self.change_account(*id, |account| account.disabled_at = None)
            }
            Change::CloseSessions(id) => {
                self.close_sessions(|session| session.account == *id)?;
                Ok(Outcome::Done)
            }
            Change::CreateApiKey(new) => self.create_api_key(new, by.at),
            Change::RenameApiKey(id, name) => self.change_api_key(*id, |api_key| {
                api_key.name.clone_from(name);
            }),
            Change::SetApiKeyLimit(id, limit) => self.change_api_key(*id, |api_key| {
                api_key.limit = *limit;
            }),
            Change::RevokeApiKey(id) => self.revoke_api_key(*id, by.at),
            Change::RollApiKey(roll) => self.roll_api_key(roll, by.at),
            Change::SetRegistration(is_open) => self.set_registration(*is_open),
            Change::IssueLink(link) => self.issue_link_by(link),
            Change::WithdrawLink(digest) => self.withdraw_link(digest),
            Change::AcceptInvitation(link, new) => self.accept_invitation(link, new, by.at),
            Change::SetPasswordByLink {
                link,
                account,
                hash,
            } => self.set_password_by_link(link, *account, hash, by.at),
            Change::CreateApiKeyWithin(new, bound) => {
                self.create_api_key_within(new, *bound, by.at)
            }
            Change::RenewApiKey(renewal) => self.renew_api_key(renewal, by.at),
            Change::ReplaceFeedKey(new) => self.replace_feed_key(new, by.at),
            Change::ReplaceRecoveryCodes(id, digests) => self.replace_codes(*id, digests),
            Change::SetClock(second) => self.set_clock(*second),
        }
    }

    /// An account that is no longer an administrator keeps no valid link that it made.
    fn set_role(&mut self, id: AccountId, role: Role) -> Result<Outcome> {
        if role != Role::Admin {
            self.drop_links(|link| link.issuer == Some(id))?;
        }
        self.change_account(id, |account| account.role = role)
    }

    fn set_registration(&mut self, is_open: bool) -> Result<Outcome> {
        let number = encode_number(u64::from(is_open));
        if self.rows.get(META, REGISTRATION)?.as_deref() != Some(&number[..]) {
            self.rows.put(META, REGISTRATION, &number)?;
            self.effects.push(Effect::Registration(is_open));
        }
        Ok(Outcome::Done)
    }

    /// The next id of a kind; ids are never used twice.
    pub(super) fn next_number(&mut self, name: &[u8]) -> Result<u64> {
        let next = last_number(self.rows, name)? + 1;
        self.rows.put(META, name, &encode_number(next))?;
        Ok(next)
    }

    pub(super) fn create_account(&mut self, new: &NewAccount, at: Timestamp) -> Result<Outcome> {
        let email_row = new.email.as_str().as_bytes();
        if self.rows.get(EMAILS, email_row)?.is_some() {
            return Ok(Outcome::EmailTaken);
        }
        let account = Account {
            id: AccountId(self.next_number(LAST_ACCOUNT)?),
            email: new.email.clone(),
            display_name: new.display_name.clone(),
            role: new.role,
            password_hash: new.password_hash.clone(),
            created_at: at,
            disabled_at: None,
        };
        self.rows
            .put(EMAILS, email_row, &encode_number(account.id.0))?;
        self.put_account(&account)?;
        Ok(Outcome::Account(account))
    }

    pub(super) fn put_account(&mut self, account: &Account) -> Result<()> {
        let row_key = account_row(account.id);
        self.rows.put(ACCOUNTS, &row_key, &account.encode())?;
        self.effects.push(Effect::Account(account.clone()));
        Ok(())
    }

    pub(super) fn change_account(
        &mut self,
        id: AccountId,
        change: impl FnOnce(&mut Account),
    ) -> Result<Outcome> {
        let Some(stored) = self.rows.get(ACCOUNTS, &account_row(id))? else {
            return Ok(Outcome::Unknown);
        };
        let account = Account::decode(&stored)?;
        let mut changed = account.clone();
        change(&mut changed);
        // Without an effect there is no audit entry: a repeated setting is not a change.
        if changed != account {
            self.put_account(&changed)?;
        }
        Ok(Outcome::Done)
    }

    fn add_usage(&mut self, batch: &UsageBatch) -> Result<Outcome> {
        // Added before, by a commit that its caller saw fail.
        let row_key = last_usage_row(self.author.node);
        if batch.number <= number(self.rows, META, &row_key)? {
            return Ok(Outcome::Stale);
        }
        self.rows
            .put(META, &row_key, &encode_number(batch.number))?;
        let moments = batch.deltas.iter().filter_map(|delta| delta.last_used_at);
        if let Some(latest) = moments.max() {
            self.see(latest)?;
        }
        for delta in &batch.deltas {
            self.count_usage(delta.api_key, delta.day, &delta.usage)?;
            if let (Some(id), Some(at)) = (delta.api_key, delta.last_used_at) {
                self.change_totals(id, |totals| {
                    // A clock that was far ahead must not hide all later uses.
                    let known = totals.last_used_at.filter(|known| !known.is_far_after(at));
                    totals.last_used_at = known.max(Some(at));
                })?;
            }
        }
        Ok(Outcome::Done)
    }

    /// Adds usage to the day, and to the key, its day and its totals. A key's days are bounded: its
    /// first use on a day drops those that are too old.
    fn count_usage(&mut self, api_key: Option<ApiKeyId>, day: Day, usage: &Usage) -> Result<()> {
        self.add_to_row(USAGE, &day_row(day), usage)?;
        if let Some(id) = api_key {
            let row_key = api_key_day_row(id, day);
            if self.rows.get_or_discard(API_KEY_USAGE, &row_key)?.is_none() {
                let last = self.believed_day(day)?;
                self.drop_days_before(id, Day(last.0.saturating_sub(USAGE_DAYS_MAX)))?;
            }
            self.add_to_row(API_KEY_USAGE, &row_key, usage)?;
            self.change_totals(id, |totals| totals.usage.add(usage))?;
        }
        Ok(())
    }

    /// Drops the usage of a key on the days before `first`; its totals keep it.
    pub(super) fn drop_days_before(&mut self, id: ApiKeyId, first: Day) -> Result<()> {
        let from = api_key_day_row(id, Day(0));
        self.drop_rows(API_KEY_USAGE, &from, &api_key_day_row(id, first))
    }

    fn keep_figures(&mut self, day: Day, figures: &[u64]) -> Result<Outcome> {
        if FIGURES_MAX < figures.len() {
            // No program of this version writes such a frame.
            return Ok(Outcome::Stale);
        }
        let last = self.believed_day(day)?;
        let first = Day(last.0.saturating_sub(FIGURE_DAYS_MAX - 1));
        self.drop_rows(FIGURES, &day_row(Day(0)), &day_row(first))?;
        self.rows
            .put(FIGURES, &day_row(day), &encode_figures(figures))?;
        Ok(Outcome::Done)
    }

    /// Drops the rows from one row key up to another, which stays.
    fn drop_rows(&mut self, table: Table, from: &[u8], to: &[u8]) -> Result<()> {
        let mut old = Vec::new();
        let span = Span {
            from,
            to: Some(to),
            order: ScanOrder::Ascending,
        };
        self.rows.inspect(table, span, &mut |row_key, _| {
            old.push(row_key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        for row_key in old {
            self.rows.remove(table, &row_key)?;
        }
        Ok(())
    }

    fn add_to_row(&mut self, table: Table, row_key: &[u8], usage: &Usage) -> Result<()> {
        let mut sum = stored_or_default(self.rows, table, row_key, Usage::decode)?;
        sum.add(usage);
        self.rows.put(table, row_key, &sum.encode())
    }

    fn change_totals(
        &mut self,
        id: ApiKeyId,
        change: impl FnOnce(&mut ApiKeyTotals),
    ) -> Result<()> {
        let row_key = api_key_row(id);
        let mut totals =
            stored_or_default(self.rows, API_KEY_TOTALS, &row_key, ApiKeyTotals::decode)?;
        change(&mut totals);
        self.rows.put(API_KEY_TOTALS, &row_key, &totals.encode())
    }

    /// Class of an entry. It is routine if an account has changed only its own things: accounts can
    /// make any number of such entries, which must not push out those of administrators and
    /// operators.
    fn class_of(&self, change: &Change, by: &By, entry: &AuditEntry) -> Result<AuditClass> {
        let is_security = matches!(
            change,
            Change::SetRole(..)
                | Change::SetDisabled(..)
                | Change::IssueLink(_)
                | Change::WithdrawLink(_)
                | Change::AcceptInvitation(..)
                | Change::SetPasswordByLink { .. }
        );
        let Some(account) = entry.account.filter(|_| !is_security) else {
            return Ok(AuditClass::Security);
        };
        let stored = self.rows.get(ACCOUNTS, &account_row(account));
        let account = stored.and_then(|stored| stored.map(|row| Account::decode(&row)).transpose());
        match account {
            Ok(Some(account)) if account.email.as_str() == by.actor => Ok(AuditClass::Routine),
            Ok(_) | Err(Error::Corrupt { .. }) => Ok(AuditClass::Security),
            Err(error) => Err(error),
        }
    }

    fn remember_file(&mut self, remembered: &RememberedFile) -> Result<Outcome> {
        let RememberedFile {
            release,
            file,
            replaces,
        } = remembered;
        let row_key = release.as_str().as_bytes();
        // A damaged row names no file: the new one takes its place.
        let known = stored_or_default(self.rows, FILES, row_key, |row| {
            CachedFile::decode(row).map(Some)
        })?;
        let known = known.map(|file| file.content);
        if known.is_some() && known != *replaces {
            return Ok(Outcome::Stale);
        }
        self.rows.put(FILES, row_key, &file.encode())?;
        let effect = FileEffect::Cached(release.clone(), file.clone());
        self.effects.push(Effect::File(effect));
        Ok(Outcome::Done)
    }

    fn forget_file(&mut self, release: &ReleaseId) -> Result<Outcome> {
        if !self.rows.remove(FILES, release.as_str().as_bytes())? {
            return Ok(Outcome::Unknown);
        }
        let effect = FileEffect::ReleaseForgotten(release.clone());
        self.effects.push(Effect::File(effect));
        Ok(Outcome::Done)
    }

    fn aggregate_downloads(&mut self, aggregate: &DownloadAggregate) -> Result<Outcome> {
        for part in &aggregate.parts {
            // All parts are checked before anything is added: an aggregation counts whole or not at
            // all.
            let row_key = offset_row(self.author.node, &part.name);
            if number(self.rows, OFFSETS, row_key.as_bytes())? != part.from {
                return Ok(Outcome::Stale);
            }
        }
        for (record, downloads) in &aggregate.records {
            let row_key = record.as_bytes();
            let sum = stored_or_default(self.rows, DOWNLOADS, row_key, decode_number)?;
            let sum = sum.saturating_add(*downloads);
            self.rows.put(DOWNLOADS, row_key, &encode_number(sum))?;
        }
        for (api_key, day, downloads) in &aggregate.usage {
            let usage = Usage {
                downloads: *downloads,
                ..Usage::default()
            };
            self.count_usage(*api_key, *day, &usage)?;
        }
        for part in &aggregate.parts {
            let row_key = offset_row(self.author.node, &part.name);
            self.rows
                .put(OFFSETS, row_key.as_bytes(), &encode_number(part.to))?;
        }
        for name in &aggregate.forgotten {
            let row_key = offset_row(self.author.node, name);
            self.rows.remove(OFFSETS, row_key.as_bytes())?;
        }
        Ok(Outcome::Done)
    }
}

/// The entry of the audit log for a change.
fn audit_entry_of(change: &Change, by: &By, outcome: &Outcome) -> AuditEntry {
    let (account, api_key, detail) = match outcome {
        Outcome::Account(account) => (Some(account.id), None, ""),
        Outcome::ApiKey(api_key) => (api_key.account, Some(api_key.id), &*api_key.name),
        Outcome::Link(link) => match link.purpose {
            LinkPurpose::Invitation(role) => (None, None, role.as_str()),
            LinkPurpose::NewPassword(id) => (Some(id), None, ""),
        },
        _ => (change.account(), None, ""),
    };
    AuditEntry {
        at: by.at,
        actor: by.actor.clone(),
        action: change.action().to_owned(),
        account,
        api_key,
        detail: detail.to_owned(),
    }
}

/// A stored sum; zero when there is none, and when it is damaged: later additions must not be lost
/// with it.
fn stored_or_default<T: Default>(
    rows: &mut Transaction<'_>,
    table: Table,
    row_key: &[u8],
    decode: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    let Some(stored) = rows.get_or_discard(table, row_key)? else {
        return Ok(T::default());
    };
    match decode(&stored) {
        Err(error @ Error::Corrupt { .. }) => {
            rows.discard(table, row_key, error)?;
            Ok(T::default())
        }
        decoded => decoded,
    }
}

/// A stored number; 0 when there is none.
pub(super) fn number(rows: &Transaction<'_>, table: Table, row_key: &[u8]) -> Result<u64> {
    match rows.get(table, row_key)? {
        Some(stored) => decode_number(&stored),
        None => Ok(0),
    }
}
