//! The first moments of a server: where it listens, whom it waits for, what it says.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Place, Server, exists, line};

const PATIENCE: Duration = Duration::from_secs(60);

/// A port on which nothing listens.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The status of one request on a connection of its own; an error if it breaks.
fn ask(address: &str) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /api/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let status = text.get(9..12).and_then(|status| status.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}

/// API.md 11.7: of clients that connect again and again over a start each is answered, once it has
/// listened.
#[test]
fn a_start_refuses_nobody_from_the_first_moment_on() {
    let place = Place::stopped();
    place.import(&(0..200).map(|n| line(n, "Heat", "")).collect::<Vec<_>>());
    for _ in 0..3 {
        let address = free_address();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let client = || {
                let mut statuses = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    match ask(&address) {
                        Ok(status) => statuses.push(status),
                        // Before it listens.
                        Err(_) if statuses.is_empty() => {}
                        Err(error) => panic!("after {} answers: {error}", statuses.len()),
                    }
                }
                statuses
            };
            let clients = [(); 4].map(|()| scope.spawn(client));
            let mut command = place.command(&["serve", "--listen", &address]);
            command
                .args(["--admin", "127.0.0.1:0"])
                .env("SUBCAT_WORKERS", "2");
            let server = Server::start(command);
            let until = Instant::now() + Duration::from_millis(300);
            while Instant::now() < until {
                assert_eq!(ask(&address).unwrap(), 200);
            }
            is_over.store(true, Ordering::Relaxed);
            for client in clients {
                let statuses = client.join().unwrap();
                assert!(statuses.contains(&200), "{statuses:?}");
                assert!(
                    statuses.iter().all(|it| [200, 503].contains(it)),
                    "{statuses:?}"
                );
            }
            assert_eq!(server.stop(), 0);
        });
    }
}

/// A restart does not fail because another command works.
#[test]
fn a_start_waits_for_a_command_that_has_the_data_open() {
    let place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let mut follow = place.command(&["import", "--follow", "-"]);
    follow.stdin(std::process::Stdio::piped());
    follow.stdout(std::process::Stdio::null());
    let mut follow = follow.spawn().unwrap();
    let holder = follow.id().to_string();
    let until = Instant::now() + PATIENCE;
    // It writes its number into the lock when it has it.
    while !std::fs::read_to_string(place.path("data/lock")).is_ok_and(|it| it.contains(&holder)) {
        assert!(Instant::now() < until, "the import does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let log_path = place.path("log");
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0"]);
    command.stderr(std::fs::File::create(&log_path).unwrap());
    let starting = std::thread::spawn(move || Server::start(command));
    let log = || std::fs::read_to_string(&log_path).unwrap();
    while !log().contains("the data directory is in use: waiting") {
        assert!(Instant::now() < until, "{}", log());
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(follow.stdin.take());
    assert!(follow.wait().unwrap().success());
    let server = starting.join().unwrap();
    assert_eq!(server.get("/api/health", None).status, 200);
    assert_eq!(server.stop(), 0);
}

/// As root only: another user cannot give files away.
#[test]
fn a_data_directory_of_somebody_else_is_named_with_its_owner() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can run a command as another user");
        return;
    }
    let place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let open = |path: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(path), mode).unwrap();
    };
    open("", 0o755);
    for (mode, expected) in [
        (
            0o755,
            "data belongs to uid 0 (mode 755), this process is uid 65534: chown it",
        ),
        (
            0o777,
            "belongs to uid 0 (mode 600), this process is uid 65534: chown it",
        ),
    ] {
        open("data", mode);
        for arguments in [&["serve"][..], &["stats"]] {
            let mut command = place.command(arguments);
            command.uid(65_534).gid(65_534);
            let Ok(output) = command.output() else {
                eprintln!("SKIPPED: another user may not run the program where it was built");
                return;
            };
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains(expected), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}

/// Names in a directory, with their owners.
fn owners(path: &Path) -> Vec<(OsString, u32)> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let owners = entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().uid()));
    let mut owners: Vec<_> = owners.collect();
    owners.sort();
    owners
}

/// As root only: root alone can open what belongs to another user.
#[test]
fn root_leaves_no_files_in_a_data_directory_of_another_user() {
    let mut place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let data = place.path("data");
    let give = |path: &Path, uid| chown(path, Some(uid), Some(uid));
    // No machine has a user of this id.
    if give(&data, 54_321).is_err() {
        eprintln!("SKIPPED: only root can give a directory to another user");
        return;
    }
    let refused = |place: &Place, arguments: &[&str]| {
        let sentence = place.run(arguments).fails(1);
        assert!(sentence.contains("belongs to '#54321'"), "{sentence}");
        assert!(sentence.contains("sudo -u '#54321'"), "{sentence}");
    };
    place.write("lines.jsonl", line(2, "Ronin", ""));
    let before = owners(&data);
    let commands: [&[&str]; 7] = [
        &["import", "lines.jsonl"],
        &["stats"],
        &["key", "create", "--name", "player"],
        &["compact"],
        &["verify", "--repair"],
        &["cluster", "leave"],
        &["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ];
    for arguments in commands {
        refused(&place, arguments);
    }
    // The directory is root's, and a file in it is not.
    give(&data, 0).unwrap();
    give(&data.join("state.redb"), 54_321).unwrap();
    refused(&place, &["import", "lines.jsonl"]);
    give(&data.join("state.redb"), 0).unwrap();
    assert_eq!(owners(&data), before);

    // One that its user has made for the service, which has not begun.
    let empty = place.path("empty");
    std::fs::create_dir(&empty).unwrap();
    give(&empty, 54_321).unwrap();
    refused(&place, &["import", "lines.jsonl", "--data", "empty"]);
    assert_eq!(owners(&empty), []);

    // Through a server nothing is root's.
    place.start_server(&[]);
    give(&data, 54_321).unwrap();
    place.run(&["import", "lines.jsonl"]).ok();
    give(&data, 0).unwrap();
    assert_eq!(place.export().len(), 2);
}

#[test]
fn the_first_link_leads_to_an_address_that_browsers_open() {
    let place = Place::stopped();
    let mut command = place.command(&["serve", "--listen", "0.0.0.0:0"]);
    command.args(["--admin", "127.0.0.1:0"]);
    let mut server = Server::start(command);
    let link = server.next_line();
    assert!(link.contains("http://localhost:"), "{link}");
    assert_eq!(server.stop(), 0);
}

/// A request on a Unix socket; returns head and body.
fn ask_socket(path: &Path, fields: &str) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    let request = format!(
        "GET /api/subtitles/search HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap().to_ascii_lowercase()
}

/// API.md 11.6: its peers are trusted proxies, and without a name of the client they share one.
#[test]
fn a_unix_socket_is_listened_on_as_an_address_is() {
    for io in ["epoll", "auto"] {
        let place = Place::stopped();
        let socket = place.path("subcat.sock");
        // Left by one that was killed.
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        let listen = format!("unix:{}", socket.display());
        let set_io = format!("io={io}");
        let mut command = place.command(&["serve", "--listen", &listen, "--set", &set_io]);
        command
            .args(["--admin", "127.0.0.1:0"])
            .args(["--set", "rate_limit.anonymous_requests=2"]);
        let server = Server::start_on_socket(command);
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        for (fields, status) in [
            ("X-Forwarded-For: 192.0.2.1\r\n", "401"),
            ("X-Forwarded-For: 192.0.2.1\r\n", "401"),
            ("X-Forwarded-For: 192.0.2.1\r\n", "429"),
            ("X-Forwarded-For: 192.0.2.2\r\n", "401"),
            ("", "401"),
            ("", "401"),
            ("", "429"),
        ] {
            let answer = ask_socket(&socket, fields);
            assert!(
                answer.starts_with(&format!("http/1.1 {status} ")),
                "{fields}{answer}"
            );
        }
        let second = place
            .run(&["serve", "--data", "other", "--listen", &listen])
            .fails(1);
        assert!(second.contains("which another program uses"), "{second}");
        assert_eq!(server.stop(), 0);
        assert!(!exists(&socket));
    }
}
