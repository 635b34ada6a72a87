//! Data directories that earlier versions wrote open with this one, and hold what they held.
//!
//! Each directory of `tests/fixtures` is one of an earlier version: its files, compressed, and
//! `facts.txt`, what an engine of its version told about it. A version adds one when it writes a
//! table or a file that no other has, and when it is released:
//!
//! ```text
//! SUBCAT_FIXTURE=data-2 cargo test --test compat writes
//! ```
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use subcat_tests::filled::{Answers, RECORDS, fill, import, now, open};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Packs each file of a directory.
fn pack(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            pack(&entry.path(), &to.join(name));
        } else if name != "lock" {
            let packed = fs::File::create(to.join(name + ".gz")).unwrap();
            let mut packed = GzEncoder::new(packed, Compression::best());
            packed.write_all(&fs::read(entry.path()).unwrap()).unwrap();
            packed.finish().unwrap();
        }
    }
}

fn unpack(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            unpack(&entry.path(), &to.join(name));
        } else if let Some(name) = name.strip_suffix(".gz") {
            let mut content = Vec::new();
            let packed = fs::File::open(entry.path()).unwrap();
            GzDecoder::new(packed).read_to_end(&mut content).unwrap();
            fs::write(to.join(name), content).unwrap();
        }
    }
}

/// Lines without those about how an answer is written, which is not stored.
fn lasting(lines: &str) -> Vec<&str> {
    let is_lasting = |line: &&str| !line.starts_with("shown ");
    lines.lines().filter(is_lasting).collect()
}

#[test]
fn data_of_earlier_versions_opens_and_holds_what_it_held() {
    let mut opened_count = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let fixture = entry.unwrap().path();
        let name = fixture.display();
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        unpack(&fixture, &data);
        let expected = fs::read_to_string(fixture.join("facts.txt")).unwrap();
        let check = |is_reopened: bool| {
            let engine = open(&data).unwrap_or_else(|error| panic!("{name}: {error}"));
            let facts = Answers::of(&engine);
            assert_eq!(facts.errors, [""; 0], "{name}");
            assert_eq!(lasting(&facts.lines()), lasting(&expected), "{name}");
            let stats = engine.stats().unwrap();
            assert_eq!((stats.records, stats.active_records), (317, 316), "{name}");
            let found = engine.verify(false).unwrap();
            let damage = found
                .iter()
                .find(|finding| !finding.is_note && !finding.is_repaired);
            assert_eq!(damage, None, "{name}");
            if !is_reopened {
                while engine.maintain(now()).unwrap() {}
            }
            engine.close().unwrap();
        };
        check(false);
        check(true);
        // It takes changes.
        let engine = open(&data).unwrap();
        import(&engine, RECORDS..RECORDS + 5, "cuarta").unwrap();
        assert_eq!(engine.stats().unwrap().records, 322, "{name}");
        drop(engine);
        opened_count += 1;
    }
    assert!(0 < opened_count, "there is no fixture");
}

/// Writes what is in a directory as a fixture.
fn write_fixture(name: &str, data: &Path, answers: &Answers) {
    let fixture = fixtures().join(name);
    assert!(!fixture.exists(), "a fixture is never changed");
    pack(data, &fixture);
    let lines = answers.lines();
    let lines = lasting(&lines).join("\n");
    fs::write(fixture.join("facts.txt"), lines + "\n").unwrap();
}

#[test]
fn what_this_version_writes_is_what_a_fixture_holds() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fill(&data).unwrap();
    let copy = dir.path().join("copy");
    pack(&data, &copy);
    let facts = Answers::of(&open(&data).unwrap());
    assert_eq!(facts.errors, [""; 0]);
    assert_eq!(
        facts
            .values
            .iter()
            .filter(|(name, _)| name.starts_with("record "))
            .count(),
        317
    );
    let downloads = facts
        .sums
        .iter()
        .filter(|(name, _)| name.starts_with("downloads "));
    assert_eq!(downloads.map(|(_, sum)| sum).sum::<u64>(), 80);
    assert!(
        facts
            .searches
            .values()
            .all(|answer| !answer.page.is_empty()),
        "{:?}",
        facts.searches
    );
    for fact in ["session", "link", "account 2 has a second step"] {
        assert!(facts.values.contains_key(fact), "{fact}");
    }
    if let Ok(name) = std::env::var("SUBCAT_FIXTURE") {
        let data = dir.path().join("unpacked");
        unpack(&copy, &data);
        write_fixture(&name, &data, &facts);
    }
}
