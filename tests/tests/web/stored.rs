//! Nothing stored is a credential: who has the whole data directory but for the sealing key, a
//! backup and a snapshot gets in by no page (SECURITY.md, data).

use std::path::Path;
use std::sync::Arc;

use subcat_engine::{AccountId, Engine, NodeId, Options, Real, Role, Scopes, StoreKind};
use subcat_server::auth::{SealingKey, api_key_digest};
use subcat_server::request::{API_RULES, RouteAccess};
use subcat_server::web::page_rules;
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::{Client, RawAnswer};
use totp_rs::{Builder, Secret};

const STEP: &str = "/profile/second-step";
const PLAIN: &str = "root@example.com";
const TWO_STEPS: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

fn location(answer: &RawAnswer) -> &str {
    answer.field("location").expect("a place to go")
}

/// Turns the second step on; returns the secret as an app has it.
fn enrol(portal: &Portal, ana: &mut Visitor) -> String {
    let page = ana.get(STEP);
    let (_, rest) = page
        .text()
        .split_once("name=\"secret\" value=\"")
        .expect("a secret");
    let text = rest.split('"').next().expect("it ends").to_owned();
    let secret = Secret::try_from_base32(&text).expect("base32");
    let builder = Builder::new().with_secret(secret).with_account_name("ana");
    let seconds = portal.service().now().seconds();
    let totp = builder.build().expect("the secret is long enough");
    let code = totp
        .generate(seconds.try_into().expect("after 1970"))
        .to_string();
    let fields = [
        ("action", "on"),
        ("secret", &*text),
        ("code", &*code),
        ("old", PASSWORD),
    ];
    assert_eq!(ana.post(STEP, &fields).status, 200);
    text
}

/// The bytes of every file below a directory, but for the sealing key.
fn bytes_below(folder: &Path) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a directory") {
        let entry = entry.expect("an entry");
        let path = entry.path();
        if path.is_dir() {
            files.extend(bytes_below(&path));
        } else if entry.file_name() != "sealing.key" && path.is_file() {
            files.push(std::fs::read(&path).expect("it can be read"));
        }
    }
    files
}

fn snapshot_of(backup: &Path) -> Vec<u8> {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(backup, options).expect("a backup opens");
    assert_eq!(
        engine.sealing_key().expect("it can be read"),
        None,
        "a backup has no key"
    );
    engine.enter_cluster(1).expect("it is in none");
    let mut snapshot = Vec::new();
    engine.write_snapshot(&mut snapshot).expect("it is written");
    engine.close().expect("it closes");
    snapshot
}

/// Cookies that can be computed from stored data: as they were made once, and every stored digest.
fn computed_cookies(portal: &Portal, stored: &[Visitor]) -> Vec<String> {
    let accounts = portal.service().engine.accounts().all();
    let end = portal.service().now().seconds() + 600;
    let mut values = Vec::new();
    for account in &accounts {
        let (id, hash) = (account.id.0, &account.password_hash);
        for word in ["step", "device"] {
            let digest = hex(&api_key_digest(&format!("{word} {hash} {id} {end} {hash}")));
            values.push(format!("{id}.{end}.{digest}"));
            values.push(format!("{end}.{digest}"));
        }
    }
    let cookies = stored.iter().flat_map(|visitor| visitor.cookies.values());
    values.extend(cookies.map(|value| hex(&api_key_digest(value))));
    values
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_copy_of_everything_but_the_sealing_key_gets_in_nowhere() {
    let mut data = None;
    let portal = Portal::open(|config| {
        config.store = StoreKind::Redb;
        data = Some(config.data.clone());
    });
    let data = data.expect("it is set");
    portal.make_account(PLAIN, PASSWORD, Role::Admin);
    portal.make_account(TWO_STEPS, PASSWORD, Role::Admin);
    let root = portal.signed_in(PLAIN, PASSWORD);
    let mut ana = portal.signed_in(TWO_STEPS, PASSWORD);
    let secret = enrol(&portal, &mut ana);
    let waiting = portal.signed_in(TWO_STEPS, PASSWORD);
    assert!(waiting.cookies.contains_key("subcat-step"));
    let visitors = [root, ana, waiting];

    let folder = tempfile::tempdir().expect("a directory");
    let backup = folder.path().join("backup");
    portal
        .service()
        .engine
        .backup(&backup)
        .expect("a backup is made");
    let mut stored = bytes_below(&data);
    stored.extend(bytes_below(&backup));
    stored.push(snapshot_of(&backup));

    let raw = Secret::try_from_base32(&secret).expect("base32");
    let mut secrets: Vec<Vec<u8>> = vec![raw.as_ref().to_vec(), secret.clone().into_bytes()];
    let cookies = visitors.iter().flat_map(|visitor| visitor.cookies.values());
    secrets.extend(cookies.map(|value| value.clone().into_bytes()));
    for (secret, bytes) in secrets
        .iter()
        .flat_map(|it| stored.iter().map(move |file| (it, file)))
    {
        let is_stored = bytes.windows(secret.len()).any(|part| part == secret);
        assert!(!is_stored, "{}", String::from_utf8_lossy(secret));
    }

    for value in computed_cookies(&portal, &visitors) {
        let mut thief = portal.visitor();
        for name in ["subcat-session", "subcat-step", "subcat-device"] {
            thief.cookies.insert(name.to_owned(), value.clone());
        }
        let answer = thief.post("/signin/code", &[("code", "000000")]);
        assert_eq!(
            (answer.status, location(&answer)),
            (303, "/signin"),
            "{value}"
        );
        assert_eq!(location(&thief.get("/signin/code")), "/signin", "{value}");
        assert_opens_no_page(&mut thief);
    }
}

/// Asks every page that is not for everybody, by every method.
fn assert_opens_no_page(thief: &mut Visitor) {
    let rules = page_rules().filter(|rule| rule.access != RouteAccess::Anybody);
    for rule in rules {
        let start = rule.path.split('{').next().unwrap_or_default();
        let end = rule.path.split('}').nth(1).unwrap_or_default();
        let number = if start == rule.path { "" } else { "1" };
        let page = format!("{start}{number}{end}");
        assert_ne!(thief.get(&page).status, 200, "{page}");
        let posted = thief.post(&page, &[("action", "on"), ("old", PASSWORD)]);
        assert_ne!(posted.status, 200, "{page}");
        let is_sent_away = posted
            .field("location")
            .is_none_or(|it| it.starts_with("/signin"));
        assert!(is_sent_away, "{page} {:?}", posted.field("location"));
    }
}

/// Keys, addresses, feeds and links are stored by their digests: a digest opens none of them.
#[test]
fn a_stored_digest_opens_no_endpoint() {
    let portal = Portal::open(|_| ());
    portal.make_account(PLAIN, PASSWORD, Role::Admin);
    let mut root = portal.signed_in(PLAIN, PASSWORD);
    let mut shown = |path: &str, fields: &[(&str, &str)], begins: &str| {
        let token = token_of(&root.get(path));
        let target = if path == "/profile" {
            "/profile/feed"
        } else {
            path
        };
        let made = root.post(target, &[fields, &[("token", &*token)]].concat());
        let page = match made.field("location") {
            Some(location) => root.get(location),
            None => made,
        };
        let (_, rest) = page.text().split_once(begins).expect(begins);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        rest[..end.unwrap_or(rest.len())].to_owned()
    };
    let feed = shown("/profile", &[], "/feed.atom?token=");
    let link = shown("/admin/accounts", &[("role", "admin")], "/link/");
    let secrets = [
        portal.api_key(Scopes::ALL),
        portal.api_key(Scopes::ADDRESS),
        feed,
        link,
    ];
    let mut client = Client::connect(portal.address());
    let mut thief = portal.visitor();
    for secret in secrets {
        assert!(20 <= secret.len(), "{secret}");
        let digest = hex(&api_key_digest(&secret));
        for rule in API_RULES
            .iter()
            .filter(|rule| rule.access != RouteAccess::Anybody)
        {
            let path = rule.path.replace("{subtitle_id}", &digest[..36]);
            assert_eq!(client.get(&path, Some(&digest)).status, 401, "{path}");
        }
        for target in [
            format!("/a/{digest}/manifest.json"),
            format!("/feed.atom?token={digest}"),
            format!("/feed.atom?token=sct_{digest}"),
            format!("/link/{digest}"),
            format!("/setup?token={digest}"),
        ] {
            let answer = thief.get(&target);
            assert!([303, 404, 410].contains(&answer.status), "{target}");
        }
    }
}

/// The one-time value of the first form of a page.
fn token_of(page: &RawAnswer) -> String {
    let (_, rest) = page
        .text()
        .split_once("name=\"token\" value=\"")
        .expect("a form");
    rest.split('"').next().expect("it ends").to_owned()
}

/// A pending sign-in whose second step is turned off meanwhile leads back to the sign-in.
#[test]
fn a_pending_sign_in_opens_nothing_without_a_second_step() {
    let portal = Portal::open(|_| ());
    let account = portal.make_account(TWO_STEPS, PASSWORD, Role::Admin);
    let mut ana = portal.signed_in(TWO_STEPS, PASSWORD);
    enrol(&portal, &mut ana);
    let mut waiting = portal.signed_in(TWO_STEPS, PASSWORD);
    let off = subcat_engine::Change::SetSecondStep(account.id, None);
    let off = off.into_event("command line", portal.service().now());
    portal
        .service()
        .engine
        .apply(vec![off])
        .expect("it is stored");
    let answer = waiting.post("/signin/code", &[("code", "000000")]);
    assert_eq!(location(&answer), "/signin");
    assert_eq!(waiting.get("/keys").status, 303);
}

/// Secrets that an older program has stored as they are: the next start seals them.
#[test]
fn plain_secrets_are_sealed_at_the_start() {
    let folder = tempfile::tempdir().expect("a directory");
    let open = || {
        let options = Options {
            disk: Arc::new(Real),
            store: StoreKind::Redb,
            counter_lanes: 2,
            node: NodeId(1),
        };
        Engine::open(&folder.path().join("data"), options).expect("it opens")
    };
    subcat_tests::filled::fill(&folder.path().join("data")).expect("it is filled");
    let control = subcat_server::runtime::Control::start().expect("threads start");
    let engine = Arc::new(open());
    let clock = Arc::new(subcat_server::runtime::SystemClock::new());
    let config = subcat_server::config::Config::default();
    let service =
        subcat_server::service::Service::new(config, Arc::clone(&engine), control.handle(), clock);
    let (id, second) = engine.accounts().second_steps().remove(0);
    assert_eq!(id, AccountId(2));
    assert_eq!(format!("{:?}", second.secret), "Sealed");
    let key = service.sealing_key().expect("it was made");
    assert_eq!(key.open(id, &second.secret), Some([5; 20]));
    assert_eq!(SealingKey::new(&[0; 32]).open(id, &second.secret), None);
    control.stop();
}
