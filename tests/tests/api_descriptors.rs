//! Files that are kept open, with few descriptors: a test of its own, as the limit is the
//! process's.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use subcat_tests::server::{TestServer, film};
use subcat_tests::upstream::Upstream;

/// Descriptors of this process.
const COUNT_MAX: u64 = 256;
/// Files that are asked for, each too large to be kept in memory.
const FILES_COUNT: usize = 300;

/// Descriptors of stored files that are open.
fn open_blobs() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("the system tells");
    let links = open.flatten().map(|entry| std::fs::read_link(entry.path()));
    let is_blob = |link: &std::path::PathBuf| link.to_string_lossy().contains("/blobs/");
    links.flatten().filter(is_blob).count()
}

#[test]
fn open_files_leave_descriptors_for_everything_else() {
    let whole = getrlimit(Resource::Nofile);
    let narrow = Rlimit {
        current: Some(COUNT_MAX),
        ..whole
    };
    setrlimit(Resource::Nofile, narrow).expect("a limit can be lowered");
    let upstream = Upstream::start();
    let server = TestServer::with(|config| config.upstream.url = Some(upstream.url()));
    let ids: Vec<String> = (0..FILES_COUNT)
        .map(|number| format!("00000000-0000-4000-8000-{number:012}"))
        .collect();
    let releases: Vec<String> = (0..FILES_COUNT)
        .map(|number| format!("r{number}"))
        .collect();
    let films = ids.iter().zip(&releases);
    server.import(
        films
            .map(|(id, release)| film(id, "x", 2004, release))
            .collect(),
    );
    for release in &releases {
        let cue = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n\n";
        upstream.give(release, format!("{cue}{release}\n{}", "x".repeat(20_000)));
    }
    let api_key = server.api_key();
    for round in 0..2 {
        for id in &ids {
            let path = format!("/api/subtitles/{id}/download");
            let answer = server.get(&path, Some(&api_key));
            assert_eq!(answer.status, 200, "{id} in round {round}");
        }
        let open_count = open_blobs();
        assert!(open_count as u64 <= COUNT_MAX / 4, "{open_count} are open");
    }
    drop(server);
    setrlimit(Resource::Nofile, whole).expect("the limit is what it was");
}
