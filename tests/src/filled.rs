//! A data directory with something of everything, and the facts that an engine tells about it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{
    AccountId, ApiKeyId, CachedFile, Change, Disk, DraftValue, Email, Engine, Error, FileFacts,
    FileKind, FileName, Filters, KeyRoll, LinkPurpose, NewAccount, NewApiKey, NodeId, OneTimeLink,
    Options, Query, RateLimit, Real, Record, RecordDraft, RecordId, ReleaseId, Role, Scopes,
    SearchText, SecondStep, Session, StateEvent, StepSecret, StoreKind, Timestamp, Usage,
    UsageBatch, UsageDelta, Variant,
};

/// Records that were ever imported.
pub const RECORDS: u64 = 320;
/// Session of the first account.
pub const SESSION: [u8; 32] = [7; 32];
/// One-time link for a new password of the second account.
const LINK: [u8; 32] = [8; 32];
/// Releases whose files are cached.
const RELEASES: [&str; 3] = ["r1", "r2", "r3"];
/// Searches of every branch.
const SEARCHES: [(&str, &str); 6] = [
    ("query", "película"),
    ("query", "castellano"),
    ("query", "tercera s02"),
    ("query", "pelicola"),
    ("title", "cula seg"),
    ("title", "primera"),
];

/// Time of all that is done to the directory.
pub fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).expect("the time is in range")
}

/// Opens a data directory.
pub fn open(data: &Path) -> Result<Engine, Error> {
    open_on(Arc::new(Real), data)
}

/// Opens a data directory on a disk.
pub fn open_on(disk: Arc<dyn Disk>, data: &Path) -> Result<Engine, Error> {
    let options = Options {
        disk,
        store: StoreKind::Redb,
        counter_lanes: 1,
        node: NodeId(1),
    };
    Engine::open(data, options)
}

/// Id of a record.
pub fn id(number: u64) -> RecordId {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    RecordId::from_bytes(((u128::from(spread) << 64) | u128::from(number)).to_be_bytes())
}

fn integer(number: u64) -> i64 {
    number.try_into().expect("it is small")
}

/// Imports films with nothing but a title.
pub fn import_films(
    engine: &Engine,
    numbers: impl IntoIterator<Item = u64>,
    title: impl Fn(u64) -> String,
) -> Result<(), Error> {
    let mut importer = engine.catalog().importer();
    for number in numbers {
        let text = |text: &str| DraftValue::Text(Cow::Owned(text.to_owned()));
        let draft = RecordDraft {
            id: text(&id(number).to_string()),
            video_type: text("movie"),
            title: text(&title(number)),
            posted_at: text("2020-01-02T03:04:05Z"),
            ..RecordDraft::default()
        };
        importer.push(draft)?.expect("the draft is valid");
    }
    importer.finish(&mut |_| {}).map(drop)
}

/// Imports records whose titles have this word.
pub fn import(engine: &Engine, numbers: Range<u64>, word: &str) -> Result<(), Error> {
    let mut importer = engine.catalog().importer();
    for number in numbers {
        let text = |text: String| DraftValue::Text(Cow::Owned(text));
        let is_episode = number.is_multiple_of(4);
        let mut draft = RecordDraft {
            id: text(id(number).to_string()),
            video_type: text(if is_episode { "episode" } else { "movie" }.to_owned()),
            title: text(format!("Película {word} {}", number / 3)),
            year: DraftValue::Integer(1_950 + integer(number % 70)),
            posted_at: text(format!("20{:02}-01-02T03:04:05Z", number % 25)),
            catalog_id: text(format!("tt{:07}", number / 2)),
            source_release_id: text(format!("r{number}")),
            language: text(["es", "es-MX"][number as usize % 2].to_owned()),
            ..RecordDraft::default()
        };
        if is_episode {
            draft.season = DraftValue::Integer(1 + integer(number % 3));
            draft.episode = DraftValue::Integer(1 + integer(number % 10));
        }
        if !number.is_multiple_of(5) {
            draft.description = text(format!("Castellano, {}p, WEB-DL", number % 1_080));
            draft.uploader_name = text("José".to_owned());
            draft.file_name = text(format!("película {number}.srt"));
        }
        importer.push(draft)?.expect("the draft is valid");
    }
    importer.finish(&mut |_| {})?;
    Ok(())
}

/// Fills an empty place: segments with tombstones, a journal, accounts, keys, a session, usage,
/// files, and downloads that are aggregated and that are not. It is left as by a killed process.
pub fn fill(data: &Path) -> Result<(), Error> {
    fill_engine(&open(data)?)
}

/// Fills an empty engine with the same.
pub fn fill_engine(engine: &Engine) -> Result<(), Error> {
    import(engine, 0..300, "primera")?;
    flush(engine)?;
    import(engine, 280..RECORDS, "segunda")?;
    engine.catalog().delete_records(&[id(3), id(290)])?;
    flush(engine)?;
    import(engine, 100..108, "tercera")?;
    engine.catalog().set_active(id(50), false)?;
    engine.catalog().delete_records(&[id(4)])?;
    fill_accounts(engine)?;
    for (idx, name) in RELEASES.iter().enumerate() {
        let facts = FileFacts {
            kind: FileKind::Srt,
            upstream_name: FileName::parse("El año.srt").filter(|_| idx == 1),
            refetch_at: (idx == 2).then(now),
            replaces: None,
        };
        // The first two have the same content.
        let content = format!("1\n00:00:01,000 --> 00:00:02,000\n¿Qué? {}\n", idx / 2);
        let release = ReleaseId::parse(name).expect("it is valid");
        let content = content.repeat(20);
        let file = engine
            .files()
            .store_fetched(&release, content.as_bytes(), facts)?;
        engine
            .files()
            .store_variant(&file.content, Variant::Gzip, b"compressed")?;
    }
    let mut lane = engine.usage().counter_lane()?;
    for number in 0..40 {
        lane.count(id(number % 10), Some(ApiKeyId(1)), now().day())?;
    }
    engine.usage().aggregate_downloads(now());
    for number in 0..40 {
        lane.count(id(number % 20), Some(ApiKeyId(2)), now().day())?;
    }
    engine.usage().sync_counters()?;
    // Nothing is closed: what waits stays where it waits.
    drop(lane);
    Ok(())
}

/// Writes the newest commits to a segment file.
pub fn flush(engine: &Engine) -> Result<(), Error> {
    engine.catalog().request_reindex();
    while engine.maintain(now())? {}
    Ok(())
}

fn new_account(email: &str, role: Role) -> Change {
    Change::CreateAccount(NewAccount {
        email: Email::parse(email).expect("it is valid"),
        display_name: "Ana".into(),
        role,
        password_hash: "hash".into(),
    })
}

/// Accounts and keys of every kind.
fn account_changes() -> Vec<Change> {
    let key = |number: u8, account: u64| NewApiKey {
        account: Some(AccountId(account)),
        name: format!("key {number}"),
        digest: [number; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    };
    let limited = NewApiKey {
        scopes: Scopes::SEARCH,
        limit: Some(RateLimit {
            requests: 5.try_into().expect("it is not zero"),
            window_seconds: 60.try_into().expect("it is not zero"),
        }),
        expires_at: Some(now().plus_seconds(-5)),
        ..key(2, 2)
    };
    let roll = KeyRoll {
        old: ApiKeyId(3),
        digest: [9; 32],
        partial: "sct_AbCd…wXyZ".into(),
        old_ends_at: now().plus_seconds(3_600),
    };
    let second_step = SecondStep {
        secret: StepSecret::Plain([5; 20]),
        last_step: 56_666_666,
        recovery_digests: vec![[6; 32], [7; 32]],
    };
    vec![
        new_account("ana@example.org", Role::Admin),
        new_account("luz@example.org", Role::User),
        new_account("sol@example.org", Role::User),
        Change::CreateApiKey(key(1, 1)),
        Change::CreateApiKey(limited),
        Change::CreateApiKey(key(3, 2)),
        Change::CreateApiKey(key(4, 3)),
        Change::RevokeApiKey(ApiKeyId(4)),
        Change::RollApiKey(roll),
        Change::SetDisabled(AccountId(3), true),
        Change::SetSecondStep(AccountId(2), Some(second_step)),
    ]
}

fn fill_accounts(engine: &Engine) -> Result<(), Error> {
    let mut events: Vec<StateEvent> = account_changes()
        .into_iter()
        .map(|change| change.into_event("ana@example.org", now()))
        .collect();
    let session = Session {
        digest: SESSION,
        account: AccountId(1),
        created_at: now(),
        expires_at: now().plus_seconds(86_400),
        device: String::new(),
        last_used_at: None,
        is_pending: false,
    };
    events.push(StateEvent::OpenSession(session, "hash".into()));
    events.push(StateEvent::IssueLink(OneTimeLink {
        digest: LINK,
        issuer: None,
        purpose: LinkPurpose::NewPassword(AccountId(2)),
        expires_at: now().plus_seconds(86_400),
    }));
    events.push(StateEvent::KeepFigures(now().day(), vec![3, 1, 4, 1, 5]));
    let delta = |key| UsageDelta {
        api_key: Some(ApiKeyId(key)),
        day: now().day(),
        usage: Usage {
            requests: 10 * key,
            client_errors: key,
            ..Usage::default()
        },
        last_used_at: Some(now()),
    };
    events.push(StateEvent::AddUsage(UsageBatch {
        number: 1,
        deltas: vec![delta(1), delta(2)],
    }));
    engine.apply(events)?;
    Ok(())
}

/// Answer to a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchAnswer {
    /// Total of matches.
    pub total: u64,
    /// Ids of the page, in order.
    pub page: Vec<RecordId>,
}

/// Everything that an engine tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// Statements with their values; one that cannot be told is missing.
    pub values: BTreeMap<String, String>,
    /// Sums, which damage may only lower.
    pub sums: BTreeMap<String, u64>,
    /// Answers to searches; one that fails is missing.
    pub searches: BTreeMap<String, SearchAnswer>,
    /// Questions that were answered by an error.
    pub errors: Vec<String>,
}

impl Answers {
    /// Asks an engine for everything.
    pub fn of(engine: &Engine) -> Self {
        let mut facts = Self::default();
        facts.ask_catalog(engine);
        facts.ask_accounts(engine);
        facts.ask_usage(engine);
        facts.ask_files(engine);
        facts
    }

    /// The facts as lines.
    pub fn lines(&self) -> String {
        let mut lines = String::new();
        for (name, value) in &self.values {
            lines.push_str(&format!("{name}: {value}\n"));
        }
        for (name, sum) in &self.sums {
            lines.push_str(&format!("{name}: {sum}\n"));
        }
        for (name, SearchAnswer { total, page }) in &self.searches {
            lines.push_str(&format!("{name}: {total}"));
            for id in page {
                lines.push_str(&format!(" {id}"));
            }
            lines.push('\n');
        }
        lines
    }

    fn tell(&mut self, name: String, value: String) {
        self.values.insert(name, value);
    }

    /// The answer, unless it is an error, which is noted.
    fn answer<T>(&mut self, name: &str, answer: Result<T, Error>) -> Option<T> {
        answer
            .inspect_err(|error| self.errors.push(format!("{name}: {error}")))
            .ok()
    }

    fn ask_catalog(&mut self, engine: &Engine) {
        let mut exported = BTreeMap::new();
        let export = engine.catalog().export(&mut |record| {
            exported.insert(format!("record {}", record.id), describe(record));
            Ok(())
        });
        self.values.append(&mut exported);
        for error in self.answer("export", export).unwrap_or_default() {
            self.errors.push(format!("export: {error}"));
        }
        let snapshot = engine.catalog().snapshot();
        for number in 0..RECORDS {
            let name = format!("shown {}", id(number));
            let found = snapshot
                .doc(id(number))
                .map(|doc| doc.map(|doc| String::from_utf8_lossy(doc.fragment()).into_owned()));
            if let Some(Some(fragment)) = self.answer(&name, found) {
                self.tell(name, fragment);
            }
        }
        for (field, text) in SEARCHES {
            let query = Query::new(Filters::default(), 50);
            let query = match field {
                "query" => query.with_query(SearchText::query(text).expect("few words")),
                _ => query.with_title(Some(SearchText::title(text).expect("few words"))),
            };
            let name = format!("{field} {text}");
            let searched = snapshot.search(&query).and_then(|hits| {
                let ids = (0..hits.len()).map(|idx| Ok(snapshot.hit_doc(&hits, idx)?.id()));
                let page = ids.collect::<Result<Vec<_>, Error>>()?;
                snapshot.ensure_not_truncated()?;
                let total = hits.total();
                Ok(SearchAnswer { total, page })
            });
            if let Some(answer) = self.answer(&name, searched) {
                self.searches.insert(name, answer);
            }
        }
    }

    fn ask_accounts(&mut self, engine: &Engine) {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
        for account in engine.accounts().all() {
            let value = format!(
                "{} {:?} {} {} {} {:?}",
                account.email.as_str(),
                account.display_name,
                account.role.as_str(),
                account.password_hash,
                account.created_at,
                time(account.disabled_at),
            );
            self.tell(format!("account {}", account.id.0), value);
        }
        for key in engine.accounts().api_keys() {
            let limit = key.limit.map(|limit| limit.to_string());
            let value = format!(
                "{:?} {:?} {:?} {} {} {limit:?} {} {:?} {:?}",
                key.account.map(|account| account.0),
                key.name,
                key.digest[0],
                key.partial,
                key.scopes.bits(),
                key.created_at,
                time(key.expires_at),
                time(key.revoked_at),
            );
            self.tell(format!("key {}", key.id.0), value);
        }
        if let Some(session) = engine.accounts().session(&SESSION) {
            let value = format!("{} {}", session.account.0, session.expires_at);
            self.tell("session".to_owned(), value);
        }
        for account in engine.accounts().all() {
            let Some(step) = engine.accounts().second_step(account.id) else {
                continue;
            };
            let id = account.id.0;
            self.tell(format!("account {id} has a second step"), String::new());
            // One that was damaged lets nobody in.
            if let StepSecret::Plain(secret) = step.secret
                && secret != [0; 20]
            {
                let codes = step.recovery_digests.iter().map(|digest| digest[0]);
                let codes: Vec<u8> = codes.collect();
                let value = format!("{:?} {} {codes:?}", secret[0], step.last_step);
                self.tell(format!("second step of account {id}"), value);
            }
        }
        let link = engine.accounts().link(&LINK);
        if let Some(Some(link)) = self.answer("link", link) {
            let value = format!("{:?} {}", link.purpose, link.expires_at);
            self.tell("link".to_owned(), value);
        }
        let audit = engine.accounts().audit_log(None, 100);
        for (number, entry) in self.answer("audit", audit).unwrap_or_default() {
            let value = format!("{} {} {}", entry.at, entry.actor, entry.action);
            self.tell(format!("audit {number}"), value);
        }
    }

    fn ask_usage(&mut self, engine: &Engine) {
        let day = now().day();
        let per_day = engine.usage().per_day(day, day);
        for (day, usage) in self.answer("usage", per_day).unwrap_or_default() {
            self.add_usage(&format!("usage of {day}"), &usage);
        }
        let figures = engine.usage().figures();
        for (day, figures) in self.answer("figures", figures).unwrap_or_default() {
            self.tell(format!("figures of {day}"), format!("{figures:?}"));
        }
        for key in 1..=5 {
            let name = format!("usage of key {key}");
            let totals = engine.usage().api_key_totals(ApiKeyId(key));
            if let Some((usage, _)) = self.answer(&name, totals) {
                self.add_usage(&name, &usage);
            }
            let days = engine.usage().api_key_usage(ApiKeyId(key), day, day);
            for (day, usage) in self.answer(&name, days).unwrap_or_default() {
                self.add_usage(&format!("{name} of {day}"), &usage);
            }
        }
        for number in 0..20 {
            let downloads = engine.usage().downloads(id(number));
            self.sums
                .insert(format!("downloads of {}", id(number)), downloads);
        }
    }

    fn add_usage(&mut self, name: &str, usage: &Usage) {
        for (field, sum) in [
            ("requests", usage.requests),
            ("downloads", usage.downloads),
            ("client errors", usage.client_errors),
            ("limited", usage.limited),
        ] {
            self.sums.insert(format!("{name}, {field}"), sum);
        }
    }

    fn ask_files(&mut self, engine: &Engine) {
        for name in RELEASES {
            let release = ReleaseId::parse(name).expect("it is valid");
            let Some(file) = engine.files().cached_file(&release) else {
                continue;
            };
            let CachedFile {
                content,
                size_bytes,
                refetch_at,
                ..
            } = &file;
            let upstream_name = file.upstream_name.as_ref().map(FileName::as_str);
            let refetch_at = refetch_at.map(|at| at.to_string());
            let value = format!("{content} {size_bytes} {upstream_name:?} {refetch_at:?}");
            self.tell(format!("file {name}"), value);
            for variant in [Variant::Identity, Variant::Gzip] {
                let name = format!("{variant:?} of file {name}");
                let opened = engine.files().blob(&file, variant);
                if let Some(Some(blob)) = self.answer(&name, opened) {
                    let content = String::from_utf8_lossy(blob.bytes()).into_owned();
                    self.tell(name, format!("{content:?}"));
                }
            }
        }
    }
}

/// Fields of a record, by name: a new field changes no line of a record that does not have it.
fn describe(record: &Record) -> String {
    let mut fields = vec![
        record.video_type.as_str().to_owned(),
        format!("{:?}", record.title),
        record.posted_at.to_string(),
        format!("active {}", record.is_active),
        format!("language {}", record.language),
    ];
    let mut add = |name: &str, value: Option<String>| {
        fields.extend(value.map(|value| format!("{name} {value}")));
    };
    add(
        "season",
        record.season.map(|number| number.get().to_string()),
    );
    add(
        "episode",
        record.episode.map(|number| number.get().to_string()),
    );
    add("year", record.year.map(|year| year.get().to_string()));
    add("catalog id", record.catalog_id.map(|id| id.to_string()));
    add("parent", record.parent_catalog_id.map(|id| id.to_string()));
    add("description", record.description.clone());
    add("uploader", record.uploader_name.clone());
    let release = record.source_release_id.as_ref();
    add("release", release.map(ToString::to_string));
    let file_name = record.file_name.as_ref();
    add("file", file_name.map(|name| name.as_str().to_owned()));
    fields.join(", ")
}
