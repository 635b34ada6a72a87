//! A service as it is after some weeks of use, its pages, and checks of them in a browser.

use std::path::Path;

use serde_json::Value;
use subcat_engine::{ApiKeyId, Day, Role, StateEvent, Usage, UsageBatch, UsageDelta};
use subcat_server::service::{Figures, Route};

use crate::portal::{ALL_SCOPES, Portal};
use crate::webdriver::{Browser, Looks};

/// Address of the administrator.
pub const EMAIL: &str = "ana@example.com";
/// Password of every account.
pub const PASSWORD: &str = "correct horse";

/// Appearances in which every page is checked: `es` or `en`, phone or desktop, light or dark.
pub const LOOKS: [(&str, Looks); 4] = [
    (
        "es-wide-light",
        Looks {
            language: "es",
            width: 1280,
            is_dark: false,
        },
    ),
    (
        "en-wide-dark",
        Looks {
            language: "en",
            width: 1280,
            is_dark: true,
        },
    ),
    (
        "es-phone-dark",
        Looks {
            language: "es",
            width: 360,
            is_dark: true,
        },
    ),
    (
        "en-phone-light",
        Looks {
            language: "en",
            width: 360,
            is_dark: false,
        },
    ),
];

/// Moves the focus to a field and fills it in.
pub fn fill(browser: &mut Browser, selector: &str, text: &str) {
    browser.tab_to(selector);
    browser.keys(text);
}

/// A portal with accounts, keys and usage, and the session of an administrator.
pub fn lived_in() -> (Portal, String) {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    portal.make_account("luis@example.com", PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for (name, days) in [
        ("Bazarr del salón", "365"),
        ("Kodi en la tele", "0"),
        ("Copia de los domingos", "30"),
        ("Prueba antigua", "90"),
    ] {
        let fields = [("name", name), ("expires", "days"), ("expires_days", days)];
        let fields = [&fields, ALL_SCOPES.as_slice()].concat();
        assert_eq!(ana.post("/keys", &fields).status, 200);
    }
    ana.post("/keys/4/revoke", &[]);
    let now = portal.service().now();
    let mut deltas = Vec::new();
    for days_ago in 0..60 {
        for number in 1..=3 {
            let wave = u64::from((days_ago * 37 + 11) % 23) * 9 / number;
            deltas.push(UsageDelta {
                api_key: Some(ApiKeyId(number)),
                day: Day(now.day().0 - days_ago),
                usage: Usage {
                    requests: 40 + wave,
                    downloads: 0,
                    client_errors: wave % 5,
                    limited: wave.saturating_sub(150),
                },
                last_used_at: Some(now),
            });
        }
    }
    let engine = &portal.service().engine;
    let number = engine.usage().last_batch().expect("it can be read") + 1;
    let events = vec![StateEvent::AddUsage(UsageBatch { number, deltas })];
    engine.apply(events).expect("it is stored");
    let slow_searches = &portal.service().slow_searches;
    let query_string = "query=la+casa+de+papel&year=2017&video_type=episode";
    slow_searches.note(now, 12_345, query_string, Some(ApiKeyId(1)));
    slow_searches.note(now, 48_210, "title=el&limit=200", None);
    note_an_hour(&portal);
    let page = ana.get("/catalog?query=matrix&limit=3");
    for piece in page.text().split("<h2><a href=\"/catalog/").skip(1) {
        let id = piece.split('"').next().expect("it ends");
        assert_eq!(ana.get(&format!("/catalog/{id}/download")).status, 200);
    }
    let session = ana.cookies["subcat-session"].clone();
    (portal, session)
}

/// Notes an hour of figures as if the service had been used by a few programs.
fn note_an_hour(portal: &Portal) {
    let service = portal.service();
    let (now, worker) = (service.now(), &service.metrics.workers[0]);
    for minute in 0..=60_u64 {
        let wave = 20 + (minute * 37 + 11) % 23 * (1 + minute % 7);
        for number in 0..wave {
            let slow = if number % 29 == 0 { 700 } else { 0 };
            worker.answered(Route::Search, 200, 8 + number % 80 + slow);
        }
        worker.answered(Route::Download, 200, 90);
        worker.search_cache_hits.add(wave * 2 / 3);
        worker.search_cache_misses.add(wave / 3);
        // In the coming hour: the heartbeat has noted this minute already.
        let seconds = minute.cast_signed() * 60;
        service.history.note(now.plus_seconds(seconds), || {
            let figures = Figures::read(&service.metrics, service.upstream.counts());
            (figures, 250_000 + minute * 600)
        });
    }
}

/// The source of axe-core, which scripts/setup installs with npm; panics if it is missing.
pub fn axe() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/axe-core/package/axe.min.js");
    std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}: scripts/setup test fetches it with npm",
            file.display()
        )
    })
}

/// Pages that need a session: a name for the picture, and a path.
pub fn closed_pages(record: &str) -> Vec<(&'static str, String)> {
    let pages = [
        ("keys", "/keys"),
        ("key-new", "/keys/new"),
        ("key", "/keys/1"),
        ("key-revoke", "/keys/1/revoke"),
        ("catalog", "/catalog?query=matrix"),
        (
            "catalog-filtered",
            "/catalog?query=breaking&season=1&language=es-ES",
        ),
        ("catalog-empty", "/catalog?query=zzzz"),
        ("catalog-start", "/catalog"),
        ("title-film", "/title/tt0133093"),
        ("title-series", "/title/tt0903747"),
        ("profile", "/profile"),
        ("second-step", "/profile/second-step"),
        ("profile-delete", "/profile/delete"),
        ("admin", "/admin"),
        ("accounts", "/admin/accounts"),
        ("account", "/admin/accounts/2"),
        ("account-change", "/admin/accounts/2/change?action=disable"),
        ("account-delete", "/admin/accounts/2/change?action=delete"),
        ("admin-keys", "/admin/keys"),
        ("audit", "/admin/audit"),
        ("settings", "/admin/settings"),
        ("files", "/admin/files"),
        ("status", "/status"),
        ("uploader", "/uploader?name=tinta_china"),
        ("admin-days", "/admin?history=days"),
        ("front", "/"),
        ("changes", "/docs/changes"),
    ];
    let mut pages: Vec<_> = pages.map(|(name, path)| (name, path.to_owned())).into();
    pages.push(("record", record.to_owned()));
    pages.push(("look", format!("{record}/look")));
    pages
}

/// The path of the first record that a search for a film finds.
pub fn record_path(portal: &Portal) -> String {
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/catalog?query=matrix&limit=1");
    let id = page.text().split("<h2><a href=\"/catalog/").nth(1);
    let id = id.and_then(|rest| rest.split('"').next()).expect("a hit");
    format!("/catalog/{id}")
}

/// Pixels by which a page is wider than the window.
pub const OVERHANG: &str =
    "return document.documentElement.scrollWidth - document.documentElement.clientWidth";

/// Checks that nothing overflows the window, that the language is that of the browser, and that
/// axe-core finds no serious or critical violation.
pub fn is_sound(browser: &mut Browser, axe: &str, look: &str) {
    let path = browser.path();
    assert_eq!(
        browser.text("return document.documentElement.lang"),
        look[..2],
        "{path}"
    );
    let overhang = browser.eval(OVERHANG);
    assert_eq!(overhang, 0, "{path} hangs over the edge ({look})");
    let faults = browser.eval_async(&format!(
        "{axe}; return window.axe.run().then(result => result.violations\
         .filter(fault => ['serious', 'critical'].includes(fault.impact))\
         .map(fault => fault.id + ': ' + fault.nodes.map(node => node.html).join(' | ')))"
    ));
    assert_eq!(faults, Value::Array(Vec::new()), "{path} ({look})");
}
