//! A log in NATS JetStream: a stream with one subject, which names its epoch.
//!
//! An acknowledged entry survives a power cut only if the servers run with `jetstream {
//! sync_interval: always }`. A client cannot see whether they do: by default they write to disk
//! every two minutes.
//!
//! Entries are pulled in batches that any replica answers (`DIRECT.GET`). There is no consumer: one
//! is bound to a server, and goes silent for up to a minute when that is lost.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::client::{Request, RequestErrorKind};
use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, Message, ServerAddr, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};
use subcat_engine::{AppendError, Log, LogEntry, LogState, ReadError};
use tokio::sync::watch;
use tokio::time;

use super::blocking::{
    APPEND_LIMIT, Blocking, CONNECT_LIMIT, ENTRIES_LIMIT, READ_LIMIT, RESET_LIMIT,
};
use super::open_log_error::OpenLogError;
use crate::limits::{LOG_ENTRIES_READ_MAX, NATS_REPLICAS, RECONNECT_PAUSE_MAX};
use crate::upstream::install_tls;

/// Time after which a read is repeated: a lost replica does not answer.
const SILENCE_LIMIT: Duration = Duration::from_secs(1);
/// The same, over a link that is slow: the largest entry over 1 Mbit/s, and a round trip.
const SLOW_SILENCE_LIMIT: Duration = Duration::from_secs(8);
/// Time after which what has come of a batch is enough.
const BATCH_LIMIT: Duration = Duration::from_secs(3);
/// Poll interval for an entry or a connection that is not there yet.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// Validity of [`Quiet`]: for this long, an empty answer after the entry means the end of the log.
const QUIET_LIMIT: Duration = Duration::from_secs(1);
/// Time between two signs of life; a connection without them is closed after the second.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Name of the epoch in the metadata of a stream.
const EPOCH: &str = "subcat_epoch";
/// Header with the number of an entry.
const SEQUENCE: &str = "Nats-Sequence";
/// Reason why no server takes or gives entries of a stream that may well exist.
const NO_LEADER: &str = "the log has no leader just now, or none that can be reached; if this \
                         lasts, see whether the stores of its servers are full (max_file_store)";
/// Code of the API's answer that there is no such stream.
const NO_STREAM: u64 = 10_059;
/// Code of the API's answer that a server alone keeps no more than one copy.
const ALONE: u64 = 10_074;
/// Codes of answers after which an entry is certainly not stored: JetStream is off, for the server
/// or the account, the entry is too large, there is no stream. Others may be sent after it was.
const REFUSALS: [u64; 4] = [10_039, 10_054, NO_STREAM, 10_076];

/// A log in a stream of NATS JetStream.
pub struct NatsLog {
    stream: String,
    /// True if the address names as many servers as are to keep the stream.
    is_full_address: bool,
    /// Copies of the stream that there were at the last look; 0 before the first.
    copies: AtomicU64,
    client: Client,
    news: Arc<watch::Sender<News>>,
    /// Newest complaint of the client about its connection.
    complaint: Arc<Mutex<String>>,
    quiet: Mutex<Option<Quiet>>,
    /// Time for which the next answer is waited for.
    silence: Mutex<Duration>,
    runtime: Blocking,
}

/// Hints for waiting readers.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    /// Sequence number of the newest entry that was heard of.
    seq: u64,
    /// Hints until now.
    hint_count: u64,
    /// Connections that were made until now. A connection may be in use before.
    connection_count: u64,
    /// Connections that were lost until now.
    loss_count: u64,
}

/// The end of the log according to the leader; valid until `until`.
#[derive(Debug, Clone, Copy)]
struct Quiet {
    after: u64,
    until: Instant,
}

/// Outcome of a request for entries.
enum Batch {
    Entries(Vec<LogEntry>),
    Nothing,
    /// An entry is missing at the beginning: it was dropped, or a replica lags.
    Gap,
    /// No answer arrived in time.
    Silence,
}

/// A question was not answered, or with an error.
enum AskError {
    NoStream,
    /// Several copies were asked for, and the server is in no cluster.
    Alone(String),
    Other(String),
}

/// No connection to a server that meets the requirements.
#[derive(Debug, thiserror::Error)]
enum NatsConnectError {
    #[error("no connection to NATS: {complaint}")]
    Away { complaint: String },
    #[error("NATS {version} is too old: 2.12 is needed")]
    TooOld { version: String },
}

#[derive(Deserialize)]
struct StreamInfo {
    config: StreamConfig,
    state: StreamState,
}

#[derive(Deserialize)]
struct StreamConfig {
    #[serde(default)]
    metadata: HashMap<String, String>,
    #[serde(default)]
    num_replicas: u64,
}

#[derive(Deserialize)]
struct StreamState {
    messages: u64,
    first_seq: u64,
    last_seq: u64,
}

#[derive(Deserialize)]
struct Refusal {
    err_code: Option<u64>,
    #[serde(default)]
    description: String,
}

impl From<AskError> for ReadError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::NoStream => Self::NoLog,
            AskError::Alone(text) | AskError::Other(text) => Self::Unavailable(text),
        }
    }
}

impl NatsLog {
    /// Opens the log that these servers hold as `stream`.
    pub(super) fn open(servers: &[String], stream: &str) -> Result<Self, OpenLogError> {
        let addresses = addresses_of(servers)?;
        let runtime = Blocking::start().map_err(OpenLogError::Client)?;
        let news = Arc::new(watch::Sender::new(News::default()));
        let complaint = Arc::new(Mutex::new("nobody has answered yet".to_owned()));
        let options = signed_in(options(&news, &complaint), &addresses);
        let subject = format!("{stream}.hint");
        let opened = runtime.block_on(async {
            let client = options.connect(addresses).await?;
            let hints = client.subscribe(subject).await?;
            Ok::<_, async_nats::Error>((client, hints))
        });
        let (client, hints) = opened.map_err(|error| OpenLogError::Invalid(error.to_string()))?;
        runtime.handle().spawn(listen(hints, Arc::clone(&news)));
        Ok(Self {
            stream: stream.to_owned(),
            is_full_address: NATS_REPLICAS <= servers.len() as u64,
            copies: AtomicU64::new(0),
            client,
            news,
            complaint,
            quiet: Mutex::default(),
            silence: Mutex::new(SILENCE_LIMIT),
            runtime,
        })
    }

    /// Waits for a connection to a server that meets the requirements.
    async fn connected(&self) -> Result<(), NatsConnectError> {
        let until = Instant::now() + CONNECT_LIMIT;
        // The client is connected a moment before it knows to what.
        while self.client.connection_state() != State::Connected
            || self.client.try_server_info().is_none()
        {
            if until <= Instant::now() {
                let complaint = self.complaint.lock().clone();
                return Err(NatsConnectError::Away { complaint });
            }
            time::sleep(LOOK_PAUSE).await;
        }
        // Older servers ignore the batch size, and answer with one entry.
        if !self.client.is_server_compatible(2, 12, 0) {
            let version = self.client.server_info().version;
            return Err(NatsConnectError::TooOld { version });
        }
        Ok(())
    }

    /// Runs a call within its limit.
    fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, ReadError>>,
    ) -> Result<T, ReadError> {
        self.runtime.block_on(async {
            let call = async {
                let connected = self.connected().await;
                connected.map_err(|error| ReadError::Unavailable(error.to_string()))?;
                call.await
            };
            let done = time::timeout(limit, call).await;
            done.unwrap_or_else(|_| Err(ReadError::Unavailable("NATS does not answer".into())))
        })
    }

    /// Asks the API of JetStream.
    async fn ask(&self, verb: &str, question: &Value) -> Result<Value, AskError> {
        let subject = format!("$JS.API.STREAM.{verb}.{}", self.stream);
        let question = Bytes::from(question.to_string());
        let answer = self.client.request(subject, question).await;
        let answer = answer.map_err(|error| {
            AskError::Other(match error.kind() {
                RequestErrorKind::NoResponders => "JetStream is off at these servers".into(),
                _ => error.to_string(),
            })
        })?;
        let mut answer: Value = serde_json::from_slice(&answer.payload)
            .map_err(|error| AskError::Other(error.to_string()))?;
        let Some(error) = answer.get_mut("error") else {
            return Ok(answer);
        };
        let refusal: Refusal = serde_json::from_value(error.take())
            .map_err(|error| AskError::Other(error.to_string()))?;
        Err(match refusal.err_code {
            Some(NO_STREAM) => AskError::NoStream,
            Some(ALONE) => AskError::Alone(refusal.description),
            _ => AskError::Other(refusal.description),
        })
    }

    async fn ask_state(&self) -> Result<LogState, ReadError> {
        let answer = match self.ask("INFO", &json!({})).await {
            Err(AskError::NoStream) => {
                return Ok(LogState {
                    epoch: 0,
                    oldest: 1,
                    last: 0,
                });
            }
            answer => answer?,
        };
        let StreamInfo { config, state } = serde_json::from_value(answer)
            .map_err(|error| ReadError::Unavailable(error.to_string()))?;
        let epoch = config.metadata.get(EPOCH);
        let Some(epoch) = epoch.and_then(|epoch| epoch.parse().ok()) else {
            return Err(ReadError::Unavailable(format!(
                "the stream {} of NATS is not a log of subcat: choose another name",
                self.stream
            )));
        };
        self.copies.store(config.num_replicas, Ordering::Relaxed);
        let oldest = match state.messages {
            0 => state.last_seq + 1,
            _ => state.first_seq,
        };
        Ok(LogState {
            epoch,
            oldest,
            last: state.last_seq,
        })
    }

    /// Reason why no stream has taken an entry of this epoch.
    async fn refused(&self, epoch: u64) -> AppendError {
        match self.ask_state().await {
            Ok(LogState { epoch: 0, .. }) => AppendError::NoLog,
            Ok(state) if state.epoch != epoch => AppendError::OtherEpoch { epoch: state.epoch },
            // It is there now.
            Ok(_) => AppendError::Unavailable(NO_LEADER.into()),
            Err(error) => AppendError::Unavailable(format!("{NO_LEADER}: {}", error.reason())),
        }
    }

    /// Reason why no replica of the stream has answered.
    async fn absent(&self) -> ReadError {
        match self.ask_state().await {
            Ok(LogState { epoch: 0, .. }) => ReadError::NoLog,
            Ok(_) => ReadError::Unavailable(NO_LEADER.into()),
            Err(error) => ReadError::Unavailable(format!("{NO_LEADER}: {}", error.reason())),
        }
    }

    /// Deletes the stream, if it is a log, and creates it.
    async fn recreate(&self, epoch: u64) -> Result<(), ReadError> {
        // A stream that is not a log is an error here, and stays.
        self.ask_state().await?;
        match self.ask("DELETE", &json!({})).await {
            Ok(_) | Err(AskError::NoStream) => self.create_stream(epoch).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the stream, with one copy if the server is in no cluster. NATS refuses if one of
    /// this name has other settings, such as another epoch.
    ///
    /// An address often names one server of several, so only the servers know how many they are.
    async fn create_stream(&self, epoch: u64) -> Result<(), ReadError> {
        let mut copies = NATS_REPLICAS;
        let mut created = self.ask("CREATE", &self.settings(epoch, copies)).await;
        if matches!(created, Err(AskError::Alone(_))) && !self.is_full_address {
            copies = 1;
            created = self.ask("CREATE", &self.settings(epoch, copies)).await;
        }
        created?;
        self.copies.store(copies, Ordering::Relaxed);
        self.news.send_modify(|news| news.seq = 0);
        Ok(())
    }

    /// Settings of the stream.
    fn settings(&self, epoch: u64, copies: u64) -> Value {
        json!({
            "name": self.stream,
            "subjects": [subject_of(&self.stream, epoch)],
            "storage": "file",
            "retention": "limits",
            "discard": "new",
            "num_replicas": copies,
            "max_consumers": -1,
            "max_msgs": -1,
            "max_msgs_per_subject": -1,
            "max_bytes": -1,
            "max_age": 0,
            "deny_delete": true,
            "allow_direct": true,
            "republish": {
                "src": subject_of(&self.stream, epoch),
                "dest": format!("{}.hint", self.stream),
                "headers_only": true,
            },
            "metadata": { EPOCH: epoch.to_string() },
        })
    }

    /// Entries after `after` from any replica.
    async fn batch(&self, after: u64, bytes_max: usize) -> Result<Batch, ReadError> {
        let inbox = self.client.new_inbox();
        let question = json!({
            "seq": after.saturating_add(1),
            "batch": LOG_ENTRIES_READ_MAX,
            "max_bytes": bytes_max.max(1),
            // It has one.
            "next_by_subj": ">",
        });
        let question = Bytes::from(question.to_string());
        let subject = format!("$JS.API.DIRECT.GET.{}", self.stream);
        let client = &self.client;
        let replies = client.subscribe(inbox.clone()).await;
        let mut replies = replies.map_err(|error| ReadError::Unavailable(error.to_string()))?;
        let sent = client.publish_with_reply(subject, inbox, question).await;
        sent.map_err(|error| ReadError::Unavailable(error.to_string()))?;
        let mut entries = Vec::new();
        let silence = *self.silence.lock();
        let asked_at = Instant::now();
        while let Ok(Some(reply)) = time::timeout(silence, replies.next()).await {
            if entries.is_empty() && asked_at.elapsed() < SILENCE_LIMIT / 4 {
                *self.silence.lock() = SILENCE_LIMIT;
            }
            if BATCH_LIMIT < asked_at.elapsed() && !entries.is_empty() {
                // What has come counts: over a slow link the rest would come too late.
                break;
            }
            match reply.status {
                None => {}
                Some(StatusCode::NOT_FOUND) => return Ok(Batch::Nothing),
                Some(StatusCode::NO_RESPONDERS) => return Err(self.absent().await),
                // 204: the end of the batch.
                Some(status) if status.is_success() && entries.is_empty() => {
                    return Ok(Batch::Nothing);
                }
                Some(status) if status.is_success() => return Ok(Batch::Entries(entries)),
                Some(status) => {
                    let text = reply.description.unwrap_or_default();
                    return Err(ReadError::Unavailable(format!("NATS: {status} {text}")));
                }
            }
            if sequence_of(&reply) != Some(after + 1 + entries.len() as u64) {
                if entries.is_empty() {
                    return Ok(Batch::Gap);
                }
                break;
            }
            entries.push(LogEntry {
                seq: after + 1 + entries.len() as u64,
                body: reply.payload.into(),
            });
        }
        // Entries that came in order are valid without the rest of the batch.
        if !entries.is_empty() {
            return Ok(Batch::Entries(entries));
        }
        // An answer that was lost, or one that is slow: the next may take longer.
        let mut silence = self.silence.lock();
        *silence = (*silence * 2).min(SLOW_SILENCE_LIMIT);
        Ok(Batch::Silence)
    }

    /// Interprets the answer of a replica that has nothing after `after`: true if nothing was
    /// appended, false if the replica lags, an error if it was dropped.
    async fn is_end(&self, after: u64, heard: News) -> Result<bool, ReadError> {
        let quiet = *self.quiet.lock();
        if quiet.is_some_and(|quiet| quiet.after == after && Instant::now() < quiet.until) {
            return Ok(true);
        }
        let state = self.ask_state().await?;
        if state.epoch == 0 {
            return Err(AskError::NoStream.into());
        }
        if after.saturating_add(1) < state.oldest {
            let oldest = state.oldest;
            return Err(ReadError::Truncated { oldest });
        }
        if state.last <= after {
            let until = Instant::now() + QUIET_LIMIT;
            *self.quiet.lock() = Some(Quiet { after, until });
            // A hint of an entry that does not exist is one of a log before this one.
            self.news.send_if_modified(|news| {
                if news.hint_count == heard.hint_count {
                    news.seq = news.seq.min(after);
                }
                false
            });
        }
        Ok(state.last <= after)
    }
}

/// Options of the client: it connects by itself, and reports each change through `news` and
/// `complaint`.
fn options(news: &Arc<watch::Sender<News>>, complaint: &Arc<Mutex<String>>) -> ConnectOptions {
    let (news, complaint) = (Arc::clone(news), Arc::clone(complaint));
    base_options().event_callback(move |event| {
        match event {
            Event::Connected => news.send_modify(|news| news.connection_count += 1),
            Event::Disconnected => news.send_modify(|news| news.loss_count += 1),
            Event::ServerError(error) => *complaint.lock() = error.to_string(),
            Event::ClientError(error) => *complaint.lock() = error.to_string(),
            _ => {}
        }
        std::future::ready(())
    })
}

/// Options of every client: it connects by itself, and again when the connection is lost.
pub(super) fn base_options() -> ConnectOptions {
    install_tls();
    ConnectOptions::new()
        .name("subcat")
        .retry_on_initial_connect()
        .connection_timeout(CONNECT_LIMIT)
        .request_timeout(None)
        .ping_interval(PING_INTERVAL)
        .reconnect_delay_callback(|attempts| {
            let pause = LOOK_PAUSE * u32::try_from(attempts).unwrap_or(u32::MAX).min(1000);
            pause.min(RECONNECT_PAUSE_MAX)
        })
}

/// Addresses of servers, as the client takes them.
pub(super) fn addresses_of(servers: &[String]) -> Result<Vec<ServerAddr>, OpenLogError> {
    let addresses = servers.iter().map(|server| server.parse::<ServerAddr>());
    let addresses = addresses.collect::<Result<_, io::Error>>();
    addresses.map_err(|error| OpenLogError::Invalid(error.to_string()))
}

/// Options with the user and the password that the addresses name: the client takes them from its
/// options alone.
pub(super) fn signed_in(options: ConnectOptions, addresses: &[ServerAddr]) -> ConnectOptions {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let named = addresses.iter().find_map(|address| {
        let user = address.username()?;
        Some((decoded(user), address.password().map(decoded)))
    });
    match named {
        Some((user, Some(password))) => options.user_and_password(user, password),
        // A user without a password is a token.
        Some((token, None)) => options.token(token),
        None => options,
    }
}

/// Passes hints on until the client is gone.
async fn listen(mut hints: Subscriber, news: Arc<watch::Sender<News>>) {
    while let Some(hint) = hints.next().await {
        let Some(seq) = sequence_of(&hint) else {
            continue;
        };
        news.send_modify(|news| {
            news.seq = seq;
            news.hint_count += 1;
        });
    }
}

/// Subject of the entries of an epoch: a stream of another epoch does not accept them.
fn subject_of(stream: &str, epoch: u64) -> String {
    format!("{stream}.log.{epoch}")
}

fn sequence_of(message: &Message) -> Option<u64> {
    let headers = message.headers.as_ref()?;
    headers.get(SEQUENCE)?.as_str().parse().ok()
}

/// The number in the answer to an append.
fn appended(answer: &[u8]) -> Result<u64, AppendError> {
    #[derive(Deserialize)]
    struct AppendAnswer {
        error: Option<Refusal>,
        #[serde(default)]
        seq: u64,
    }
    let answer: AppendAnswer =
        serde_json::from_slice(answer).map_err(|error| AppendError::Unknown(error.to_string()))?;
    match answer.error {
        None if answer.seq == 0 => Err(AppendError::Unknown("NATS sent no number".into())),
        None => Ok(answer.seq),
        Some(refusal)
            if refusal
                .err_code
                .is_some_and(|code| REFUSALS.contains(&code)) =>
        {
            Err(match refusal.err_code {
                Some(NO_STREAM) => AppendError::NoLog,
                _ => AppendError::Unavailable(refusal.description),
            })
        }
        Some(refusal) => Err(AppendError::Unknown(refusal.description)),
    }
}

impl Log for NatsLog {
    fn create(&self, epoch: u64) -> Result<(), ReadError> {
        *self.quiet.lock() = None;
        self.within(RESET_LIMIT, self.create_stream(epoch))
    }

    fn reset(&self, epoch: u64) -> Result<(), ReadError> {
        *self.quiet.lock() = None;
        self.within(RESET_LIMIT, self.recreate(epoch))
    }

    fn state(&self) -> Result<LogState, ReadError> {
        self.within(READ_LIMIT, self.ask_state())
    }

    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError> {
        let body = Bytes::copy_from_slice(body);
        self.runtime.block_on(async {
            let until = time::Instant::now() + APPEND_LIMIT;
            let mut news = self.news.subscribe();
            let connected = self.connected().await;
            connected.map_err(|error| AppendError::Unavailable(error.to_string()))?;
            let loss_count = news.borrow().loss_count;
            let request = Request::new().payload(body).timeout(None);
            let subject = subject_of(&self.stream, epoch);
            let lost = news.wait_for(|news| news.loss_count != loss_count);
            let answer = tokio::select! {
                answer = self.client.send_request(subject, request) => answer,
                _ = lost => return Err(AppendError::Unknown("the connection was lost".into())),
                () = time::sleep_until(until) => {
                    return Err(AppendError::Unknown("NATS does not answer".into()));
                }
            };
            match answer {
                Ok(answer) => appended(&answer.payload),
                Err(error) => Err(match error.kind() {
                    RequestErrorKind::NoResponders => {
                        let refused = time::timeout_at(until, self.refused(epoch)).await;
                        refused.unwrap_or_else(|_| AppendError::Unavailable(NO_LEADER.into()))
                    }
                    RequestErrorKind::MaxPayloadExceeded | RequestErrorKind::InvalidSubject => {
                        AppendError::Unavailable(error.to_string())
                    }
                    _ => AppendError::Unknown(error.to_string()),
                }),
            }
        })
    }

    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError> {
        let heard = *self.news.borrow();
        self.within(ENTRIES_LIMIT, async {
            loop {
                match self.batch(after, bytes_max).await? {
                    Batch::Entries(entries) => {
                        // The next replica that is asked may not have them yet.
                        *self.quiet.lock() = None;
                        return Ok(entries);
                    }
                    Batch::Nothing if self.is_end(after, heard).await? => return Ok(Vec::new()),
                    Batch::Nothing => time::sleep(LOOK_PAUSE).await,
                    Batch::Gap => {
                        self.is_end(after, heard).await?;
                        time::sleep(LOOK_PAUSE).await;
                    }
                    Batch::Silence => {}
                }
            }
        })
    }

    fn wait(&self, after: u64, at_most: Duration) {
        let mut news = self.news.subscribe();
        let connection_count = news.borrow().connection_count;
        // A hint that was lost with a connection is made up for by the next one.
        let is_news = |news: &News| after < news.seq || news.connection_count != connection_count;
        self.runtime.block_on(async {
            let _ = time::timeout(at_most, news.wait_for(is_news)).await;
        });
    }

    fn copies(&self) -> Option<u64> {
        let copies = self.copies.load(Ordering::Relaxed);
        (copies != 0).then_some(copies)
    }

    fn truncate(&self, through: u64) -> Result<(), ReadError> {
        self.within(READ_LIMIT, async {
            let state = self.ask_state().await?;
            // Beyond the newest entry NATS would leave numbers out.
            let through = through.min(state.last);
            if state.oldest <= through {
                self.ask("PURGE", &json!({ "seq": through + 1 })).await?;
            }
            Ok(())
        })
    }
}
