//! Paths, hosts, addresses, forms and sockets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::browser::raw;
use super::scene::{ADMIN, PASSWORD, Scene, USER, held};
use crate::harness::{Place, line};

#[test]
fn paths_lead_nowhere_else() {
    let scene = Scene::start(&[]);
    let mut ana = scene.signed_in(USER);
    let beginnings = [
        "",
        "/api/subtitles",
        "/a",
        "/catalog",
        "/title",
        "/assets",
        "/link",
        "/keys",
        "/admin/accounts",
        "/docs",
    ];
    let ends = [
        "/%00",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/../../etc/passwd",
        "/%ff%fe",
        "//x",
        "/;x",
        "/%0d%0aSet-Cookie:x=1",
        "/\\..\\x",
        "/%25%30%30",
        "/a%2Fb",
        "/.%00./",
        "/-1",
        "/18446744073709551616",
    ];
    for beginning in beginnings {
        for end in ends {
            let shown = ana.get(&format!("{beginning}{end}"));
            assert!(
                (300..500).contains(&shown.status),
                "{beginning}{end}: {}",
                shown.head
            );
            assert!(!shown.text().contains("root:x:0"), "{beginning}{end}");
            assert_eq!(
                shown.fields("set-cookie"),
                Vec::<&str>::new(),
                "{beginning}{end}"
            );
        }
    }
    for switch in [
        "/?lang=es%0d%0aSet-Cookie:x=1",
        "/?theme=dark%00",
        "/%0d%0ax?lang=es",
        "//evil.example?lang=es",
        "/\\evil.example?lang=es",
    ] {
        let shown = ana.get(switch);
        let location = shown
            .fields("location")
            .first()
            .map_or(String::new(), |it| (*it).to_owned());
        assert!(
            !location.starts_with("//") && !location.contains('\\'),
            "{switch}: {location}"
        );
    }
    scene.assert_well();
    held(
        "new",
        "paths",
        "130 paths with zeros, `..`, encoded slashes and line ends below ten beginnings; \
         redirects of the language",
    );
}

#[test]
fn a_host_of_another_poisons_nothing() {
    let scene = Scene::start(&["web.catalog=public"]);
    let create = [
        "key", "create", "--json", "--name", "x", "--scope", "address",
    ];
    let created = scene.place.run(&create).json();
    let key = created["key"].as_str().unwrap();
    let mut anybody = scene.browser();
    for target in [
        format!("/a/{key}/subtitles/movie/tt0113277.json"),
        format!("/a/{key}/api/v1/subtitles/search?query=heat"),
        format!("/a/{key}/manifest.json"),
        "/".to_owned(),
        "/docs".to_owned(),
        "/openapi.json".to_owned(),
        "/catalog?query=heat".to_owned(),
        "/feed.atom?query=heat".to_owned(),
    ] {
        for host in [
            "evil.example",
            "evil.example\"><script>",
            "evil.example/x",
            "a,b",
            "evil.example:99999",
        ] {
            let lines = format!("Host: {host}\r\nX-Forwarded-Host: evil.example\r\n");
            let shown = anybody.send("GET", &target, &lines, "");
            assert!(!shown.text().contains("\"><script>"), "{target}");
        }
        let shown = anybody.get(&target);
        assert_eq!(shown.status, 200, "{target}");
        assert!(!shown.text().contains("evil.example"), "{target}");
    }
    held(
        "new",
        "Host of another",
        "five hosts on eight answers, each asked again with the right one: nothing kept",
    );
}

#[test]
fn keys_in_paths_are_in_no_log() {
    let scene = Scene::start(&["log.level=trace", "log.access=all"]);
    let create = [
        "key", "create", "--json", "--name", "x", "--scope", "address",
    ];
    let created = scene.place.run(&create).json();
    let key = created["key"].as_str().unwrap();
    let digits = &key[4..];
    let mut anybody = scene.browser();
    for path in [
        format!("/a/{key}/nothing"),
        format!("/A/{key}/manifest.json"),
        format!("/x/a/sct%5F{digits}/manifest.json"),
        format!("/%61/%73ct_{digits}/manifest.json"),
        format!("/catalog?query={key}"),
        format!("/signin?next=/a/{key}/x"),
        format!("/b/{key}?lang=es"),
        format!("/a/{key}%00/x"),
    ] {
        let shown = anybody.get(&path);
        assert!(!shown.text().contains(digits), "{path}");
        assert!(!shown.head.contains(digits), "{path}: {}", shown.head);
    }
    assert!(!scene.log().contains(digits), "{}", scene.log());
    held(
        "new",
        "keys of addresses in logs",
        "eight wrong paths, percent-encoded too, with every detail in the log",
    );
}

#[test]
fn requests_of_any_shape_are_answered_or_refused() {
    let scene = Scene::start(&[]);
    let deep = "[".repeat(100_000);
    let length = deep.len();
    let many = "Cookie: subcat-session=x; subcat-session=y\r\n".repeat(30);
    let requests = [
        format!(
            "POST /signin HTTP/1.1\r\nHost: x\r\nContent-Type: \
         application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{deep}"
        ),
        format!(
            "GET /api/subtitles/search?title={} HTTP/1.1\r\nHost: x\r\nConnection: \
         close\r\n\r\n",
            "%5B".repeat(2_000)
        ),
        format!("GET /keys HTTP/1.1\r\nHost: x\r\n{many}Connection: close\r\n\r\n"),
        "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: DELETE\r\nConnection: \
         close\r\n\r\n"
            .to_owned(),
        "POST /keys?_method=DELETE HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: \
         close\r\n\r\n"
            .to_owned(),
    ];
    for request in &requests {
        let shown = raw(scene.address(), request.as_bytes());
        assert!(
            (200..500).contains(&shown.status),
            "{request:.80}: {}",
            shown.head
        );
    }
    scene.assert_well();
    held(
        "new",
        "shapes of requests",
        "100,000 nested brackets, 60 cookies of one name, zeros, method override",
    );
}

#[test]
fn forms_and_links_are_used_once() {
    let scene = Scene::start(&[]);
    let mut root = scene.signed_in(ADMIN);
    let token = root
        .get("/keys/new")
        .between("name=\"token\" value=\"", "\"");
    let twice = (0..8).map(|_| {
        let (mut root, token) = (root.clone(), token.clone());
        std::thread::spawn(move || {
            let fields = [
                ("name", "x"),
                ("scope", "read"),
                ("expiry", "never"),
                ("token", &*token),
            ];
            root.post("/keys", &fields).text().contains("id=\"key\"")
        })
    });
    let twice: Vec<_> = twice.collect();
    let made = twice.into_iter().map(|it| it.join().unwrap());
    assert_eq!(made.filter(|is_made| *is_made).count(), 1);
    let token = root
        .get("/admin/accounts")
        .between("name=\"token\" value=\"", "\"");
    let made = root.post("/admin/accounts", &[("role", "user"), ("token", &token)]);
    let path = format!("/link/{}", made.between("/link/", "<"));
    let path = path.split(['"', '&']).next().unwrap().to_owned();
    let guests = (0..8).map(|number| {
        let (mut guest, path) = (scene.browser(), path.clone());
        std::thread::spawn(move || {
            let email = format!("guest{number}@example.org");
            guest
                .post(&path, &[("email", &email), ("password", PASSWORD)])
                .status
        })
    });
    let guests: Vec<_> = guests.collect();
    let came = guests.into_iter().map(|it| it.join().unwrap());
    assert_eq!(came.filter(|status| *status == 303).count(), 1);
    let accounts = scene.place.run(&["account", "list", "--json"]).json();
    assert_eq!(accounts.as_array().unwrap().len(), 3);
    held(
        "new",
        "forms and links",
        "one form of a key eight times at once; one invitation by eight at once",
    );
}

#[test]
fn a_base_path_leads_to_no_other_host() {
    let scene = Scene::start(&["public_url=https://media.example.org/subs"]);
    let mut anybody = scene.browser();
    for target in [
        "/subs//evil.example/?lang=es",
        "/subs/\\evil.example?lang=es",
        "//subs//evil.example?lang=es",
        "/subsx/keys",
        "/subs/../keys",
        "/subs/%2e%2e/keys",
        "/subs%2Fkeys",
        "/subs/signin?next=//evil.example",
        "/subs/signin?next=%5C%5Cevil.example",
    ] {
        let shown = anybody.get(target);
        assert!(shown.status < 500, "{target}");
        for location in shown.fields("location") {
            let is_ours = location.starts_with("/subs/")
                || location.starts_with("/subs?")
                || location == "/subs";
            assert!(
                is_ours && !location.starts_with("/subs//"),
                "{target}: {location}"
            );
        }
        assert!(!shown.text().contains("=\"//"), "{target}");
    }
    held(
        "new",
        "base path",
        "nine targets that leave the base or lead to another host",
    );
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_and_sockets_are_their_owners() {
    let mut place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let socket = place.path("public.sock");
    let listen = format!("unix:{}", socket.display());
    let mut command = place.command(&["serve", "--listen", &listen, "--admin", "127.0.0.1:0"]);
    command.stderr(std::process::Stdio::null());
    let server = crate::harness::Server::start_on_socket(command);
    let folder = place.path("");
    let mode = |name: &str| mode_of(&folder.join(name));
    assert_eq!(mode("data"), 0o700);
    for name in [
        "data/admin.sock",
        "data/sealing.key",
        "data/state.redb",
        "data/catalog.redb",
    ] {
        assert_eq!(mode(name) & 0o077, 0, "{name}: {:o}", mode(name));
    }
    assert_eq!(mode("public.sock") & 0o002, 0, "{:o}", mode("public.sock"));
    drop(server);
    place.start_server(&[]);
    let backup = place.path("backup");
    place.run(&["backup", backup.to_str().unwrap()]).ok();
    assert_eq!(mode("backup") & 0o077, 0);
    assert!(!place.path("backup/sealing.key").exists());
    held(
        "new",
        "modes of files and sockets",
        "data directory, stores, sealing key, admin and public sockets, backup",
    );
}
