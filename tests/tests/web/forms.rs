//! Forms of the pages: names, confirmations, repeated and interrupted forms, and what they tell.

use subcat_engine::{
    AccountId, ApiKeyId, Change, Day, NewApiKey, Role, Scopes, StateEvent, Usage, UsageBatch,
    UsageDelta,
};
use subcat_tests::lived_in::{closed_pages, lived_in, record_path};
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::raw::{Client, RawAnswer};

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

/// Names and values of a form.
type Fields<'a> = &'a [(&'a str, &'a str)];

fn portal(role: Role) -> (Portal, Visitor) {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, role);
    let ana = portal.signed_in(EMAIL, PASSWORD);
    (portal, ana)
}

/// The first text between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("no {start} in {text}"));
    rest.split_once(end).map_or(rest, |(found, _)| found)
}

fn location(answer: &RawAnswer) -> &str {
    answer.field("location").expect("a place to go")
}

fn new_key(visitor: &mut Visitor, fields: &[(&str, &str)]) -> RawAnswer {
    visitor.post("/keys", &[fields, &ALL_SCOPES].concat())
}

#[test]
fn invisible_characters_of_names_are_dropped_and_names_are_isolated() {
    let (portal, mut ana) = portal(Role::Admin);
    assert_eq!(
        new_key(&mut ana, &[("name", "\u{202E}gnp.\u{200B}exe")]).status,
        200
    );
    let name = [("action", "name"), ("name", "Ana\u{2066}\u{FEFF} L.")];
    assert_eq!(ana.post("/profile", &name).status, 303);
    let accounts = portal.service().engine.accounts();
    assert_eq!(accounts.all()[0].display_name, "Ana L.");
    assert_eq!(accounts.api_keys()[0].name, "gnp.exe");
    for path in [
        "/admin/audit",
        "/keys",
        "/keys/1",
        "/keys/1/revoke",
        "/admin/keys",
    ] {
        let page = ana.get(path);
        assert!(page.text().contains("<bdi>gnp.exe</bdi>"), "{path}");
    }
    let only_invisible = [("name", "\u{200B}\u{200D}")];
    assert_eq!(new_key(&mut ana, &only_invisible).status, 422);
}

#[test]
fn a_form_that_is_sent_again_makes_no_second_key() {
    let (portal, mut ana) = portal(Role::User);
    let form = ana.get("/keys/new");
    let token = between(form.text(), "name=\"token\" value=\"", "\"").to_owned();
    let fields = [("name", "living room"), ("token", &token)];
    assert_eq!(new_key(&mut ana, &fields).status, 200);
    for _ in 0..2 {
        let again = new_key(&mut ana, &fields);
        assert_eq!(again.status, 303);
        assert_eq!(location(&again), "/keys/1");
    }
    let page = ana.get("/keys/1");
    assert!(
        page.text().contains("This form had already been sent"),
        "{}",
        page.text()
    );
    assert!(
        !ana.get("/keys/1").text().contains("had already been sent"),
        "shown once"
    );
    assert_eq!(portal.service().engine.accounts().api_keys().len(), 1);

    // A rejected form keeps its right to make a key.
    let form = ana.get("/keys/new");
    let token = between(form.text(), "name=\"token\" value=\"", "\"").to_owned();
    assert_eq!(
        new_key(&mut ana, &[("name", ""), ("token", &token)]).status,
        422
    );
    assert_eq!(
        new_key(&mut ana, &[("name", "x"), ("token", &token)]).status,
        200
    );
    // The server was restarted meanwhile.
    let other = new_key(&mut ana, &[("name", "y"), ("token", &"0".repeat(48))]);
    assert_eq!(other.status, 422);
    assert!(other.text().contains("value=\"y\""), "what was typed stays");
    assert_eq!(portal.service().engine.accounts().api_keys().len(), 2);
}

#[test]
fn administrators_see_the_keys_of_everybody_and_of_nobody() {
    let (portal, mut ana) = portal(Role::Admin);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(new_key(&mut luis, &[("name", "of Luis")]).status, 200);
    let unowned = NewApiKey {
        account: None,
        name: "player".into(),
        digest: [7; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    };
    let now = portal.service().now();
    let event = Change::CreateApiKey(unowned).into_event("command line", now);
    portal.service().engine.apply(vec![event]).expect("stored");
    assert_eq!(luis.get("/admin/keys").status, 403);
    let page = ana.get("/admin/keys");
    for text in ["of Luis", "luis@example.com", "player", "/keys/2/revoke"] {
        assert!(page.text().contains(text), "{text}");
    }
    let found = ana.get("/admin/keys?find=luis%40");
    assert!(found.text().contains("of Luis") && !found.text().contains("player"));
    assert!(ana.get("/admin/audit").text().contains("href=\"/keys/2\""));
    let revoked = ana.post("/keys/2/revoke", &[]);
    assert_eq!(location(&revoked), "/admin/keys");
    let active = ana.get("/admin/keys?state=active");
    assert!(active.text().contains("of Luis") && !active.text().contains("player"));
    let revoked = ana.get("/admin/keys?state=revoked&sort=name");
    assert!(!revoked.text().contains("of Luis") && revoked.text().contains("player"));
}

#[test]
fn a_change_of_an_account_is_confirmed_and_reported() {
    let (portal, mut ana) = portal(Role::Admin);
    let luis = portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut browser = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(new_key(&mut browser, &[("name", "of Luis")]).status, 200);
    let page = ana.get("/admin/accounts/2");
    assert!(
        !page.text().contains("name=\"action\""),
        "nothing changes by one click"
    );
    for (action, reason) in [
        ("disable", "The account has been disabled."),
        ("enable", "The account has been enabled."),
        ("make-admin", "The account is now an administrator."),
        ("make-user", "The account is no longer an administrator."),
    ] {
        let path = format!("/admin/accounts/2/change?action={action}");
        assert!(
            page.text().contains("/admin/accounts/2/change?action="),
            "{action}"
        );
        let question = ana.get(&path);
        assert_eq!(question.status, 200, "{action}");
        assert!(question.text().contains("luis@example.com"), "{action}");
        if action == "disable" {
            assert!(
                question.text().contains("Active API keys: 1"),
                "{}",
                question.text()
            );
            assert!(
                question.text().contains("Open sessions: 1"),
                "{}",
                question.text()
            );
        }
        let form = between(
            question.text(),
            "<form method=\"post\" action=\"/admin",
            "</form>",
        );
        assert!(
            form.contains(&format!("name=\"action\" value=\"{action}\"")),
            "{form}"
        );
        assert_eq!(
            ana.post("/admin/accounts/2", &[("action", action)]).status,
            303
        );
        let after = ana.get("/admin/accounts/2");
        assert!(after.text().contains(reason), "{action}: {}", after.text());
    }
    assert_eq!(
        ana.get("/admin/accounts/2/change?action=explode").status,
        404
    );
    // One's own account is on the profile.
    assert_eq!(
        ana.get("/admin/accounts/1/change?action=disable").status,
        303
    );
    assert_eq!(luis.id.0, 2);
}

#[test]
fn passwords_that_are_tried_first_are_rejected() {
    let portal = Portal::open(|_| ());
    for password in ["password", "12345678", "ana@example.com", "Subcat2026"] {
        let fields = [("email", EMAIL), ("password", password)];
        let answer = portal.visitor().post("/signup", &fields);
        assert_eq!(answer.status, 422, "{password}");
        assert!(
            answer
                .text()
                .contains("one of the first that an attacker tries")
        );
        assert!(!answer.text().contains(&format!("value=\"{password}\"")) || password == EMAIL);
    }
    assert!(portal.service().engine.accounts().all().is_empty());
}

#[test]
fn a_link_from_another_site_meets_a_signed_in_person_signed_in() {
    let (_portal, mut ana) = portal(Role::User);
    let session = ana.cookies.clone();
    // The browser leaves the cookie out of a request that another site caused.
    ana.cookies.clear();
    let elsewhere = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
    ];
    let sent = ana.send("GET", "/catalog?query=a%20b", &elsewhere, "");
    let sign_in = location(&sent).to_owned();
    let page = ana.send("GET", &sign_in, &elsewhere, "");
    assert_eq!(page.status, 200);
    assert!(
        !page.text().contains("name=\"password\""),
        "{}",
        page.text()
    );
    let again = between(page.text(), "http-equiv=\"refresh\" content=\"0;url=", "\"");
    assert_eq!(again, sign_in);
    // The page goes on by itself, and the cookie comes along.
    ana.cookies = session;
    let ours = [("Sec-Fetch-Site", "same-origin")];
    let back = ana.send("GET", &sign_in, &ours, "");
    assert_eq!(location(&back), "/catalog?query=a%20b");
    // Somebody without a session sees the form, not the page for ever.
    ana.cookies.clear();
    let form = ana.send("GET", &sign_in, &ours, "");
    assert!(form.text().contains("name=\"password\""), "{}", form.text());
}

#[test]
fn a_rejected_form_names_its_field_and_can_be_read_in_another_language() {
    let (portal, mut ana) = portal(Role::User);
    let faults: [(&str, Fields<'_>, &str); 4] = [
        ("/keys", &[("name", ""), ("scope", "read")], "id=\"name\""),
        (
            "/keys",
            &[("name", "x"), ("scope", "read"), ("expires", "date")],
            "id=\"expires_on\"",
        ),
        (
            "/profile",
            &[("action", "password"), ("old", "x"), ("new", "short")],
            "id=\"new\"",
        ),
        (
            "/profile",
            &[("action", "name"), ("name", "two\nlines")],
            "id=\"name\"",
        ),
    ];
    for (path, fields, field) in faults {
        let page = ana.post(path, fields);
        assert_eq!(page.status, 422, "{path}");
        let input = between(page.text(), field, ">");
        assert!(
            input.contains("aria-invalid=\"true\""),
            "{path} {field}: {input}"
        );
        assert!(input.contains("autofocus"), "{path} {field}: {input}");
        assert!(page.text().contains("<title>Error: "), "{path}");
        assert_eq!(page.text().matches("id=\"fault\"").count(), 1, "{path}");
    }
    let page = ana.post("/keys", &[("name", "")]);
    assert!(
        page.text().contains("href=\"/keys/new?lang=es\""),
        "{}",
        page.text()
    );
    let wrong = [("email", EMAIL), ("password", "x"), ("next", "/profile")];
    let page = portal.visitor().post("/signin", &wrong);
    assert!(
        page.text()
            .contains("href=\"/signin?next=%2Fprofile&#38;lang=es\""),
        "{}",
        page.text()
    );
}

#[test]
fn a_rejected_setup_keeps_its_token_in_the_links() {
    let portal = Portal::open(|_| ());
    let path = portal.setup_path().expect("there is no account yet");
    let token = path.strip_prefix("/setup?token=").expect("a token");
    let fields = [("token", token), ("email", "no"), ("password", PASSWORD)];
    let page = portal.visitor().post("/setup", &fields);
    assert_eq!(page.status, 422);
    let link = format!("/setup?token={token}&#38;lang=es");
    assert!(page.text().contains(&link), "{}", page.text());
}

#[test]
fn a_session_that_ended_leads_back_to_the_form() {
    let (_portal, mut ana) = portal(Role::User);
    ana.cookies.clear();
    for (path, next) in [("/keys", "%2Fkeys%2Fnew"), ("/profile", "%2Fprofile")] {
        let answer = ana.post(path, &[("name", "x"), ("action", "name")]);
        assert_eq!(location(&answer), format!("/signin?next={next}"));
        let form = ana.get(&format!("/signin?next={next}"));
        assert!(
            form.text().contains("Your session had ended"),
            "{}",
            form.text()
        );
    }
}

#[test]
fn a_sign_up_keeps_where_it_was_going_and_the_address() {
    let portal = Portal::open(|_| ());
    let mut visitor = portal.visitor();
    let sign_in = visitor.get("/signin?next=%2Fcatalog%3Fquery%3Dmatrix");
    let sign_up = between(sign_in.text(), "No account yet? <a href=\"/signup", "\"");
    let form = visitor.get(&format!("/signup{sign_up}"));
    let next = between(form.text(), "name=\"next\" value=\"", "\"").to_owned();
    assert_eq!(next, "/catalog?query=matrix");
    let fields = [("email", EMAIL), ("password", PASSWORD), ("next", &next)];
    let made = visitor.post("/signup", &fields);
    let form = visitor.get(location(&made));
    assert!(
        form.text().contains(&format!("value=\"{EMAIL}\"")),
        "{}",
        form.text()
    );
    let next = between(form.text(), "name=\"next\" value=\"", "\"");
    assert_eq!(next, "/catalog?query=matrix");
}

#[test]
fn a_link_writes_no_message() {
    let (_portal, mut ana) = portal(Role::User);
    for path in [
        "/profile?notice=password",
        "/keys?notice=revoked",
        "/profile?notice=name",
    ] {
        assert!(!ana.get(path).text().contains("role=\"status\""), "{path}");
    }
    let name = [("action", "name"), ("name", "Ana")];
    assert_eq!(location(&ana.post("/profile", &name)), "/profile");
    assert!(
        ana.get("/profile")
            .text()
            .contains("Your name has been saved.")
    );
    assert!(
        !ana.get("/profile")
            .text()
            .contains("Your name has been saved.")
    );
}

#[test]
fn a_key_is_renamed_and_its_days_are_a_spreadsheet() {
    let (portal, mut ana) = portal(Role::User);
    assert_eq!(new_key(&mut ana, &[("name", "old")]).status, 200);
    let rejected = ana.post("/keys/1", &[("name", "two\nlines")]);
    assert_eq!(rejected.status, 422);
    assert!(rejected.text().contains("aria-invalid=\"true\""));
    assert_eq!(
        ana.post("/keys/1", &[("name", " living room ")]).status,
        303
    );
    let page = ana.get("/keys/1");
    assert!(
        page.text().contains("<bdi>living room</bdi>"),
        "{}",
        page.text()
    );
    let accounts = portal.service().engine.accounts();
    assert_eq!(accounts.api_keys()[0].name, "living room");
    let log = accounts.audit_log(None, 1).expect("it is read");
    assert_eq!(log[0].1.action, "key renamed");
    let csv = ana.get("/keys/1/usage.csv?days=7");
    assert_eq!(csv.field("content-type"), Some("text/csv; charset=utf-8"));
    assert!(
        csv.text()
            .starts_with("day,requests,downloads,client_errors,limited\r\n")
    );
    let mut other = portal.visitor();
    assert_eq!(other.get("/keys/1/usage.csv").status, 303);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(luis.post("/keys/1", &[("name", "mine")]).status, 404);
    assert_eq!(luis.get("/keys/1/usage.csv").status, 404);
    assert_eq!(luis.get("/admin/usage.csv").status, 403);
}

#[test]
fn an_administrator_changes_the_limit_of_a_key() {
    let (portal, mut ana) = portal(Role::User);
    let page = new_key(&mut ana, &[("name", "tv")]);
    let key = between(page.text(), "readonly value=\"", "\"").to_owned();
    let limit = || {
        let mut client = Client::connect(portal.address());
        let answer = client.get("/api/subtitles/search?title=x", Some(&key));
        let field = |name| answer.field(name).unwrap_or("").to_owned();
        [field("x-ratelimit-limit"), field("x-ratelimit-window")]
    };
    assert_eq!(limit(), ["60", "60"]);
    let wanted = [("action", "limit"), ("requests", "7"), ("seconds", "30")];
    assert_eq!(ana.post("/keys/1", &wanted).status, 403);
    assert!(!ana.get("/keys/1").text().contains("name=\"seconds\""));
    assert_eq!(limit(), ["60", "60"], "its owner cannot");
    portal.make_account("root@example.com", PASSWORD, Role::Admin);
    let mut root = portal.signed_in("root@example.com", PASSWORD);
    assert_eq!(location(&root.post("/keys/1", &wanted)), "/keys/1");
    assert_eq!(limit(), ["7", "30"]);
    let page = root.get("/keys/1").text().to_owned();
    assert!(page.contains("7 requests in 30 s"), "{page}");
    assert!(page.contains("name=\"seconds\" inputmode=\"numeric\" maxlength=\"10\" value=\"30\""));
    for (requests, seconds) in [("0", "30"), ("7", ""), ("x", "y")] {
        let fields = [
            ("action", "limit"),
            ("requests", requests),
            ("seconds", seconds),
        ];
        let rejected = root.post("/keys/1", &fields);
        assert_eq!(rejected.status, 422, "{requests}/{seconds}");
        assert!(
            rejected
                .text()
                .contains(&format!("value=\"{requests}\" aria-invalid"))
        );
    }
    let default = [("action", "limit"), ("requests", ""), ("seconds", "")];
    assert_eq!(root.post("/keys/1", &default).status, 303);
    assert_eq!(limit(), ["60", "60"]);
    let log = portal.service().engine.accounts().audit_log(None, 9);
    let log = log.expect("it is read");
    let changes = log
        .iter()
        .filter(|(_, entry)| entry.action == "key limit changed");
    assert_eq!(changes.count(), 2);
}

#[test]
fn a_list_of_keys_draws_their_use() {
    let (portal, mut ana) = portal(Role::User);
    for name in ["used", "unused"] {
        assert_eq!(new_key(&mut ana, &[("name", name)]).status, 200);
    }
    let today = portal.service().now().day();
    let delta = |days_ago: u32, requests| UsageDelta {
        api_key: Some(ApiKeyId(1)),
        day: Day(today.0 - days_ago),
        usage: Usage {
            requests,
            ..Usage::default()
        },
        last_used_at: None,
    };
    // Forty days ago is before the line.
    let deltas = vec![delta(40, 900), delta(29, 10), delta(0, 5)];
    let number = portal.service().engine.usage().last_batch().expect("read") + 1;
    let events = vec![StateEvent::AddUsage(UsageBatch { number, deltas })];
    portal.service().engine.apply(events).expect("stored");
    let page = ana.get("/keys").text().to_owned();
    assert_eq!(page.matches("class=\"chart spark\"").count(), 1, "{page}");
    let line = between(&page, "<path class=\"bars requests\" d=\"", "\"");
    assert_eq!(line, "M0 60V2h9V60zM290 60V30h9V60z");
    assert!(page.contains("aria-label=\"Requests per day, last 30 days\""));
}

#[test]
fn one_session_is_closed_and_the_others_stay() {
    let (portal, mut here) = portal(Role::User);
    let mut there = portal.signed_in(EMAIL, PASSWORD);
    let page = here.get("/profile");
    assert_eq!(
        page.text().matches("name=\"session\"").count(),
        1,
        "{}",
        page.text()
    );
    let session = between(page.text(), "name=\"session\" value=\"", "\"").to_owned();
    let close = [("action", "session"), ("session", session.as_str())];
    // A session of somebody else has another name, and is not closed by it.
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(luis.post("/profile", &close).status, 303);
    assert_eq!(there.get("/keys").status, 200);
    assert_eq!(here.post("/profile", &close).status, 303);
    assert_eq!(there.get("/keys").status, 303);
    assert_eq!(here.get("/keys").status, 200);
    let page = here.get("/profile");
    assert_eq!(page.text().matches("name=\"session\"").count(), 0);
}

#[test]
fn a_rolled_key_has_a_new_text_and_the_old_one_lives_on_for_a_while() {
    let (portal, mut ana) = portal(Role::User);
    let old = new_key(&mut ana, &[("name", "living room")]);
    let secret = |page: &RawAnswer| between(page.text(), "readonly value=\"", "\"").to_owned();
    let status = |key: &str| {
        let mut client = Client::connect(portal.address());
        client
            .get("/api/subtitles/search?title=x", Some(key))
            .status
    };
    let old = secret(&old);
    let form = ana.get("/keys/1/roll");
    let token = between(form.text(), "name=\"token\" value=\"", "\"").to_owned();
    let fields = [("days", "7"), ("token", token.as_str())];
    let new = secret(&ana.post("/keys/1/roll", &fields));
    assert_ne!(old, new);
    assert_eq!([status(&old), status(&new)], [200, 200]);
    // A reload leads to the new key and rolls nothing.
    assert_eq!(location(&ana.post("/keys/1/roll", &fields)), "/keys/2");
    assert!(ana.get("/keys/2").text().contains("<bdi>living room</bdi>"));
    let again = ana.post("/keys/1/roll", &[("days", "0")]);
    assert_eq!(again.status, 422);
    let newest = secret(&ana.post("/keys/2/roll", &[("days", "0")]));
    assert_eq!([status(&new), status(&newest)], [401, 200]);
    portal.make_account("root@example.com", PASSWORD, Role::Admin);
    let mut root = portal.signed_in("root@example.com", PASSWORD);
    assert_eq!(root.get("/keys/3").status, 200);
    let refused = root.post("/keys/3/roll", &[("days", "0")]);
    assert_eq!(refused.status, 403);
    // An administrator is not told that the page is for administrators.
    assert!(refused.text().contains("Not allowed"), "{}", refused.text());
}

#[test]
fn words_that_sounded_translated_do_not_come_back() {
    let (portal, session) = lived_in();
    let mut ana = portal.visitor();
    let record = record_path(&portal);
    let mut spanish = portal.visitor();
    spanish
        .headers
        .push(("Accept-Language".into(), "es".into()));
    for visitor in [&mut ana, &mut spanish] {
        visitor
            .cookies
            .insert("subcat-session".into(), session.clone());
    }
    let open = ["/docs", "/signin", "/signup"].map(|path| ("", path.to_owned()));
    for (_, path) in closed_pages(&record).into_iter().chain(open) {
        for (visitor, words) in [
            (
                &mut ana,
                &["takes an account", "filter away", "Make an account"][..],
            ),
            (
                &mut spanish,
                &[
                    ">Función<",
                    ">Id<",
                    ">Salir<",
                    "Ya has entrado",
                    "Ya nada puede",
                    "por omisión",
                    "a una búsqueda<",
                    "Las horas son",
                    ">Registro<",
                    ">Pregunta<",
                    "search, read",
                ],
            ),
        ] {
            let page = visitor.get(&path);
            for word in words {
                assert!(!page.text().contains(word), "{path}: {word}");
            }
        }
    }
}

#[test]
fn spanish_pages_are_spanish_and_a_home_makes_no_pitch() {
    let (portal, mut ana) = portal(Role::Admin);
    new_key(&mut ana, &[("name", "salón")]);
    ana.headers.push(("Accept-Language".into(), "es".into()));
    let question = ana.get("/keys/1/revoke").text().to_owned();
    assert!(
        question.contains("¿Revocar «<bdi>salón</bdi>»?"),
        "{question}"
    );
    let key = ana.get("/keys/1").text().to_owned();
    assert!(key.contains("<dd>buscar, leer, descargar</dd>"), "{key}");
    let change = Change::SetDisplayName(AccountId(1), "Ana".to_owned());
    let event = change.into_event("command line", portal.service().now());
    let engine = &portal.service().engine;
    engine.apply(vec![event]).expect("it is stored");
    let log = ana.get("/admin/audit").text().to_owned();
    assert!(log.contains("línea de órdenes"), "{log}");
    assert!(!log.contains(">command line<"), "{log}");
    let home = ana.get("/").text().to_owned();
    for pitch in [
        "Basta un correo",
        "Solo necesitas un correo",
        "Crea una cuenta",
    ] {
        assert!(!home.contains(pitch), "{pitch}");
        assert!(home.contains("class=\"steps homes\""));
    }
    assert!(portal.visitor().get("/").text().contains("id=\"minute\""));
}
