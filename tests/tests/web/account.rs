//! Work of people on their own account: a second step, another address, sessions, the end
//! (API.md, 12.16 to 12.18), tested over a socket.

use std::sync::Arc;

use subcat_engine::{AccountId, ApiKeyId, Role};
use subcat_tests::clocks::SettableClock;
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::raw::RawAnswer;
use totp_rs::{Builder, Secret};

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";
const STEP: &str = "/profile/second-step";

fn portal_at(role: Role, is_required: bool) -> (Portal, Arc<SettableClock>) {
    let clock = Arc::new(SettableClock::at("2026-05-03T12:00:00Z"));
    let portal = Portal::with_clock(clock.clone(), |config| {
        config.accounts.is_admin_totp_required = is_required;
    });
    portal.make_account(EMAIL, PASSWORD, role);
    (portal, clock)
}

fn location(answer: &RawAnswer) -> &str {
    answer.field("location").expect("a place to go")
}

/// An authenticator app, with the secret that the page shows.
struct App(String);

impl App {
    fn scan(page: &RawAnswer) -> Self {
        let (_, rest) = page
            .text()
            .split_once("name=\"secret\" value=\"")
            .expect("a secret");
        Self(rest.split('"').next().expect("it ends").to_owned())
    }

    fn code(&self, portal: &Portal) -> String {
        let secret = Secret::try_from_base32(&self.0).expect("base32");
        let builder = Builder::new().with_secret(secret).with_account_name("ana");
        let totp = builder.build().expect("the secret is long enough");
        let seconds = portal.service().now().seconds();
        totp.generate(seconds.try_into().expect("after 1970"))
            .to_string()
    }
}

/// Turns the second step on; returns the app and the recovery codes.
fn turn_on(portal: &Portal, ana: &mut Visitor) -> (App, Vec<String>) {
    let page = ana.get(STEP);
    assert!(page.text().contains("otpauth://totp/subcat:ana%40example"));
    assert!(page.text().contains("class=\"qr\""));
    let app = App::scan(&page);
    let code = app.code(portal);
    let fields = [
        ("action", "on"),
        ("secret", &*app.0),
        ("code", &*code),
        ("old", PASSWORD),
    ];
    let shown = ana.post(STEP, &fields);
    assert_eq!(shown.status, 200, "{}", shown.text());
    let codes = shown.text().split("<li><code>").skip(1);
    let codes = codes.map(|rest| rest.split('<').next().unwrap_or("").to_owned());
    (app, codes.collect())
}

fn password_step(portal: &Portal) -> Visitor {
    let mut visitor = portal.visitor();
    let answer = visitor.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!((answer.status, location(&answer)), (303, "/signin/code"));
    assert_eq!(
        visitor.get("/keys").status,
        303,
        "a password alone opens nothing"
    );
    visitor
}

fn is_signed_in(visitor: &mut Visitor) -> bool {
    visitor.get("/profile").status == 200
}

#[test]
fn a_sign_in_with_a_second_step_takes_a_code_that_works_once() {
    let (portal, clock) = portal_at(Role::User, false);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get(STEP);
    let app = App::scan(&page);
    for (code, old) in [("000000", PASSWORD), (&*app.code(&portal), "wrong horse")] {
        let fields = [
            ("action", "on"),
            ("secret", &*app.0),
            ("code", code),
            ("old", old),
        ];
        let refused = ana.post(STEP, &fields);
        assert_eq!(refused.status, 422);
        assert!(
            refused.text().contains(&app.0),
            "the secret stays, as it is in the app by now"
        );
    }
    let (app, codes) = turn_on(&portal, &mut ana);
    assert_eq!(codes.len(), 8);
    let mut browser = password_step(&portal);
    let code = app.code(&portal);
    let answer = browser.post("/signin/code", &[("code", &code)]);
    assert_eq!(answer.status, 422, "the code that turned it on was used");
    clock.advance(30);
    let code = app.code(&portal);
    let answer = browser.post("/signin/code", &[("code", &code), ("next", "/docs")]);
    assert_eq!((answer.status, location(&answer)), (303, "/docs"));
    assert!(is_signed_in(&mut browser));
    let mut thief = password_step(&portal);
    assert_eq!(
        thief.post("/signin/code", &[("code", &code)]).status,
        422,
        "seen while typed"
    );
    // Lost phone.
    let mut other = password_step(&portal);
    assert_eq!(
        other.post("/signin/code", &[("code", &codes[3])]).status,
        303
    );
    assert!(is_signed_in(&mut other));
    let mut again = password_step(&portal);
    assert_eq!(
        again.post("/signin/code", &[("code", &codes[3])]).status,
        422
    );
    assert!(ana.get(STEP).text().contains("<strong>7</strong>"));
    // Off again, by the password and a code: one of both is not enough.
    let mut off = |old: &str, code: &str| {
        let fields = [("action", "off"), ("old", old), ("code", code)];
        ana.post(STEP, &fields).status
    };
    assert_eq!(off("x", &codes[5]), 422);
    assert_eq!(off(PASSWORD, ""), 422);
    assert_eq!(off(PASSWORD, &codes[3]), 422);
    assert_eq!(off(PASSWORD, &codes[5]), 303);
    portal.signed_in(EMAIL, PASSWORD);
}

#[test]
fn a_code_is_asked_for_only_after_the_password_and_not_for_long() {
    let (portal, clock) = portal_at(Role::User, false);
    let (app, _) = turn_on(&portal, &mut portal.signed_in(EMAIL, PASSWORD));
    clock.advance(30);
    let code = app.code(&portal);
    let mut nobody = portal.visitor();
    assert_eq!(location(&nobody.get("/signin/code")), "/signin");
    assert_eq!(
        location(&nobody.post("/signin/code", &[("code", &code)])),
        "/signin"
    );
    let end = portal.service().now().seconds() + 600;
    for forged in [
        "1.9999999999.00".to_owned(),
        format!("1.{end}."),
        "1".to_owned(),
    ] {
        nobody.cookies.insert("subcat-step".to_owned(), forged);
        assert_eq!(
            location(&nobody.post("/signin/code", &[("code", &code)])),
            "/signin"
        );
    }
    let mut late = password_step(&portal);
    clock.advance(600);
    let code = app.code(&portal);
    assert_eq!(
        location(&late.post("/signin/code", &[("code", &code)])),
        "/signin"
    );
    assert!(!is_signed_in(&mut late));
}

#[test]
fn codes_are_limited_to_ten_tries_in_ten_minutes() {
    let (portal, clock) = portal_at(Role::User, false);
    let (app, codes) = turn_on(&portal, &mut portal.signed_in(EMAIL, PASSWORD));
    let mut thief = password_step(&portal);
    for number in 0..10 {
        let guess = format!("{number:06}");
        assert_eq!(thief.post("/signin/code", &[("code", &guess)]).status, 422);
    }
    let refused = thief.post("/signin/code", &[("code", &codes[0])]);
    assert_eq!(refused.status, 429);
    assert!(refused.field("retry-after").is_some());
    clock.advance(601);
    let code = app.code(&portal);
    assert_eq!(
        password_step(&portal)
            .post("/signin/code", &[("code", &code)])
            .status,
        303
    );
}

/// Whoever knows the password alone does not keep the owner's browsers out.
#[test]
fn wrong_codes_of_others_do_not_lock_a_known_browser_out() {
    let (portal, clock) = portal_at(Role::User, false);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let (app, codes) = turn_on(&portal, &mut ana);
    let mut thief = password_step(&portal);
    for number in 0..11 {
        let guess = format!("{number:06}");
        thief.post("/signin/code", &[("code", &guess)]);
    }
    assert_eq!(
        thief.post("/signin/code", &[("code", &codes[0])]).status,
        429
    );
    clock.advance(30);
    ana.post("/signout", &[]);
    ana.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    let code = app.code(&portal);
    assert_eq!(ana.post("/signin/code", &[("code", &code)]).status, 303);
    assert!(is_signed_in(&mut ana));
}

#[test]
fn recovery_codes_are_replaced_with_the_password_and_a_code() {
    let (portal, _) = portal_at(Role::User, false);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let (_, codes) = turn_on(&portal, &mut ana);
    let mut replace = |code: &str| {
        let fields = [("action", "codes"), ("old", PASSWORD), ("code", code)];
        ana.post(STEP, &fields)
    };
    assert_eq!(replace("").status, 422);
    let shown = replace(&codes[0]);
    assert_eq!(shown.status, 200);
    assert!(
        shown
            .text()
            .contains("download=\"subcat-recovery-codes.txt\"")
    );
    let (_, rest) = shown.text().split_once("<li><code>").expect("a code");
    let new = rest.split('<').next().expect("it ends").to_owned();
    let mut browser = password_step(&portal);
    let enter =
        |browser: &mut Visitor, code: &str| browser.post("/signin/code", &[("code", code)]).status;
    assert_eq!(
        enter(&mut browser, &codes[1]),
        422,
        "the old ones have ended"
    );
    assert_eq!(enter(&mut browser, &new), 303);
}

#[test]
fn an_account_with_a_second_step_is_deleted_with_a_code() {
    let (portal, _) = portal_at(Role::User, false);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let (_, codes) = turn_on(&portal, &mut ana);
    assert!(ana.get("/profile/delete").text().contains("name=\"code\""));
    let mut delete = |code: &str| {
        let fields = [("old", PASSWORD), ("code", code)];
        ana.post("/profile/delete", &fields).status
    };
    assert_eq!(delete(""), 422);
    assert_eq!(delete("000000"), 422);
    assert_eq!(delete(&codes[0]), 303);
    assert_eq!(portal.service().engine.accounts().get(AccountId(1)), None);
}

/// A link for a new password stands for the password alone.
#[test]
fn a_password_link_leaves_the_second_step() {
    let (portal, clock) = portal_at(Role::User, false);
    portal.make_account("root@example.com", PASSWORD, Role::Admin);
    let (app, _) = turn_on(&portal, &mut portal.signed_in(EMAIL, PASSWORD));
    let mut root = portal.signed_in("root@example.com", PASSWORD);
    let page = root.post("/admin/accounts/1/password-link", &[]);
    let (_, rest) = page.text().split_once("/link/").expect("a link");
    let link = format!("/link/{}", rest.split('"').next().expect("it ends"));
    let mut browser = portal.visitor();
    let answer = browser.post(&link, &[("password", "another horse")]);
    assert_eq!(location(&answer), "/signin/code");
    assert!(!is_signed_in(&mut browser));
    clock.advance(60);
    let code = app.code(&portal);
    assert_eq!(browser.post("/signin/code", &[("code", &code)]).status, 303);
    assert!(is_signed_in(&mut browser));
    // An administrator can turn it off for who has lost the phone.
    let asked = root.get("/admin/accounts/1/change?action=totp-off");
    assert!(asked.text().contains("Turn off the second step of"));
    assert_eq!(
        root.post("/admin/accounts/1", &[("action", "totp-off")])
            .status,
        303
    );
    portal.signed_in(EMAIL, "another horse");
    assert!(
        root.get("/admin/audit")
            .text()
            .contains("second step turned off")
    );
}

#[test]
fn administrators_need_the_second_step_where_it_is_required() {
    let (portal, _) = portal_at(Role::Admin, true);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut luis = portal.signed_in("luis@example.com", PASSWORD);
    assert_eq!(
        luis.post("/keys", &[&[("name", "tv")], &ALL_SCOPES[..]].concat())
            .status,
        200
    );
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for path in ["/admin", "/admin/keys", "/admin/audit", "/admin/accounts/2"] {
        assert_eq!(location(&ana.get(path)), STEP, "{path}");
    }
    assert_eq!(ana.get("/keys/1").status, 404, "the key of somebody else");
    assert_eq!(
        ana.post("/admin/accounts", &[("role", "admin")]).status,
        303
    );
    assert_eq!(ana.get("/catalog").status, 200);
    turn_on(&portal, &mut ana);
    assert_eq!(ana.get("/admin").status, 200);
    assert_eq!(ana.get("/keys/1").status, 200);
}

#[test]
fn an_address_is_changed_with_the_password() {
    let (portal, _) = portal_at(Role::User, false);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let mut change = |email: &str, password: &str| {
        let fields = [
            ("action", "address"),
            ("email", email),
            ("address-password", password),
        ];
        ana.post("/profile", &fields)
    };
    for (email, password) in [("eva@example.com", "wrong horse"), ("no address", PASSWORD)] {
        let refused = change(email, password);
        assert_eq!(refused.status, 422);
        assert!(refused.text().contains("aria-invalid"), "{email}");
    }
    // A taken address and a free one get the same answer: a sign-in that works or does not.
    let taken = change("luis@example.com", PASSWORD);
    assert_eq!((taken.status, location(&taken)), (303, "/signin"));
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let fields = [
        ("action", "address"),
        ("email", "Eva@example.com"),
        ("address-password", PASSWORD),
    ];
    let changed = ana.post("/profile", &fields);
    assert_eq!((changed.status, location(&changed)), (303, "/signin"));
    assert_eq!(changed.text(), taken.text());
    assert_eq!(ana.get("/profile").status, 303, "the session has ended");
    let mut ana = portal.signed_in("eva@example.com", PASSWORD);
    assert!(ana.get("/profile").text().contains("eva@example.com"));
    let old = portal
        .visitor()
        .post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(old.status, 422);
}

#[test]
fn a_deleted_account_leaves_nothing_that_opens_anything() {
    let (portal, _) = portal_at(Role::Admin, false);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    ana.post("/keys", &[&[("name", "tv")], &ALL_SCOPES[..]].concat());
    let delete = |visitor: &mut Visitor, password: &str| {
        visitor.post("/profile/delete", &[("old", password)])
    };
    assert!(ana.get("/profile/delete").text().contains("revoked: 1"));
    let refused = delete(&mut ana, PASSWORD);
    assert!(
        refused.text().contains("only administrator"),
        "{}",
        refused.text()
    );
    portal.make_account("root@example.com", PASSWORD, Role::Admin);
    assert_eq!(delete(&mut ana, "wrong horse").status, 422);
    let mut elsewhere = portal.signed_in(EMAIL, PASSWORD);
    assert_eq!(location(&delete(&mut ana, PASSWORD)), "/signin");
    assert_eq!(elsewhere.get("/profile").status, 303);
    let again = ana.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    assert_eq!(again.status, 422);
    let accounts = portal.service().engine.accounts();
    assert_eq!(accounts.get(AccountId(1)), None);
    assert!(
        accounts
            .api_key(ApiKeyId(1))
            .expect("it is kept")
            .revoked_at
            .is_some()
    );
    let mut root = portal.signed_in("root@example.com", PASSWORD);
    for path in ["/admin/audit", "/admin/accounts", "/admin/keys", "/keys/1"] {
        let page = root.get(path);
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.text().contains(EMAIL), "{path}");
    }
    assert!(root.get("/admin/audit").text().contains("account 1"));
    // An administrator deletes somebody else.
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    assert!(
        root.get("/admin/accounts/3/change?action=delete")
            .text()
            .contains("Delete")
    );
    let gone = root.post("/admin/accounts/3", &[("action", "delete")]);
    assert_eq!(location(&gone), "/admin/accounts");
    assert_eq!(root.get("/admin/accounts/3").status, 404);
}

#[test]
fn sessions_name_the_device() {
    let (portal, _) = portal_at(Role::User, false);
    let mut phone = portal.visitor();
    let agent = "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0";
    phone
        .headers
        .push(("User-Agent".to_owned(), agent.to_owned()));
    phone.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let profile = ana.get("/profile");
    assert!(profile.text().contains("Firefox · Android · 127.0.0.1"));
    // Of an unknown device only the address is known.
    assert!(profile.text().contains(">127.0.0.1</td>"));
    let (_, rest) = profile
        .text()
        .split_once("name=\"session\" value=\"")
        .expect("another one");
    let session = rest.split('"').next().expect("it ends");
    ana.post("/profile", &[("action", "session"), ("session", session)]);
    assert!(!is_signed_in(&mut phone));
    assert!(is_signed_in(&mut ana));
}
