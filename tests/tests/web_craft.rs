//! Tests of every page in a real browser: no overflow from a small phone to a large screen,
//! with large text too; the keyboard reaches everything; nothing needs a script.

use serde_json::Value;
use subcat_tests::large;
use subcat_tests::lived_in::{EMAIL, OVERHANG, PASSWORD, closed_pages, lived_in, record_path};
use subcat_tests::portal::Portal;
use subcat_tests::webdriver::{Browser, Driver, ENTER, Looks, TAB};
use totp_rs::{Builder, Secret};

const WIDTHS: [u32; 9] = [320, 360, 480, 640, 740, 800, 1_024, 1_280, 1_920];

/// Pages without an account.
const OPEN_PAGES: [&str; 7] = [
    "/",
    "/signin",
    "/signin?next=%2Fcatalog",
    "/signup",
    "/docs",
    "/status",
    "/nowhere",
];

fn looks(language: &'static str) -> Looks {
    Looks {
        language,
        width: 1_280,
        is_dark: false,
    }
}

/// Submits a form of the page that is shown, with these fields, as a person does.
fn submit(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) {
    let fields = serde_json::to_string(fields).expect("texts");
    browser.eval(&format!(
        "window.isOld = true; const form = document.createElement('form');\
         form.method = 'post'; form.action = '{path}'; document.body.append(form);\
         for (const [name, value] of {fields}) {{\
         const input = document.createElement('input'); input.name = name; input.value = value;\
         form.append(input); }} form.submit()"
    ));
    for _ in 0..500 {
        let script = "return !window.isOld && document.readyState === 'complete'";
        if browser.eval(script) == true {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{path}: no answer came");
}

/// Pages that only a form leads to: shows one after the other, and calls `check` at each.
fn each_page_behind_a_form(
    portal: &Portal,
    browser: &mut Browser,
    check: &mut dyn FnMut(&mut Browser, &str),
) {
    let scopes = [("scope", "search"), ("scope", "download")];
    let name = ("name", "Reproductor del dormitorio de los invitados");
    browser.goto(&portal.url("/keys/new"));
    submit(
        browser,
        "/keys",
        &[&[name, ("expires", "90")][..], &scopes].concat(),
    );
    check(browser, "a new key");
    submit(browser, "/keys", &[("name", ""), ("expires", "date")]);
    check(browser, "a rejected key");
    browser.goto(&portal.url("/keys/1/roll"));
    check(browser, "the question before a roll");
    submit(browser, "/keys/1/roll", &[("days", "7")]);
    check(browser, "a rolled key");
    browser.goto(&portal.url("/admin/accounts"));
    submit(browser, "/admin/accounts", &[("email", "eva@example.com")]);
    check(browser, "an invitation");
    let link = "return document.getElementById('link')?.value ?? ''";
    let link = browser.text(link);
    let path = link.split_once("/link/").map(|(_, token)| token.to_owned());
    submit(browser, "/admin/accounts/2/password-link", &[]);
    check(browser, "a link for a password");
    if let Some(token) = path {
        browser.goto(&portal.url(&format!("/link/{token}")));
        check(browser, "the page of an invitation");
    }
    browser.goto(&portal.url("/profile"));
    submit(browser, "/profile", &[("old", "wrong"), ("new", "x")]);
    check(browser, "a rejected password");
    let secret = two_step(portal, browser);
    check(browser, "recovery codes");
    assert!(!secret.is_empty());
    submit(browser, "/signout", &[]);
    check(browser, "signed out");
    submit(
        browser,
        "/signin",
        &[("email", EMAIL), ("password", PASSWORD)],
    );
    assert_eq!(browser.path(), "/signin/code");
    check(browser, "the code of the second step");
    submit(browser, "/signin/code", &[("code", "000000")]);
    check(browser, "a wrong code");
}

/// Turns the second step on; returns the secret.
fn two_step(portal: &Portal, browser: &mut Browser) -> String {
    browser.goto(&portal.url("/profile/second-step"));
    let secret = browser.text("return document.querySelector('[name=secret]').value");
    let parsed = Secret::try_from_base32(&secret).expect("base32");
    let builder = Builder::new().with_secret(parsed).with_account_name("ana");
    let totp = builder.build().expect("the secret is long enough");
    let seconds = portal.service().now().seconds();
    let code = totp.generate(seconds.try_into().expect("after 1970"));
    let code = code.to_string();
    submit(
        browser,
        "/profile/second-step",
        &[
            ("action", "on"),
            ("secret", &secret),
            ("code", &code),
            ("old", PASSWORD),
        ],
    );
    secret
}

/// Beginnings of the elements that end right of the window.
const CULPRITS: &str = "\
    const width = document.documentElement.clientWidth;\
    const isOut = (it) => it.getBoundingClientRect().right > width + 1;\
    return [...document.querySelectorAll('main *, header *, footer *')].filter(isOut).slice(0, 4)\
    .map((it) => it.outerHTML.slice(0, 160))";

/// Checks that nothing hangs over the edge at any width, and with text of twice the size.
fn fits(browser: &mut Browser, name: &str) {
    browser.eval("for (const it of document.querySelectorAll('details')) it.open = true");
    for width in WIDTHS {
        browser.resize(width, 800);
        let overhang = browser.eval(OVERHANG);
        let culprits = browser.eval(CULPRITS);
        assert_eq!(
            overhang, 0,
            "{name} hangs over the edge at {width}: {culprits}"
        );
    }
    browser.resize(1_280, 800);
    browser.eval("document.documentElement.style.fontSize = '200%'");
    let overhang = browser.eval(OVERHANG);
    let culprits = browser.eval(CULPRITS);
    assert_eq!(
        overhang, 0,
        "{name} hangs over the edge with large text: {culprits}"
    );
    browser.eval("document.documentElement.style.fontSize = ''");
}

#[test]
fn nothing_hangs_over_the_edge_at_any_width_or_size_of_text() {
    let driver = Driver::start();
    for language in ["es", "en"] {
        let (portal, session) = lived_in();
        let record = record_path(&portal);
        let mut browser = driver.open(looks(language));
        for path in OPEN_PAGES {
            browser.goto(&portal.url(path));
            fits(&mut browser, path);
        }
        browser.cookie("subcat-session", &session);
        let faulty = ("fault", "/catalog?query=x&year=1&season=1".to_owned());
        for (_, path) in closed_pages(&record).into_iter().chain([faulty]) {
            browser.goto(&portal.url(&path));
            fits(&mut browser, &path);
        }
        each_page_behind_a_form(&portal, &mut browser, &mut fits);
    }
    let mut browser = driver.open(looks("es"));
    browser.goto(&large::portal().url("/"));
    browser.cookie("subcat-session", &large::reader().cookies["subcat-session"]);
    for (_, path) in large::pages() {
        browser.goto(&large::portal().url(&path));
        fits(&mut browser, &path);
    }
    let empty = Portal::empty(|_| ());
    let mut browser = driver.open(looks("es"));
    browser.goto(&empty.url(&empty.setup_path().expect("a link")));
    fits(&mut browser, "the first account");
}

/// Everything that can be used with a pointer: for each a path that names it on the page.
const REACHABLE: &str = "\
    const seen = (it) => it.checkVisibility({visibilityProperty: true});\
    const all = document.querySelectorAll('a[href], button, input, select, summary, [tabindex]');\
    const isMeant = (it) => seen(it) && it.tabIndex >= 0 && it.type !== 'hidden' && !it.disabled\
    && !(it.type === 'radio' && !it.checked);\
    window.wanted = [...all].filter(isMeant);\
    return window.wanted.length";

/// Starts at the beginning of the page, as after loading one without a field that has the focus at
/// once. Going around the page instead would leave it through the browser's own controls, which
/// takes a time of its own: a key that is pressed meanwhile skips an element.
const FROM_THE_START: &str = "\
    document.body.tabIndex = -1;\
    document.body.focus();\
    document.body.removeAttribute('tabindex')";

/// The element that has the focus: its place among the wanted ones, the width of its outline, its
/// text, whether the focus may stay on it or it is one that only scrolls.
const FOCUSED: &str = "\
    const it = document.activeElement;\
    const style = getComputedStyle(it);\
    const scrolls = it.scrollWidth > it.clientWidth || it.scrollHeight > it.clientHeight;\
    return [window.wanted.indexOf(it),\
    style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),\
    it.outerHTML.slice(0, 120), it.type === 'date', scrolls]";

/// Fields inside of that of a date: day, month, year, the button of the calendar.
const DATE_PARTS: usize = 4;

/// Goes through a page with the tab key, once from its beginning to its end: every element is
/// reached in turn, and seen to have the focus.
fn is_usable_by_keyboard(browser: &mut Browser, name: &str) {
    let wanted_count = browser.eval(REACHABLE).as_u64().expect("a number");
    browser.eval(FROM_THE_START);
    for place in 0..wanted_count {
        browser.keys(&TAB.to_string());
        let mut focused = browser.eval(FOCUSED);
        for _ in 1..DATE_PARTS {
            let is_in_date = focused[3] == true && focused[0].as_u64().is_some_and(|it| it < place);
            // A box that only scrolls takes the focus too, for the arrow keys.
            let is_box = focused[0] == -1 && focused[4] == true;
            if is_in_date || is_box {
                browser.keys(&TAB.to_string());
                focused = browser.eval(FOCUSED);
            }
        }
        let expected = format!("return window.wanted[{place}].outerHTML.slice(0, 120)");
        let (element, expected) = (focused[2].clone(), browser.eval(&expected));
        assert_eq!(focused[0], place, "{name}: {element} instead of {expected}");
        let outline = focused[1].as_f64().unwrap_or(0.0);
        assert!(2.0 <= outline, "{name}: no outline at {element}");
    }
}

#[test]
fn everything_is_reached_by_the_keyboard_on_every_page() {
    let (portal, session) = lived_in();
    let record = record_path(&portal);
    let driver = Driver::start();
    let mut browser = driver.open(looks("en"));
    for path in OPEN_PAGES {
        browser.goto(&portal.url(path));
        is_usable_by_keyboard(&mut browser, path);
    }
    browser.cookie("subcat-session", &session);
    for (_, path) in closed_pages(&record) {
        browser.goto(&portal.url(&path));
        is_usable_by_keyboard(&mut browser, &path);
    }
    each_page_behind_a_form(&portal, &mut browser, &mut is_usable_by_keyboard);
}

/// Checks a page without its scripts: it is painted, and shows nothing that does nothing.
fn needs_no_script(browser: &mut Browser, name: &str) {
    assert!(browser.is_painted(), "{name} is painted");
    let dead = "return [...document.querySelectorAll('button[type=button], [data-run]')]\
                .filter(it => it.checkVisibility()).map(it => it.outerHTML)";
    assert_eq!(browser.eval(dead), Value::Array(Vec::new()), "{name}");
    let mute = "return [...document.forms].filter(it => !it.querySelector(\
                'button:not([type=button])')).length";
    assert_eq!(browser.eval(mute), 0, "{name}: a form that cannot be sent");
    let words = "return document.querySelector('main').innerText.length";
    assert!(20 < browser.eval(words).as_u64().unwrap_or(0), "{name}");
}

#[test]
fn no_page_needs_a_script() {
    let (portal, session) = lived_in();
    let record = record_path(&portal);
    let driver = Driver::start();
    let mut browser = driver.open(looks("es"));
    browser.block("*/assets/*.js");
    for path in OPEN_PAGES {
        browser.goto(&portal.url(path));
        needs_no_script(&mut browser, path);
    }
    browser.cookie("subcat-session", &session);
    for (_, path) in closed_pages(&record) {
        browser.goto(&portal.url(&path));
        needs_no_script(&mut browser, &path);
    }
}

#[test]
fn lists_keep_their_distance_and_titles_say_things_once() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(looks("es"));
    browser.goto(&portal.url("/"));
    browser.cookie("subcat-session", &session);
    browser.goto(&portal.url("/catalog"));
    let gap = "return document.querySelector('.pages').getBoundingClientRect().top\
               - document.querySelector('.hits').getBoundingClientRect().bottom";
    assert!(8.0 <= browser.eval(gap).as_f64().expect("pages"));
    // What follows the lists of a title or a record keeps its distance, too.
    for path in [record_path(&portal).as_str(), "/title/tt0903747"] {
        browser.goto(&portal.url(path));
        let gap = "const all = document.querySelectorAll('.hits');\
                   const list = all[all.length - 1];\
                   const next = list.closest('section').nextElementSibling;\
                   return next.getBoundingClientRect().top - list.getBoundingClientRect().bottom";
        let gap = browser.eval(gap).as_f64().expect("something follows");
        assert!(8.0 <= gap, "{path}: {gap}");
    }
    for query in ["blade+runner", "breaking+bad", "matrix", "last+of+us"] {
        browser.goto(&portal.url(&format!("/catalog?query={query}")));
        let twice = "return [...document.querySelectorAll('.hits h2')].map(it => it.innerText)\
                     .filter(it =>\
                     /\\((\\d{4})\\)\\s+\\1|(S\\d+E\\d+)\\s+\\2|\\dx\\d\\d.*S\\d+E/.test(it))";
        assert_eq!(browser.eval(twice), Value::Array(Vec::new()), "{query}");
    }
    // A record of the demo with a text.
    let text = "/catalog/69d40d03-2837-540b-87b5-fc2ebf0c1919";
    browser.goto(&portal.url(&format!("{text}/look")));
    let gap = "return document.querySelector('.cues dt').getBoundingClientRect().top\
               - document.querySelector('.cues').getBoundingClientRect().top";
    assert!(browser.eval(gap).as_f64().expect("cues") < 48.0);
    // Blocks of code take the focus only where they scroll.
    browser.goto(&portal.url("/docs"));
    let needless = "return [...document.querySelectorAll('pre[tabindex]')].filter(it =>\
                    it.checkVisibility() && it.scrollWidth <= it.clientWidth\
                    && it.scrollHeight <= it.clientHeight).length";
    assert_eq!(browser.eval(needless), 0);
    let unnamed = "return document.querySelectorAll('pre[aria-label]:not([role])').length";
    assert_eq!(browser.eval(unnamed), 0);
}

#[test]
fn titles_have_room_in_rows_and_forms_stand_in_the_middle() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    for language in ["es", "en"] {
        let mut browser = driver.open(looks(language));
        browser.goto(&portal.url("/"));
        browser.cookie("subcat-session", &session);
        // A row is two lines, but for long titles: the title beside its figures, then the release.
        for path in ["/", "/catalog"] {
            browser.goto(&portal.url(path));
            let wrapped = "return [...document.querySelectorAll('.hits h2')].filter(it =>\
                           parseFloat(getComputedStyle(it).lineHeight) * 1.6 < it.offsetHeight\
                           && it.innerText.length < 36).map(it => it.innerText)";
            assert_eq!(
                browser.eval(wrapped),
                Value::Array(Vec::new()),
                "{language} {path}"
            );
        }
        for path in ["/keys/new", "/keys/1/roll", "/profile/second-step"] {
            browser.goto(&portal.url(path));
            let sides = "const box = document.querySelector('main .medium')\
                         .getBoundingClientRect();\
                         return box.left - (document.documentElement.clientWidth - box.right)";
            let sides = browser.eval(sides).as_f64().expect("a form");
            assert!(sides.abs() <= 2.0, "{path}: {sides}");
        }
    }
}

#[test]
fn rows_are_columns_where_there_is_room() {
    let driver = Driver::start();
    let (portal, session) = lived_in();
    let record = record_path(&portal);
    let large_session = large::reader().cookies["subcat-session"].clone();
    let own = ["/", "/catalog", "/catalog?query=lost", &record].map(|it| portal.url(it));
    let large_pages = large::pages().into_iter();
    let large_pages: Vec<String> = large_pages
        .map(|(_, path)| large::portal().url(&path))
        .collect();
    for language in ["es", "en"] {
        let mut browser = driver.open(looks(language));
        for (session, pages) in [(&session, &own[..]), (&large_session, &large_pages[..])] {
            browser.goto(&pages[0]);
            browser.cookie("subcat-session", session);
            for page in pages {
                browser.goto(page);
                // Right ends of the figures, and rows whose short title takes a second line.
                let script = "\
                    const rows = [...document.querySelectorAll('.hits li:not(.of-title)')];\
                    const ends = (selector) => new Set(rows.map((it) =>\
                    Math.round(it.querySelector(selector).getBoundingClientRect().right))).size;\
                    const line = (it) => parseFloat(getComputedStyle(it).lineHeight);\
                    const isWrapped = (it) =>\
                    it.innerText.length < 40 && 1.6 * line(it) < it.offsetHeight;\
                    return [rows.length, ends('.decide > span:nth-child(2)'), ends('time'),\
                    ends('.links'), [...document.querySelectorAll('.hits h2')].filter(isWrapped)\
                    .map((it) => it.innerText).join(),\
                    [...document.querySelectorAll('.decide > :not(.links)')].filter((it) =>\
                    it.clientWidth < it.scrollWidth).map((it) => it.innerText).join()]";
                let seen = browser.eval(script);
                if seen[0] != 0 {
                    let columns = [&seen[1], &seen[2], &seen[3]];
                    assert!(columns.iter().all(|it| **it == 1), "{page}: {seen}");
                }
                assert_eq!(seen[4], "", "{page}");
                assert_eq!(seen[5], "", "{page}: wider than their column");
            }
        }
    }
}

#[test]
fn the_header_has_room_for_its_search_and_a_name() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    for language in ["es", "en"] {
        let mut browser = driver.open(looks(language));
        browser.goto(&portal.url("/"));
        browser.cookie("subcat-session", &session);
        for width in [1_280, 1_440, 1_920] {
            browser.resize(width, 800);
            browser.goto(&portal.url("/keys"));
            let script = "const name = document.querySelector('.who .name');\
                          const text = document.createRange();\
                          text.selectNodeContents(name);\
                          const style = getComputedStyle(name);\
                          const room = name.getBoundingClientRect().width\
                          - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);\
                          return [document.querySelector('.find input').offsetWidth,\
                          text.getBoundingClientRect().width - room]";
            let seen = browser.eval(script);
            let field = seen[0].as_u64().unwrap_or(0);
            assert!(118 <= field, "{language}, {width}: {seen}");
            let cut = seen[1].as_f64().unwrap_or(f64::MAX);
            assert!(cut < 0.1, "{language}, {width}: the name is cut: {seen}");
        }
    }
}

#[test]
fn the_entry_of_a_menu_that_is_chosen_moves_no_other() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(looks("es"));
    browser.goto(&portal.url("/"));
    browser.cookie("subcat-session", &session);
    let places = |menu: &str| {
        format!(
            "return [...document.querySelectorAll('{menu} a')]\
             .map(it => it.getBoundingClientRect().left)"
        )
    };
    for (menu, paths) in [
        (".sections", ["/catalog", "/keys"]),
        ("main .ranges", ["/admin/files", "/admin/settings"]),
    ] {
        let [first, other] = paths.map(|path| {
            browser.goto(&portal.url(path));
            browser.eval(&places(menu))
        });
        assert!(first.as_array().is_some_and(|it| 3 < it.len()), "{first}");
        assert_eq!(first, other, "{menu}");
    }
}

#[test]
fn the_header_of_a_phone_leaves_room_for_the_page() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(Looks {
        language: "es",
        width: 360,
        is_dark: false,
    });
    for path in ["/", "/catalog", "/admin", "/docs"] {
        browser.goto(&portal.url(path));
        if path == "/" {
            // Once without an account: a sign-up takes as much room as a name.
            browser.cookie("subcat-session", &session);
        }
        let height = browser.eval("return document.querySelector('.top').offsetHeight");
        assert!(
            height.as_u64().expect("a height") <= 104,
            "{path}: {height}"
        );
        let top = browser.eval("return document.querySelector('h1').getBoundingClientRect().top");
        assert!(top.as_f64().expect("a place") < 240.0, "{path}: {top}");
    }
}

#[test]
fn every_section_is_in_sight_on_a_small_phone() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    for language in ["es", "en"] {
        let mut browser = driver.open(looks(language));
        browser.goto(&portal.url("/"));
        browser.cookie("subcat-session", &session);
        for width in [320, 360, 1_280] {
            browser.resize(width, 800);
            browser.goto(&portal.url("/admin"));
            let hidden = "const nav = document.querySelector('.sections');\
                          return [nav.querySelectorAll('a').length,\
                          nav.scrollWidth - nav.clientWidth]";
            let hidden = browser.eval(hidden);
            assert_eq!(hidden[0], 4);
            let height = browser.eval("return document.querySelector('.top').offsetHeight");
            assert!(
                height.as_u64().is_some_and(|it| it <= 104),
                "{width}: {height}"
            );
            assert_eq!(hidden[1], 0, "{language}, {width}: {hidden}");
        }
        // The footer is one line where there is room.
        let lines = "const [text, choices] = document.querySelector('footer .wide').children;\
                     return choices.getBoundingClientRect().top\
                     < text.getBoundingClientRect().bottom";
        assert_eq!(browser.eval(lines), true, "{language}");
    }
}

#[test]
fn cards_that_stand_side_by_side_are_aligned() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    for language in ["es", "en"] {
        let mut browser = driver.open(looks(language));
        browser.goto(&portal.url("/"));
        browser.cookie("subcat-session", &session);
        browser.goto(&portal.url("/admin"));
        for (row, size) in [
            (".questions .state", 4),
            (".sparks .chart", 3),
            (".questions dl", 4),
        ] {
            let tops = format!(
                "return [...document.querySelectorAll('{row}')].slice(0, {size})\
                 .map(it => Math.round(it.getBoundingClientRect().top))"
            );
            let tops = browser.eval(&tops);
            let all = tops.as_array().expect("places");
            assert_eq!(all.len(), size, "{row}");
            assert!(
                all.iter().all(|top| *top == all[0]),
                "{language} {row}: {tops}"
            );
        }
        // A hit is three lines: its description is cut, not wrapped.
        browser.goto(&portal.url("/catalog"));
        let heights = "const line = parseFloat(getComputedStyle(document.querySelector('.hits p'))\
                       .lineHeight);\
                       return [...document.querySelectorAll('.hits p.soft')]\
                       .filter(it => line * 1.5 < it.offsetHeight).length";
        assert_eq!(browser.eval(heights), 0);
        // No column of the audit log breaks a time or an address.
        browser.goto(&portal.url("/admin/audit"));
        let broken = "return [...document.querySelectorAll(\
                      '.log td.main, .log td a, .log td:nth-child(3) bdi')]\
                      .filter(it => { const range = document.createRange();\
                      range.selectNodeContents(it);\
                      const tops = [...range.getClientRects()].map(box => Math.round(box.top));\
                      return 1 < new Set(tops).size; }).map(it => it.textContent)";
        assert_eq!(browser.eval(broken), Value::Array(Vec::new()), "{language}");
        // A button beside a sample covers none of its text.
        browser.resize(1_440, 900);
        browser.goto(&portal.url("/docs"));
        let covered = "return [...document.querySelectorAll('.sample')]\
                       .filter(it => it.checkVisibility()).filter(it => {\
                       const text = it.querySelector('code').getBoundingClientRect();\
                       const button = it.querySelector('button').getBoundingClientRect();\
                       return text.top < button.bottom && button.left < text.right\
                       && button.top < text.bottom; }).length";
        assert_eq!(browser.eval(covered), 0);
    }
}

#[test]
fn a_record_leads_back_to_the_search_that_it_came_from() {
    let (portal, session) = lived_in();
    let driver = Driver::start();
    let mut browser = driver.open(looks("en"));
    browser.goto(&portal.url("/"));
    browser.cookie("subcat-session", &session);
    browser.goto(&portal.url("/catalog?query=matrix&video_type=movie"));
    // The search again, without a filter: a chip takes it away.
    browser.tab_to(".chips a[href='/catalog?query=matrix']");
    browser.press_and_follow(ENTER);
    let address = browser.text("return location.href");
    browser.tab_to(".hits h2 a");
    browser.press_and_follow(ENTER);
    browser.tab_to(".trail a");
    browser.press_and_follow(ENTER);
    assert_eq!(browser.text("return location.href"), address);
    // From a bookmark there is no list to go back to.
    let record = record_path(&portal);
    browser.goto(&portal.url(&record));
    let trail = "return document.querySelector('.trail a').getAttribute('href')";
    assert_eq!(browser.text(trail), "/catalog");
}
