//! The state file and what is kept of it in memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

use super::apply_state::{Applied, Effect, apply_state};
use super::download_table::DownloadTable;
use super::state_rows::{
    ACCOUNTS, API_KEY_TOTALS, API_KEY_USAGE, API_KEYS, APPLIED, AUDIT, DOWNLOADS, FILES, META,
    POSITIONS, SESSIONS, USAGE, api_key_day_row, api_key_row, day_of_row, day_row,
};
use crate::codec::{
    decode_account, decode_api_key, decode_audit_entry, decode_cached_file, decode_number,
    decode_session, decode_totals, decode_usage,
};
use crate::error::{Error, Result};
use crate::event::{Outcome, StateEvent};
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, Day, Email, RecordId, ReleaseId,
    Session, Timestamp, Usage,
};
use crate::store::{Order, Rows, Span, Store, Table};

type SeededMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
/// What visits rows: row key and value.
type EachRow<'r> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'r;

/// `state.redb` and the tables in memory that follow it.
pub(crate) struct State {
    store: Store,
    view: RwLock<View>,
    files: RwLock<SeededMap<ReleaseId, CachedFile>>,
    queue: Mutex<Vec<Arc<Ticket>>>,
    writer: Mutex<Writer>,
}

/// What pages and keys are looked up in.
#[derive(Default)]
struct View {
    accounts: BTreeMap<AccountId, Account>,
    emails: SeededMap<Email, AccountId>,
    api_keys: BTreeMap<ApiKeyId, ApiKey>,
    sessions: SeededMap<[u8; 32], Session>,
}

/// Events of one caller, waiting for their frame.
struct Ticket {
    events: Vec<StateEvent>,
    answer: Mutex<Option<Result<Vec<Outcome>>>>,
}

struct Writer {
    /// Frames that are applied and known here.
    applied: u64,
}

impl State {
    /// Reads the tables into memory.
    pub(crate) fn open(store: Store) -> Result<Self> {
        let state = Self {
            store,
            view: RwLock::default(),
            files: RwLock::default(),
            queue: Mutex::default(),
            writer: Mutex::new(Writer { applied: 0 }),
        };
        state.load(&mut state.writer.lock())?;
        Ok(state)
    }

    /// Fills the table of downloads.
    pub(crate) fn load_downloads(&self, table: &DownloadTable) -> Result<()> {
        self.each(DOWNLOADS, &mut |row_key, value| {
            let id = row_key.try_into().map_err(|_| bad_row("downloads"))?;
            table.add(RecordId::from_bytes(id), decode_number(value)?);
            Ok(())
        })
    }

    /// How far each counter file was folded.
    pub(crate) fn positions(&self) -> Result<Vec<(String, u64)>> {
        let mut positions = Vec::new();
        self.each(POSITIONS, &mut |row_key, value| {
            let name = String::from_utf8_lossy(row_key).into_owned();
            positions.push((name, decode_number(value)?));
            Ok(())
        })?;
        Ok(positions)
    }

    /// Applies events as part of one durable transaction. Callers that come meanwhile share the
    /// next one.
    pub(crate) fn apply(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        let ticket = Arc::new(Ticket {
            events,
            answer: Mutex::new(None),
        });
        self.queue.lock().push(Arc::clone(&ticket));
        let mut writer = self.writer.lock();
        let answered = ticket.answer.lock().take();
        if let Some(answer) = answered {
            return answer;
        }
        let tickets = std::mem::take(&mut *self.queue.lock());
        self.answer_all(&mut writer, &tickets);
        drop(writer);
        let answer = ticket.answer.lock().take();
        answer.expect("every ticket of the queue is answered")
    }

    fn answer_all(&self, writer: &mut Writer, tickets: &[Arc<Ticket>]) {
        let frame: Vec<StateEvent> = tickets
            .iter()
            .flat_map(|ticket| ticket.events.iter().cloned())
            .collect();
        match self.commit(writer, &frame) {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for ticket in tickets {
                    let own = outcomes.by_ref().take(ticket.events.len()).collect();
                    *ticket.answer.lock() = Some(Ok(own));
                }
            }
            Err(error) if tickets.len() == 1 => *tickets[0].answer.lock() = Some(Err(error)),
            // One caller's fault must not be everyone's.
            Err(_) => {
                for ticket in tickets {
                    *ticket.answer.lock() = Some(self.commit(writer, &ticket.events));
                }
            }
        }
    }

    /// Applies a frame, makes it durable, then shows it to readers.
    fn commit(&self, writer: &mut Writer, frame: &[StateEvent]) -> Result<Vec<Outcome>> {
        if self.applied()? != writer.applied {
            // An earlier commit failed and is durable all the same.
            self.load(writer)?;
        }
        let mut applied = None;
        let committed = self.store.write(|rows| {
            applied = Some(apply_state(rows, frame)?);
            Ok(())
        });
        if let Err(error) = committed {
            // A commit that fails may be durable all the same: the number in the file tells.
            let is_durable = applied
                .as_ref()
                .is_some_and(|applied| self.applied().is_ok_and(|now| now == applied.number));
            if !is_durable {
                return Err(error);
            }
        }
        let applied: Applied = applied.expect("a frame that is durable was applied");
        writer.applied = applied.number;
        self.show(applied.effects);
        Ok(applied.outcomes)
    }

    fn applied(&self) -> Result<u64> {
        let stored = self.store.read(|rows| rows.get(META, APPLIED))?;
        stored.map_or(Ok(0), |value| decode_number(&value))
    }

    fn show(&self, effects: Vec<Effect>) {
        if effects.is_empty() {
            return;
        }
        let mut view = self.view.write();
        for effect in effects {
            match effect {
                Effect::Account(account) => view.put_account(account),
                Effect::ApiKey(api_key) => {
                    view.api_keys.insert(api_key.id, api_key);
                }
                Effect::SessionOpened(session) => {
                    view.sessions.insert(session.digest, session);
                }
                Effect::SessionClosed(digest) => {
                    view.sessions.remove(&digest);
                }
                Effect::File(release, file) => {
                    self.files.write().insert(release, file);
                }
                Effect::ContentForgotten(content) => {
                    self.files.write().retain(|_, file| file.content != content);
                }
            }
        }
    }

    /// Reads everything that is kept in memory.
    fn load(&self, writer: &mut Writer) -> Result<()> {
        let mut view = View::default();
        self.each(ACCOUNTS, &mut |_, value| {
            view.put_account(decode_account(value)?);
            Ok(())
        })?;
        self.each(API_KEYS, &mut |_, value| {
            let api_key = decode_api_key(value)?;
            view.api_keys.insert(api_key.id, api_key);
            Ok(())
        })?;
        self.each(SESSIONS, &mut |_, value| {
            let session = decode_session(value)?;
            view.sessions.insert(session.digest, session);
            Ok(())
        })?;
        let mut files = SeededMap::default();
        self.each(FILES, &mut |row_key, value| {
            let text = std::str::from_utf8(row_key).map_err(|_| bad_row("files"))?;
            let release = ReleaseId::parse(text).ok_or_else(|| bad_row("files"))?;
            files.insert(release, decode_cached_file(value)?);
            Ok(())
        })?;
        writer.applied = self.applied()?;
        *self.view.write() = view;
        *self.files.write() = files;
        Ok(())
    }

    fn each(&self, table: Table, each: &mut EachRow<'_>) -> Result<()> {
        self.store.read(|rows| {
            rows.range(table, Span::ALL, &mut |row_key, value| {
                each(row_key, value)?;
                Ok(ControlFlow::Continue(()))
            })
        })
    }

    /// The file of a release. Cost: one look-up under a read lock.
    pub(crate) fn cached_file(&self, release: &ReleaseId) -> Option<CachedFile> {
        self.files.read().get(release).cloned()
    }

    /// Calls `each` with every cached file.
    pub(crate) fn each_cached_file(&self, each: &mut dyn FnMut(&ReleaseId, &CachedFile)) {
        for (release, file) in self.files.read().iter() {
            each(release, file);
        }
    }

    pub(crate) fn accounts(&self) -> Vec<Account> {
        self.view.read().accounts.values().cloned().collect()
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

    pub(crate) fn session(&self, digest: &[u8; 32]) -> Option<Session> {
        self.view.read().sessions.get(digest).cloned()
    }

    pub(crate) fn api_key_totals(&self, id: ApiKeyId) -> Result<(Usage, Option<Timestamp>)> {
        let row_key = api_key_row(id);
        let stored = self.store.read(|rows| rows.get(API_KEY_TOTALS, &row_key))?;
        let totals = stored.map(|value| decode_totals(&value)).transpose()?;
        let totals = totals.unwrap_or_default();
        Ok((totals.usage, totals.last_used_at))
    }

    pub(crate) fn api_key_usage(
        &self,
        id: ApiKeyId,
        from: Day,
        to: Day,
    ) -> Result<Vec<(Day, Usage)>> {
        let end = api_key_day_row(id, Day(to.0.saturating_add(1)));
        self.usage_rows(API_KEY_USAGE, &api_key_day_row(id, from), &end)
    }

    pub(crate) fn usage(&self, from: Day, to: Day) -> Result<Vec<(Day, Usage)>> {
        let end = day_row(Day(to.0.saturating_add(1)));
        self.usage_rows(USAGE, &day_row(from), &end)
    }

    fn usage_rows(&self, table: Table, from: &[u8], to: &[u8]) -> Result<Vec<(Day, Usage)>> {
        let mut found = Vec::new();
        let span = Span {
            from,
            to: Some(to),
            order: Order::Ascending,
        };
        self.store.read(|rows| {
            rows.range(table, span, &mut |row_key, value| {
                let day = day_of_row(row_key).ok_or_else(|| bad_row("usage"))?;
                found.push((day, decode_usage(value)?));
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(found)
    }

    pub(crate) fn audit_log(&self, count_max: usize) -> Result<Vec<AuditEntry>> {
        let mut found = Vec::new();
        let span = Span {
            order: Order::Descending,
            ..Span::ALL
        };
        let visit = |rows: &Rows<'_>| {
            rows.range(AUDIT, span, &mut |_, value| {
                if found.len() == count_max {
                    return Ok(ControlFlow::Break(()));
                }
                found.push(decode_audit_entry(value)?);
                Ok(ControlFlow::Continue(()))
            })
        };
        self.store.read(visit)?;
        Ok(found)
    }

    /// Accounts, keys and cached files.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let view = self.view.read();
        let files_count = self.files.read().len();
        (
            view.accounts.len() as u64,
            view.api_keys.len() as u64,
            files_count as u64,
        )
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

impl View {
    fn put_account(&mut self, account: Account) {
        self.emails.insert(account.email.clone(), account.id);
        self.accounts.insert(account.id, account);
    }
}

fn bad_row(table: &'static str) -> Error {
    let place = format!("state.redb, table {table}");
    Error::corrupt(place, 0, "a row key of this table")
}
