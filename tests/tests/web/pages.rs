//! The rules of the web interface (API.md, 12), tested over a socket.

use std::sync::Arc;

use subcat_engine::{
    ApiKeyId, AuditEntry, CachedFile, Change, ContentHash, Day, FileKind, NewApiKey, RecordDraft,
    RecordId, RememberedFile, Role, Scopes, StateEvent, Usage, UsageBatch, UsageDelta, block_on,
    internals::{Fault, Faulty},
};
use subcat_server::runtime::SystemClock;
use subcat_server::service::Actor;
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::raw::{Client, RawAnswer};
use subcat_tests::server::{film, text};

use crate::catalog::hits;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

fn portal() -> Portal {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    portal
}

/// The first text between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("no {start} in {text}"));
    rest.split_once(end).map_or(rest, |(found, _)| found)
}

/// Creates a key, with all scopes unless the fields name some, and returns its text.
fn make_key(visitor: &mut Visitor, fields: &[(&str, &str)]) -> String {
    let mut fields = fields.to_vec();
    if !fields.iter().any(|(name, _)| *name == "scope") {
        fields.extend(ALL_SCOPES);
    }
    let answer = visitor.post("/keys", &fields);
    assert_eq!(answer.status, 200, "{}", answer.text());
    between(answer.text(), "class=\"secret\" readonly value=\"", "\"").to_owned()
}

fn api_status(portal: &Portal, key: &str) -> u16 {
    let mut client = Client::connect(portal.address());
    client
        .get("/api/subtitles/search?title=matrix", Some(key))
        .status
}

fn location(answer: &RawAnswer) -> &str {
    answer.field("location").expect("a place to go")
}

#[test]
fn every_page_has_the_security_headers() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for path in [
        "/",
        "/keys",
        "/keys/new",
        "/catalog?query=matrix",
        "/docs",
        "/profile",
        "/none",
    ] {
        let answer = ana.get(path);
        let policy = answer.field("content-security-policy").expect(path);
        assert!(policy.starts_with("default-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(
            answer.field("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(
            answer.field("referrer-policy"),
            Some("same-origin"),
            "{path}"
        );
        assert_eq!(answer.field("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.field("content-encoding"), None, "{path}");
        assert_eq!(answer.field("access-control-allow-origin"), None, "{path}");
        assert!(!answer.text().contains(" style="), "{path}");
        assert!(!answer.text().contains("<style"), "{path}");
        assert!(!answer.text().contains("onclick"), "{path}");
    }
}

/// Creates as many accounts, audit entries, slow searches and days of usage as a page shows.
fn many_changes(portal: &Portal) {
    let service = portal.service();
    let now = service.now();
    for number in 0..60 {
        let email = format!("somebody.with.a.long.address.{number}@mail.example.com");
        portal.make_account(&email, PASSWORD, Role::User);
        let query_string = format!("query={}", "palabra+".repeat(20));
        let api_key = Some(ApiKeyId(1));
        let slow_searches = &service.slow_searches;
        slow_searches.note(now, 1_000_000, &query_string, api_key);
    }
    let of_a_day = |day: u32| UsageDelta {
        api_key: Some(ApiKeyId(1)),
        day: Day(now.day().0 - day),
        usage: Usage {
            requests: 123_456,
            downloads: 12_345,
            client_errors: 1_234,
            limited: 123,
        },
        last_used_at: Some(now),
    };
    let usage = StateEvent::AddUsage(UsageBatch {
        number: 1,
        deltas: (0..90).map(of_a_day).collect(),
    });
    service.engine.apply(vec![usage]).expect("it is stored");
}

#[test]
fn a_page_and_all_it_loads_are_within_50_kb() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for number in 0..30 {
        make_key(&mut ana, &[("name", &format!("clave número {number}"))]);
    }
    many_changes(&portal);
    let id = "00000000-0000-4000-8000-0000000000aa";
    let (title, description) = ("a&".repeat(250), "&".repeat(10_000));
    portal.import(vec![RecordDraft {
        description: text(&description),
        ..film(id, &title, 2000, "r")
    }]);
    let record = format!("/catalog/{id}");
    for path in [
        record.as_str(),
        "/",
        "/keys",
        "/keys/new",
        "/keys/1?days=90",
        "/keys/1/revoke",
        "/catalog?query=the",
        "/catalog?title=a&limit=100",
        "/catalog?title=a&limit=200",
        "/docs",
        "/docs/changes",
        "/profile",
        "/admin?days=90",
        "/admin?days=1&history=hours",
        "/admin/accounts",
        "/admin/accounts/1",
        "/admin/audit",
        "/admin/keys",
        "/admin/settings",
        "/catalog?sort=downloads",
        "/title/tt0903747",
        "/profile/second-step",
    ] {
        let page = ana.get(path);
        assert_eq!(page.status, 200, "{path}");
        let text = page.text().to_owned();
        // As a browser asks: what holds no secret is compressed.
        let packed = ana.send("GET", path, &[("Accept-Encoding", "gzip, br")], "");
        let mut bytes = packed.body.len();
        for piece in text.split("\"/assets/").skip(1) {
            let name = piece.split('"').next().expect("an address ends");
            let path = format!("/assets/{name}");
            let accepted = [("Accept-Encoding", "gzip, br")];
            let asset = ana.send("GET", &path, &accepted, "");
            assert_eq!(asset.field("content-encoding"), Some("br"), "{name}");
            assert_eq!(asset.status, 200, "{name}");
            let caching = asset.field("cache-control").expect("assets are kept");
            assert!(caching.contains("immutable"), "{caching}");
            bytes += asset.body.len();
        }
        assert!(bytes <= 50 << 10, "{path} and its assets are {bytes} bytes");
    }
}

#[test]
fn only_our_own_pages_may_post() {
    let portal = portal();
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let refused: [&[(&str, &str)]; 5] = [
        &[],
        &[("Origin", "https://evil.example")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Origin", "null")],
    ];
    for headers in refused {
        let answer = portal.visitor().post_from("/signin", &fields, headers);
        assert_eq!(answer.status, 403, "{headers:?}");
        assert_eq!(answer.field("set-cookie"), None, "{headers:?}");
    }
    for site in ["same-origin", "none"] {
        let headers = [("Sec-Fetch-Site", site)];
        let answer = portal.visitor().post_from("/signin", &fields, &headers);
        assert_eq!(answer.status, 303, "{site}");
    }
    let json = [
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/json"),
    ];
    let answer = portal.visitor().send("POST", "/signin", &json, "{}");
    assert_eq!(answer.status, 415);
}

#[test]
fn a_wrong_password_and_an_unknown_address_look_alike() {
    let portal = portal();
    let disabled = portal.make_account("off@example.com", PASSWORD, Role::User);
    let event = Change::SetDisabled(disabled.id, true).into_event("test", portal.service().now());
    portal.service().engine.apply(vec![event]).unwrap();
    let mut answers = Vec::new();
    for (email, password) in [
        (EMAIL, "wrong horse"),
        ("nobody@example.com", "wrong horse"),
        ("off@example.com", PASSWORD),
    ] {
        let answer = portal
            .visitor()
            .post("/signin", &[("email", email), ("password", password)]);
        assert_eq!(answer.status, 422, "{email}");
        assert!(!answer.text().contains(password), "{email}");
        answers.push(answer.text().replace(email, "EMAIL"));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);

    // Signing up reveals no more: a taken address gets the answer of a free one.
    let sign_up = |email: &str| {
        let fields = [("email", email), ("password", "another horse")];
        let answer = portal.visitor().post("/signup", &fields);
        (answer.status, location(&answer).to_owned(), answer.body)
    };
    assert_eq!(sign_up(EMAIL), sign_up("new@example.com"));
    portal.signed_in(EMAIL, PASSWORD);
    portal.signed_in("new@example.com", "another horse");
}

#[test]
fn attempts_at_an_account_are_limited() {
    let portal = portal();
    let mut guesser = portal.visitor();
    for _ in 0..10 {
        let fields = [("email", "ANA@example.com"), ("password", "wrong horse")];
        assert_eq!(guesser.post("/signin", &fields).status, 422);
    }
    let answer = guesser.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(answer.status, 429);
    let seconds: u64 = answer.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=600).contains(&seconds), "{seconds}");
    // Recorded once, however many attempts follow.
    guesser.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    let engine = &portal.service().engine;
    let locks = || {
        let lines = engine.accounts().audit_log(None, 100).unwrap();
        let is_lock = |(_, line): &&(u64, AuditEntry)| line.action == "sign-in locked";
        lines.iter().filter(is_lock).count()
    };
    let began = std::time::Instant::now();
    while locks() == 0 && began.elapsed().as_secs() < 10 {
        std::thread::yield_now();
    }
    assert_eq!(locks(), 1);
}

#[test]
fn the_first_account_needs_the_link_and_the_link_works_once() {
    let portal = Portal::open(|config| {
        config.accounts.registration = subcat_server::config::Registration::Closed;
    });
    let path = portal.setup_path().expect("there is no account yet");
    let token = path.strip_prefix("/setup?token=").unwrap();
    let mut admin = portal.visitor();
    assert_eq!(admin.get("/setup").status, 404);
    assert_eq!(admin.get("/setup?token=0000").status, 404);
    assert_eq!(admin.get("/signup").status, 404);
    assert_eq!(admin.get(&path).status, 200);
    let fields = [("token", "0000"), ("email", EMAIL), ("password", PASSWORD)];
    assert_eq!(admin.post("/setup", &fields).status, 404);
    let fields = [("token", token), ("email", EMAIL), ("password", PASSWORD)];
    assert_eq!(admin.post("/setup", &fields).status, 303);
    assert_eq!(admin.get("/admin").status, 200);
    assert_eq!(portal.setup_path(), None);
    assert_eq!(portal.visitor().get(&path).status, 404);
    let fields = [
        ("token", token),
        ("email", "b@example.com"),
        ("password", PASSWORD),
    ];
    assert_eq!(portal.visitor().post("/setup", &fields).status, 404);
}

/// An outsider who signs up before the operator has used the link does not take it away.
#[test]
fn a_sign_up_leaves_the_link_of_the_first_administrator_alive() {
    let portal = Portal::open(|_| ());
    let path = portal.setup_path().unwrap();
    let outsider = [("email", "eva@example.com"), ("password", PASSWORD)];
    assert_eq!(portal.visitor().post("/signup", &outsider).status, 303);
    assert_eq!(portal.setup_path().as_ref(), Some(&path));
    let token = path.strip_prefix("/setup?token=").unwrap();
    let fields = [("token", token), ("email", EMAIL), ("password", PASSWORD)];
    let mut admin = portal.visitor();
    assert_eq!(admin.post("/setup", &fields).status, 303);
    assert_eq!(admin.get("/admin").status, 200);
    assert_eq!(portal.setup_path(), None);
}

#[test]
fn pages_that_need_an_account_lead_to_the_sign_in_and_back() {
    let portal = portal();
    let mut visitor = portal.visitor();
    for path in [
        "/keys",
        "/keys/new",
        "/profile",
        "/catalog?query=a%20b",
        "/admin",
    ] {
        let answer = visitor.get(path);
        assert_eq!(answer.status, 303, "{path}");
        assert!(location(&answer).starts_with("/signin?next=%2F"), "{path}");
    }
    let answer = visitor.get("/catalog?query=a%20b");
    let form = visitor.get(location(&answer));
    let next = between(form.text(), "name=\"next\" value=\"", "\"").replace("&amp;", "&");
    let fields = [("email", EMAIL), ("password", PASSWORD), ("next", &next)];
    let answer = visitor.post("/signin", &fields);
    assert_eq!(location(&answer), "/catalog?query=a%20b");
    let fields = [
        ("email", EMAIL),
        ("password", PASSWORD),
        ("next", "//evil.example"),
    ];
    assert_eq!(location(&visitor.post("/signin", &fields)), "/keys");
}

#[test]
fn a_key_is_shown_once_and_works_until_it_is_revoked() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let key = make_key(&mut ana, &[("name", "<b>Salón</b>"), ("expires", "30")]);
    assert!(key.starts_with("sct_") && key.len() == 42, "{key}");
    assert_eq!(api_status(&portal, &key), 200);
    let list = ana.get("/keys");
    assert!(!list.text().contains(&key));
    assert!(!list.text().contains("<b>Sal"), "names are escaped");
    let partial = format!("{}…{}", &key[..8], &key[38..]);
    assert!(list.text().contains(&partial), "{partial}");
    assert!(!ana.get("/keys/1").text().contains(&key));

    let question = ana.get("/keys/1/revoke");
    assert!(
        question.text().contains("&#60;b&#62;Salón"),
        "it names the key"
    );
    assert_eq!(api_status(&portal, &key), 200);
    assert_eq!(ana.post("/keys/1/revoke", &[]).status, 303);
    assert_eq!(api_status(&portal, &key), 401);
}

#[test]
fn the_example_request_of_a_new_key_is_allowed_by_its_scopes() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for scope in ["search", "read", "download"] {
        let page = ana.post("/keys", &[("name", scope), ("scope", scope)]);
        let command = between(page.text(), "<code id=\"curl\">", "</code>");
        let folder = tempfile::tempdir().expect("a temporary directory");
        let script = command.replacen("curl ", "curl --silent --show-error --fail ", 1);
        let output = std::process::Command::new("sh")
            .args(["-ec", &script])
            .current_dir(folder.path())
            .output()
            .expect("a shell; curl is installed by scripts/setup");
        assert!(output.status.success(), "{command}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.contains("\"items\""), scope == "search", "{said}");
        assert_eq!(said.starts_with("{\"id\""), scope == "read", "{said}");
        let files_count = std::fs::read_dir(folder.path())
            .expect("a directory")
            .count();
        assert_eq!(files_count, usize::from(scope == "download"));
    }
}

#[test]
fn a_key_has_scopes_and_an_expiry_that_is_not_in_the_past() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let key = make_key(&mut ana, &[("name", "read"), ("scope", "read")]);
    assert_eq!(api_status(&portal, &key), 403);
    let wrong: [&[(&str, &str)]; 7] = [
        &[("name", "")],
        &[("name", "x"), ("expires", "date"), ("expires_on", "")],
        &[("name", "x"), ("expires", "days"), ("expires_days", "")],
        &[
            ("name", "x"),
            ("expires", "date"),
            ("expires_on", "2001-01-01"),
        ],
        &[("name", "x"), ("expires", "days"), ("expires_days", "-3")],
        &[("name", "x"), ("expires", "date"), ("expires_on", "soon")],
        &[("name", "x"), ("expires", "days"), ("expires_days", "x")],
    ];
    for fields in wrong {
        let fields = [fields, &ALL_SCOPES].concat();
        let answer = ana.post("/keys", &fields);
        assert_eq!(answer.status, 422, "{fields:?}");
        assert!(answer.text().contains("role=\"alert\""), "{fields:?}");
    }
    for (choice, days) in [("", ""), ("days", "0")] {
        make_key(
            &mut ana,
            &[("name", "x"), ("expires", choice), ("expires_days", days)],
        );
    }
    let keys = portal.service().engine.accounts().api_keys();
    assert_eq!(
        keys.iter().filter(|key| key.expires_at.is_none()).count(),
        3
    );
}

#[test]
fn a_key_form_with_no_scope_ticked_is_rejected() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let form = ana.get("/keys/new");
    let marker = "<input type=\"hidden\" name=\"scope\" value=\"\">";
    assert!(form.text().contains(marker), "{}", form.text());
    let sent: [&[(&str, &str)]; 3] = [
        // The form as a browser sends it when no box is ticked.
        &[
            ("name", "x"),
            ("expires", "never"),
            ("expires_on", ""),
            ("expires_days", ""),
            ("scope", ""),
        ],
        &[("name", "x")],
        &[("name", "x"), ("scope", "none")],
    ];
    for fields in sent {
        let answer = ana.post("/keys", fields);
        assert_eq!(answer.status, 422, "{fields:?}");
        let page = answer.text();
        assert!(page.contains("Choose at least one scope."), "{page}");
        assert!(!page.contains("value=\"search\" checked"), "{page}");
    }
    assert!(portal.service().engine.accounts().api_keys().is_empty());
    let read = [("name", "x"), ("scope", ""), ("scope", "read")];
    let key = make_key(&mut ana, &read);
    assert_eq!(api_status(&portal, &key), 403, "the key has no search");
}

#[test]
fn users_cannot_see_or_revoke_the_keys_of_others() {
    let portal = portal();
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let key = make_key(&mut ana, &[("name", "hers")]);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    for path in [
        "/keys/1",
        "/keys/1/revoke",
        "/keys/2",
        "/keys/x",
        "/keys/-1",
    ] {
        assert_eq!(luis.get(path).status, 404, "{path}");
    }
    assert_eq!(luis.post("/keys/1/revoke", &[]).status, 404);
    assert_eq!(luis.get("/admin").status, 403);
    assert_eq!(
        luis.post("/admin/accounts/1", &[("action", "disable")])
            .status,
        403
    );
    assert_eq!(api_status(&portal, &key), 200);
}

#[test]
fn an_administrator_disables_an_account_with_its_sessions_and_keys() {
    let portal = portal();
    portal.make_account("root@example.com", PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let key = make_key(&mut ana, &[("name", "hers")]);
    let mut admin = portal.signed_in("root@example.com", PASSWORD);
    assert!(admin.get("/admin/accounts").text().contains(EMAIL));
    assert!(admin.get("/admin/accounts/1").text().contains("hers"));
    let disable = [("action", "disable")];
    assert_eq!(admin.post("/admin/accounts/1", &disable).status, 303);
    assert_eq!(ana.get("/keys").status, 303);
    assert_eq!(api_status(&portal, &key), 401);
    assert_eq!(
        admin
            .post("/admin/accounts/1", &[("action", "enable")])
            .status,
        303
    );
    assert_eq!(api_status(&portal, &key), 200);
    assert_eq!(
        admin.post("/admin/accounts/2", &disable).status,
        403,
        "never oneself"
    );
    assert_eq!(
        admin
            .post("/admin/accounts/1", &[("action", "make-admin")])
            .status,
        303
    );
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let log = ana.get("/admin/audit");
    for action in [
        "key created",
        "account disabled",
        "account enabled",
        "role changed to admin",
    ] {
        assert!(log.text().contains(action), "{action}");
    }
}

/// API.md 12.7
#[test]
fn keys_of_any_state_are_bounded() {
    let portal = portal();
    let engine = &portal.service().engine;
    let owner = engine.accounts().all().remove(0).id;
    let now = portal.service().now();
    let make = |number: u64| {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_le_bytes());
        let api_key = NewApiKey {
            account: Some(owner),
            name: "x".into(),
            digest,
            partial: "sct_AbCd…wXyZ".into(),
            scopes: Scopes::ALL,
            limit: None,
            expires_at: Some(now.plus_seconds(-1)),
        };
        Change::CreateApiKey(api_key).into_event(EMAIL, now)
    };
    engine.apply((0..4_999).map(make).collect()).unwrap();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    make_key(&mut ana, &[("name", "the last one")]);
    let refused = ana.post("/keys", &[("name", "one more"), ("scope", "read")]);
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("5000"), "{}", refused.text());
    assert_eq!(engine.accounts().api_keys_of(owner).len(), 5_000);
    // Either end of a long list is one step away.
    let middle = ana.get("/keys?state=expired&page=100");
    for link in ["?state=expired\">First<", "&#38;page=200\">Last<"] {
        assert!(middle.text().contains(link), "{link}: {}", middle.text());
    }
    assert!(!ana.get("/keys").text().contains(">First<"));
}

/// API.md 12.7
#[test]
fn active_keys_are_bounded_and_administrators_have_more() {
    let portal = Portal::open(|config| config.accounts.keys_max = 2);
    portal.make_account("ana@example.org", PASSWORD, Role::User);
    portal.make_account("eva@example.org", PASSWORD, Role::Admin);
    for (email, keys_max) in [("ana@example.org", 2), ("eva@example.org", 20)] {
        let mut visitor = portal.signed_in(email, PASSWORD);
        let mut last = String::new();
        for _ in 0..keys_max {
            last = make_key(&mut visitor, &[("name", "x")]);
        }
        let refused = visitor.post("/keys", &[("name", "one more"), ("scope", "read")]);
        assert_eq!(refused.status, 422, "{email}");
        assert!(refused.text().contains("as many active API keys as it may"));
        // A revoked key makes room.
        let engine = &portal.service().engine;
        let known = portal.service().api_keys().lookup(&last).unwrap();
        assert_eq!(
            engine
                .accounts()
                .api_keys_of(known.api_key.account.unwrap())
                .len(),
            keys_max
        );
        let revoke = Change::RevokeApiKey(known.api_key.id);
        let revoked = portal.service().change(revoke, Actor::CommandLine);
        block_on(revoked).unwrap();
        make_key(&mut visitor, &[("name", "x")]);
    }
}

/// Ids of the items of an answer as a page shows them: those of one title are together, where the
/// first of them is (API.md 12.8).
fn by_title(items: &[serde_json::Value]) -> Vec<&str> {
    let mut shown: Vec<&serde_json::Value> = Vec::new();
    for item in items {
        let is_of = |other: &&serde_json::Value| {
            let is_same = |field: &str| !item[field].is_null() && other[field] == item[field];
            is_same("catalog_id") || is_same("title") && is_same("video_type") && is_same("year")
        };
        let last = shown.iter().rposition(is_of);
        shown.insert(last.map_or(shown.len(), |idx| idx + 1), item);
    }
    let ids = shown.iter().map(|item| item["id"].as_str());
    ids.map(|id| id.expect("a record has an id")).collect()
}

#[test]
fn the_catalog_answers_as_the_api_does() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let key = make_key(&mut ana, &[("name", "x")]);
    for query in [
        "query=the&limit=50",
        "title=el",
        "query=s01e02",
        "query=matrx",
        "query=zzzz",
    ] {
        let answer = Client::connect(portal.address())
            .get(&format!("/api/subtitles/search?{query}"), Some(&key));
        let answer: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
        let items = answer["items"].as_array().unwrap();
        for page_number in 1..=items.len().div_ceil(25).max(1) {
            let page = ana.get(&format!("/catalog?{query}&page={page_number}"));
            let items = items.chunks(25).nth(page_number - 1).unwrap_or(&[]);
            assert_eq!(hits(&page), by_title(items), "{query}");
        }
    }
    assert_eq!(
        ana.get("/catalog?query=x&year=").status,
        200,
        "empty fields are not supplied"
    );
    assert_eq!(ana.get("/catalog?query=x&year=1").status, 422);
    assert_eq!(ana.get("/catalog/none").status, 404);
}

#[test]
fn a_download_from_a_page_counts_for_the_record_and_no_key() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/catalog?query=matrix&limit=1");
    let id = between(page.text(), "<h2><a href=\"/catalog/", "\"").to_owned();
    let record_id = RecordId::parse(&id).unwrap();
    let path = format!("/catalog/{id}/download");
    assert_eq!(portal.visitor().get(&path).status, 303);
    let head = ana.send("HEAD", &path, &[], "");
    assert_eq!(head.status, 200);
    let answer = ana.get(&path);
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.field("content-type"),
        Some("application/octet-stream")
    );
    let disposition = answer.field("content-disposition").unwrap();
    assert!(
        disposition.starts_with("attachment; filename=\""),
        "{disposition}"
    );
    assert_eq!(head.field("content-length"), answer.field("content-length"));
    assert_eq!(
        portal.service().engine.usage().downloads(record_id),
        1,
        "HEAD is not counted"
    );
    ana.get(&path);
    assert_eq!(portal.service().engine.usage().downloads(record_id), 2);
}

/// API.md 12.4: as in the API, the file is served even if the download cannot be counted.
#[test]
fn a_file_is_served_if_its_download_cannot_be_counted() {
    let disk = Arc::new(Faulty::new(Fault::NONE));
    let portal = Portal::with_disk(disk.clone(), Arc::new(SystemClock::new()), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/catalog?query=matrix&limit=1");
    let id = between(page.text(), "<h2><a href=\"/catalog/", "\"").to_owned();
    let path = format!("/catalog/{id}/download");
    assert_eq!(ana.get(&path).status, 200);
    disk.set_fault(Fault {
        count: u64::MAX,
        errno: Fault::ENOSPC,
        ..Fault::at(disk.ops_count())
    });
    let answer = ana.get(&path);
    disk.set_fault(Fault::NONE);
    assert_eq!(answer.status, 200);
    assert!(!answer.body.is_empty());
}

#[test]
fn a_lost_file_is_fetched_again_for_a_page() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/catalog?query=matrix&limit=1");
    let id = between(page.text(), "<h2><a href=\"/catalog/", "\"").to_owned();
    let path = format!("/catalog/{id}/download");
    let engine = &portal.service().engine;
    let record = engine
        .catalog()
        .stored_record(RecordId::parse(&id).unwrap())
        .unwrap();
    let release = record.unwrap().source_release_id.unwrap();
    let lost = CachedFile {
        refetch_at: None,
        is_brought: false,
        content: ContentHash([7; 32]),
        size_bytes: 10,
        checksum: 0,
        kind: FileKind::Srt,
        upstream_name: None,
    };
    let remember = StateEvent::RememberFile(RememberedFile {
        release: release.clone(),
        file: lost.clone(),
        replaces: engine.files().cached_file(&release).map(|it| it.content),
    });
    engine.apply(vec![remember]).unwrap();
    assert_eq!(ana.get(&path).status, 200);
    let file = engine.files().cached_file(&release).unwrap();
    assert_ne!(file.content, lost.content);
    assert_eq!(ana.get(&path).status, 200);
}

#[test]
fn pages_are_in_the_requested_or_chosen_language() {
    let portal = portal();
    let mut visitor = portal.visitor();
    assert!(visitor.get("/").text().contains("<html lang=\"en\""));
    visitor
        .headers
        .push(("Accept-Language".into(), "es-MX,en;q=0.5".into()));
    let page = visitor.get("/signin");
    assert!(page.text().contains("<html lang=\"es\""));
    assert!(page.text().contains("Contraseña"));
    let answer = visitor.get("/signin?next=%2Fprofile&lang=en");
    assert_eq!(answer.status, 303);
    assert_eq!(location(&answer), "/signin?next=%2Fprofile");
    assert!(visitor.get("/signin").text().contains("<html lang=\"en\""));
    visitor.get("/?theme=dark");
    assert!(visitor.get("/").text().contains("data-theme=\"dark\""));
    let answer = visitor.get("//evil.example?lang=es");
    assert_eq!(location(&answer), "/evil.example");
    for path in ["//evil.example/", "//signin", "///evil.example"] {
        let page = visitor.get(path);
        assert!(!page.text().contains("=\"//"), "{}", page.text());
    }
}

#[test]
fn other_methods_and_paths_are_rejected() {
    let portal = portal();
    let mut visitor = portal.visitor();
    for (method, path, status) in [
        ("PUT", "/", 405),
        ("DELETE", "/keys/1", 405),
        ("POST", "/docs", 405),
        ("GET", "/signout", 405),
        ("GET", "/assets/none.css", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/keys/", 303),
        ("OPTIONS", "/", 405),
    ] {
        let ours = [("Sec-Fetch-Site", "same-origin")];
        let answer = visitor.send(method, path, &ours, "");
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(
            answer.field("allow").is_some(),
            status == 405,
            "{method} {path}"
        );
    }
}
