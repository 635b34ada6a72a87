//! The administration pages, tested over a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use subcat_engine::{Account, AccountId, Change, FileKind, ReleaseId, Role, Timestamp, block_on};
use subcat_server::config::{Config, Registration, Sources};
use subcat_server::ops::Operations;
use subcat_server::runtime::{Clock, Moment};
use subcat_server::service::{Actor, Gain, Service};
use subcat_tests::clocks::SettableClock;
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::raw::Client;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

/// A clock that advances by this many microseconds with every reading.
struct Ticking {
    reading_us: AtomicU64,
    step_us: u64,
}

impl Clock for Ticking {
    fn now(&self) -> Moment {
        let reading_us = self.reading_us.fetch_add(self.step_us, Ordering::SeqCst);
        let start = Timestamp::parse("2026-05-03T09:00:00Z").expect("a time");
        Moment {
            monotonic_us: reading_us,
            unix_ms: start.seconds() * 1000 + (reading_us / 1000) as i64,
        }
    }
}

/// A portal with such a clock, and its administrator.
fn portal(step_us: u64) -> (Portal, Visitor) {
    let clock = Ticking {
        reading_us: AtomicU64::new(1),
        step_us,
    };
    let portal = Portal::with_clock(Arc::new(clock), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let ana = portal.signed_in(EMAIL, PASSWORD);
    (portal, ana)
}

/// The text of a page without its tags.
fn plain(page: &str) -> String {
    let mut text = String::new();
    for piece in page.split('<') {
        let (_, after) = piece.split_once('>').unwrap_or(("", piece));
        let words = after.split_whitespace();
        text.extend(words.flat_map(|word| [word, " "]));
    }
    text
}

fn make_key(ana: &mut Visitor, name: &str) -> String {
    let page = ana.post("/keys", &[("name", name), ("scope", "search")]);
    let (_, rest) = page.text().split_once("readonly value=\"").expect("a key");
    rest.split('"').next().expect("it ends").to_owned()
}

#[test]
fn slow_searches_are_listed_with_their_key_and_without_secrets() {
    let (portal, mut ana) = portal(11_000);
    let key = make_key(&mut ana, "living room");
    let mut client = Client::connect(portal.address());
    let search = "/api/subtitles/search?query=the+matrix&year=1999&token=hidden";
    assert_eq!(client.get(search, Some(&key)).status, 200);
    assert_eq!(ana.get("/catalog?title=blade").status, 200);
    let page = ana.get("/admin");
    let text = plain(page.text());
    assert!(text.contains("query=the matrix year=1999"), "{text}");
    assert!(text.contains(" ms "), "{text}");
    assert!(text.contains("living room"), "{text}");
    assert!(text.contains("title=blade"), "{text}");
    assert!(text.contains("web page"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
    assert!(!text.contains(&key), "{text}");
}

#[test]
fn fast_searches_are_not_listed() {
    let (portal, mut ana) = portal(1);
    let key = make_key(&mut ana, "x");
    let mut client = Client::connect(portal.address());
    let search = "/api/subtitles/search?query=the+matrix";
    assert_eq!(client.get(search, Some(&key)).status, 200);
    let text = plain(ana.get("/admin").text());
    assert!(
        text.contains("No search has taken longer than 10 ms"),
        "{text}"
    );
}

#[test]
fn upstream_is_shown_as_a_state_with_its_last_success() {
    let (portal, mut ana) = portal(1);
    let text = plain(ana.get("/admin").text());
    assert!(text.contains("no answer yet"), "{text}");
    let page = ana.get("/catalog?query=matrix&limit=1");
    let (_, rest) = page
        .text()
        .split_once("<h2><a href=\"/catalog/")
        .expect("a hit");
    let id = rest.split('"').next().expect("it ends").to_owned();
    assert_eq!(ana.get(&format!("/catalog/{id}/download")).status, 200);
    let text = plain(ana.get("/admin").text());
    assert!(text.contains("Upstream (source of files) up"), "{text}");
    assert!(text.contains("Last success 3 May 2026"), "{text}");
    assert!(text.contains("Last error never"), "{text}");
    assert!(text.contains("Fetched since startup 1"), "{text}");
    drop(portal);
}

/// The commands of the front page act on the service that shows it.
#[test]
fn the_first_account_is_made_where_the_service_is() {
    let portal = Portal::empty(|_| ());
    let data = std::path::absolute(&portal.service().config().data).expect("a path");
    let text = plain(portal.visitor().get("/").text());
    let command = format!(
        "subcat account create EMAIL --role admin --data {}",
        data.display()
    );
    assert!(text.contains(&command), "{command}: {text}");
    assert!(text.contains("The catalog is empty."), "{text}");
    assert!(!text.contains("in one minute"), "{text}");
}

#[test]
fn the_console_says_why_the_service_is_healthy_in_part() {
    let portal = Portal::open(|config| {
        config.upstream.url = Some("http://127.0.0.1:9/{source_release_id}".to_owned());
        config.upstream.timeout_seconds = 1;
    });
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/catalog");
    let ids = page.text().split("<h2><a href=\"/catalog/").skip(1);
    let ids: Vec<String> = ids.map(|rest| rest[..36].to_owned()).collect();
    for id in ids.iter().take(4) {
        assert_eq!(ana.get(&format!("/catalog/{id}/download")).status, 502);
    }
    let text = plain(ana.get("/admin").text());
    let cause = "in part Source of files: down. It did not answer the last requests.";
    assert!(text.contains(cause), "{text}");
}

#[test]
fn the_audit_log_is_shown_whole_page_by_page() {
    let (portal, mut ana) = portal(1);
    for number in 0..250 {
        let change = Change::SetDisplayName(AccountId(1), format!("name {number}"));
        let event = change.into_event(EMAIL, portal.service().now());
        portal.service().engine.apply(vec![event]).expect("stored");
    }
    let (mut path, mut lines) = ("/admin/audit".to_owned(), 0);
    loop {
        let page = ana.get(&path);
        assert_eq!(page.status, 200);
        lines += page.text().matches(">name changed<").count();
        let Some((_, rest)) = page.text().split_once("rel=\"next\" href=\"") else {
            break;
        };
        path = rest.split('"').next().expect("it ends").to_owned();
    }
    assert_eq!(lines, 250);
}

#[test]
fn the_figures_are_those_of_the_service() {
    let (portal, mut ana) = portal(1);
    let key = make_key(&mut ana, "living room");
    let mut client = Client::connect(portal.address());
    for _ in 0..3 {
        let answer = client.get("/api/subtitles/search?title=matrix", Some(&key));
        assert_eq!(answer.status, 200);
    }
    let stats = portal.service().engine.stats().expect("they can be read");
    assert!(0 < stats.records);
    let page = ana.get("/admin");
    let text = plain(page.text());
    let figures = [
        ("Records", stats.records),
        ("Active records", stats.active_records),
        ("Accounts", 1),
        ("API keys", 1),
        ("Segments", stats.file_segments),
        ("Records awaiting reindexing", stats.delta_records),
        ("Reindexing runs", stats.reindex_jobs_done),
        ("Segment merges", stats.merges_done),
        ("Searches", 3),
    ];
    for (name, number) in figures {
        let expected = format!("{name} {number} ");
        assert!(text.contains(&expected), "{expected}: {text}");
    }
    assert!(text.contains("Served from the cache 2 (66%)"), "{text}");
}

/// API.md 12.10
#[test]
fn two_administrators_cannot_demote_each_other_to_none() {
    let portal = Portal::open(|_| ());
    let service = portal.service();
    let accounts = [EMAIL, "eva@example.com"];
    let accounts = accounts.map(|email| portal.make_account(email, PASSWORD, Role::Admin));
    let [ana, eva] = &accounts;
    for round in 0..50 {
        let start = std::sync::Barrier::new(2);
        let demote = |by: &Account, other: &Account| {
            let operations = Operations::of_service(service, Actor::Account(&by.email));
            start.wait();
            if round % 2 == 0 {
                block_on(operations.set_role(other.id, Role::User)).is_ok()
            } else {
                block_on(operations.set_disabled(other.id, true)).is_ok()
            }
        };
        let done = std::thread::scope(|scope| {
            let other = scope.spawn(|| demote(ana, eva));
            [demote(eva, ana), other.join().unwrap_or(false)]
        });
        assert_ne!(done[0], done[1], "one of them is left");
        assert!(service.engine.accounts().has_administrator());
        let operator = Operations::of_service(service, Actor::CommandLine);
        for account in &accounts {
            block_on(operator.set_role(account.id, Role::Admin)).expect("stored");
            block_on(operator.set_disabled(account.id, false)).expect("stored");
        }
    }
}

#[test]
fn an_administrator_forgets_a_stored_file() {
    let (portal, mut ana) = portal(1);
    let release = ReleaseId::parse("r1").expect("a release");
    let files = portal.service().engine.files();
    let content = b"1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
    files
        .store_file(&release, content, FileKind::Srt, None)
        .expect("stored");
    let page = ana.get("/admin/files?release=r1");
    assert!(plain(page.text()).contains("srt"), "{}", page.text());
    // The list leads there, and the file is forgotten by a second step only.
    let list = ana.get("/admin/files");
    assert!(
        list.text().contains("href=\"/admin/files?release=r1\""),
        "{}",
        list.text()
    );
    assert!(
        !page
            .text()
            .contains("<form method=\"post\" action=\"/admin/files\"")
    );
    let asked = ana.get("/admin/files?release=r1&forget=ask");
    assert!(
        asked
            .text()
            .contains("<form method=\"post\" action=\"/admin/files\"")
    );
    let unknown = ana.get("/admin/files?release=r2");
    assert!(unknown.text().contains("No file of this release"));
    let mut user = portal.visitor();
    assert_eq!(user.post("/admin/files", &[("release", "r1")]).status, 303);
    assert!(files.cached_file(&release).is_some(), "not signed in");
    for _ in 0..2 {
        let answer = ana.post("/admin/files", &[("release", "r1")]);
        assert_eq!(answer.status, 303);
        assert!(files.cached_file(&release).is_none());
    }
}

#[test]
fn the_console_answers_four_questions_first() {
    let (portal, mut ana) = portal(1);
    let key = make_key(&mut ana, "living room");
    let mut client = Client::connect(portal.address());
    for query in ["matrix", "zumbido", "zumbido&limit=3"] {
        let search = format!("/api/subtitles/search?query={query}");
        assert_eq!(client.get(&search, Some(&key)).status, 200);
    }
    ana.get("/catalog?query=nadaqueverconesto");
    let text = plain(ana.get("/admin").text());
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    for (question, after) in [
        ("Is it healthy? yes", "Disk"),
        ("Is it fast? yes", "Search, p99 ≤"),
        ("Is it used?", "Active API keys 1"),
        ("What is not found?", "query=zumbido"),
    ] {
        assert!(place(question) < place(after), "{text}");
        assert!(
            place(after) < place("Segments"),
            "internals come last: {text}"
        );
    }
    place("query=nadaqueverconesto");
    place("Searches without results");
    assert!(!text.contains("First steps"), "nothing is left to do");
    let mut visitor = portal.visitor();
    let status = plain(visitor.get("/status").text());
    assert!(status.contains("Search and records works"), "{status}");
}

/// Charts without figures are named, and take no room.
#[test]
fn the_console_draws_no_empty_chart() {
    let clock = Arc::new(SettableClock::at("2026-05-03T23:58:00Z"));
    let portal = Portal::with_clock(clock.clone(), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for _ in 0..2 {
        portal.service().note_history(false).expect("it is stored");
        clock.advance(60);
    }
    let page = ana.get("/admin").text().to_owned();
    assert_eq!(page.matches("class=\"chart spark\"").count(), 1);
    let quiet = "Nothing to show yet: Search p50 · p99, Requests, Searches from the cache, \
                 Downloads from the cache, Fetched from upstream.";
    assert!(plain(&page).contains(quiet), "{page}");
}

#[test]
fn the_console_draws_minutes_and_days_and_names_the_most_downloaded_titles() {
    let clock = Arc::new(SettableClock::at("2026-05-03T23:58:00Z"));
    let portal = Portal::with_clock(clock.clone(), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let text = plain(ana.get("/admin").text());
    assert!(
        text.contains("first figures appear after a minute"),
        "{text}"
    );
    assert!(
        text.contains("Nothing has been downloaded since startup"),
        "{text}"
    );
    portal.service().note_history(false).expect("it is stored");
    let fields = [&[("name", "tv")], ALL_SCOPES.as_slice()].concat();
    let page = ana.post("/keys", &fields);
    let (_, key) = page.text().split_once("readonly value=\"").expect("a key");
    let key = key.split('"').next().expect("it ends").to_owned();
    let mut client = Client::connect(portal.address());
    let search = "/api/subtitles/search?query=matrix";
    let found = client.get(search, Some(&key));
    assert_eq!(client.get(search, Some(&key)).status, 200);
    let (_, id) = found.text().split_once("\"id\":\"").expect("a hit");
    let download = format!("/api/subtitles/{}/download", &id[..36]);
    for _ in 0..3 {
        assert_eq!(client.get(&download, Some(&key)).status, 200);
    }
    clock.advance(60);
    portal.service().note_history(false).expect("it is stored");
    clock.advance(60);
    portal.service().note_history(false).expect("it is stored");
    let page = ana.get("/admin").text().to_owned();
    let text = plain(&page);
    assert!(
        text.contains("23:58 5 0 0 ≤"),
        "two searches, three downloads: {text}"
    );
    assert!(
        text.contains("23:59 0 0 0 – – – –"),
        "a minute without any: {text}"
    );
    assert!(text.contains("50% 66% 1 0"), "caches, fetches: {text}");
    assert_eq!(page.matches("class=\"chart spark\"").count(), 6);
    // The minute that has just ended had none: the charts name the one before.
    assert!(text.contains("Search p50 · p99 ≤"), "{text}");
    assert!(text.contains("Searches from the cache 50%"), "{text}");
    assert!(
        text.contains("Most downloaded titles Title Downloads The Matrix aka Matrix 3"),
        "{text}"
    );
    assert!(page.contains("<a href=\"/title/tt0133093\"><bdi>The Matrix aka Matrix</bdi>"));
    let text = plain(ana.get("/admin?history=days").text());
    assert!(text.contains("3 May 2026 5 0 0 ≤"), "{text}");
    let text = plain(ana.get("/admin?history=hours").text());
    assert!(text.contains("The last 24 hours"), "{text}");
    assert!(text.contains("3 May 2026, 23:00 5 0 0 ≤"), "{text}");
    assert!(page.len() < 50_000, "{} bytes", page.len());
    // As after a restart: days stay, and go on; minutes begin anew.
    let ended = portal.service();
    let config = Config::clone(&ended.config());
    let (engine, control) = (Arc::clone(&ended.engine), ended.control.clone());
    let started = Service::new(config, engine, control, clock);
    assert_eq!(started.history.minutes(), []);
    let days = started.history.days();
    assert_eq!(days[0].figures, ended.history.days()[0].figures);
    assert_eq!(days[0].figures.gained(Gain::Requests), 5);
    assert!(days[0].figures.search_quantile_us(99).is_some());
}

#[test]
fn the_audit_log_is_filtered_and_exported() {
    let (portal, mut ana) = portal(1);
    make_key(&mut ana, "=1+1");
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    for number in 0..150 {
        let change = Change::SetDisplayName(AccountId(2), format!("name {number}"));
        let event = change.into_event("luis@example.com", portal.service().now());
        portal.service().engine.apply(vec![event]).expect("stored");
    }
    let page = ana.get("/admin/audit?kind=sign-in");
    assert!(
        plain(page.text()).contains("sign-in ana@example.com ana@example.com"),
        "{}",
        page.text()
    );
    let page = ana.get("/admin/audit?kind=key");
    assert!(page.text().contains(">key created<"), "{}", page.text());
    assert!(!page.text().contains(">name changed<"));
    assert!(!page.text().contains("rel=\"next\""), "it is the only one");
    let page = ana.get("/admin/audit?find=LUIS");
    assert_eq!(page.text().matches(">name changed<").count(), 100);
    let (_, rest) = page
        .text()
        .split_once("rel=\"next\" href=\"")
        .expect("more");
    let next = rest
        .split('"')
        .next()
        .expect("it ends")
        .replace("&amp;", "&");
    assert!(next.contains("find=luis"), "{next}");
    let page = ana.get(&next);
    assert_eq!(page.text().matches(">name changed<").count(), 50);
    let nothing = ana.get("/admin/audit?find=nobody");
    assert!(nothing.text().contains("No entry matches this filter"));
    let csv = ana.get("/admin/audit.csv?kind=key");
    assert_eq!(csv.field("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<&str> = csv.text().lines().collect();
    assert_eq!(lines[0], "number,at,actor,action,account,key,detail");
    assert!(
        lines[1].ends_with(",\"ana@example.com\",\"key created\",1,1,\"'=1+1\""),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    for path in ["/admin/audit.csv", "/admin/settings"] {
        assert_eq!(luis.get(path).status, 403);
    }
}

#[test]
fn the_console_shows_settings_keys_and_first_steps() {
    let portal = Portal::empty(|config| config.public_url = Some("https://sub.example".into()));
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.visitor();
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let headers = [("Origin", "https://sub.example")];
    assert_eq!(ana.post_from("/signin", &fields, &headers).status, 303);
    let text = plain(ana.get("/admin").text());
    let data = std::path::absolute(&portal.service().config().data).expect("a path");
    let command = format!("subcat import FILE.jsonl --data {} ", data.display());
    assert!(text.contains(&command), "{command}: {text}");
    for part in [
        "First steps",
        "to do Import your own folder of subtitles, or records: a table, or lines of JSON \
         subcat import DIR --data",
        "to do Create an API key",
        "done Name the source of files",
        "done Name the address that users see",
        "No API key has been used",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let settings = plain(ana.get("/admin/settings").text());
    assert!(
        settings.contains("public_url https://sub.example set"),
        "{settings}"
    );
    assert!(
        settings.contains("accounts.keys_max 25 default"),
        "{settings}"
    );
    let source = "upstream.url set (hidden), http";
    assert!(settings.contains(source), "{settings}");
    assert!(
        settings.contains("cache.search_bytes 67108864 64.0 MB default"),
        "{settings}"
    );
    let place = |name: &str| settings.find(name).expect("a setting");
    assert!(
        place("upstream.url") < place("trusted_proxies"),
        "what is set comes first"
    );
}

#[test]
fn the_settings_name_the_origin_of_each_value() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("s.toml");
    std::fs::write(&file, "workers = 3\nrate_limit.requests = 9\n").expect("it is written");
    let sources = |keys_max: &str| Sources {
        file: Some(file.clone()),
        variables: vec![("SUBCAT_ACCOUNTS_KEYS_MAX".into(), keys_max.into())],
        flags: Vec::new(),
    };
    let loaded = sources("7").load().expect("they are valid");
    portal.service().set_origins(&loaded.origins);
    let text = plain(ana.get("/admin/settings").text());
    // The values are those of this service; where they come from was told.
    for part in [
        "default",
        &format!("{} line 2", file.display()),
        "environment SUBCAT_ACCOUNTS_KEYS_MAX",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A reload that moves a setting to another place; the workers stay as they were started.
    std::fs::write(&file, "accounts.keys_max = 8\n").expect("it is written");
    let mut moved = sources("8");
    moved.variables.clear();
    let loaded = moved.load().expect("they are valid");
    portal.service().set_origins(&loaded.origins);
    let text = plain(ana.get("/admin/settings").text());
    let line = |number: u32| format!("{} line {number}", file.display());
    assert_eq!(text.matches(&line(1)).count(), 2, "{text}");
    assert!(!text.contains(&line(2)), "{text}");
    assert!(!text.contains("environment SUBCAT"), "{text}");
    let spanish = ana.send("GET", "/admin/settings", &[("Accept-Language", "es")], "");
    assert!(plain(spanish.text()).contains(", línea 1"));
}

#[test]
fn an_administrator_opens_and_closes_registration() {
    let portal = Portal::open(|config| config.accounts.registration = Registration::Closed);
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    let switch = |visitor: &mut Visitor, open: &str| {
        let answer = visitor.post("/admin/registration", &[("open", open)]);
        answer.status
    };
    let sign_up = || portal.visitor().get("/signup").status;
    assert_eq!(sign_up(), 404);
    assert!(plain(ana.get("/admin/accounts").text()).contains("Registration: closed"));
    assert_eq!(switch(&mut luis, "yes"), 403);
    assert_eq!(switch(&mut ana, "perhaps"), 415);
    assert_eq!(sign_up(), 404);
    assert_eq!(switch(&mut ana, "yes"), 303);
    assert_eq!(sign_up(), 200);
    assert!(
        portal
            .visitor()
            .get("/")
            .text()
            .contains("href=\"/signup\"")
    );
    let list = plain(ana.get("/admin/accounts").text());
    assert!(list.contains("Registration is open: anybody"), "{list}");
    let settings = plain(ana.get("/admin/settings").text());
    assert!(
        settings.contains("accounts.registration open administrator"),
        "{settings}"
    );
    assert_eq!(switch(&mut ana, "no"), 303);
    assert_eq!(sign_up(), 404);
    let log = plain(ana.get("/admin/audit?kind=registration").text());
    for action in ["registration opened", "registration closed"] {
        assert_eq!(log.matches(action).count(), 1, "{log}");
    }
    // What a file says counts, and is not offered.
    let sources = Sources {
        file: None,
        variables: vec![("SUBCAT_ACCOUNTS_REGISTRATION".into(), "open".into())],
        flags: Vec::new(),
    };
    let loaded = sources.load().expect("they are valid");
    portal.service().set_origins(&loaded.origins);
    let page = ana.get("/admin/accounts");
    assert!(!page.text().contains("/admin/registration"));
    assert_eq!(switch(&mut ana, "no"), 403);
}

#[test]
fn the_last_24_hours_of_a_key_are_shown_by_hour() {
    let clock = Arc::new(SettableClock::at("2026-05-03T21:30:00Z"));
    let portal = Portal::with_clock(clock.clone(), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let fields = [&[("name", "tv")], ALL_SCOPES.as_slice()].concat();
    let page = ana.post("/keys", &fields);
    let (_, key) = page.text().split_once("readonly value=\"").expect("a key");
    let key = key.split('"').next().expect("it ends").to_owned();
    let mut client = Client::connect(portal.address());
    let found = client.get("/api/subtitles/search?query=matrix", Some(&key));
    let (_, id) = found.text().split_once("\"id\":\"").expect("a hit");
    let download = format!("/api/subtitles/{}/download", &id[..36]);
    assert_eq!(client.get(&download, Some(&key)).status, 200);
    // The workers hand over what they counted once a second.
    let mut row = |path: &str, row: &str| {
        let began = Instant::now();
        loop {
            let page = ana.get(path);
            if page.text().contains(row) || plain(page.text()).contains(row) {
                return page.text().to_owned();
            }
            let text = plain(page.text());
            assert!(began.elapsed() < Duration::from_secs(20), "{row}: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    row("/keys/1?days=1", "3 May 2026, 21:00 2 1 0 0");
    clock.advance(3_600);
    assert_eq!(client.get("/api/subtitles/x", Some(&key)).status, 404);
    let page = row("/keys/1?days=1", "3 May 2026, 22:00 1 0 1 0");
    assert!(plain(&page).contains("3 May 2026, 21:00 2 1 0 0"));
    assert!(plain(&page).contains("Usage per hour"));
    // One request a second would be the limit: 3,600 in an hour.
    assert!(plain(&page).contains("Limit per hour (above this scale) 3,600"));
    row("/keys/1/usage.csv?days=1", "2026-05-03T22:00:00Z,1,0,1,0");
    row("/admin?days=1", "3 May 2026, 22:00 1 0 1 0");
    row("/admin/usage.csv?days=1", "2026-05-03T21:00:00Z,2,1,0,0");
}

/// The link that a page shows once.
fn shown_link(page: &str) -> String {
    let (_, rest) = page.split_once("id=\"link\"").expect("a link");
    let (_, rest) = rest.split_once("/link/").expect("its path");
    format!("/link/{}", rest.split('"').next().expect("it ends"))
}

#[test]
fn an_invitation_makes_one_account_even_if_registration_is_closed() {
    let portal = Portal::open(|config| {
        config.accounts.registration = Registration::Closed;
    });
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let made = ana.post("/admin/accounts", &[("role", "user")]);
    let link = shown_link(made.text());
    let mut luis = portal.visitor();
    assert_eq!(luis.get("/link/0000").status, 404);
    assert_eq!(luis.get(&link).status, 200);
    let bad = [("email", "luis@example.com"), ("password", "password")];
    assert_eq!(luis.post(&link, &bad).status, 422);
    let taken = [("email", EMAIL), ("password", PASSWORD)];
    assert!(
        luis.post(&link, &taken)
            .text()
            .contains("has an account already")
    );
    let good = [("email", "luis@example.com"), ("password", PASSWORD)];
    assert_eq!(luis.post(&link, &good).status, 303);
    assert_eq!(luis.get("/keys").status, 200);
    assert_eq!(luis.get("/admin").status, 403);
    let again = [("email", "eva@example.com"), ("password", PASSWORD)];
    assert_eq!(portal.visitor().post(&link, &again).status, 410);
    assert_eq!(portal.visitor().get(&link).status, 410);
    assert_eq!(portal.service().engine.accounts().all().len(), 2);
    assert!(
        ana.get("/admin/audit")
            .text()
            .contains("invitation created")
    );
    assert_eq!(
        luis.post("/admin/accounts", &[("role", "admin")]).status,
        403
    );
}

#[test]
fn an_account_tells_its_last_sign_in() {
    let (portal, mut ana) = portal(1);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut shown = || plain(ana.get("/admin/accounts/2").text());
    assert!(shown().contains("Last sign-in – "), "{}", shown());
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(luis.post("/signout", &[]).status, 303);
    let began = Instant::now();
    while !shown().contains("Last sign-in 3 May 2026, 09:00") {
        assert!(began.elapsed() < Duration::from_secs(10), "{}", shown());
    }
}

#[test]
fn a_link_for_a_new_password_ends_the_sessions_of_the_account() {
    let (portal, mut ana) = portal(1);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(
        luis.post("/admin/accounts/1/password-link", &[]).status,
        403
    );
    let first = shown_link(ana.post("/admin/accounts/2/password-link", &[]).text());
    let link = shown_link(ana.post("/admin/accounts/2/password-link", &[]).text());
    let mut browser = portal.visitor();
    assert_eq!(
        browser.get(&first).status,
        410,
        "the newer link replaces it"
    );
    assert!(browser.get(&link).text().contains("luis@example.com"));
    let fields = [("password", "another horse"), ("email", EMAIL)];
    assert_eq!(browser.post(&link, &fields).status, 303);
    assert_eq!(browser.get("/keys").status, 200);
    assert_eq!(luis.get("/keys").status, 303, "older sessions have ended");
    assert_eq!(browser.post(&link, &fields).status, 410);
    portal.signed_in("luis@example.com", "another horse");
    portal.signed_in(EMAIL, PASSWORD);
}
