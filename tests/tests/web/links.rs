//! One-time links: valid while their maker is an administrator, listed, withdrawn, used up only by
//! what they are for (API.md, 12.18).

use std::sync::Barrier;

use subcat_engine::{AccountId, Change, Role, block_on};
use subcat_server::service::Actor;
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::RawAnswer;

const ROOT: &str = "root@example.com";
const MAKER: &str = "maker@example.com";
const PASSWORD: &str = "correct horse";
const MAKER_ID: AccountId = AccountId(2);

fn portal() -> (Portal, Visitor, Visitor) {
    let portal = Portal::open(|_| ());
    portal.make_account(ROOT, PASSWORD, Role::Admin);
    portal.make_account(MAKER, PASSWORD, Role::Admin);
    let root = portal.signed_in(ROOT, PASSWORD);
    let maker = portal.signed_in(MAKER, PASSWORD);
    (portal, root, maker)
}

/// The link that a page shows once.
fn shown_link(page: &RawAnswer) -> String {
    let (_, rest) = page.text().split_once("id=\"link\"").expect("a link");
    let (_, rest) = rest.split_once("/link/").expect("its path");
    format!("/link/{}", rest.split('"').next().expect("it ends"))
}

fn invitation(maker: &mut Visitor, role: &str) -> String {
    shown_link(&maker.post("/admin/accounts", &[("role", role)]))
}

/// One-time value of the first form of a page.
fn token(page: &RawAnswer) -> String {
    let (_, rest) = page
        .text()
        .split_once("name=\"token\" value=\"")
        .expect("a token");
    rest.split('"').next().expect("it ends").to_owned()
}

#[test]
fn links_end_with_the_office_of_their_maker() {
    let changes = [
        Change::SetRole(MAKER_ID, Role::User),
        Change::SetDisabled(MAKER_ID, true),
        Change::SetPassword(MAKER_ID, "another hash".to_owned()),
        Change::DeleteAccount(MAKER_ID),
    ];
    for change in changes {
        let (portal, mut root, mut maker) = portal();
        let invitation = invitation(&mut maker, "admin");
        let password = shown_link(&maker.post("/admin/accounts/1/password-link", &[]));
        let mut visitor = portal.visitor();
        for link in [&invitation, &password] {
            assert_eq!(visitor.get(link).status, 200);
        }
        let action = change.action();
        let changed = portal.service().change(change, Actor::CommandLine);
        block_on(changed).expect("it is stored");
        for link in [&invitation, &password] {
            let ended = visitor.get(link);
            assert_eq!(ended.status, 410, "{action}");
            assert!(
                ended.text().contains("This link has ended"),
                "{}",
                ended.text()
            );
            let fields = [("email", "eva@example.com"), ("password", PASSWORD)];
            assert_eq!(visitor.post(link, &fields).status, 410, "{action}");
        }
        assert!(
            !root
                .get("/admin/accounts")
                .text()
                .contains("Links that still work")
        );
        // What has ended does not come back with the office.
        for change in [
            Change::SetRole(MAKER_ID, Role::Admin),
            Change::SetDisabled(MAKER_ID, false),
        ] {
            let changed = portal.service().change(change, Actor::CommandLine);
            block_on(changed).expect("it is stored");
        }
        assert_eq!(visitor.get(&invitation).status, 410, "{action}");
    }
}

#[test]
fn links_are_listed_and_withdrawn() {
    let (portal, mut root, mut maker) = portal();
    let link = invitation(&mut maker, "admin");
    let page = root.get("/admin/accounts");
    for shown in ["Links that still work", "Invitation: administrator", MAKER] {
        assert!(page.text().contains(shown), "{shown}");
    }
    assert!(!page.text().contains(&link), "the list opens nothing");
    let (_, rest) = page
        .text()
        .split_once("name=\"link\" value=\"")
        .expect("an id");
    let id = rest.split('"').next().expect("it ends").to_owned();
    let withdraw = [("action", "withdraw"), ("link", &*id)];
    assert_eq!(root.post("/admin/accounts", &withdraw).status, 303);
    assert_eq!(portal.visitor().get(&link).status, 410);
    assert!(
        !root
            .get("/admin/accounts")
            .text()
            .contains("Links that still work")
    );
    let log = root.get("/admin/audit");
    for action in ["invitation created", "link withdrawn"] {
        assert!(log.text().contains(action), "{action}");
    }
    let csv = root.get("/admin/audit.csv");
    let made = csv
        .text()
        .lines()
        .find(|line| line.contains("invitation created"));
    assert!(
        made.expect("a line").contains("admin"),
        "the line names the role"
    );
}

#[test]
fn a_form_that_is_sent_again_makes_no_second_link() {
    let (portal, mut root, _) = portal();
    let token = token(&root.get("/admin/accounts"));
    let fields = [("role", "user"), ("token", &*token)];
    assert_eq!(root.post("/admin/accounts", &fields).status, 200);
    assert_eq!(root.post("/admin/accounts", &fields).status, 303);
    let links = portal
        .service()
        .engine
        .accounts()
        .links()
        .expect("they can be read");
    assert_eq!(links.len(), 1);
}

#[test]
fn a_refused_address_does_not_use_an_invitation_up() {
    let (portal, _, mut maker) = portal();
    let link = invitation(&mut maker, "user");
    let mut visitor = portal.visitor();
    let accept = |visitor: &mut Visitor, email: &str| {
        visitor
            .post(&link, &[("email", email), ("password", PASSWORD)])
            .status
    };
    assert_eq!(accept(&mut visitor, ROOT), 422);
    assert_eq!(accept(&mut visitor, "eva@example.com"), 303);
    assert_eq!(accept(&mut portal.visitor(), "luz@example.com"), 410);
}

/// API.md 12.7: the bound holds whatever comes at the same time.
#[test]
fn parallel_requests_make_no_key_too_many() {
    let portal = Portal::open(|config| config.accounts.keys_max = 5);
    portal.make_account(MAKER, PASSWORD, Role::User);
    let cookies = portal.signed_in(MAKER, PASSWORD).cookies;
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let mut visitor = portal.visitor();
                visitor.cookies.clone_from(&cookies);
                let key = [("name", "x"), ("scope", "read")];
                let made = visitor.post("/keys", &key).status;
                assert!([200, 422].contains(&made), "{made}");
                assert_eq!(visitor.post("/profile/feed", &[]).status, 200);
            });
        }
    });
    let accounts = portal.service().engine.accounts();
    let now = portal.service().now();
    let keys = accounts.api_keys_of(AccountId(1));
    let (feeds, others): (Vec<_>, Vec<_>) = keys
        .iter()
        .partition(|key| key.scopes == subcat_engine::Scopes::NONE);
    let active = |keys: &[&subcat_engine::ApiKey]| {
        let state = subcat_engine::ApiKeyState::Active;
        keys.iter().filter(|key| key.state(now) == state).count()
    };
    assert_eq!((active(&others), others.len()), (5, 5));
    assert_eq!(active(&feeds), 1, "a new address ends the one before it");
    assert!(feeds.len() <= 2, "those that have ended are removed");
}

/// A reload does not end the address that was just copied.
#[test]
fn a_feed_address_is_made_once_by_its_form_and_ended() {
    let (portal, mut root, _) = portal();
    let profile = root.get("/profile");
    let token = token(&profile);
    assert!(!profile.text().contains("Your address was made on"));
    let fields = [("token", &*token)];
    let made = root.post("/profile/feed", &fields);
    assert_eq!(root.post("/profile/feed", &fields).status, 303);
    let (_, rest) = made
        .text()
        .split_once("/feed.atom?token=")
        .expect("an address");
    let feed = format!(
        "/feed.atom?token={}",
        rest.split('"').next().expect("it ends")
    );
    assert_eq!(portal.visitor().get(&feed).status, 200);
    assert!(
        root.get("/profile")
            .text()
            .contains("Your address was made on")
    );
    assert_eq!(root.post("/profile/feed", &[("action", "end")]).status, 303);
    assert_ne!(portal.visitor().get(&feed).status, 200);
}

/// API.md 12.7: a rolled key shows its end and its successor, and counts as expiring soon.
#[test]
fn a_rolled_key_tells_when_it_ends_and_what_replaces_it() {
    let (_portal, mut root, _) = portal();
    let new = [("name", "tv"), ("scope", "read"), ("expires", "30")];
    assert_eq!(root.post("/keys", &new).status, 200);
    assert!(root.get("/keys").text().contains("1 of 250 active keys"));
    let form = root.get("/keys/1/roll");
    assert!(
        form.text().contains("value=\"90\" selected"),
        "{}",
        form.text()
    );
    let bad = [
        ("days", "7"),
        ("expires", "date"),
        ("expires_on", "2020-01-01"),
    ];
    assert_eq!(root.post("/keys/1/roll", &bad).status, 422);
    let roll = [("days", "7"), ("expires", "365")];
    assert_eq!(root.post("/keys/1/roll", &roll).status, 200);
    let old = root.get("/keys/1");
    assert!(old.text().contains("replaced by"), "{}", old.text());
    assert!(old.text().contains("href=\"/keys/2\""));
    assert!(
        !old.text().contains("/keys/1/roll"),
        "it is not rolled again"
    );
    assert_eq!(root.get("/keys/1/roll").status, 303);
    let soon = root.get("/keys?state=expiring");
    assert!(soon.text().contains("href=\"/keys/1\""));
    let accounts = &_portal.service().engine.accounts();
    let ends = |id| {
        accounts
            .api_key(subcat_engine::ApiKeyId(id))
            .and_then(|key| key.ends_at())
    };
    let now = _portal.service().now();
    let days = |id| (ends(id).expect("it ends").seconds() - now.seconds() + 60) / 86_400;
    assert_eq!((days(1), days(2)), (7, 365));
    assert!(root.get("/keys?find=TV").text().contains("/keys/2"));
}

#[test]
fn ones_own_account_leads_back_to_its_page() {
    let (_portal, mut root, _) = portal();
    let answer = root.get("/admin/accounts/1/change?action=disable");
    assert_eq!(answer.field("location"), Some("/admin/accounts/1"));
}

/// API.md 12.17 and 12.18: a link that is followed while its account, or its maker, is deleted
/// opens nothing afterwards, whichever is first.
#[test]
fn a_link_that_races_with_a_deletion_opens_nothing_afterwards() {
    for requests_before in [0, 1, 4, 16] {
        let (portal, mut root, mut maker) = portal();
        let invited = invitation(&mut maker, "admin");
        let password = shown_link(&root.post("/admin/accounts/2/password-link", &[]));
        let start = Barrier::new(3);
        let follow = |link: &str, fields: &[(&str, &str)]| {
            let mut visitor = portal.visitor();
            start.wait();
            let status = visitor.post(link, fields).status;
            (visitor, status)
        };
        let new_password = [("password", "another horse")];
        let new_account = [("email", "eva@example.com"), ("password", PASSWORD)];
        let ((mut opened, status), (_, accepted)) = std::thread::scope(|scope| {
            let reset = scope.spawn(|| follow(&password, &new_password));
            let accept = scope.spawn(|| follow(&invited, &new_account));
            start.wait();
            for _ in 0..requests_before {
                assert_eq!(root.get("/admin/accounts").status, 200);
            }
            let deleted = Change::DeleteAccount(MAKER_ID);
            let by = Actor::CommandLine;
            block_on(portal.service().change(deleted, by)).expect("it is stored");
            (reset.join().unwrap(), accept.join().unwrap())
        });
        assert!([303, 410].contains(&status), "{status}");
        assert!([303, 410].contains(&accepted), "{accepted}");
        assert_eq!(opened.get("/profile").status, 303, "no session is left");
        for tried in [PASSWORD, "another horse"] {
            let fields = [("email", MAKER), ("password", tried)];
            assert_eq!(portal.visitor().post("/signin", &fields).status, 422);
        }
        for link in [&password, &invited] {
            assert_eq!(portal.visitor().get(link).status, 410);
        }
        let accounts = portal.service().engine.accounts().all();
        let is_there = accounts
            .iter()
            .any(|it| it.email.as_str() == "eva@example.com");
        assert_eq!(is_there, accepted == 303, "an account is made, or refused");
        assert!(
            portal
                .service()
                .engine
                .accounts()
                .links()
                .unwrap()
                .is_empty()
        );
    }
}

/// API.md 12.7: of feed addresses that are made at once, and while they are ended, one at most is
/// open, and it is the last one.
#[test]
fn feed_addresses_that_are_made_at_once_leave_one() {
    let (portal, root, _) = portal();
    let cookies = root.cookies;
    let start = Barrier::new(8);
    let feeds: Vec<String> = std::thread::scope(|scope| {
        let make = || {
            let mut visitor = portal.visitor();
            visitor.cookies.clone_from(&cookies);
            let token = token(&visitor.get("/profile"));
            start.wait();
            let made = visitor.post("/profile/feed", &[("token", &*token)]);
            let (_, rest) = made.text().split_once("/feed.atom?token=").expect("one");
            let token = rest.split('"').next().expect("it ends");
            format!("/feed.atom?token={token}")
        };
        let made: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        made.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let is_open = |feed: &&String| portal.visitor().get(feed).status == 200;
    assert_eq!(feeds.iter().filter(is_open).count(), 1);
    let keys = portal.service().engine.accounts().api_keys_of(AccountId(1));
    assert!(keys.len() <= 2, "those that have ended are removed");
}
