//! A log in PostgreSQL: a table, and a row that holds the number of the newest entry.
//!
//! The schema is named after the stream. An append raises the number and inserts in one statement:
//! the lock of that row orders commits, so that no reader sees an entry before the one in front of
//! it. (A sequence would not: commits are seen in another order than numbers are drawn.)
//!
//! An acknowledged entry survives the loss of the primary if `synchronous_standby_names` names a
//! standby.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use subcat_engine::{AppendError, Log, LogEntry, LogState, ReadError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{self, Instant};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::blocking::{
    APPEND_LIMIT, Blocking, CONNECT_LIMIT, ENTRIES_LIMIT, READ_LIMIT, RESET_LIMIT,
};
use super::open_log_error::OpenLogError;
use crate::limits::{LOG_ENTRIES_READ_MAX, POSTGRES_VERSION_MIN};
use crate::runtime::ControlHandle;
use crate::upstream::install_tls;

/// Time between two looks for a new entry. `NOTIFY` in each append would take a lock that all
/// databases of the server share.
const LOOK_PAUSE: Duration = Duration::from_millis(4);
/// Pause of a wait when no server answers.
const AWAY_PAUSE: Duration = Duration::from_millis(100);
/// Settings of every session. An entry must be durable before its append is answered, whatever the
/// settings of the role are. An append that waits for the row of another one, which waits for a
/// standby, is given up by the server: it is then known not to be stored.
const SETTINGS: &str = "SET synchronous_commit = on; SET lock_timeout = '4s'; \
                        SET statement_timeout = 0";
/// First question to a server.
const FACTS: &str = "SELECT current_setting('server_version_num')::int4, \
                     current_setting('server_version'), current_setting('fsync'), \
                     current_setting('synchronous_standby_names')";

/// A log in tables of PostgreSQL.
pub struct PostgresLog {
    server: PostgresServer,
    statements: Statements,
    /// A session for appends alone, as they wait for standbys, and one for all else.
    appending: Slot,
    reading: Slot,
    runtime: Blocking,
}

/// A server, or several with one primary among them.
pub(super) struct PostgresServer {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

/// A session that is opened when it is needed.
#[derive(Default)]
struct Slot {
    session: Mutex<Option<Arc<LogSession>>>,
    /// Held while a session is opened: others wait for it and do not open more.
    opening: AsyncMutex<()>,
}

/// A connection and its warnings.
pub(super) struct LogSession {
    pub(super) client: Client,
    /// Warnings until now. One of them means that an entry is committed here and not on a standby.
    warning_count: Arc<AtomicU64>,
}

struct Statements {
    create: String,
    drop: String,
    state: String,
    append: String,
    read: String,
    raise_oldest: String,
    drop_older: String,
}

impl Statements {
    fn new(stream: &str) -> Self {
        // Its characters need no escapes inside quotes.
        let schema = format!("\"{stream}\"");
        Self {
            // Each is one transaction, because it is sent as one query. A table that exists
            // already, whatever made it, ends it.
            create: format!(
                "CREATE SCHEMA IF NOT EXISTS {schema};
                 CREATE TABLE {schema}.head (
                   epoch int8 NOT NULL, oldest int8 NOT NULL, seq int8 NOT NULL
                 ) WITH (fillfactor = 10);
                 CREATE TABLE {schema}.log (seq int8 PRIMARY KEY, body bytea NOT NULL);
                 ALTER TABLE {schema}.log ALTER COLUMN body SET STORAGE EXTERNAL;
                 INSERT INTO {schema}.head VALUES "
            ),
            drop: format!("DROP TABLE {schema}.head, {schema}.log;"),
            state: format!("SELECT epoch, oldest, seq FROM {schema}.head"),
            append: format!(
                "WITH h AS (
                   UPDATE {schema}.head SET seq = seq + 1 WHERE epoch = $2 RETURNING seq
                 )
                 INSERT INTO {schema}.log SELECT h.seq, $1 FROM h RETURNING seq"
            ),
            // The head is read, too, to distinguish dropped entries from those not appended yet.
            // The length of a body is known without reading it.
            read: format!(
                "SELECT head.oldest, entry.seq, entry.body
                 FROM {schema}.head LEFT JOIN (
                   SELECT seq, body FROM (
                     SELECT seq, body,
                       sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS before
                     FROM (
                       SELECT seq, body FROM {schema}.log WHERE $1 < seq
                       ORDER BY seq LIMIT {LOG_ENTRIES_READ_MAX}
                     ) AS next
                   ) AS summed WHERE before < $2
                 ) AS entry ON true ORDER BY entry.seq"
            ),
            raise_oldest: format!(
                "UPDATE {schema}.head SET oldest = least($1, seq) + 1
                 WHERE oldest <= least($1, seq)"
            ),
            drop_older: format!(
                "DELETE FROM {schema}.log WHERE seq < (SELECT oldest FROM {schema}.head)"
            ),
        }
    }
}

impl PostgresServer {
    /// Reads a URL.
    pub(super) fn parse(url: &str) -> Result<Self, OpenLogError> {
        let mut config: Config = url
            .parse()
            .map_err(|error: Error| OpenLogError::Invalid(text_of(&error)))?;
        let host_count = config.get_hosts().len().max(config.get_hostaddrs().len());
        let host_count = u32::try_from(host_count).unwrap_or(u32::MAX).max(1);
        config
            .application_name("subcat")
            // A host that is away leaves time for the others.
            .connect_timeout(CONNECT_LIMIT / host_count)
            .tcp_user_timeout(APPEND_LIMIT)
            // A standby has the tables, and refuses writes.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(tls()?),
            // Certificates are checked, and most servers make their own: with TLS where there is
            // any, those could not be reached.
            _ => {
                config.ssl_mode(SslMode::Disable);
                None
            }
        };
        Ok(Self { config, tls })
    }

    /// Opens a session. A task of the runtime drives its connection.
    pub(super) async fn connect(&self, handle: &ControlHandle) -> Result<LogSession, SessionError> {
        let warning_count = Arc::<AtomicU64>::default();
        let connected = match &self.tls {
            Some(tls) => self.connect_over(handle, tls.clone(), &warning_count).await,
            None => self.connect_over(handle, NoTls, &warning_count).await,
        };
        let client = connected.map_err(SessionError::Refused)?;
        let facts = client.query_typed(FACTS, &[]).await;
        let facts = facts.map_err(SessionError::Refused)?;
        let facts = facts.first().ok_or(SessionError::Silence)?;
        if facts.get::<_, i32>(0) < POSTGRES_VERSION_MIN {
            let version = facts.get(1);
            return Err(SessionError::TooOld { version });
        }
        if facts.get::<_, &str>(2) != "on" {
            tracing::warn!("PostgreSQL runs with fsync = off: a power cut may lose the log");
        }
        if facts.get::<_, &str>(3).is_empty() {
            tracing::warn!(
                "PostgreSQL has no synchronous_standby_names: what is acknowledged is on one disk, \
                 and a primary that is cut off goes on acknowledging"
            );
        }
        let set = client.batch_execute(SETTINGS).await;
        set.map_err(SessionError::Refused)?;
        Ok(LogSession {
            client,
            warning_count,
        })
    }

    async fn connect_over<T>(
        &self,
        handle: &ControlHandle,
        tls: T,
        warning_count: &Arc<AtomicU64>,
    ) -> Result<Client, Error>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
    {
        let (client, connection) = self.config.connect(tls).await?;
        let warning_count = Arc::clone(warning_count);
        handle.spawn(drive(connection, warning_count));
        Ok(client)
    }
}

impl PostgresLog {
    /// Opens the log that a database holds in the schema `stream`.
    pub(super) fn open(url: &str, stream: &str) -> Result<Self, OpenLogError> {
        Ok(Self {
            server: PostgresServer::parse(url)?,
            statements: Statements::new(stream),
            appending: Slot::default(),
            reading: Slot::default(),
            runtime: Blocking::start().map_err(OpenLogError::Client)?,
        })
    }

    /// The session of a slot; a new one unless it is connected.
    async fn session(&self, slot: &Slot) -> Result<Arc<LogSession>, SessionError> {
        if let Some(session) = slot.connected() {
            return Ok(session);
        }
        let _turn = slot.opening.lock().await;
        if let Some(session) = slot.connected() {
            return Ok(session);
        }
        let connected =
            time::timeout(CONNECT_LIMIT, self.server.connect(&self.runtime.handle())).await;
        let session = connected.map_err(|_| SessionError::Silence)??;
        let session = Arc::new(session);
        *slot.session.lock() = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Runs a call of a session within its limit. One that was too slow, or was lost, is closed:
    /// whatever is asked next would wait behind the call.
    fn within<T, F: Future<Output = Result<T, Error>>>(
        &self,
        limit: Duration,
        call: impl FnOnce(Arc<LogSession>) -> F,
    ) -> Result<T, CallError> {
        self.runtime.block_on(async {
            let called = async {
                let session = self
                    .session(&self.reading)
                    .await
                    .map_err(CallError::Session)?;
                call(session).await.map_err(CallError::Statement)
            };
            match time::timeout(limit, called).await {
                Ok(done) => done,
                Err(_) => {
                    self.reading.close();
                    Err(CallError::Session(SessionError::Silence))
                }
            }
        })
    }

    /// The query that creates a log.
    fn creation(&self, epoch: u64) -> String {
        format!("{}({}, 1, 0)", self.statements.create, signed(epoch))
    }

    /// Runs a query that creates a log.
    fn make(&self, query: String) -> Result<(), ReadError> {
        let made = self.within(RESET_LIMIT, |session| async move {
            session.client.batch_execute(&query).await
        });
        match made {
            Err(CallError::Statement(error))
                if error.code() == Some(&SqlState::DUPLICATE_TABLE) =>
            {
                Err(ReadError::Unavailable(format!(
                    "{}: the schema holds tables that are not a log of subcat, or a log that was \
                     made just now: choose another cluster.stream",
                    text_of(&error)
                )))
            }
            made => made.map_err(ReadError::from),
        }
    }

    async fn append_by(
        &self,
        session: &LogSession,
        epoch: u64,
        body: &[u8],
    ) -> Result<u64, AppendError> {
        let warning_count = session.warning_count.load(Ordering::Acquire);
        let inserted = session
            .client
            .query_typed(
                &self.statements.append,
                &[(&body, Type::BYTEA), (&signed(epoch), Type::INT8)],
            )
            .await
            .map_err(|error| {
                if is_of_missing_table(&error) {
                    AppendError::NoLog
                } else if is_rolled_back(&error) {
                    AppendError::Unavailable(text_of(&error))
                } else {
                    AppendError::Unknown(text_of(&error))
                }
            })?;
        let Some(row) = inserted.first() else {
            return Err(self.refused(session, epoch).await);
        };
        if session.warning_count.load(Ordering::Acquire) != warning_count {
            return Err(AppendError::Unknown(
                "PostgreSQL has a warning: a standby may not have the entry".into(),
            ));
        }
        Ok(number_of(row, 0))
    }

    /// Reason why no head has taken an entry of this epoch.
    async fn refused(&self, session: &LogSession, epoch: u64) -> AppendError {
        let asked = session
            .client
            .query_typed(&self.statements.state, &[])
            .await;
        match asked.as_deref() {
            Ok([head]) if number_of(head, 0) != epoch => AppendError::OtherEpoch {
                epoch: number_of(head, 0),
            },
            Ok([]) => AppendError::NoLog,
            Ok(_) => AppendError::Unavailable("the log has been made just now".into()),
            Err(error) => AppendError::Unavailable(text_of(error)),
        }
    }
}

impl Slot {
    fn connected(&self) -> Option<Arc<LogSession>> {
        let session = self.session.lock().clone()?;
        (!session.client.is_closed()).then_some(session)
    }

    fn close(&self) {
        *self.session.lock() = None;
    }
}

/// There is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("PostgreSQL does not answer")]
    Silence,
    #[error("{}", text_of(.0))]
    Refused(Error),
    #[error("PostgreSQL {version} is too old: 15 is needed")]
    TooOld { version: String },
}

/// A call that came to nothing.
enum CallError {
    Session(SessionError),
    Statement(Error),
}

impl CallError {
    /// Tells whether the tables are missing.
    fn lacks_tables(&self) -> bool {
        matches!(self, Self::Statement(error) if is_of_missing_table(error))
    }
}

fn is_of_missing_table(error: &Error) -> bool {
    let code = error.code();
    code.is_some_and(|code| {
        *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME
    })
}

impl From<CallError> for ReadError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Session(error) => Self::Unavailable(error.to_string()),
            error if error.lacks_tables() => Self::NoLog,
            CallError::Statement(error) => Self::Unavailable(text_of(&error)),
        }
    }
}

/// TLS with the certificates that the machine trusts.
fn tls() -> Result<MakeRustlsConnect, OpenLogError> {
    install_tls();
    let loaded = MakeRustlsConnect::with_native_certs();
    let (tls, _) = loaded.map_err(|_| {
        OpenLogError::Invalid(
            "sslmode=require needs certificates to trust: install ca-certificates, or name a file \
             in SSL_CERT_FILE"
                .into(),
        )
    })?;
    Ok(tls)
}

/// Drives a connection to its end, and counts warnings.
async fn drive<S, T>(mut connection: Connection<S, T>, warning_count: Arc<AtomicU64>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            tracing::warn!("PostgreSQL: {}", notice.message());
            warning_count.fetch_add(1, Ordering::Release);
        }
    }
}

/// Tells whether the error of a statement means that its transaction left nothing behind.
///
/// A server that stops or cancels while it waits for a standby has committed already. Errors of its
/// files or its own code may come after the commit, too.
fn is_rolled_back(error: &Error) -> bool {
    let Some(error) = error.as_db_error() else {
        return false;
    };
    let code = error.code().code();
    let is_doubtful = code == "40003" || ["08", "57", "58", "XX"].contains(&&code[..2]);
    error.parsed_severity() == Some(Severity::Error) && !is_doubtful
}

/// An error with its cause: the library's own text is "db error".
pub(super) fn text_of(error: &Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(error), _) => format!("PostgreSQL: {}", error.message()),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

pub(super) fn number_of(row: &Row, column: usize) -> u64 {
    row.get::<_, i64>(column).unsigned_abs()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Log for PostgresLog {
    fn create(&self, epoch: u64) -> Result<(), ReadError> {
        self.make(self.creation(epoch))
    }

    fn reset(&self, epoch: u64) -> Result<(), ReadError> {
        // Only a table with the columns of a head and a row is a log: anything else is left.
        let creation = self.creation(epoch);
        match self.state()?.epoch {
            0 => self.make(creation),
            _ => self.make(format!("{} {creation}", self.statements.drop)),
        }
    }

    fn state(&self) -> Result<LogState, ReadError> {
        let state = self.within(READ_LIMIT, |session| async move {
            session
                .client
                .query_typed(&self.statements.state, &[])
                .await
        });
        let rows = match state {
            Err(error) if error.lacks_tables() => Vec::new(),
            rows => rows?,
        };
        Ok(match rows.first() {
            None => LogState {
                epoch: 0,
                oldest: 1,
                last: 0,
            },
            Some(head) => LogState {
                epoch: number_of(head, 0),
                oldest: number_of(head, 1),
                last: number_of(head, 2),
            },
        })
    }

    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError> {
        self.runtime.block_on(async {
            let until = Instant::now() + APPEND_LIMIT;
            let session = time::timeout_at(until, self.session(&self.appending)).await;
            let session = session.unwrap_or(Err(SessionError::Silence));
            let session = session.map_err(|error| AppendError::Unavailable(error.to_string()))?;
            match time::timeout_at(until, self.append_by(&session, epoch, body)).await {
                Ok(appended) => appended,
                Err(_) => {
                    self.appending.close();
                    Err(AppendError::Unknown("PostgreSQL does not answer".into()))
                }
            }
        })
    }

    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError> {
        let (after_signed, bytes_max) = (signed(after), signed(bytes_max.max(1) as u64));
        let rows = self.within(ENTRIES_LIMIT, |session| async move {
            let parameters: [(&(dyn ToSql + Sync), Type); 2] =
                [(&after_signed, Type::INT8), (&bytes_max, Type::INT8)];
            let statement = &self.statements.read;
            session.client.query_typed(statement, &parameters).await
        })?;
        let Some(first) = rows.first() else {
            return Err(ReadError::NoLog);
        };
        let oldest = number_of(first, 0);
        if after.saturating_add(1) < oldest {
            return Err(ReadError::Truncated { oldest });
        }
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            // Without entries there is the row of the head alone.
            let Some(body) = row.get::<_, Option<Vec<u8>>>(2) else {
                break;
            };
            let seq = number_of(row, 1);
            if seq != after + 1 + entries.len() as u64 {
                let text = format!("the log has a gap before entry {seq}");
                return Err(ReadError::Unavailable(text));
            }
            entries.push(LogEntry { seq, body });
        }
        Ok(entries)
    }

    fn wait(&self, after: u64, at_most: Duration) {
        let waiting = async {
            loop {
                let Ok(session) = self.session(&self.reading).await else {
                    break time::sleep(AWAY_PAUSE).await;
                };
                let asked = session
                    .client
                    .query_typed(&self.statements.state, &[])
                    .await;
                match asked.as_deref() {
                    Ok([head]) if after < number_of(head, 2) => break,
                    Ok([_]) => time::sleep(LOOK_PAUSE).await,
                    _ => break time::sleep(AWAY_PAUSE).await,
                }
            }
        };
        self.runtime.block_on(async {
            let _ = time::timeout(at_most, waiting).await;
        });
    }

    fn truncate(&self, through: u64) -> Result<(), ReadError> {
        let through = signed(through);
        let truncated = self.within(READ_LIMIT, |session| async move {
            let client = &session.client;
            // Apart, so that appends do not wait for the second.
            let statements = &self.statements;
            client
                .query_typed(&statements.raise_oldest, &[(&through, Type::INT8)])
                .await?;
            client.query_typed(&statements.drop_older, &[]).await
        });
        truncated.map(drop).map_err(ReadError::from)
    }
}
