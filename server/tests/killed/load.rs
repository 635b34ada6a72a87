//! Load of a round: imports, downloads, key changes, backups, at the same time.

use std::time::Instant;

use crate::http::{Client, content_of, get};
use crate::ledger::{FILES_COUNT, Key, MASS_COUNT, Shared, TITLED_COUNT, file_number, id, release};
use crate::program::Place;
use crate::random::Random;

/// Everything that a load needs.
pub struct Load<'l> {
    pub place: &'l Place,
    pub place_number: u64,
    pub address: &'l str,
    pub api_key: &'l str,
    pub shared: &'l Shared,
    /// True if the disk fails before the server is killed.
    pub is_disk_cut: bool,
    /// Makes versions, names and choices of this round differ from all others.
    pub round: u64,
}

/// An import line of a record.
pub fn line(number: u32, title: &str, release: Option<&str>) -> String {
    let id = id(number);
    let release = release.map_or(String::new(), |release| {
        format!(r#","source_release_id":"{release}""#)
    });
    format!(
        r#"{{"id":"{id}","video_type":"movie","title":"{title}","posted_at":"2024-01-01T00:00:00Z"{release}}}"#
    ) + "\n"
}

impl Load<'_> {
    /// Runs until the server is killed.
    pub fn run(&self) {
        std::thread::scope(|scope| {
            scope.spawn(|| self.import());
            scope.spawn(|| self.download(1));
            scope.spawn(|| self.download(2));
            scope.spawn(|| self.change_keys());
            if self.round % 4 == 1 {
                scope.spawn(|| self.back_up());
            }
        });
    }

    fn random(&self, stream: u64) -> Random {
        Random::new(self.round * 10 + stream)
    }

    fn import(&self) {
        let mut random = self.random(0);
        for step in 0.. {
            if self.shared.is_over() {
                return;
            }
            let version = self.round * 10_000 + step;
            let is_done = if random.below(8) == 0 {
                self.import_mass(version)
            } else {
                self.import_titles(&mut random, version)
            };
            if !is_done {
                self.shared.interrupt("import");
                return;
            }
            // Free text asks for a segment, and enough of these for a merge.
            let _ = get(self.address, "/api/subtitles/search?query=x", self.api_key);
        }
    }

    fn import_titles(&self, random: &mut Random, version: u64) -> bool {
        let from = random.below(TITLED_COUNT.into()) as u32;
        let to = TITLED_COUNT.min(from + 1 + random.below(20) as u32);
        let mut lines = String::new();
        for number in from..to {
            lines += &line(number, &format!("Generación {version}"), None);
            let mut ledger = self.shared.ledger.lock();
            ledger.titles.entry(number).or_default().begun.push(version);
        }
        let is_done = self.place.run_with(&["import", "-"], &lines);
        if is_done {
            let mut ledger = self.shared.ledger.lock();
            for number in from..to {
                ledger.titles.entry(number).or_default().done(version);
            }
        }
        is_done
    }

    fn import_mass(&self, version: u64) -> bool {
        let mut lines = String::new();
        for number in 0..MASS_COUNT {
            lines += &line(100_000 + number, &format!("Masa {version} fin"), None);
        }
        self.shared.ledger.lock().mass.begun.push(version);
        let is_done = self.place.run_with(&["import", "-"], &lines);
        if is_done {
            self.shared.ledger.lock().mass.done(version);
        }
        is_done
    }

    fn download(&self, stream: u64) {
        let mut random = self.random(stream);
        let Some(mut client) = Client::connect(self.address) else {
            return;
        };
        while !self.shared.is_over() {
            let file = random.below(FILES_COUNT.into()) as u32;
            let path = format!("/api/subtitles/{}/download", id(file_number(file)));
            let mut ledger = self.shared.ledger.lock();
            ledger.downloads.entry(file).or_default().in_doubt += 1;
            drop(ledger);
            let Some(answer) = client.get(&path, self.api_key) else {
                self.shared.interrupt("download");
                return;
            };
            if answer.status == 500 && self.is_disk_cut {
                self.shared.interrupt("download");
                return;
            }
            let release = release(self.place_number, file);
            // With the log: a disk without room, say, refuses what is not stored yet.
            assert_eq!(answer.status, 200, "{path}: {}", self.place.log_end());
            assert!(answer.body == content_of(&release), "{path}");
            let mut ledger = self.shared.ledger.lock();
            let downloads = ledger.downloads.entry(file).or_default();
            downloads.in_doubt -= 1;
            downloads.answered.push(Instant::now());
            ledger.stored.push(file);
        }
    }

    /// Makes keys and revokes every other one; what is acknowledged is in effect at once.
    fn change_keys(&self) {
        const SEARCH: &str = "/api/subtitles/search?title=x";
        for step in 0_u64.. {
            if self.shared.is_over() {
                return;
            }
            let name = format!("key {} {step}", self.round);
            let output = self
                .place
                .run(&["key", "create", "--json", "--name", &name]);
            if !output.status.success() {
                self.shared.interrupt("key create");
                return;
            }
            let made: serde_json::Value =
                serde_json::from_slice(&output.stdout).expect("it says JSON");
            let (id, text) = (made["id"].as_u64(), made["key"].as_str());
            let (id, text) = (id.expect("an id"), text.expect("a key").to_owned());
            self.shared.ledger.lock().keys.push(Key {
                id,
                text: text.clone(),
                is_valid: true,
                is_revoked: false,
            });
            if let Some(answer) = get(self.address, SEARCH, &text) {
                assert_eq!(answer.status, 200, "key {id} was made");
            }
            if step % 2 == 0 {
                continue;
            }
            self.with_key(id, |key| key.is_valid = false);
            let revoked = self.place.run(&["key", "revoke", &id.to_string()]);
            if !revoked.status.success() {
                self.shared.interrupt("key revoke");
                return;
            }
            self.with_key(id, |key| key.is_revoked = true);
            if let Some(answer) = get(self.address, SEARCH, &text) {
                assert_eq!(answer.status, 401, "key {id} was revoked");
            }
            // Showing its usage aggregates the downloads.
            self.place.run(&["key", "show", "1"]);
        }
    }

    fn with_key(&self, id: u64, change: impl FnOnce(&mut Key)) {
        let mut ledger = self.shared.ledger.lock();
        let mut keys = ledger.keys.iter_mut();
        change(keys.find(|key| key.id == id).expect("it was made"));
    }

    fn back_up(&self) {
        for step in 0.. {
            if self.shared.is_over() {
                return;
            }
            let name = format!("backup-{}-{step}", self.round);
            let path = self.place.root.join(&name).display().to_string();
            if !self.place.run(&["backup", &path]).status.success() {
                self.shared.interrupt("backup");
                return;
            }
            self.shared.ledger.lock().backups.push(name);
        }
    }
}
