//! The whole service on a free port in this process, and visitors of its pages.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use subcat_engine::{
    Account, Change, Disk, Email, Engine, NewAccount, Outcome, Real, RecordDraft, Role, Scopes,
    StoreKind,
};
use subcat_server::command::demo::{CATALOG, LocalUpstream};
use subcat_server::config::{Config, RateLimits, Registration};
use subcat_server::rows::read_line;
use subcat_server::runtime::{Clock, Control, SystemClock};
use subcat_server::service::Service;
use subcat_server::web::Password;

use crate::raw::{Client, RawAnswer};
use crate::server::TestServer;

/// The scopes of the form of a new key, all ticked.
pub const ALL_SCOPES: [(&str, &str); 3] = [
    ("scope", "search"),
    ("scope", "read"),
    ("scope", "download"),
];

/// A running service with the demo's catalog and the demo's upstream. It stops with the value.
pub struct Portal {
    server: TestServer,
    _upstream: LocalUpstream,
    control: Option<Control>,
}

impl Portal {
    /// Starts a service with a temporary data directory that is open to new accounts; `change`
    /// adapts its settings.
    pub fn open(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_clock(Arc::new(SystemClock::new()), change)
    }

    /// The same, with this clock.
    pub fn with_clock(clock: Arc<dyn Clock>, change: impl FnOnce(&mut Config)) -> Self {
        Self::with_disk(Arc::new(Real), clock, change)
    }

    /// The same, on this disk.
    pub fn with_disk(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let portal = Self::start(disk, clock, change);
        fill(&portal.server.service.engine);
        portal
    }

    /// A service without records.
    pub fn empty(change: impl FnOnce(&mut Config)) -> Self {
        Self::start(Arc::new(Real), Arc::new(SystemClock::new()), change)
    }

    fn start(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>, change: impl FnOnce(&mut Config)) -> Self {
        let control = Control::start().expect("threads start");
        let upstream = LocalUpstream::start(&control.handle()).expect("a free port");
        let server = TestServer::with_disk(disk, clock, |config| {
            config.store = StoreKind::Memory;
            config.workers = 1;
            config.rate_limit = RateLimits::default();
            config.accounts.registration = Registration::Open;
            config.upstream.url = Some(upstream.url_template());
            change(config);
        });
        Self {
            server,
            _upstream: upstream,
            control: Some(control),
        }
    }

    /// Adds records.
    pub fn import(&self, drafts: Vec<RecordDraft<'_>>) {
        self.server.import(drafts);
    }

    /// Creates a key with these scopes; returns its text.
    pub fn api_key(&self, scopes: Scopes) -> String {
        self.server.api_key_with(scopes, None, None).0
    }

    /// The service.
    pub fn service(&self) -> &Arc<Service> {
        &self.server.service
    }

    /// Listening address.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The address as a browser writes it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// One-time link that creates the first account.
    pub fn setup_path(&self) -> Option<String> {
        self.server.setup_path()
    }

    /// Creates an account without a page.
    pub fn make_account(&self, email: &str, password: &str, role: Role) -> Account {
        let account = NewAccount {
            email: Email::parse(email).expect("an address"),
            display_name: String::new(),
            role,
            password_hash: Password::parse(password).expect("long enough").hash(),
        };
        let event = Change::CreateAccount(account).into_event(email, self.service().now());
        let events = vec![event];
        match self
            .service()
            .engine
            .apply(events)
            .expect("it is stored")
            .pop()
        {
            Some(Outcome::Account(account)) => account,
            other => panic!("no account was made: {other:?}"),
        }
    }

    /// A visitor who is not signed in.
    pub fn visitor(&self) -> Visitor {
        Visitor {
            client: Client::connect(self.address()),
            host: self.address().to_string(),
            cookies: BTreeMap::new(),
            headers: Vec::new(),
        }
    }

    /// A visitor who has signed in.
    pub fn signed_in(&self, email: &str, password: &str) -> Visitor {
        let mut visitor = self.visitor();
        let answer = visitor.post("/signin", &[("email", email), ("password", password)]);
        assert_eq!(answer.status, 303, "{}", answer.text());
        visitor
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        if let Some(control) = self.control.take() {
            control.stop();
        }
    }
}

/// Loads the demo's catalog.
fn fill(engine: &Engine) {
    let mut importer = engine.catalog().importer();
    for (line_idx, line) in CATALOG.lines().enumerate() {
        let row = read_line(line_idx as u64 + 1, line.as_bytes()).expect("the catalog is sound");
        let fault = importer.push(row.draft).expect("the disk works");
        fault.expect("the catalog is sound");
    }
    importer.finish(&mut |_| ()).expect("the import ends");
}

/// A client that visits pages as a browser does: it keeps cookies and sends `Origin` with forms.
pub struct Visitor {
    client: Client,
    host: String,
    /// Cookies by name.
    pub cookies: BTreeMap<String, String>,
    /// Fields of every request.
    pub headers: Vec<(String, String)>,
}

impl Visitor {
    /// Requests a page.
    pub fn get(&mut self, path: &str) -> RawAnswer {
        self.send("GET", path, &[], "")
    }

    /// Submits a form from one of our own pages.
    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> RawAnswer {
        let origin = format!("http://{}", self.host);
        self.post_from(path, fields, &[("Origin", &origin)])
    }

    /// Submits a form with header fields that name its origin.
    pub fn post_from(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> RawAnswer {
        let pairs: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let mut headers = headers.to_vec();
        headers.push(("Content-Type", "application/x-www-form-urlencoded"));
        self.send("POST", path, &headers, &pairs.join("&"))
    }

    /// Sends any request and keeps the cookies of its answer.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> RawAnswer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host);
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.cookies.is_empty() {
            let pairs: Vec<String> = self
                .cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            request.push_str(&format!("Cookie: {}\r\n", pairs.join("; ")));
        }
        if !body.is_empty() || method == "POST" {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let answer = self.client.ask(format!("{request}\r\n{body}"));
        self.keep_cookies(&answer);
        answer
    }

    fn keep_cookies(&mut self, answer: &RawAnswer) {
        let set = answer
            .fields
            .iter()
            .filter(|(name, _)| name == "set-cookie");
        for (_, cookie) in set {
            let pair = cookie.split(';').next().unwrap_or("");
            let (name, value) = pair.split_once('=').expect("a cookie has a value");
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

/// Percent-encodes a value of a form.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
