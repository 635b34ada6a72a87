//! The state file and the tables in memory that follow it.
//!
//! # A change, step by step
//!
//! Two callers at once: A revokes key 7, B adds an account. The file has 41 applied frames.
//!
//! 1. Both queue their events in the log. Alone, A takes both frames, and B waits (group commit);
//!    `apply` gets the lock of `writer`.
//! 2. `settle` compares the number in the file with that in memory. Both are 41.
//! 3. `try_commit` applies the frames in one transaction, which also stores 42, and makes them
//!    durable.
//! 4. `show` changes the tables in memory. Only now do readers see key 7 revoked: never a change
//!    that a power cut could take back.
//! 5. Each caller gets the outcomes of its events: B finds its answer when it gets its turn.
//!
//! | found | number in the file | consequence |
//! |---|---|---|
//! | the commit fails | 42 | none: it is durable, and counts as a success |
//! | the commit fails | 41 | the log tries the frame of each caller again, alone |
//! | the commit fails | unreadable | an error for all: the change may be made or not |
//! | the next `settle` | above memory's | a failed commit was durable: all tables are read again |
//! | the next `settle` | below memory's | a write was lost: the rows in memory are stored again |
//!
//! `view` and `files` have a lock each, and are never locked together: downloads need `files` only,
//! and must not wait for the pages.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashSet;
use parking_lot::{Mutex, RwLock};

use super::apply::{AppliedFrames, Effect, FileEffect, StateFrame, apply_state};
use super::audit_witness::revoke_as_logged;
use super::event::Outcome;
use super::file_table::FileTable;
use super::repair::{
    EachRow, drop_rows, each_readable, note_disabled, repair_emails, repair_numbers,
    repair_second_steps,
};
use super::sign_in_rows::stored_links;
use super::tables::{
    ACCOUNTS, API_KEY_TOTALS, API_KEY_USAGE, API_KEYS, APPLIED, AUDIT, AuditClass, DOWNLOADS,
    FIGURES, FILES, LATEST_SECOND, LINKS, META, OFFSETS, REGISTRATION, SECOND_STEPS, SESSIONS,
    USAGE, account_row, api_key_day_row, api_key_row, audit_row, audit_rows, day_of_row, day_row,
    last_usage_row, number_of_audit_row, offset_row,
};
use super::touched::TouchedCredentials;
use super::view::View;
use crate::codec::{ApiKeyTotals, StoredValue, decode_figures, decode_number, encode_number};
use crate::damage::{DamageLog, Treatment};
use crate::error::{Error, Failed, Result};
use crate::limits::COUNTER_FILE_BYTES_MAX;
use crate::log_rows::LogProgress;
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email, NodeId,
    OneTimeLink, RecordId, ReleaseId, Role, SecondStep, Session, Timestamp, Usage,
};
use crate::store::{ScanOrder, Span, Store, Table};

/// `state.redb` and the tables in memory that follow it.
pub(crate) struct State {
    pub(super) store: Store,
    view: RwLock<View>,
    /// Never locked together with `view`: downloads would wait for what the pages wait for.
    files: RwLock<FileTable>,
    /// Raised after a file's entry was deleted or replaced.
    files_generation: AtomicU64,
    /// Receives damage, for the log.
    pub(super) damage: Arc<DamageLog>,
    pub(super) writer: Mutex<FrameWriter>,
}

/// Rows of a table: row key, value.
pub(super) type RowsOfTable = BTreeMap<Vec<u8>, Vec<u8>>;

/// Counts of the rows in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StateCounts {
    pub(crate) accounts: u64,
    pub(crate) api_keys: u64,
    pub(crate) cached_files: u64,
    /// Size of all cached blobs, in bytes, each counted once.
    pub(crate) blob_bytes: u64,
}

/// Result of a transaction that is durable and shown.
#[derive(Debug)]
pub(crate) struct Committed {
    /// One per event; none for those of a frame that was applied before.
    pub(crate) outcomes: Vec<Option<Outcome>>,
    pub(crate) touched: TouchedCredentials,
}

pub(super) struct FrameWriter {
    /// Sequence number of the last frame applied and known here.
    applied: u64,
    /// Times that everything was read.
    pub(super) loads_count: u64,
}

impl State {
    /// A state that has not read its tables yet.
    pub(crate) fn new(store: Store, damage: Arc<DamageLog>) -> Self {
        Self {
            store,
            view: RwLock::default(),
            files: RwLock::default(),
            files_generation: AtomicU64::new(0),
            damage,
            writer: Mutex::new(FrameWriter {
                applied: 0,
                loads_count: 0,
            }),
        }
    }

    /// Reads the tables into memory.
    pub(crate) fn open(&self) -> Result<()> {
        self.load(&mut self.writer.lock())
    }

    /// Count of records that were downloaded.
    pub(crate) fn downloads_count(&self) -> Result<u64> {
        self.store.read(|rows| rows.rows_count(DOWNLOADS))
    }

    /// Calls `each` with every downloaded record and its stored count. Damaged counts are dropped.
    pub(crate) fn each_download(&self, each: &mut dyn FnMut(RecordId, u64)) -> Result<()> {
        self.each_or_drop(DOWNLOADS, &mut |row_key, value| {
            let id = row_key.try_into().map_err(|_| bad_row("downloads"))?;
            each(RecordId::from_bytes(id), decode_number(value)?);
            Ok(())
        })
    }

    /// Number of the last batch of usage of a node that was added.
    pub(crate) fn last_usage(&self, node: NodeId) -> Result<u64> {
        let row_key = last_usage_row(node);
        let stored = self.store.read(|rows| rows.get(META, &row_key))?;
        stored.map_or(Ok(0), |value| decode_number(&value))
    }

    /// The latest moment that was stored; 1970 before the first.
    pub(crate) fn latest_moment(&self) -> Result<Timestamp> {
        let stored = self.store.read(|rows| rows.get(META, LATEST_SECOND))?;
        let seconds = stored.map_or(Ok(0), |value| decode_number(&value))?;
        let moment = i64::try_from(seconds)
            .ok()
            .and_then(Timestamp::from_seconds);
        moment.ok_or_else(|| bad_row("meta"))
    }

    /// Offset up to which each log file of a node was aggregated, by name. A file whose offset is
    /// damaged is taken as aggregated to its end: at most ten seconds of downloads are lost then,
    /// while from its beginning all of them would count twice.
    pub(crate) fn offsets(&self, node: NodeId) -> Result<Vec<(String, u64)>> {
        let prefix = offset_row(node, "");
        let own_name = |row_key: &[u8]| {
            let name = String::from_utf8_lossy(row_key);
            name.strip_prefix(&prefix).map(str::to_owned)
        };
        let mut offsets = Vec::new();
        let damaged = each_readable(&self.store, OFFSETS, &mut |row_key, value| {
            let offset = decode_number(value)?;
            offsets.extend(own_name(row_key).map(|name| (name, offset)));
            Ok(())
        })?;
        for row in damaged {
            self.damage.note(&row.error, Treatment::Dropped);
            let name = own_name(&row.row_key);
            offsets.extend(name.map(|name| (name, COUNTER_FILE_BYTES_MAX)));
        }
        Ok(offsets)
    }

    /// Applies frames, makes them durable in one transaction, then shows what they changed to
    /// readers. `progress` is that of the shared log that they come from, if they do.
    pub(crate) fn apply(
        &self,
        frames: &[StateFrame],
        progress: Option<&LogProgress>,
    ) -> Result<Committed, Failed> {
        let mut writer = self.writer.lock();
        let loads_before = writer.loads_count;
        let mut committed = self.commit(&mut writer, frames, progress)?;
        committed.touched.is_everything = loads_before != writer.loads_count;
        Ok(committed)
    }

    fn commit(
        &self,
        writer: &mut FrameWriter,
        frames: &[StateFrame],
        progress: Option<&LogProgress>,
    ) -> Result<Committed, Failed> {
        self.settle(writer)?;
        let committed = self.try_commit(writer, frames, progress);
        if let Err(Failed {
            error: Error::Corrupt { .. },
            is_open: false,
        }) = committed
            && self.store_kept_tables_again()? != 0
        {
            // A row was damaged after it was read into memory, and is repaired now.
            return self.try_commit(writer, frames, progress);
        }
        committed
    }

    /// Makes memory and file agree. The number in the file is compared, which costs one look-up: a
    /// view that lags would show a revoked key as valid.
    fn settle(&self, writer: &mut FrameWriter) -> Result<()> {
        match self.applied() {
            Ok(applied) if applied == writer.applied => Ok(()),
            // A write was lost: the file is older than the acknowledged changes, and memory is not.
            Ok(applied) if applied < writer.applied => {
                self.store_kept_tables_again()?;
                let number = encode_number(writer.applied);
                self.store.write(|rows| rows.put(META, APPLIED, &number))
            }
            // An earlier commit failed and is durable all the same; or the number is damaged.
            Ok(_) | Err(Error::Corrupt { .. }) => self.load(writer),
            Err(error) => Err(error),
        }
    }

    fn try_commit(
        &self,
        writer: &mut FrameWriter,
        frames: &[StateFrame],
        progress: Option<&LogProgress>,
    ) -> Result<Committed, Failed> {
        let mut applied = None;
        let committed = self.store.write(|rows| {
            applied = Some(apply_state(rows, frames, progress)?);
            Ok(())
        });
        if let Err(error) = committed {
            // A commit that fails may be durable all the same: the number in the file shows it, if
            // it can be read.
            let Some(applied) = &applied else {
                return Err(error.into());
            };
            let now = self.applied();
            if !now.as_ref().is_ok_and(|now| *now == applied.number) {
                let is_open = now.is_err();
                return Err(Failed { error, is_open });
            }
        }
        let applied: AppliedFrames = applied.expect("a frame that is durable was applied");
        // Only now: readers never see a change that a power cut could take back.
        writer.applied = applied.number;
        for error in &applied.discarded {
            self.damage.note(error, Treatment::CountedAnew);
        }
        let touched = applied.touched();
        self.show(applied.effects);
        Ok(Committed {
            outcomes: applied.outcomes,
            touched,
        })
    }

    /// Reads the tables in memory again if a commit that failed is durable all the same.
    pub(crate) fn catch_up(&self) -> Result<()> {
        self.settle(&mut self.writer.lock())
    }

    /// Calls `work` while no frame can be applied: memory and file agree then.
    pub(super) fn with_writer_locked<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut writer = self.writer.lock();
        self.settle(&mut writer)?;
        work()
    }

    /// The rows, in their stored form, of a table that is kept in memory completely.
    pub(super) fn rows_in_memory(&self, table: Table) -> RowsOfTable {
        let view = self.view.read();
        let mut rows = RowsOfTable::new();
        if table == ACCOUNTS {
            let accounts = view.accounts.values();
            rows.extend(accounts.map(|it| (account_row(it.id).to_vec(), it.encode())));
        } else if table == API_KEYS {
            let api_keys = view.api_keys.values();
            rows.extend(api_keys.map(|it| (api_key_row(it.id).to_vec(), it.encode())));
        } else if table == SECOND_STEPS {
            let second_steps = view.second_steps.iter();
            rows.extend(second_steps.map(|(id, it)| (account_row(*id).to_vec(), it.encode())));
        } else if table == SESSIONS {
            let sessions = view.sessions.values();
            rows.extend(sessions.map(|it| (it.digest.to_vec(), it.encode())));
        }
        rows
    }

    /// Returns true if the row could not be read when its table was: it is not in memory.
    pub(super) fn is_unreadable(&self, table: Table, row_key: &[u8]) -> bool {
        let view = self.view.read();
        let rows = view.unreadable.get(table.0);
        rows.is_some_and(|rows| rows.contains(row_key))
    }

    fn applied(&self) -> Result<u64> {
        let stored = self.store.read(|rows| rows.get(META, APPLIED))?;
        stored.map_or(Ok(0), |value| decode_number(&value))
    }

    pub(super) fn show(&self, effects: Vec<Effect>) {
        if effects.is_empty() {
            return;
        }
        let mut view = self.view.write();
        let of_files = effects.into_iter().filter_map(|effect| view.follow(effect));
        let of_files: Vec<FileEffect> = of_files.collect();
        drop(view);
        for effect in of_files {
            let mut files = self.files.write();
            let is_new = matches!(&effect, FileEffect::Cached(release, _)
                if files.get(release).is_none());
            match effect {
                FileEffect::Cached(release, file) => files.insert(&release, &file),
                FileEffect::ReleaseForgotten(release) => files.remove(&release),
            }
            drop(files);
            if !is_new {
                self.files_generation.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// Shows a file that is not stored yet: it is known until the process ends.
    pub(crate) fn show_file(&self, release: &ReleaseId, file: &CachedFile) {
        let effect = FileEffect::Cached(release.clone(), file.clone());
        self.show(vec![Effect::File(effect)]);
    }

    /// Reads all tables that are kept in memory. Damaged rows are repaired or left out.
    fn load(&self, writer: &mut FrameWriter) -> Result<()> {
        let (store, damage) = (&self.store, &*self.damage);
        repair_numbers(store, damage)?;
        let logged = revoke_as_logged(store, damage)?;
        let registration = self.store.read(|rows| rows.get(META, REGISTRATION))?;
        let registration = registration
            .map(|value| decode_number(&value))
            .transpose()?;
        let mut view = View {
            registration: registration.map(|number| number != 0),
            ..View::default()
        };
        let unreadable = each_readable(store, ACCOUNTS, &mut |_, value| {
            view.put_account(logged.account(Account::decode(value)?, damage));
            Ok(())
        })?;
        note_disabled(damage, &unreadable);
        view.note_unreadable(ACCOUNTS, unreadable);
        let unreadable = each_readable(store, API_KEYS, &mut |_, value| {
            view.put_api_key(logged.api_key(ApiKey::decode(value)?, damage));
            Ok(())
        })?;
        note_disabled(damage, &unreadable);
        view.note_unreadable(API_KEYS, unreadable);
        repair_emails(store, damage, &|email| {
            let email = Email::parse(email)?;
            view.emails.get(&email).map(|id| id.0)
        })?;
        repair_second_steps(store, damage)?;
        each_readable(store, SECOND_STEPS, &mut |row_key, value| {
            let row_key = row_key.try_into().map_err(|_| bad_row("second_steps"))?;
            let id = AccountId(u64::from_be_bytes(row_key));
            view.set_second_step(id, Some(SecondStep::decode(value)?));
            Ok(())
        })?;
        self.each_or_drop(LINKS, &mut |_, value| OneTimeLink::decode(value).map(drop))?;
        self.each_or_drop(SESSIONS, &mut |_, value| {
            view.put_session(Session::decode(value)?);
            Ok(())
        })?;
        let mut files = FileTable::with_room(self.store.read(|rows| rows.rows_count(FILES))?);
        self.each_or_drop(FILES, &mut |row_key, value| {
            let text = std::str::from_utf8(row_key).map_err(|_| bad_row("files"))?;
            let release = ReleaseId::parse(text).ok_or_else(|| bad_row("files"))?;
            files.insert_row(&release, value)
        })?;
        // No other commit can come between these reads: the caller has the lock of the writer.
        writer.applied = self.applied()?;
        writer.loads_count += 1;
        *self.view.write() = view;
        *self.files.write() = files;
        self.files_generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Visits every row of a table with rows of little value: damaged ones are dropped.
    fn each_or_drop(&self, table: Table, each: &mut EachRow<'_>) -> Result<()> {
        let damaged = each_readable(&self.store, table, each)?;
        drop_rows(&self.store, &self.damage, table, &damaged)
    }

    /// The file of a release. Cost: one look-up under a read lock.
    pub(crate) fn cached_file(&self, release: &ReleaseId) -> Option<CachedFile> {
        self.files.read().get(release)
    }

    /// Number that changes whenever the entry of a file is deleted or replaced.
    pub(crate) fn files_generation(&self) -> u64 {
        self.files_generation.load(Ordering::Acquire)
    }

    /// Returns true if a cached file has this content. Two contents with hashes that begin alike
    /// may be confused. Cost: one look-up under a read lock.
    pub(crate) fn has_content(&self, content: ContentHash) -> bool {
        self.files.read().has_content(content)
    }

    /// Returns true if exactly one cached file has this content. False for two contents with hashes
    /// that begin alike. Cost: one look-up under a read lock.
    pub(crate) fn has_one_file(&self, content: ContentHash) -> bool {
        self.files.read().has_one_file(content)
    }

    /// Count of the contents of cached files. Of contents with hashes that begin alike, one counts.
    pub(crate) fn contents_count(&self) -> u64 {
        self.files.read().contents_count()
    }

    /// Releases with a cached file that has one of these contents. Cost: a look at each file.
    pub(crate) fn releases_of(
        &self,
        contents: &HashSet<ContentHash, foldhash::fast::RandomState>,
    ) -> Vec<ReleaseId> {
        self.files.read().releases_of(contents)
    }

    pub(crate) fn brought_contents(&self) -> HashSet<ContentHash, foldhash::fast::RandomState> {
        self.files.read().brought_contents()
    }

    /// Bytes of made texts, each with its overhead. Cost: one read lock.
    pub(crate) fn made_bytes(&self) -> u64 {
        self.files.read().made_bytes()
    }

    /// Contents of made texts that no other file has. Cost: two looks at each file.
    pub(crate) fn made_contents(&self) -> HashSet<ContentHash, foldhash::fast::RandomState> {
        self.files.read().made_contents()
    }

    /// Releases with a row of a file that has this content. Cost: reads the rows of all files,
    /// beside writers.
    pub(crate) fn releases_with(&self, content: ContentHash) -> Result<Vec<ReleaseId>> {
        let mut releases = Vec::new();
        self.store.read(|rows| {
            rows.inspect(FILES, Span::ALL, &mut |row_key, value| {
                // A damaged row is not counted as this content's: it is dropped at the next start.
                let file = value.and_then(CachedFile::decode);
                if file.is_ok_and(|file| file.content == content) {
                    let text = std::str::from_utf8(row_key).ok();
                    releases.extend(text.and_then(ReleaseId::parse));
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(releases)
    }

    pub(crate) fn accounts(&self) -> Vec<Account> {
        self.view.read().accounts.values().cloned().collect()
    }

    /// Returns true if there is an enabled administrator. Cost: a pass over the accounts up to the
    /// first one.
    pub(crate) fn has_administrator(&self) -> bool {
        let view = self.view.read();
        let mut accounts = view.accounts.values();
        accounts.any(|account| account.role == Role::Admin && account.disabled_at.is_none())
    }

    pub(crate) fn account(&self, id: AccountId) -> Option<Account> {
        self.view.read().accounts.get(&id).cloned()
    }

    pub(crate) fn account_by_email(&self, email: &Email) -> Option<Account> {
        let view = self.view.read();
        let id = view.emails.get(email)?;
        view.accounts.get(id).cloned()
    }

    pub(crate) fn api_keys(&self) -> Vec<ApiKey> {
        self.view.read().api_keys.values().cloned().collect()
    }

    pub(crate) fn api_key(&self, id: ApiKeyId) -> Option<ApiKey> {
        self.view.read().api_keys.get(&id).cloned()
    }

    pub(crate) fn api_keys_of(&self, account: AccountId) -> Vec<ApiKey> {
        let view = self.view.read();
        let all = (account, ApiKeyId(0))..=(account, ApiKeyId(u64::MAX));
        let owned = view.owned_keys.range(all);
        owned
            .filter_map(|(_, id)| view.api_keys.get(id).cloned())
            .collect()
    }

    /// The open sessions of an account, expired or not, oldest first.
    pub(crate) fn sessions_of(&self, account: AccountId) -> Vec<Session> {
        let view = self.view.read();
        let owned = view.owned_sessions.get(&account).into_iter().flatten();
        owned
            .filter_map(|(_, digest)| view.sessions.get(digest).cloned())
            .filter(|session| !session.is_pending)
            .collect()
    }

    pub(crate) fn second_steps(&self) -> Vec<(AccountId, SecondStep)> {
        let view = self.view.read();
        let second_steps = view.second_steps.iter();
        second_steps
            .map(|(id, second)| (*id, second.clone()))
            .collect()
    }

    pub(crate) fn second_step(&self, account: AccountId) -> Option<SecondStep> {
        self.view.read().second_steps.get(&account).cloned()
    }

    pub(crate) fn registration(&self) -> Option<bool> {
        self.view.read().registration
    }

    /// The one-time link with this digest, expired or not.
    pub(crate) fn link(&self, digest: &[u8; 32]) -> Result<Option<OneTimeLink>> {
        let stored = self.store.read(|rows| rows.get(LINKS, digest));
        match stored.and_then(|stored| stored.map(|row| OneTimeLink::decode(&row)).transpose()) {
            // Like a used one, it is not valid.
            Err(Error::Corrupt { .. }) => Ok(None),
            link => link,
        }
    }

    /// All one-time links, expired or not. Damaged ones are left out: they are not valid.
    pub(crate) fn links(&self) -> Result<Vec<OneTimeLink>> {
        self.store.read(stored_links)
    }

    /// The session with this digest, open or pending, expired or not.
    pub(crate) fn session(&self, digest: &[u8; 32]) -> Option<Session> {
        self.view.read().sessions.get(digest).cloned()
    }

    pub(crate) fn api_key_totals(&self, id: ApiKeyId) -> Result<(Usage, Option<Timestamp>)> {
        let row_key = api_key_row(id);
        let stored = self.store.read(|rows| rows.get(API_KEY_TOTALS, &row_key));
        let decoded =
            stored.and_then(|stored| stored.map(|value| ApiKeyTotals::decode(&value)).transpose());
        let totals = match decoded {
            // Its usage is counted from zero again at its next use.
            Err(Error::Corrupt { .. }) => ApiKeyTotals::default(),
            decoded => decoded?.unwrap_or_default(),
        };
        Ok((totals.usage, totals.last_used_at))
    }

    pub(crate) fn api_key_usage(
        &self,
        id: ApiKeyId,
        from: Day,
        to: Day,
    ) -> Result<Vec<(Day, Usage)>> {
        let end = api_key_day_row(id, Day(to.0.saturating_add(1)));
        let span = Span {
            from: &api_key_day_row(id, from),
            to: Some(&end),
            order: ScanOrder::Ascending,
        };
        self.day_rows(API_KEY_USAGE, span, Usage::decode)
    }

    pub(crate) fn usage(&self, from: Day, to: Day) -> Result<Vec<(Day, Usage)>> {
        let end = day_row(Day(to.0.saturating_add(1)));
        let span = Span {
            from: &day_row(from),
            to: Some(&end),
            order: ScanOrder::Ascending,
        };
        self.day_rows(USAGE, span, Usage::decode)
    }

    pub(crate) fn figures(&self) -> Result<Vec<(Day, Vec<u64>)>> {
        self.day_rows(FIGURES, Span::ALL, decode_figures)
    }

    /// Values of rows with a key that ends in a day. Damaged ones are left out.
    fn day_rows<T>(
        &self,
        table: Table,
        span: Span<'_>,
        decode: fn(&[u8]) -> Result<T>,
    ) -> Result<Vec<(Day, T)>> {
        let mut found = Vec::new();
        self.store.read(|rows| {
            rows.inspect(table, span, &mut |row_key, value| {
                let day = day_of_row(row_key).ok_or_else(|| bad_row(table.0))?;
                match value.and_then(decode) {
                    // One day less: the others are shown.
                    Err(Error::Corrupt { .. }) => {}
                    value => found.push((day, value?)),
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(found)
    }

    pub(crate) fn audit_log(
        &self,
        before: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<(u64, AuditEntry)>> {
        let mut found = Vec::new();
        for class in AuditClass::ALL {
            let (from, end) = audit_rows(class);
            let to = before.map_or(end, |number| audit_row(number, class));
            let span = Span {
                from: &from,
                to: Some(&to),
                order: ScanOrder::Descending,
            };
            let mut left = count_max;
            self.store.read(|rows| {
                rows.inspect(AUDIT, span, &mut |row_key, value| {
                    if left == 0 {
                        return Ok(ControlFlow::Break(()));
                    }
                    let number = number_of_audit_row(row_key).ok_or_else(|| bad_row("audit"))?;
                    match value.and_then(AuditEntry::decode) {
                        // The log has a gap there, which the ids show.
                        Err(Error::Corrupt { .. }) => {}
                        entry => {
                            left -= 1;
                            found.push((number, entry?));
                        }
                    }
                    Ok(ControlFlow::Continue(()))
                })
            })?;
        }
        found.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        found.truncate(count_max);
        Ok(found)
    }

    /// Counts of this moment. Cost: constant, as downloads wait for these locks.
    pub(crate) fn counts(&self) -> StateCounts {
        let mut counts = StateCounts::default();
        {
            let view = self.view.read();
            counts.accounts = view.accounts.len() as u64;
            counts.api_keys = view.api_keys.len() as u64;
        }
        let files = self.files.read();
        counts.cached_files = files.len();
        counts.blob_bytes = files.blob_bytes();
        counts
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

fn bad_row(table: &'static str) -> Error {
    let place = format!("state.redb, table {table}");
    Error::corrupt(place, 0, "a row key of this table")
}
