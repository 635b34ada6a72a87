//! A server of the API inside the test's own process, on a port of its own.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use subcat_engine::{
    AccountId, ApiKey, Change, Disk, DraftValue, Email, Engine, NewAccount, NewApiKey, NodeId,
    Options, Outcome, RateLimit, Real, RecordDraft, Role, Scopes, StoreKind, Timestamp, block_on,
};
use subcat_server::auth::{api_key_digest, api_key_partial, api_key_text};
use subcat_server::config::{Config, Io};
use subcat_server::http::{Server, serve};
use subcat_server::runtime::{Clock, Control, SystemClock};
use subcat_server::service::{Actor, Service};
use tempfile::TempDir;

use crate::io_backend::chosen_io;
use crate::raw::{Client, RawAnswer};

/// A running server with a data directory that is removed with it.
pub struct TestServer {
    /// Service behind the server.
    pub service: Arc<Service>,
    server: Option<Server>,
    control: Option<Control>,
    keys_count: std::sync::atomic::AtomicU64,
    _data: TempDir,
}

impl TestServer {
    /// A server with default settings, apart from rate limits that no test reaches and
    /// [`chosen_io`].
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    /// A server whose settings are changed first.
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_clock(Arc::new(SystemClock::new()), change)
    }

    /// A server with this clock, whose settings are changed first.
    pub fn with_clock(clock: Arc<dyn Clock>, change: impl FnOnce(&mut Config)) -> Self {
        Self::with_disk(Arc::new(Real), clock, change)
    }

    /// The same, on this disk.
    pub fn with_disk(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let control = Control::start().expect("threads start");
        Self::on(control, disk, clock, change)
    }

    /// The same, with this control runtime.
    pub fn on(
        control: Control,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let data = tempfile::tempdir().expect("a directory for the test");
        let wide = NonZeroU32::new(1_000_000).expect("it is not zero");
        let mut config = Config {
            data: data.path().join("data"),
            listen: "127.0.0.1:0".parse().expect("an address"),
            store: StoreKind::Redb,
            workers: 2,
            io: chosen_io(),
            ..Config::default()
        };
        config.rate_limit.api_key.requests = wide;
        config.rate_limit.anonymous_requests = wide;
        change(&mut config);
        let options = Options {
            disk,
            store: config.store,
            counter_lanes: config.workers,
            node: NodeId(1),
        };
        let engine = Engine::open(&config.data, options).expect("an empty directory opens");
        let service = Service::new(config, Arc::new(engine), control.handle(), clock);
        let server = serve(&service).expect("a port is free");
        let wanted = service.config().io;
        assert!(wanted == Io::Auto || server.io() == wanted, "no {wanted:?}");
        Self {
            service,
            server: Some(server),
            control: Some(control),
            keys_count: std::sync::atomic::AtomicU64::new(0),
            _data: data,
        }
    }

    /// Listening address.
    pub fn address(&self) -> SocketAddr {
        let server = self.server.as_ref().expect("it runs until it is stopped");
        server.local_addr()
    }

    /// Path of the one-time link that creates the first account, while there is none.
    pub fn setup_path(&self) -> Option<String> {
        let server = self.server.as_ref().expect("it runs until it is stopped");
        server.site().setup_path()
    }

    /// A new connection.
    pub fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// Sends one request on a connection of its own.
    pub fn get(&self, path: &str, api_key: Option<&str>) -> RawAnswer {
        self.connect().get(path, api_key)
    }

    /// Loads records; each is given by its fields.
    pub fn import(&self, drafts: Vec<RecordDraft<'_>>) {
        let mut importer = self.service.engine.catalog().importer();
        for draft in drafts {
            let outcome = importer.push(draft).expect("the disk works");
            outcome.expect("the draft is a record");
        }
        importer.finish(&mut |_| {}).expect("the disk works");
    }

    /// Creates a key that may do everything; returns its text.
    pub fn api_key(&self) -> String {
        self.api_key_with(Scopes::ALL, None, None).0
    }

    /// Creates a key; returns its text and its stored form.
    pub fn api_key_with(
        &self,
        scopes: Scopes,
        limit: Option<&str>,
        expires_at: Option<Timestamp>,
    ) -> (String, ApiKey) {
        self.create_key(None, scopes, limit, expires_at)
    }

    fn create_key(
        &self,
        account: Option<AccountId>,
        scopes: Scopes,
        limit: Option<&str>,
        expires_at: Option<Timestamp>,
    ) -> (String, ApiKey) {
        let number = self
            .keys_count
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let digits = format!("{number:032}");
        let random: &[u8; 32] = digits.as_bytes().try_into().expect("32 digits");
        let text = api_key_text(random);
        let new = NewApiKey {
            account,
            name: format!("key {number}"),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes,
            limit: limit.map(|limit| RateLimit::parse(limit).expect("a limit")),
            expires_at,
        };
        let created = self.change(Change::CreateApiKey(new));
        let Outcome::ApiKey(api_key) = created else {
            panic!("no key was made: {created:?}");
        };
        (text, api_key)
    }

    /// Creates an account; returns its number.
    pub fn account(&self, email: &str) -> AccountId {
        let new = NewAccount {
            email: Email::parse(email).expect("an address"),
            display_name: String::new(),
            role: Role::User,
            password_hash: "none".to_owned(),
        };
        match self.change(Change::CreateAccount(new)) {
            Outcome::Account(account) => account.id,
            other => panic!("no account was made: {other:?}"),
        }
    }

    /// Creates a key of an account that may do everything; returns its text.
    pub fn api_key_of(&self, account: AccountId, limit: Option<&str>) -> String {
        self.create_key(Some(account), Scopes::ALL, limit, None).0
    }

    /// Revokes a key, as commands and pages do.
    pub fn revoke(&self, api_key: &ApiKey) {
        self.change(Change::RevokeApiKey(api_key.id));
    }

    fn change(&self, change: Change) -> Outcome {
        let changed = self.service.change(change, Actor::CommandLine);
        block_on(changed).expect("the disk works")
    }

    /// Stops serving.
    pub fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(Duration::from_secs(5));
        }
        if let Some(control) = self.control.take() {
            control.stop();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(Duration::from_millis(100));
        }
        if let Some(control) = self.control.take() {
            control.stop();
        }
    }
}

/// A text value of a draft.
pub fn text(value: &str) -> DraftValue<'_> {
    DraftValue::Text(value.into())
}

/// A film with an id, a title, a year, and a release whose file is at upstream.
pub fn film<'a>(id: &'a str, title: &'a str, year: i64, release: &'a str) -> RecordDraft<'a> {
    RecordDraft {
        id: text(id),
        video_type: text("movie"),
        title: text(title),
        year: DraftValue::Integer(year),
        posted_at: text("2024-05-01T10:00:00Z"),
        source_release_id: text(release),
        ..RecordDraft::default()
    }
}
