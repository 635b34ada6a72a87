//! The findings R1 to R14 of a review, tried again.

use std::time::Instant;

use serde_json::Value;

use super::browser::Browser;
use super::hostile::{rar5_loop, rar5_overlap, zip_of};
use super::scene::{ADMIN, PASSWORD, PATIENCE, Scene, USER, held, srt};
use crate::harness::{get, id};

fn files_below(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.is_file() && !path.ends_with("sealing.key") {
            files.push(std::fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn r1_stored_data_signs_in_nowhere() {
    let scene = Scene::start(&[]);
    let root = scene.signed_in(ADMIN);
    let backup = scene.place.path("backup");
    scene.place.run(&["backup", backup.to_str().unwrap()]).ok();
    let mut stored = files_below(&scene.place.path("data"));
    stored.extend(files_below(&backup));
    for value in root.cookies.values().filter(|value| 16 <= value.len()) {
        let is_there = |file: &Vec<u8>| file.windows(value.len()).any(|it| it == value.as_bytes());
        assert!(!stored.iter().any(is_there), "{value}");
    }
    // Every text of hexadecimal digits, and every hash, as the cookie of a pending sign-in.
    let hash = stored.iter().find_map(|file| {
        let text = String::from_utf8_lossy(file);
        let (_, rest) = text.split_once("$argon2id$")?;
        Some(format!("$argon2id${}", rest.get(..60)?))
    });
    let hash = hash.unwrap().replace([';', ' '], "");
    for value in [hash.clone(), format!("1.9999999999.{hash}"), "0".repeat(64)] {
        let mut thief = scene.browser();
        for name in ["subcat-step", "subcat-session", "subcat-device"] {
            thief.cookies.insert(name.to_owned(), value.clone());
        }
        thief.post("/signin/code", &[("code", "000000")]);
        for page in ["/keys", "/profile", "/admin", "/admin/accounts"] {
            assert_ne!(thief.get(page).status, 200, "{page}");
        }
    }
    held(
        "R1",
        "session from a backup",
        "cookies made of stored hashes; cookies searched for in all files",
    );
}

#[test]
fn r2_r3_r10_hostile_archives_cost_nothing() {
    let scene = Scene::start(&[]);
    let files = [("r1", rar5_loop()), ("r2", rar5_overlap())];
    for (release, content) in files {
        scene.files.give(release, content);
    }
    let quotes = "\"".repeat(60_000);
    let names: Vec<String> = (0..160).map(|number| format!("{number}{quotes}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|it| (it.as_str(), &b"x"[..])).collect();
    scene.files.give("r3", zip_of(&entries));
    let started = Instant::now();
    let ana = scene.signed_in(USER);
    let looks = (0..24).map(|turn| {
        let mut ana: Browser = ana.clone();
        std::thread::spawn(move || ana.get(&format!("/catalog/{}/look", id(turn % 3 + 1))))
    });
    for look in looks.collect::<Vec<_>>() {
        let shown = look.join().unwrap();
        assert!(shown.body.len() <= 256 << 10, "{}", shown.body.len());
        assert!([200, 400].contains(&shown.status), "{}", shown.head);
    }
    assert!(started.elapsed() < 4 * PATIENCE, "{:?}", started.elapsed());
    scene.assert_well();
    held(
        "R2",
        "endless rar",
        "180 bytes, 8 looks at once; pages, first download, metrics, stats after it",
    );
    held(
        "R3",
        "page of 786 MB",
        "1 MB rar of overlapping names; 9.6 MB zip of quotes: pages of at most 256 KiB",
    );
    held(
        "R10",
        "liveness",
        "`/livez`, `/readyz` and `/metrics` while and after",
    );
}

#[test]
fn r4_settings_keep_their_secrets() {
    let scene = Scene::start(&["files.s3.secret_key=", "files.s3.access_key="]);
    for typed in [
        "files.s3.secret_key:hush",
        "cluster.log=natz://u:hush@x",
        "upstream.url=htp://hush/",
    ] {
        let done = scene.place.run(&["check", "--set", typed]);
        assert_ne!(done.status, 0, "{typed}");
        assert!(!format!("{done:?}").contains("hush"), "{done:?}");
    }
    let done = scene.place.run(&[
        "check",
        "--set",
        "upstream.url=http://h/{source_release_id}?t=hush",
    ]);
    assert!(!done.ok().contains("hush"));
    held(
        "R4",
        "secrets in output",
        "`check` with right, refused and mistyped values",
    );
}

#[test]
fn r5_links_end_with_their_maker() {
    let scene = Scene::start(&[]);
    let create = [
        "account",
        "create",
        "eva@example.org",
        "--role",
        "admin",
        "--password-stdin",
    ];
    scene.place.run_with(&create, PASSWORD).ok();
    let mut eva = scene.signed_in("eva@example.org");
    let token = eva
        .get("/admin/accounts")
        .between("name=\"token\" value=\"", "\"");
    let made = eva.post("/admin/accounts", &[("role", "admin"), ("token", &token)]);
    let path = format!(
        "/link/{}",
        made.between("/link/", "<").trim_end_matches('"')
    );
    let path = path.split(['"', '&']).next().unwrap().to_owned();
    assert_eq!(scene.browser().get(&path).status, 200, "{path}");
    scene
        .place
        .run(&["account", "disable", "eva@example.org"])
        .ok();
    assert_eq!(scene.browser().get(&path).status, 410);
    let fields = [("email", "new@example.org"), ("password", PASSWORD)];
    assert_eq!(scene.browser().post(&path, &fields).status, 410);
    held(
        "R5",
        "link of a former administrator",
        "invitation before the maker was disabled, page and form after it",
    );
}

#[test]
fn r6_feeds_are_limited() {
    let scene = Scene::start(&["web.catalog=public"]);
    let (mut ana, mut anybody) = (scene.signed_in(USER), scene.browser());
    for browser in [&mut ana, &mut anybody] {
        let limited = (0..130).find(|_| browser.get("/feed.atom?query=heat").status == 429);
        assert!(limited.is_some());
    }
    held(
        "R6",
        "feeds without a limit",
        "130 feeds with a session, 130 without: 429",
    );
}

#[test]
fn r7_a_flood_of_right_passwords_keeps_nobody_out() {
    let scene = Scene::start(&[]);
    let (known, ana) = (scene.signed_in(ADMIN), scene.signed_in(USER));
    let flood = (0..40).map(|_| {
        let mut ana = ana.clone();
        let fields = [("email", USER), ("password", PASSWORD)];
        std::thread::spawn(move || ana.post("/signin", &fields).status)
    });
    let flood: Vec<_> = flood.collect();
    for _ in 0..5 {
        let mut root = known.clone();
        root.cookies.retain(|name, _| !name.contains("session"));
        let answer = root.post("/signin", &[("email", ADMIN), ("password", PASSWORD)]);
        assert_eq!(answer.status, 303, "{}", answer.head);
    }
    let statuses: Vec<u16> = flood.into_iter().map(|it| it.join().unwrap()).collect();
    assert!(
        statuses.iter().all(|it| [303, 429, 503].contains(it)),
        "{statuses:?}"
    );
    held(
        "R7",
        "sign-in by a flood",
        "40 right sign-ins of one account at once, 5 of an administrator beside them",
    );
}

#[test]
fn r8_keys_are_bounded() {
    let scene = Scene::start(&["accounts.keys_max=5"]);
    let ana = scene.signed_in(USER);
    let many = (0..24).map(|number| {
        let mut ana = ana.clone();
        std::thread::spawn(move || {
            let token = ana
                .get("/keys/new")
                .between("name=\"token\" value=\"", "\"");
            let name = number.to_string();
            let fields = [
                ("name", &*name),
                ("token", &*token),
                ("scope", "read"),
                ("expiry", "never"),
            ];
            ana.post("/keys", &fields).status
        })
    });
    let many: Vec<_> = many.collect();
    let made = many.into_iter().map(|it| it.join().unwrap());
    let made = made.filter(|status| *status == 200).count();
    assert!((1..=5).contains(&made), "{made}");
    let mut ana = scene.signed_in(USER);
    for _ in 0..12 {
        let token = ana.get("/profile").between("name=\"token\" value=\"", "\"");
        let renewed = ana.post("/profile/feed", &[("token", &token)]);
        assert!(renewed.status < 500, "{}", renewed.head);
    }
    let keys = scene.place.run(&["key", "list", "--json"]).json();
    let count = keys.as_array().unwrap().len();
    // Five of the account, that of the scene; twelve feeds leave two at most.
    assert!(count <= 5 + 1 + 2, "{count} keys");
    held(
        "R8",
        "keys without end",
        "24 new keys at once where 5 are allowed; 12 renewals of the feed",
    );
}

#[test]
fn r9_half_a_file_is_not_kept() {
    let scene = Scene::start(&[]);
    let zip = zip_of(&[("a.srt", srt("whole").repeat(50).as_bytes())]);
    scene.files.give_closed("r1", &zip[..zip.len() / 2]);
    assert_eq!(scene.download(1), 502);
    scene.files.give_closed("r2", zip.clone());
    assert_eq!(scene.download(2), 200);
    scene.files.give_closed("r3", rar5_loop());
    assert_ne!(scene.download(3), 200);
    scene.files.give_closed("r4", srt("half"));
    assert_eq!(scene.download(4), 200);
    let shown = scene.place.run(&["file", "show", "r4", "--json"]).json();
    assert_ne!(shown["refetch_at"], Value::Null, "{shown}");
    held(
        "R9",
        "half a file",
        "zip, rar and text whose connection ends early: refused, or fetched again",
    );
}

#[test]
fn r11_broken_files_stop_no_others() {
    let scene = Scene::start(&[]);
    scene.files.give("r30", srt("good"));
    for number in 1..=6 {
        assert_eq!(scene.download(number), 502);
    }
    assert_eq!(scene.download(30), 200);
    held(
        "R11",
        "breaker by single files",
        "six releases with 500, then a good one at once",
    );
}

#[test]
fn r12_files_are_not_spliced() {
    let scene = Scene::start(&[]);
    scene.files.give("r1", srt("one"));
    let mut ana = scene.signed_in(USER);
    let lines = "If-Match: \"old\"\r\nRange: bytes=0-4\r\n";
    let page = format!("/catalog/{}/download", id(1));
    assert_eq!(ana.send("GET", &page, lines, "").status, 412);
    let key = format!("Authorization: Bearer {}\r\n{lines}", scene.api_key);
    let api = format!("/api/subtitles/{}/download", id(1));
    assert_eq!(ana.send("GET", &api, &key, "").status, 412);
    held(
        "R12",
        "part of another file",
        "`If-Match` of an old tag with a range, on the API and on the page",
    );
}

#[test]
fn r13_security_lines_stay() {
    let scene = Scene::start(&[]);
    let mut root = scene.signed_in(ADMIN);
    let token = root
        .get("/admin/accounts")
        .between("name=\"token\" value=\"", "\"");
    root.post("/admin/accounts", &[("role", "user"), ("token", &token)]);
    let mut ana = scene.signed_in(USER);
    let sign_ins = (0..40).map(|_| ana.post("/signin", &[("email", USER), ("password", PASSWORD)]));
    let limited = sign_ins.filter(|shown| shown.status == 429).count();
    assert!(0 < limited, "an account signs in without end");
    let lines = root.get("/admin/audit").text();
    assert!(lines.contains("nvitation"), "{lines}");
    held(
        "R13",
        "audit lines pushed out",
        "40 right sign-ins of a user: 30 counted; the line of an invitation stays",
    );
}

#[test]
fn r14_small_ones() {
    let scene = Scene::start(&[]);
    for network in ["::ffff:10.0.0.1", "10.0.0.1/8"] {
        let set = format!("trusted_proxies={network}");
        let done = scene.place.run(&["check", "--set", &set]);
        let is_plain = done.stdout.contains("10.0.0.1") && !done.stdout.contains("ffff");
        assert!(done.status != 0 || is_plain, "{done:?}");
    }
    let turned = "a\u{202E}txt.srt";
    scene
        .files
        .give("r1", zip_of(&[(turned, srt("x").as_bytes())]));
    let look = scene
        .signed_in(USER)
        .get(&format!("/catalog/{}/look", id(1)));
    assert!(!look.text().contains('\u{202E}'), "{}", look.text());
    let long = "x".repeat(20_000);
    let refused = scene.browser().post("/signin", &[("email", &long)]);
    assert!(
        refused.head.contains("413 Content Too Large"),
        "{}",
        refused.head
    );
    let path = format!("/api/subtitles/search?query=ni%F1o&key={}", "x");
    assert_eq!(
        get(scene.address(), &path, Some(&scene.api_key)).status,
        200
    );
    held(
        "R14",
        "small ones",
        "mapped proxies, bidi names, the phrase of 413, Latin-1 parameters",
    );
}
