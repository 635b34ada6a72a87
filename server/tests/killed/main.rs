//! Kills of the running program (SIGKILL) under load: nothing that it acknowledged is lost.
//!
//! A round starts `subcat serve`, compares everything with what was acknowledged before, loads it
//! with imports, downloads, key changes and backups, kills it at a random moment, and verifies the
//! data directory. Rounds follow each other on one directory, until a new one begins with a first
//! start that is killed, too. `scripts/crash --server` runs many; `SUBCAT_KILL_ROUNDS` and
//! `SUBCAT_KILL_SEED` choose how many and which. `scripts/crash --ready` measures how soon a server
//! with a million records answers again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod http;
mod ledger;
mod load;
mod program;
mod random;
mod ready;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http::{Client, FetchCounts, get, start_upstream};
use ledger::{Check, FILES_COUNT, Ledger, SYNCED_AFTER, Shared, file_number, release};
use load::{Load, line};
use program::{FileSystem, Place, Server, kill, names_in};
use random::Random;
use tempfile::TempDir;

/// Rounds after which a campaign must have interrupted every kind of step.
const ROUNDS_OF_ALL_STEPS: u64 = 100;
const STEPS: [&str; 6] = [
    "first start",
    "import",
    "download",
    "key create",
    "key revoke",
    "backup",
];
/// Rounds on one data directory, at most.
const ROUNDS_OF_PLACE: u64 = 12;
/// Rounds after which a campaign of hours tells how far it is.
const ROUNDS_OF_PROGRESS: u64 = 250;
/// One load in this number lasts long enough for flushes and merges, which come once a second.
const LONG_LOADS: u64 = 4;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Figures of a campaign.
#[derive(Default)]
struct Report {
    rounds_count: u64,
    interrupted: BTreeMap<&'static str, u64>,
    /// Work of the maintenance threads that was done under load, as the files tell.
    maintained: BTreeMap<&'static str, u64>,
    ready_after: Vec<Duration>,
    /// From the start of the process to the first answer to a search.
    answered_after: Vec<Duration>,
    acknowledged: BTreeMap<&'static str, u64>,
}

impl Report {
    fn absorb(&mut self, other: Self) {
        self.rounds_count += other.rounds_count;
        for (step, count) in other.interrupted {
            *self.interrupted.entry(step).or_default() += count;
        }
        for (task, count) in other.maintained {
            *self.maintained.entry(task).or_default() += count;
        }
        for (step, count) in other.acknowledged {
            *self.acknowledged.entry(step).or_default() += count;
        }
        self.ready_after.extend(other.ready_after);
        self.answered_after.extend(other.answered_after);
    }
}

fn percentile(durations: &[Duration], percent: usize) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last * percent).div_ceil(100))
        .copied()
        .unwrap_or_default()
}

/// An upstream.
struct Source {
    url: String,
    asked: FetchCounts,
}

/// A loss that the campaign must notice: a canary.
struct Loss {
    name: &'static str,
    /// Loses something of the data directory; the second is a copy from before the load.
    lose: fn(&Path, &Path),
}

const LOSSES: [Loss; 4] = [
    Loss {
        name: "changes of accounts, keys and counts",
        lose: |data, before| put_back(data, before, "state.redb"),
    },
    Loss {
        name: "changes of records",
        lose: |data, before| put_back(data, before, "catalog.redb"),
    },
    Loss {
        name: "counted downloads",
        lose: |data, _| empty(&data.join("counters")),
    },
    Loss {
        name: "stored files",
        lose: |data, _| empty(&data.join("blobs")),
    },
];

fn put_back(data: &Path, before: &Path, name: &str) {
    std::fs::copy(before.join(name), data.join(name)).unwrap();
}

fn empty(dir: &Path) {
    std::fs::remove_dir_all(dir).unwrap();
    std::fs::create_dir(dir).unwrap();
}

/// Names of files that maintenance makes and removes.
#[derive(Default)]
struct Files {
    segments: BTreeSet<String>,
    counters: BTreeSet<String>,
}

impl Files {
    fn of(place: &Place) -> Self {
        let names = |folder| names_in(&place.data().join(folder)).into_iter().collect();
        Self {
            segments: names("index"),
            counters: names("counters"),
        }
    }
}

/// A data directory over several rounds.
struct Scene<'s> {
    place: Place,
    number: u64,
    asked: &'s FetchCounts,
    api_key: Option<String>,
    ledger: Ledger,
    /// As the last kill left them.
    files: Files,
    killed_at: Instant,
    file_system: Option<&'s FileSystem>,
    loss: Option<&'s Loss>,
    /// False if `verify` is left out after a kill.
    is_verified: bool,
    _dirs: [TempDir; 2],
}

impl<'s> Scene<'s> {
    fn new(number: u64, source: &'s Source, file_system: Option<&'s FileSystem>) -> Self {
        let log_dir = tempfile::tempdir().unwrap();
        let root = match file_system {
            Some(file_system) => file_system.make_dir(),
            None => tempfile::tempdir().unwrap(),
        };
        Self {
            place: Place {
                root: root.path().to_path_buf(),
                log_dir: log_dir.path().to_path_buf(),
                upstream_url: source.url.clone(),
            },
            number,
            asked: &source.asked,
            api_key: None,
            ledger: Ledger::default(),
            files: Files::default(),
            killed_at: Instant::now(),
            file_system,
            loss: None,
            is_verified: true,
            _dirs: [root, log_dir],
        }
    }

    /// Kills a server that may not listen yet.
    fn kill_first_start(&self, random: &mut Random) {
        let mut child = self.place.spawn();
        std::thread::sleep(Duration::from_micros(random.below(120_000)));
        kill(&mut child);
    }

    /// The key of the checks, and records with files; made before the first load.
    fn prepare(&mut self) -> Result<String, String> {
        if let Some(api_key) = &self.api_key {
            return Ok(api_key.clone());
        }
        let create = ["key", "create", "--json", "--name", "check"];
        let limit = ["--limit", "4000000/1"];
        let output = self.place.run(&[&create[..], &limit[..]].concat());
        let made: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|_| format!("{output:?}"))?;
        let api_key = made["key"].as_str().ok_or("no key")?.to_owned();
        let lines: String = (0..FILES_COUNT)
            .map(|file| {
                let release = release(self.number, file);
                line(file_number(file), "Archivo", Some(&release))
            })
            .collect();
        if !self.place.run_with(&["import", "-"], &lines) {
            return Err("the first import fails".to_owned());
        }
        self.api_key = Some(api_key.clone());
        Ok(api_key)
    }

    fn round(
        &mut self,
        round: u64,
        random: &mut Random,
        report: &mut Report,
    ) -> Result<(), String> {
        let began = Instant::now();
        let mut server = self.place.start()?;
        report.ready_after.push(server.ready_after);
        if let Some(api_key) = &self.api_key {
            let path = "/api/subtitles/search?title=x";
            let answer = get(&server.address, path, api_key).ok_or("no answer to a search")?;
            report.answered_after.push(began.elapsed());
            if answer.status != 200 {
                return Err(format!(
                    "the first search is answered with {}",
                    answer.status
                ));
            }
        }
        let api_key = self.prepare()?;
        self.check_answers(&server, &api_key)?;
        if self.loss.is_some() {
            for name in ["state.redb", "catalog.redb"] {
                let copy = self.place.log_dir.join(name);
                std::fs::copy(self.place.data().join(name), copy).unwrap();
            }
        }
        let longest_ms = if random.below(LONG_LOADS) == 0 {
            2_500
        } else {
            300
        };
        let lifetime = Duration::from_millis(random.below(longest_ms));
        self.load_and_kill(&mut server, round, lifetime, report)?;
        if let Some(loss) = self.loss {
            (loss.lose)(&self.place.data(), &self.place.log_dir);
        }
        self.check_directory()
    }

    /// Compares everything that was acknowledged with the answers of a server.
    fn check_answers(&mut self, server: &Server, api_key: &str) -> Result<(), String> {
        let client = Client::connect(&server.address).ok_or("nobody listens")?;
        let mut check = Check {
            client,
            address: &server.address,
            api_key,
            place: self.number,
            asked: self.asked,
            synced: match self.file_system {
                // A kill loses nothing that the kernel has; a power cut loses counts of a second.
                None => self.killed_at,
                Some(_) => self
                    .killed_at
                    .checked_sub(SYNCED_AFTER)
                    .unwrap_or(self.killed_at),
            },
        };
        check.run(&mut self.ledger)
    }

    /// Loads a server for some time and kills it. What was acknowledged is in the ledger then.
    fn load_and_kill(
        &mut self,
        server: &mut Server,
        round: u64,
        lifetime: Duration,
        report: &mut Report,
    ) -> Result<(), String> {
        let shared = Shared::default();
        std::mem::swap(&mut *shared.ledger.lock(), &mut self.ledger);
        let address = server.address.clone();
        let load = Load {
            place: &self.place,
            place_number: self.number,
            address: &address,
            api_key: self.api_key.as_deref().unwrap_or_default(),
            shared: &shared,
            is_disk_cut: self.file_system.is_some(),
            round,
        };
        let killed = std::thread::scope(|scope| {
            let loading = scope.spawn(|| load.run());
            std::thread::sleep(lifetime);
            // Whoever is interrupted after this may not begin again without a server.
            let killed_at = Instant::now();
            let killed = server.kill(self.file_system).map(|()| killed_at);
            shared.is_over.store(true, Ordering::SeqCst);
            loading
                .join()
                .map_err(|_| "the load failed: see above".to_owned())?;
            killed
        });
        self.killed_at = killed?;
        if let Some(file_system) = self.file_system {
            file_system.mount_again();
        }
        self.ledger = shared.ledger.into_inner();
        for step in shared.interrupted.into_inner() {
            *report.interrupted.entry(step).or_default() += 1;
        }
        let before = std::mem::replace(&mut self.files, Files::of(&self.place));
        for (task, is_done) in [
            ("flush", !self.files.segments.is_subset(&before.segments)),
            ("merge", !before.segments.is_subset(&self.files.segments)),
            (
                "aggregate",
                !before.counters.is_subset(&self.files.counters),
            ),
        ] {
            *report.maintained.entry(task).or_default() += u64::from(is_done);
        }
        Ok(())
    }

    /// After a kill nothing is damaged, and every backup with a name is whole.
    fn check_directory(&mut self) -> Result<(), String> {
        self.verify(&["verify"])?;
        let names = names_in(&self.place.root);
        for name in std::mem::take(&mut self.ledger.backups) {
            if !names.contains(&name) {
                return Err(format!("{name} is gone"));
            }
        }
        for name in names.iter().filter(|name| name.starts_with("backup-")) {
            if !name.ends_with(".partial") {
                let path = self.place.root.join(name).display().to_string();
                self.verify(&["verify", "--data", &path])?;
            }
            std::fs::remove_dir_all(self.place.root.join(name)).unwrap();
        }
        Ok(())
    }

    fn verify(&self, arguments: &[&str]) -> Result<(), String> {
        if !self.is_verified {
            return Ok(());
        }
        let output = self.place.run(arguments);
        // What an interrupted store has left is a note, and no damage.
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{arguments:?}: {output:?}"))
    }

    fn count_acknowledged(&self, report: &mut Report) {
        let downloads = self.ledger.downloads.values();
        for (what, count) in [
            ("downloads", downloads.map(|it| it.found).sum()),
            ("keys", self.ledger.keys.len() as u64),
            ("files", self.ledger.stored.len() as u64),
        ] {
            *report.acknowledged.entry(what).or_default() += count;
        }
    }
}

/// Rounds one after another, on places that follow each other.
fn chain(seed: u64, rounds: u64, file_system: Option<&FileSystem>) -> Result<Report, String> {
    let mut random = Random::new(seed);
    let mut report = Report::default();
    let (url, asked) = start_upstream();
    let source = Source { url, asked };
    let mut place = 0;
    while report.rounds_count < rounds {
        place += 1;
        let number = seed * 1_000_000 + place;
        let mut scene = Scene::new(number, &source, file_system);
        let first_starts = if file_system.is_some() {
            0
        } else {
            random.below(3)
        };
        for _ in 0..first_starts {
            scene.kill_first_start(&mut random);
            *report.interrupted.entry("first start").or_default() += 1;
            report.rounds_count += 1;
        }
        for _ in 0..1 + random.below(ROUNDS_OF_PLACE) {
            let round = seed * 1_000_000 + report.rounds_count;
            let done = scene.round(round, &mut random, &mut report);
            done.map_err(|failure| {
                let round = report.rounds_count;
                format!(
                    "round {round}: {failure}\n  again: SUBCAT_KILL_SEED={seed} \
                     SUBCAT_KILL_ROUNDS={} scripts/crash --server",
                    round + 1
                )
            })?;
            report.rounds_count += 1;
            if report.rounds_count.is_multiple_of(ROUNDS_OF_PROGRESS) {
                println!("seed {seed}: {} rounds without a loss", report.rounds_count);
            }
        }
        scene.count_acknowledged(&mut report);
    }
    Ok(report)
}

#[test]
fn a_killed_server_has_lost_nothing_that_it_acknowledged() {
    let rounds = setting("SUBCAT_KILL_ROUNDS", 300);
    let seed = setting("SUBCAT_KILL_SEED", 1);
    let file_system = FileSystem::of_environment();
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    // A power cut is one for all who use the file system.
    let chains_count = if file_system.is_some() { 1 } else { cores };
    let started = Instant::now();
    let mut report = Report::default();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let run = |chain_idx| {
            chain(
                seed + chain_idx,
                rounds.div_ceil(chains_count),
                file_system.as_ref(),
            )
        };
        let chains: Vec<_> = (0..chains_count)
            .map(|chain_idx| scope.spawn(move || run(chain_idx)))
            .collect();
        let ended = chains.into_iter().map(|chain| chain.join().unwrap());
        ended
            .filter_map(|done| done.map(|done| report.absorb(done)).err())
            .collect()
    });
    println!(
        "{} rounds in {:.0} s, seed {seed}; interrupted: {:?}; maintained: {:?}; acknowledged: \
         {:?}; ready after p50 {:?}, p99 {:?}",
        report.rounds_count,
        started.elapsed().as_secs_f64(),
        report.interrupted,
        report.maintained,
        report.acknowledged,
        percentile(&report.ready_after, 50),
        percentile(&report.ready_after, 99)
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    if ROUNDS_OF_ALL_STEPS <= rounds && file_system.is_none() {
        for step in STEPS {
            let count = report.interrupted.get(step).copied().unwrap_or(0);
            assert!(0 < count, "no kill fell into a step: {step}");
        }
        for task in ["flush", "merge", "aggregate"] {
            let count = report.maintained.get(task).copied().unwrap_or(0);
            assert!(0 < count, "nothing was done between two kills: {task}");
        }
    }
}

/// A campaign that misses a loss shows nothing.
#[test]
fn each_loss_is_noticed() {
    const ROUNDS_MAX: u64 = 20;
    let (url, asked) = start_upstream();
    let source = Source { url, asked };
    for (number, loss) in LOSSES.iter().enumerate() {
        let mut random = Random::new(number as u64);
        let mut report = Report::default();
        let mut scene = Scene::new(number as u64, &source, None);
        scene.loss = Some(loss);
        let mut rounds = 0..ROUNDS_MAX;
        let noticed = rounds.find_map(|round| scene.round(round, &mut random, &mut report).err());
        let noticed = noticed.unwrap_or_else(|| panic!("nobody misses {}", loss.name));
        println!("{}: {noticed}", loss.name);
    }
}

/// The canary of power cuts of a file system: one that loses nothing shows nothing.
#[test]
fn a_cut_loses_what_was_not_synced() {
    let Some(file_system) = FileSystem::of_environment() else {
        return;
    };
    let dir = file_system.make_dir();
    let path = |name| dir.path().join(name);
    for name in ["synced", "not synced"] {
        std::fs::write(path(name), [b'x'; 10_000]).unwrap();
    }
    std::fs::File::open(path("synced"))
        .unwrap()
        .sync_all()
        .unwrap();
    std::fs::File::open(dir.path()).unwrap().sync_all().unwrap();
    std::fs::write(path("later"), "x").unwrap();
    file_system.shut_down();
    file_system.mount_again();
    assert_eq!(std::fs::read(path("synced")).unwrap(), [b'x'; 10_000]);
    let unsynced = std::fs::read(path("not synced")).unwrap_or_default();
    assert!(unsynced.len() < 10_000, "content is there without a sync");
    assert!(!path("later").exists(), "a name is there without a sync");
}
