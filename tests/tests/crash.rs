//! Kills at any moment: nothing acknowledged is lost, nothing is torn, the directory always opens.
//!
//! The test program starts itself as a child that works on a data directory and reports what has
//! been acknowledged; the parent kills it (SIGKILL) after a random time, opens the directory and
//! compares. `scripts/crash` runs many rounds, and `scripts/crash --healing` those with a damaged
//! index; `SUBCAT_CRASH_ROUNDS` and `SUBCAT_CRASH_SEED` choose their number and the random times.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use subcat_engine::{
    AGGREGATE_SECONDS_MAX, ApiKey, ApiKeyId, Change, Day, Engine, Error, FileKind, NewApiKey,
    Outcome, ReleaseId, Scopes, Timestamp, Variant,
};
use subcat_tests::campaign::{Random, maintain, setting};
use subcat_tests::filled::{self, id, import_films, now};

const DIR: &str = "SUBCAT_CRASH_DIR";
const ROUND: &str = "SUBCAT_CRASH_ROUND";
/// Set if the index is damaged.
const DAMAGED: &str = "SUBCAT_CRASH_DAMAGED";
/// The record whose downloads are counted.
const COUNTED: u64 = 7;

fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "crash: {words}").unwrap();
    out.flush().unwrap();
}

fn open(dir: &Path) -> Engine {
    filled::open(dir).expect("the data directory opens")
}

/// Works until it is killed. Does nothing when it is run as a test.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let round = setting(ROUND, 0);
    let is_damaged = std::env::var_os(DAMAGED).is_some();
    let engine = open(Path::new(&dir));
    say("opened");
    let mut random = Random(round.wrapping_mul(0x9e37_79b9) | 1);
    let mut lane = engine.usage().counter_lane().unwrap();
    for step in 0u64.. {
        let generation = round * 1_000_000 + step;
        let from = random.below(3_000);
        let count = if step % 8 == 3 {
            6_000
        } else {
            1 + random.below(300)
        };
        let to = from + count;
        say(&format!("begin {from} {to} {generation}"));
        import_films(&engine, from..to, |_| format!("Generación {generation}")).unwrap();
        say(&format!("done {from} {to} {generation}"));
        for _ in 0..20 {
            lane.count(id(COUNTED), Some(ApiKeyId(1)), Day(20_000))
                .unwrap();
            say("counted");
        }
        work_on_state(&engine, generation);
        if step % 4 == 1 {
            let name = format!("backup-{generation}");
            engine
                .backup(&Path::new(&dir).with_file_name(&name))
                .unwrap();
            say(&format!("made {name}"));
        }
        engine.catalog().request_reindex();
        // Counts are aggregated after some time: the clock runs faster here.
        let later = now().seconds() + step as i64 * AGGREGATE_SECONDS_MAX / 2;
        let maintained = engine.maintain(Timestamp::from_seconds(later).unwrap());
        // A step that meets damage may fail: the next one repairs it.
        let has_met_damage = is_damaged && matches!(maintained, Err(Error::Corrupt { .. }));
        assert!(has_met_damage || maintained.is_ok(), "{maintained:?}");
    }
}

fn work_on_state(engine: &Engine, generation: u64) {
    let create = Change::CreateApiKey(NewApiKey {
        account: None,
        name: "key".into(),
        digest: [generation as u8; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    });
    let created = engine.apply(vec![create.into_event("test", now())]);
    let Outcome::ApiKey(api_key) = &created.unwrap()[0] else {
        panic!("a key is made");
    };
    engine
        .apply(vec![
            Change::RevokeApiKey(api_key.id).into_event("test", now()),
        ])
        .unwrap();
    say(&format!("revoked {}", api_key.id.0));
    let release = ReleaseId::parse(&format!("r{generation}")).unwrap();
    let content = format!("1\n00:00 {generation}").repeat(50);
    engine
        .files()
        .store_file(&release, content.as_bytes(), FileKind::Srt, None)
        .unwrap();
    say(&format!("stored {generation}"));
}

/// Starts the child, kills it after `lifetime` and returns its report.
fn run_child(dir: &Path, round: u64, lifetime: Duration) -> Vec<String> {
    kill_after(lifetime, child_of(dir, round))
}

/// The child, which works on a data directory.
fn child_of(dir: &Path, round: u64) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
        .env(DIR, dir)
        .env(ROUND, round.to_string());
    child
}

fn kill_after(lifetime: Duration, mut child: Command) -> Vec<String> {
    let mut child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        lines
            .filter_map(|line| Some(line.split_once("crash: ")?.1.to_owned()))
            .collect::<Vec<_>>()
    });
    let deadline = Instant::now() + lifetime;
    while Instant::now() < deadline {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the child fell over by itself"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// State that the directory must have whenever it is opened.
#[derive(Default)]
struct Expected {
    /// Record → the generations that it may have.
    titles: BTreeMap<u64, Generations>,
    downloads: u64,
    revoked: Vec<u64>,
    stored: Vec<u64>,
}

#[derive(Default)]
struct Generations {
    /// The last one that was acknowledged, or found after a kill.
    kept: Option<u64>,
    /// Later ones that were started.
    begun: Vec<u64>,
}

impl Expected {
    fn take_in(&mut self, said: &[String]) {
        for line in said {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |idx: usize| words[idx].parse::<u64>().unwrap();
            match words[0] {
                "begin" => {
                    for record in number(1)..number(2) {
                        let generations = self.titles.entry(record).or_default();
                        generations.begun.push(number(3));
                    }
                }
                "done" => {
                    for record in number(1)..number(2) {
                        let kept = Generations {
                            kept: Some(number(3)),
                            begun: Vec::new(),
                        };
                        self.titles.insert(record, kept);
                    }
                }
                "counted" => self.downloads += 1,
                "revoked" => self.revoked.push(number(1)),
                "stored" => self.stored.push(number(1)),
                _ => {}
            }
        }
    }

    fn check(&mut self, engine: &Engine) {
        let downloads = engine.usage().downloads(id(COUNTED));
        // One more may have been counted and not reported.
        assert!((self.downloads..=self.downloads + 1).contains(&downloads));
        self.downloads = downloads;
        let totals = engine.usage().api_key_totals(ApiKeyId(1)).unwrap().0;
        assert_eq!(totals.downloads, downloads);
        let api_keys = engine.accounts().api_keys();
        for revoked in &self.revoked {
            let found = api_keys.iter().find(|key| key.id.0 == *revoked);
            let found = found.expect("an acknowledged key is there");
            assert!(found.revoked_at.is_some(), "key {revoked} is valid again");
        }
        let lines = engine.accounts().audit_log(None, usize::MAX).unwrap();
        let count = |action| {
            lines
                .iter()
                .filter(|(_, line)| line.action == action)
                .count()
        };
        assert_eq!(count("key created"), api_keys.len());
        let is_revoked = |key: &&ApiKey| key.revoked_at.is_some();
        let revoked_count = api_keys.iter().filter(is_revoked).count();
        assert_eq!(count("key revoked"), revoked_count);
        for generation in &self.stored {
            let release = ReleaseId::parse(&format!("r{generation}")).unwrap();
            let file = engine
                .files()
                .cached_file(&release)
                .expect("the file is known");
            let blob = engine
                .files()
                .blob(&file, Variant::Identity)
                .unwrap()
                .unwrap();
            let expected = format!("1\n00:00 {generation}").repeat(50);
            assert_eq!(blob.bytes(), expected.as_bytes());
        }
        self.check_catalog(engine);
    }

    fn check_catalog(&mut self, engine: &Engine) {
        let snapshot = engine.catalog().snapshot();
        for (record, generations) in &mut self.titles {
            let stored = engine.catalog().stored_record(id(*record)).unwrap();
            let begun = std::mem::take(&mut generations.begun);
            let Some(stored) = stored else {
                assert_eq!(generations.kept, None, "record {record} is lost");
                assert!(snapshot.doc(id(*record)).unwrap().is_none());
                continue;
            };
            let found: u64 = stored.title.rsplit(' ').next().unwrap().parse().unwrap();
            let is_known = generations.kept == Some(found) || begun.contains(&found);
            assert!(is_known, "record {record} has generation {found}");
            let doc = snapshot.doc(id(*record)).unwrap();
            let fragment = doc.expect("what is stored is found").fragment();
            let title = format!("\"{}\"", stored.title);
            let is_current = String::from_utf8_lossy(fragment).contains(&title);
            assert!(
                is_current,
                "record {record} is shown as it was before {found}"
            );
            generations.kept = Some(found);
        }
        let docs = snapshot.parts().iter();
        let docs = docs.map(|(segment, gone)| u64::from(segment.len()) - gone.len());
        assert_eq!(docs.sum::<u64>(), engine.stats().unwrap().records);
    }
}

/// Checks that every backup under its final name is complete, and that acknowledged ones have it.
fn check_backups(dir: &Path, said: &[String]) {
    for name in said.iter().filter_map(|line| line.strip_prefix("made ")) {
        assert!(dir.join(name).exists(), "{name} is gone");
    }
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_backup = name.starts_with("backup-");
        if is_backup && !name.ends_with(".partial") {
            let found = open(&path).verify(false).unwrap();
            assert!(found.is_empty(), "{name}: {found:?}");
        }
        if is_backup {
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
}

/// Serialises tests that start processes: a new process holds for a moment the open files of other
/// tests, locks included.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn in_turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seed, number of rounds and random numbers of a campaign, by the environment or the short form.
fn campaign(rounds: u64) -> (u64, u64, Random) {
    let seed = setting("SUBCAT_CRASH_SEED", 42);
    let rounds = setting("SUBCAT_CRASH_ROUNDS", rounds);
    (seed, rounds, Random(seed | 1))
}

#[test]
fn killed_at_work_it_keeps_everything_acknowledged() {
    let _turn = in_turn();
    let (seed, rounds, mut random) = campaign(8);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut expected = Expected::default();
    for round in 1..=rounds {
        let lifetime = Duration::from_millis(20 + random.below(1_500));
        let said = run_child(&data, round, lifetime);
        expected.take_in(&said);
        let engine = open(&data);
        expected.check(&engine);
        let found = engine.verify(false).unwrap();
        // A file that was written and not yet referred to is a note.
        let damage = found.iter().find(|finding| !finding.is_note);
        assert!(damage.is_none(), "round {round}, seed {seed}: {damage:?}");
        check_backups(dir.path(), &said);
    }
}

#[test]
fn killed_at_its_first_start_it_opens_all_the_same() {
    let _turn = in_turn();
    let (_, rounds, mut random) = campaign(20);
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let lifetime = Duration::from_micros(random.below(60_000));
        let said = run_child(&data, round, lifetime);
        let engine = open(&data);
        let mut expected = Expected::default();
        expected.take_in(&said);
        expected.check(&engine);
    }
}

/// Damages the newest segment file, and some others: a byte changes, the end is missing, or all of
/// it. Returns their number.
fn damage_segments(data: &Path, random: &mut Random) -> u64 {
    let entries = std::fs::read_dir(data.join("index")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut damaged_count = 0;
    for (age, path) in paths.iter().rev().enumerate() {
        let mut bytes = std::fs::read(path).unwrap();
        // One that was being written when its process was killed may be empty.
        if bytes.is_empty() || age != 0 && random.below(2) == 0 {
            continue;
        }
        damaged_count += 1;
        let at = random.index(bytes.len());
        match random.below(8) {
            0 => std::fs::remove_file(path).unwrap(),
            1 => std::fs::write(path, &bytes[..at]).unwrap(),
            _ => {
                bytes[at] ^= 0x10;
                std::fs::write(path, bytes).unwrap();
            }
        }
    }
    damaged_count
}

/// A data directory with a segment, and what it must have.
fn with_segment(data: &Path) -> Expected {
    let engine = open(data);
    import_films(&engine, 0..300, |_| "Generación 0".to_owned()).unwrap();
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    engine.close().unwrap();
    let mut expected = Expected::default();
    expected.take_in(&["done 0 300 0".to_owned()]);
    expected
}

/// The index is damaged before each start: the child heals it while it works, until it is killed,
/// and the next process heals what is left.
#[test]
fn killed_while_it_heals_it_keeps_everything_acknowledged() {
    let _turn = in_turn();
    let (seed, rounds, mut random) = campaign(8);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut expected = with_segment(&data);
    let (mut damaged_count, mut healed_count) = (0, 0);
    for round in 1..=rounds {
        damaged_count += damage_segments(&data, &mut random);
        let lifetime = Duration::from_millis(20 + random.below(1_500));
        let mut child = child_of(&data, round);
        child.env(DAMAGED, "");
        let said = kill_after(lifetime, child);
        expected.take_in(&said);
        damaged_count += damage_segments(&data, &mut random);
        let engine = open(&data);
        maintain(&engine);
        healed_count += engine.take_damage().len();
        expected.check(&engine);
        let found = engine.verify(false).unwrap();
        let damage = found.iter().find(|it| !it.is_note && !it.is_repaired);
        assert!(damage.is_none(), "round {round}, seed {seed}: {damage:?}");
        check_backups(dir.path(), &said);
    }
    println!("{rounds} rounds: {damaged_count} files damaged, {healed_count} times repaired");
    assert!(0 < healed_count, "nothing was there to heal");
}

/// The canary: each kind of loss is noticed.
#[test]
fn a_loss_is_noticed() {
    let _turn = in_turn();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut said = Vec::new();
    while !said.iter().any(|line: &String| line.starts_with("stored ")) {
        said.extend(run_child(&data, said.len() as u64, Duration::from_secs(1)));
    }
    let engine = open(&data);
    let expect = |lost: &[&str]| {
        let mut expected = Expected::default();
        expected.take_in(&said);
        expected.take_in(
            &lost
                .iter()
                .map(|line| (*line).to_owned())
                .collect::<Vec<_>>(),
        );
        catch_unwind(AssertUnwindSafe(|| expected.check(&engine)))
    };
    assert!(expect(&[]).is_ok());
    for lost in [
        &["done 0 1 999999999"][..],
        &["revoked 999999"],
        &["stored 999999999"],
        &["counted", "counted"],
    ] {
        assert!(expect(lost).is_err(), "nobody misses {lost:?}");
    }
}
