//! The pages in a real browser: everything that a user does with an account and a key by keyboard
//! alone, in both languages, on wide and narrow windows, light and dark. Screenshots go to
//! tests/screenshots.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use subcat_engine::{RecordId, Role};
use subcat_tests::large;
use subcat_tests::lived_in::{
    EMAIL, LOOKS, PASSWORD, axe, closed_pages, fill, is_sound, lived_in, record_path,
};
use subcat_tests::portal::{ALL_SCOPES, Portal};
use subcat_tests::raw::Client;
use subcat_tests::webdriver::{Browser, Driver, ENTER, Looks, SPACE};

fn picture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
    folder.join(format!("{name}.png"))
}

fn api_status(portal: &Portal, key: &str) -> u16 {
    let mut client = Client::connect(portal.address());
    client
        .get("/api/subtitles/search?title=matrix", Some(key))
        .status
}

#[test]
fn the_life_of_an_account_and_a_key_by_keyboard_alone() {
    let axe = axe();
    let driver = Driver::start();
    for (look, looks) in LOOKS {
        // Attempts are limited by address: each run has a portal of its own.
        let portal = Portal::open(|_| ());
        let mut browser = driver.open(looks);
        let check = |browser: &mut Browser| is_sound(browser, &axe, look);
        life(
            &portal,
            &mut browser,
            &format!("{look}@example.com"),
            Some(&check),
        );
        assert_eq!(browser.complaints(), [""; 0], "{look}");
    }
}

#[test]
fn pages_are_painted_and_do_their_work_without_the_script() {
    let portal = Portal::open(|_| ());
    let driver = Driver::start();
    let (_, looks) = LOOKS[0];
    let mut browser = driver.open(looks);
    browser.block("*/assets/*.js");
    life(&portal, &mut browser, "without@example.com", None);
}

/// Checks a page that is shown in between; `None` if scripts are blocked.
type Check<'a> = Option<&'a dyn Fn(&mut Browser)>;

/// Everything that a user does with an account, by keyboard.
fn life(portal: &Portal, browser: &mut Browser, email: &str, check: Check<'_>) {
    browser.goto(&portal.url("/"));
    assert!(browser.is_painted(), "the front page");
    browser.tab_to(".skip");
    browser.tab_to("a[href='/signup']");
    browser.press_and_follow(ENTER);
    fill(browser, "#email", email);
    fill(browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/signin");
    fill(browser, "#email", email);
    fill(browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/keys");
    life_of_a_key(portal, browser, check);
    ways_out(portal, browser, email);
}

/// Creates, uses and revokes a key.
fn life_of_a_key(portal: &Portal, browser: &mut Browser, check: Check<'_>) {
    browser.tab_to("main a[href='/keys/new']");
    browser.press_and_follow(ENTER);
    fill(browser, "#name", "living room");
    browser.tab_to("input[value='download']");
    browser.keys(&SPACE.to_string());
    browser.tab_to("main form button");
    browser.press_and_follow(ENTER);
    let key = browser.text("return document.getElementById('key').value");
    assert!(key.starts_with("sct_"), "{key}");
    let width = browser.eval("return window.innerWidth");
    browser.screenshot(&picture(&format!("key-created-{width}")));
    assert!(browser.is_painted(), "the page of the new key");
    if let Some(check) = check {
        check(browser);
        browser.tab_to("button[data-copy='key']");
        browser.keys(&ENTER.to_string());
        let is_told = browser.eval_async(
            "return new Promise((done) => {\
             const button = document.querySelector(\"button[data-copy='key']\");\
             const look = () => button.textContent === button.dataset.done ? done(true)\
             : setTimeout(look, 20);\
             setTimeout(done, 5000, false); look(); })",
        );
        assert_eq!(is_told, true, "nobody is told that the key was copied");
    } else {
        let is_hidden = "return document.querySelector(\"button[data-copy='key']\").hidden";
        assert_eq!(browser.eval(is_hidden), true);
    }
    assert_eq!(api_status(portal, &key), 200);

    browser.tab_to("main .actions a");
    browser.press_and_follow(ENTER);
    let list = browser.text("return document.querySelector('main').innerText");
    assert!(
        list.contains("living room") && !list.contains(&key),
        "{list}"
    );
    browser.tab_to("a[href$='/revoke']");
    browser.press_and_follow(ENTER);
    let question = browser.text("return document.querySelector('h1').innerText");
    assert!(question.contains("living room"), "{question}");
    if let Some(check) = check {
        check(browser);
    }
    assert_eq!(api_status(portal, &key), 200);
    browser.tab_to("main form button");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/keys");
    assert_eq!(api_status(portal, &key), 401);
}

/// Changes the password, closes every session, and then a single one.
fn ways_out(portal: &Portal, browser: &mut Browser, email: &str) {
    browser.tab_to("a[href='/profile']");
    browser.press_and_follow(ENTER);
    fill(browser, "#old", PASSWORD);
    fill(browser, "#new", "battery staple");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/profile");
    let mut elsewhere = portal.signed_in(email, "battery staple");
    assert_eq!(elsewhere.get("/keys").status, 200);
    browser.tab_to("main form[action='/signout'] button");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/signin");
    assert_eq!(elsewhere.get("/keys").status, 303, "signed out everywhere");
    fill(browser, "#email", email);
    fill(browser, "#password", "battery staple");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/keys");
    browser.tab_to("form[action='/signout'] button");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/signin");
}

#[test]
fn a_search_leads_to_a_record_and_its_file() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    browser.goto(&portal.url("/catalog?query=matrix"));
    assert_eq!(browser.path(), "/signin");
    fill(&mut browser, "#email", EMAIL);
    fill(&mut browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/catalog");
    browser.tab_to(".hits h2 a");
    browser.press_and_follow(ENTER);
    let title = browser.text("return document.querySelector('h1').innerText");
    assert!(title.contains("Matrix"), "{title}");
    let size = browser.eval_async(
        "return fetch(document.querySelector('a[href$=\"/download\"]').href)\
         .then(answer => answer.blob()).then(blob => blob.size)",
    );
    assert!(0 < size.as_u64().unwrap_or(0), "{size}");
    let id = browser.path().replace("/catalog/", "");
    let id = RecordId::parse(&id).unwrap();
    let downloads = || portal.service().engine.usage().downloads(id);
    let before = downloads();
    browser.tab_to("a[href$='/download']");
    browser.keys(&ENTER.to_string());
    let began = Instant::now();
    while downloads() == before {
        assert!(began.elapsed() < Duration::from_secs(10), "not downloaded");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_link_from_another_site_finds_the_session() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[0].1);
    browser.goto(&portal.url("/signin"));
    fill(&mut browser, "#email", EMAIL);
    fill(&mut browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    let target = portal.url("/catalog?query=matrix");
    browser.goto(&format!("data:text/html,<a href='{target}'>elsewhere</a>"));
    browser.eval("document.querySelector('a').click()");
    let began = Instant::now();
    while browser.path() != "/catalog" {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{}",
            browser.path()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    // The cookie itself stays as strict as it was: nothing of the session is in the first answer.
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_reload_of_a_new_key_makes_no_second_one() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    browser.goto(&portal.url("/signin?next=%2Fkeys%2Fnew"));
    fill(&mut browser, "#email", EMAIL);
    fill(&mut browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    // The date appears only when it is asked for.
    let is_shown = "return document.getElementById('expires_on').offsetParent !== null";
    assert_eq!(browser.eval(is_shown), false);
    browser.eval("document.getElementById('expires').value = 'date'");
    assert_eq!(browser.eval(is_shown), true);
    browser.eval("document.getElementById('expires').value = '90'");
    let token = browser.text("return document.querySelector('[name=token]').value");
    fill(&mut browser, "#name", "living room");
    browser.press_and_follow(ENTER);
    let font = "return getComputedStyle(document.getElementById('key')).fontFamily";
    assert!(
        browser.text(font).contains("mono"),
        "I and l look different"
    );
    // As a reload does: the same form again.
    browser.eval(&format!(
        "window.isOld = true; const form = document.createElement('form');\
         form.method = 'post'; form.action = '/keys'; document.body.append(form);\
         for (const [name, value] of [['name', 'living room'], ['expires', '90'],\
         ['scope', 'search'], ['token', '{token}']]) {{\
         const input = document.createElement('input'); input.name = name; input.value = value;\
         form.append(input); }} form.submit()"
    ));
    let began = Instant::now();
    while browser.path() != "/keys/1" {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{}",
            browser.path()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(portal.service().engine.accounts().api_keys().len(), 1);
}

#[test]
fn samples_of_the_docs_have_tabs_and_run_with_a_pasted_key() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.post(
        "/keys",
        &[&[("name", "docs")], ALL_SCOPES.as_slice()].concat(),
    );
    let key = page
        .text()
        .split("class=\"secret\" readonly value=\"")
        .nth(1);
    let key = key.and_then(|rest| rest.split('"').next()).expect("a key");
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    browser.goto(&portal.url("/docs"));
    // One language at a time, by the arrow keys too.
    let shown = "return [...document.querySelectorAll('#search [data-language]')]\
                 .filter(it => !it.hidden).map(it => it.dataset.language).join()";
    assert_eq!(browser.text(shown), ["curl"; 5].join(","));
    browser.tab_to("#start [role='tab'][aria-selected='true']");
    browser.keys("\u{E014}");
    assert_eq!(browser.text(shown), ["python"; 5].join(","));
    let selected = "return document.activeElement.textContent";
    assert_eq!(browser.text(selected), "Python");
    // Without a key nothing is sent, and the field has the focus.
    let run = "document.querySelector('#start [data-run]').click();";
    browser.eval(run);
    assert_eq!(browser.text("return document.activeElement.id"), "try-key");
    browser.keys(key);
    browser.eval(run);
    let output = browser.eval_async(
        "return new Promise((done) => {\
         const output = document.querySelector('#start .output');\
         const look = () => output.textContent.startsWith('HTTP') ? done(output.textContent)\
         : setTimeout(look, 20);\
         setTimeout(done, 5000, 'nothing'); look(); })",
    );
    let output = output.as_str().unwrap_or_default();
    assert!(output.starts_with("HTTP 200"), "{output}");
    assert!(output.contains("The Matrix"), "{output}");
    // A file comes with a link that saves it.
    browser.eval("document.querySelector('#download [data-run]').click()");
    let name = browser.eval_async(
        "return new Promise((done) => {\
         const look = () => { const link = document.querySelector('#download .output a');\
         link ? done(link.download) : setTimeout(look, 20); };\
         setTimeout(done, 5000, 'nothing'); look(); })",
    );
    assert!(name.as_str().is_some_and(|it| it.contains('.')), "{name}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn samples_of_the_docs_are_all_shown_without_the_script() {
    let portal = Portal::open(|_| ());
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[0].1);
    browser.block("*/assets/*.js");
    browser.goto(&portal.url("/docs"));
    let shown = "return [...document.querySelectorAll('#search .sample')]\
                 .filter(it => it.offsetParent !== null).length";
    assert_eq!(browser.eval(shown), 15);
    let dead = "return [...document.querySelectorAll('main button, #try')]\
                .filter(it => it.offsetParent !== null).length";
    assert_eq!(browser.eval(dead), 0, "nothing that does nothing");
}

#[test]
fn the_docs_have_three_columns_where_there_is_room() {
    let portal = Portal::open(|_| ());
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[0].1);
    browser.goto(&portal.url("/docs"));
    let columns = "return ['.contents', '#search > div', '#search > .code-column']\
                   .map(it => Math.round(document.querySelector(it).getBoundingClientRect().left))";
    for (width, is_side_by_side) in [(1_440, true), (1_024, false), (360, false)] {
        browser.resize(width, 800);
        let lefts = browser.eval(columns);
        let left = |idx: usize| lefts[idx].as_i64().expect("a number");
        assert_eq!(left(1) < left(2), is_side_by_side, "{width}: {lefts}");
    }
    // On a phone the contents are one line until they are opened.
    let height = "return document.querySelector('.contents').offsetHeight";
    let folded = browser.eval(height).as_u64().expect("a height");
    assert!(folded < 60, "{folded}");
}

#[test]
fn a_rejected_field_is_seen_and_has_the_focus() {
    let portal = Portal::open(|_| ());
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[0].1);
    browser.goto(&portal.url("/signup"));
    fill(&mut browser, "#email", EMAIL);
    fill(&mut browser, "#password", "12345678");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.text("return document.activeElement.id"), "password");
    let border = "const style = getComputedStyle(document.getElementById('password'));\
                  return style.borderTopWidth + ' ' + style.borderTopColor";
    let other = border.replace("'password'", "'email'");
    assert_ne!(browser.text(border), browser.text(&other));
    assert!(browser.text("return document.title").starts_with("Error: "));
}

#[test]
fn language_and_theme_are_switched_without_leaving_the_page() {
    let portal = Portal::open(|_| ());
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[0].1);
    browser.goto(&portal.url("/signin?next=%2Fprofile"));
    assert_eq!(browser.text("return document.documentElement.lang"), "es");
    browser.tab_to("footer a[hreflang='en']");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.text("return document.documentElement.lang"), "en");
    assert_eq!(browser.text("return location.search"), "?next=%2Fprofile");
    let background = "return getComputedStyle(document.body).backgroundColor";
    let light = browser.text(background);
    browser.tab_to("footer a[href$='theme=dark']");
    browser.press_and_follow(ENTER);
    assert_ne!(browser.text(background), light);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Opens a page of the portal with a session.
fn open_page(portal: &Portal, browser: &mut Browser, session: &str, path: &str) {
    browser.goto(&portal.url("/"));
    browser.cookie("subcat-session", session);
    browser.goto(&portal.url(path));
}

#[test]
fn a_search_has_no_empty_parameters_in_its_address() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    open_page(&portal, &mut browser, &session, "/catalog");
    fill(&mut browser, "#query", "matrix");
    browser.eval("document.querySelector('#year').value = '1999'");
    browser.press_and_follow(ENTER);
    let address = browser.text("return location.search");
    assert_eq!(address, "?query=matrix&year=1999");
}

#[test]
fn a_link_to_a_closed_page_says_why_it_asks_for_an_account() {
    let portal = Portal::open(|_| ());
    let driver = Driver::start();
    for (looks, reason) in [
        (LOOKS[0].1, "La página que has pedido requiere una cuenta."),
        (LOOKS[1].1, "The page that you asked for needs an account."),
    ] {
        let mut browser = driver.open(looks);
        browser.goto(&portal.url("/keys/new"));
        assert_eq!(browser.path(), "/signin");
        let lead = "return document.querySelector('.lead').innerText";
        assert_eq!(browser.text(lead), reason);
        browser.goto(&portal.url("/signin"));
        let lead = "return document.querySelector('.lead') === null";
        assert_eq!(browser.eval(lead), true);
    }
}

#[test]
fn a_chart_names_its_figures_and_can_be_read_on_a_phone() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[3].1);
    browser.resize(320, 800);
    open_page(&portal, &mut browser, &session, "/keys/1");
    let tip = browser.text("return document.querySelector('.chart .tips title').textContent");
    for name in [
        "Answered: ",
        "Errors (4xx): ",
        "Rate limited (429): ",
        "Downloads: ",
    ] {
        assert!(tip.contains(name), "{tip}");
    }
    let size = "const chart = document.querySelector('.usage .chart');\
                const text = parseFloat(getComputedStyle(chart.querySelector('text')).fontSize);\
                return text * chart.clientWidth / chart.viewBox.baseVal.width";
    let size = browser.eval(size).as_f64().expect("a size");
    assert!(8.5 <= size, "{size} px");
    let gap = "const ends = [...document.querySelectorAll('.chart g[aria-hidden] text')];\
               const [first, last] = ends.map(it => it.getBoundingClientRect());\
               return last.left - first.right";
    assert!(4.0 <= browser.eval(gap).as_f64().expect("two dates"));
}

#[test]
fn sessions_and_failed_sign_ins_have_an_address() {
    let (portal, _) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    browser.goto(&portal.url("/signin"));
    fill(&mut browser, "#email", EMAIL);
    fill(&mut browser, "#password", "wrong horse");
    browser.press_and_follow(ENTER);
    fill(&mut browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    browser.goto(&portal.url("/profile"));
    let device = "return document.querySelector('[aria-labelledby=sessions] td').innerText";
    assert_eq!(browser.text(device), "Chrome · Linux · 127.0.0.1");
    let failed = "return [...document.querySelectorAll('.log tr')].map(it => it.innerText)\
                  .filter(it => it.includes('sign-in failed')).join()";
    let began = Instant::now();
    loop {
        browser.goto(&portal.url("/admin/audit"));
        let lines = browser.text(failed);
        if lines.contains(EMAIL) && lines.contains("127.0.0.1") {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{lines}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_printed_page_has_dark_text_and_nothing_to_press() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    browser.print_look(true);
    let record = record_path(&portal);
    for path in [record.as_str(), "/catalog?query=matrix", "/docs"] {
        open_page(&portal, &mut browser, &session, path);
        let buttons = "return [...document.querySelectorAll('button, .button, header input')]\
                       .filter(it => it.checkVisibility()).length";
        assert_eq!(browser.eval(buttons), 0, "{path}");
        let pale = "return [...document.querySelectorAll('pre, h1, .hits h2')].filter(it => {\
                    const [r, g, b] = getComputedStyle(it).color.match(/\\d+/g).map(Number);\
                    return 128 < Math.max(r, g, b); }).map(it => it.outerHTML.slice(0, 80))";
        assert_eq!(browser.eval(pale), serde_json::json!([]), "{path}");
    }
}

#[test]
fn sizes_of_files_break_no_line() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[3].1);
    // A record of the demo with an archive.
    let archive = "/catalog/480f2670-a7fd-5d03-adc8-9bb325937978/look";
    open_page(&portal, &mut browser, &session, archive);
    let broken = "return [...document.querySelectorAll('.names td:nth-child(2)')].map(it => {\
                  const range = document.createRange(); range.selectNodeContents(it);\
                  return range.getClientRects().length; })";
    let lines = browser.eval(broken);
    let lines = lines.as_array().expect("sizes");
    assert!(!lines.is_empty());
    assert!(lines.iter().all(|count| *count == 1), "{lines:?}");
}

#[test]
fn every_page_is_sound_in_every_look() {
    let (portal, session) = lived_in();
    let axe = axe();
    let driver = Driver::start();
    let record = record_path(&portal);
    let open = ["/", "/signin", "/signup", "/docs"];
    let refused = [
        ("catalog-fault", "/catalog?query=x&year=1&season=1"),
        ("refusal", "/nowhere"),
    ];
    for (look, looks) in LOOKS {
        let mut browser = driver.open(looks);
        for path in open {
            browser.goto(&portal.url(path));
            is_sound(&mut browser, &axe, look);
            let name = path.trim_matches('/');
            browser.screenshot(&picture(&format!("{look}-open-{name}")));
        }
        browser.cookie("subcat-session", &session);
        for (name, path) in closed_pages(&record) {
            browser.goto(&portal.url(&path));
            is_sound(&mut browser, &axe, look);
            browser.screenshot(&picture(&format!("{look}-{name}")));
        }
        assert_eq!(browser.complaints(), [""; 0], "{look}");
        for (name, path) in refused {
            browser.goto(&portal.url(path));
            is_sound(&mut browser, &axe, look);
            browser.screenshot(&picture(&format!("{look}-{name}")));
        }
        // The browser logs a 4xx status as an error.
        let complaints = browser.complaints();
        assert_eq!(complaints.len(), refused.len(), "{complaints:?}");
    }
}

#[test]
fn pages_of_a_large_catalog_are_sound_in_every_look() {
    let axe = axe();
    let driver = Driver::start();
    for (look, looks) in LOOKS {
        let mut browser = driver.open(looks);
        browser.goto(&large::portal().url("/"));
        let session = &large::reader().cookies["subcat-session"];
        browser.cookie("subcat-session", session);
        for (name, path) in large::pages() {
            browser.goto(&large::portal().url(&path));
            is_sound(&mut browser, &axe, look);
            browser.screenshot(&picture(&format!("{look}-large-{name}")));
        }
        assert_eq!(browser.complaints(), [""; 0], "{look}");
    }
}

/// An episode's subtitles begin on the first screen, however many seasons there are.
#[test]
fn the_subtitles_of_a_chosen_episode_are_seen_at_once() {
    let driver = Driver::start();
    for (_, looks) in [LOOKS[0], LOOKS[3]] {
        let mut browser = driver.open(looks);
        browser.goto(&large::portal().url("/"));
        let session = &large::reader().cookies["subcat-session"];
        browser.cookie("subcat-session", session);
        let series = format!("/title/{}", large::SERIES);
        browser.goto(&large::portal().url(&series));
        for (link, part) in [
            (".seasons a:last-child", "S30"),
            (".grid li:last-child a", "S30E40"),
        ] {
            let target = format!("return document.querySelector('{link}').href");
            let target = browser.text(&target);
            browser.goto(&target);
            let heading = browser.text("return document.querySelector('h1 .tag').innerText");
            assert_eq!(heading, part);
            let top = "return document.querySelector('#releases li').getBoundingClientRect().top";
            let top = browser.eval(top).as_f64().expect("a height");
            assert!(
                (0.0..600.0).contains(&top),
                "{part} at {}: {top}",
                looks.width
            );
        }
    }
}

#[test]
fn pictures_are_taken_of_pages() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let pictures = [
        ("catalog", "/catalog?query=matrix", "es", 1_180, 770, false),
        ("keys", "/keys", "es", 1_180, 770, true),
        ("programs", "/docs#programs", "en", 1_180, 860, false),
    ];
    for (name, path, language, width, height, is_dark) in pictures {
        let mut browser = driver.open(Looks {
            language,
            width,
            is_dark,
        });
        browser.goto(&portal.url("/"));
        browser.cookie("subcat-session", &session);
        browser.resize(width, height);
        browser.goto(&portal.url(path));
        browser.capture(&picture(&format!("picture-{name}")));
    }
}

/// The page of a new key with an address, as a service shows it that is reached by https.
#[test]
fn pictures_are_taken_of_an_address() {
    let portal = Portal::open(|config| {
        config.public_url = Some("https://subs.example.org".to_owned());
    });
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let driver = Driver::start();
    let mut browser = driver.open(LOOKS[1].1);
    browser.goto(&portal.url("/signin?next=%2Fkeys%2Fnew"));
    fill(&mut browser, "#email", EMAIL);
    fill(&mut browser, "#password", PASSWORD);
    browser.press_and_follow(ENTER);
    assert_eq!(browser.path(), "/keys/new");
    fill(&mut browser, "#name", "Bazarr");
    browser.tab_to("input[value='address']");
    browser.keys(&SPACE.to_string());
    browser.resize(1_180, 1_000);
    browser.press_and_follow(ENTER);
    let install = "return document.querySelectorAll('a[href^=\"stremio:\"]').length";
    assert_eq!(browser.eval(install), 3);
    browser.capture(&picture("picture-address"));
}
