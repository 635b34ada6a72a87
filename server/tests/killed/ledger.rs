//! State that was acknowledged or is in doubt, and a comparison of it with a server's answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::http::{Answer, Client, FetchCounts, content_of};

/// Records whose titles change.
pub const TITLED_COUNT: u32 = 40;
/// Records with a file at upstream, each of another release.
pub const FILES_COUNT: u32 = 300;
/// Records of a large import, which become a segment at once.
pub const MASS_COUNT: u32 = 4_500;

/// Id of the record with this number.
pub fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// Number of a record with a file.
pub fn file_number(file: u32) -> u32 {
    10_000 + file
}

/// Release of such a record in a place.
pub fn release(place: u64, file: u32) -> String {
    format!("p{place}f{file}")
}

/// A value that changes: the one that counts, and those that may count instead.
#[derive(Default)]
pub struct Versions {
    pub kept: Option<u64>,
    pub begun: Vec<u64>,
}

impl Versions {
    /// A change that was acknowledged.
    pub fn done(&mut self, version: u64) {
        self.kept = Some(version);
        self.begun.clear();
    }

    /// Takes a version that was found, if it may be there.
    fn settle(&mut self, found: Option<u64>) -> bool {
        let is_known = found == self.kept || found.is_some_and(|found| self.begun.contains(&found));
        self.kept = found;
        self.begun.clear();
        is_known
    }
}

/// Downloads of a record.
#[derive(Default, Clone)]
pub struct Downloads {
    /// Found by the last check.
    pub found: u64,
    /// Answered since then, and when.
    pub answered: Vec<Instant>,
    /// Not answered: they may have been counted besides.
    pub in_doubt: u64,
}

impl Downloads {
    /// Counts that are allowed, when those answered after `synced` may be lost.
    fn allowed(&self, synced: Instant) -> std::ops::RangeInclusive<u64> {
        let safe = self.answered.iter().filter(|at| **at <= synced).count() as u64;
        let answered = self.answered.len() as u64;
        self.found + safe..=self.found + answered + self.in_doubt
    }
}

/// A key that was made.
pub struct Key {
    pub id: u64,
    pub text: String,
    /// False from the moment at which somebody began to revoke it.
    pub is_valid: bool,
    pub is_revoked: bool,
}

/// Everything that a place must remember.
#[derive(Default)]
pub struct Ledger {
    pub titles: BTreeMap<u32, Versions>,
    pub mass: Versions,
    pub downloads: BTreeMap<u32, Downloads>,
    /// Files of which a download was answered: they are stored.
    pub stored: Vec<u32>,
    pub keys: Vec<Key>,
    pub backups: Vec<String>,
}

/// Notes of the load of a round, and the steps that were under way at its end.
#[derive(Default)]
pub struct Shared {
    pub ledger: Mutex<Ledger>,
    pub is_over: AtomicBool,
    /// Names of the steps that a kill has interrupted.
    pub interrupted: Mutex<Vec<&'static str>>,
}

impl Shared {
    /// True once the server was, or is about to be, killed.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Notes that a step did not end.
    pub fn interrupt(&self, step: &'static str) {
        self.interrupted.lock().push(step);
    }
}

/// A server that was started again, to be compared.
pub struct Check<'c> {
    pub client: Client,
    pub address: &'c str,
    pub api_key: &'c str,
    pub place: u64,
    pub asked: &'c FetchCounts,
    /// Counts of downloads until then must be there.
    pub synced: Instant,
}

/// Time by which a count is durable: the heartbeat's second, and as much for a slow machine.
pub const SYNCED_AFTER: Duration = Duration::from_secs(3);

impl Check<'_> {
    /// Compares everything. What was in doubt is settled by what is found.
    pub fn run(&mut self, ledger: &mut Ledger) -> Result<(), String> {
        self.check_titles(ledger)?;
        self.check_mass(ledger)?;
        self.check_downloads(ledger)?;
        self.check_files(ledger)?;
        self.check_keys(ledger)
    }

    fn get(&mut self, path: &str) -> Result<Answer, String> {
        let answer = self.client.get(path, self.api_key);
        answer.ok_or_else(|| format!("no answer to {path}"))
    }

    fn record(&mut self, number: u32) -> Result<Option<serde_json::Value>, String> {
        let answer = self.get(&format!("/api/subtitles/{}", id(number)))?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body)
                .map(Some)
                .map_err(|error| error.to_string()),
            404 => Ok(None),
            status => Err(format!("record {number} is answered with {status}")),
        }
    }

    fn check_titles(&mut self, ledger: &mut Ledger) -> Result<(), String> {
        for (number, versions) in &mut ledger.titles {
            let record = self.record(*number)?;
            let found = record.and_then(|record| version_of(record["title"].as_str()?));
            let kept = versions.kept;
            if !versions.settle(found) {
                return Err(format!("record {number} has {found:?} instead of {kept:?}"));
            }
        }
        Ok(())
    }

    /// The records of a large import are of one of the versions, and none is missing.
    fn check_mass(&mut self, ledger: &mut Ledger) -> Result<(), String> {
        let mut total = 0;
        let versions: Vec<u64> = ledger
            .mass
            .kept
            .iter()
            .chain(&ledger.mass.begun)
            .copied()
            .collect();
        for version in versions {
            let path = format!("/api/subtitles/search?title=Masa+{version}+fin&limit=1");
            let answer = self.get(&path)?;
            let list: serde_json::Value =
                serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
            total += list["total"].as_u64().unwrap_or(u64::MAX);
        }
        let is_whole = total == u64::from(MASS_COUNT);
        let is_first = ledger.mass.kept.is_none() && total < u64::from(MASS_COUNT);
        if is_whole || is_first {
            Ok(())
        } else {
            Err(format!("{total} records of a large import are found"))
        }
    }

    fn check_downloads(&mut self, ledger: &mut Ledger) -> Result<(), String> {
        for (file, downloads) in &mut ledger.downloads {
            let record = self.record(file_number(*file))?;
            let record = record.ok_or_else(|| format!("the record of file {file} is gone"))?;
            let found = record["downloads"].as_u64().unwrap_or(u64::MAX);
            let allowed = downloads.allowed(self.synced);
            if !allowed.contains(&found) {
                return Err(format!(
                    "{found} downloads of file {file} instead of {allowed:?}"
                ));
            }
            *downloads = Downloads {
                found,
                ..Downloads::default()
            };
        }
        Ok(())
    }

    /// A file that was downloaded once is never fetched again, and has the same content.
    fn check_files(&mut self, ledger: &mut Ledger) -> Result<(), String> {
        let latest = ledger.stored.iter().rev().take(4).copied();
        for file in latest.collect::<Vec<_>>() {
            let release = release(self.place, file);
            let asked_count = || {
                self.asked
                    .lock()
                    .expect("nobody panics")
                    .get(&release)
                    .copied()
            };
            let before = asked_count();
            let path = format!("/api/subtitles/{}/download", id(file_number(file)));
            let answer = self.client.get(&path, self.api_key);
            let is_same = answer.is_some_and(|answer| answer.body == content_of(&release));
            if !is_same || asked_count() != before {
                return Err(format!("the file of release {release} is lost"));
            }
            let downloads = ledger.downloads.entry(file).or_default();
            downloads.answered.push(Instant::now());
        }
        Ok(())
    }

    fn check_keys(&mut self, ledger: &mut Ledger) -> Result<(), String> {
        for key in &mut ledger.keys {
            let mut client = Client::connect(self.address).ok_or("nobody listens")?;
            let answer = client.get("/api/subtitles/search?title=x", &key.text);
            let status = answer.map_or(0, |answer| answer.status);
            let is_expected = match status {
                200 => !key.is_revoked,
                401 => !key.is_valid,
                _ => false,
            };
            if !is_expected {
                return Err(format!("key {} is answered with {status}", key.id));
            }
            key.is_revoked = status == 401;
            key.is_valid = status == 200;
        }
        Ok(())
    }
}

/// The version in a title such as `Generación 17`.
fn version_of(title: &str) -> Option<u64> {
    title.rsplit(' ').next()?.parse().ok()
}
