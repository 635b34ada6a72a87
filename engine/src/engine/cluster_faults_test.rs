//! Histories of nodes that are killed, cut from power and cut from the log, against a model of what
//! was acknowledged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::cluster_test::{Node, assert_same, attach, found, join, start};
use super::test_support::{id, import, new_account, now, open_with, title_of, work_dir};
use crate::disk::{Disk, PowerCut};
use crate::model::{Day, FileKind, ReleaseId};
use crate::replication::{BeatPromise, Log, LogFault, MemoryLog};
use crate::state::Outcome;
use crate::{CounterLane, Email, Error, StoreKind};

/// Numbers that look random, the same for each seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// Acknowledged changes: titles of records, addresses of accounts, downloads.
#[derive(Default)]
struct Model {
    titles: BTreeMap<u64, Option<String>>,
    emails: BTreeMap<String, ()>,
    downloads: u64,
}

const RECORDS: u64 = 40;
const DOWNLOADED: u64 = 1;

struct History {
    dir: tempfile::TempDir,
    log: Arc<MemoryLog>,
    nodes: Vec<Node>,
    /// The counter lane of each node, once it is used.
    lanes: Vec<Option<CounterLane>>,
    model: Model,
    dice: Dice,
    last_node: u64,
}

impl History {
    fn new(seed: u64) -> Self {
        let dir = work_dir();
        let log = Arc::<MemoryLog>::default();
        let first = found(dir.path(), &log, 1);
        let second = join(dir.path(), &log, &first, 2);
        let mut model = Model::default();
        for number in 1..=5 {
            model
                .titles
                .insert(number, Some(format!("before {number}")));
        }
        Self {
            dir,
            log,
            nodes: vec![first, second],
            lanes: vec![None, None],
            model,
            dice: Dice(seed),
            last_node: 2,
        }
    }

    fn step(&mut self, step: u64) {
        let node_idx = self.dice.roll(self.nodes.len() as u64) as usize;
        match self.dice.roll(12) {
            0..=3 => self.import(node_idx, step),
            4 => self.delete(node_idx),
            5 => self.create_account(node_idx),
            6 => self.download(node_idx),
            7 => self.nodes[node_idx].catch_up(),
            8 => {
                let replica = &self.nodes[node_idx].replica;
                // The log may be away.
                let _ = replica.beat("node", "1", replica.applied(), BeatPromise::default());
            }
            9 => self.restart(node_idx),
            10 => self.join(node_idx),
            _ => {
                let fault = [
                    LogFault::Unavailable,
                    LogFault::StoredUnknown,
                    LogFault::LostUnknown,
                ];
                self.log.fail_next(fault[self.dice.roll(3) as usize]);
            }
        }
    }

    fn import(&mut self, node_idx: usize, step: u64) {
        let first = 1 + self.dice.roll(RECORDS);
        let last = first + self.dice.roll(5);
        let title = format!("step {step}");
        match import(&self.nodes[node_idx].engine, first..=last, &title) {
            Ok(_) => {
                for number in first..=last {
                    let title = format!("{title} {number}");
                    self.model.titles.insert(number, Some(title));
                }
            }
            Err(Error::LogUnavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn delete(&mut self, node_idx: usize) {
        let number = 1 + self.dice.roll(RECORDS);
        let engine = &self.nodes[node_idx].engine;
        match engine.catalog().delete_records(&[id(number)]) {
            Ok(unknown) => {
                let was_there = self.model.titles.insert(number, None).flatten();
                assert_eq!(unknown.is_empty(), was_there.is_some());
            }
            Err(Error::LogUnavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn create_account(&mut self, node_idx: usize) {
        let email = format!("user-{}@example.org", self.dice.roll(10));
        let engine = &self.nodes[node_idx].engine;
        match engine.apply(vec![new_account(&email)]) {
            Ok(outcomes) => {
                let is_new = matches!(outcomes[..], [Outcome::Account(_)]);
                let was_there = self.model.emails.insert(email, ()).is_some();
                assert_eq!(is_new, !was_there);
            }
            Err(Error::LogUnavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn download(&mut self, node_idx: usize) {
        let engine = &self.nodes[node_idx].engine;
        let lane =
            self.lanes[node_idx].get_or_insert_with(|| engine.usage().counter_lane().unwrap());
        for _ in 0..3 {
            lane.count(id(DOWNLOADED), None, Day(20_000)).unwrap();
        }
        self.model.downloads += 3;
        // It may fail: the entries wait in their file.
        let _ = engine.database().aggregate_counters(false);
    }

    fn restart(&mut self, node_idx: usize) {
        self.lanes[node_idx] = None;
        let path = self.nodes.remove(node_idx).kill();
        self.nodes.insert(node_idx, start(&path, &self.log));
    }

    fn join(&mut self, node_idx: usize) {
        if self.nodes.len() < 4 {
            self.last_node += 1;
            let of = &self.nodes[node_idx];
            let joined = join(self.dir.path(), &self.log, of, self.last_node);
            self.nodes.push(joined);
            self.lanes.push(None);
        }
    }

    /// Everything that was acknowledged is on every node, and nothing else.
    fn finish(&self) {
        for node in &self.nodes {
            node.catch_up();
            let aggregated = node.engine.database().aggregate_counters(false);
            // The last fault may still be waiting for an append.
            if aggregated.is_err() {
                node.engine.database().aggregate_counters(false).unwrap();
            }
        }
        assert_same(&self.nodes);
        for node in &self.nodes {
            for (number, title) in &self.model.titles {
                assert_eq!(title_of(&node.engine, *number), *title, "{number}");
            }
            for email in self.model.emails.keys() {
                let email = Email::parse(email).unwrap();
                assert!(node.engine.accounts().by_email(&email).is_some());
            }
            let downloads = node.engine.usage().downloads(id(DOWNLOADED));
            assert_eq!(downloads, self.model.downloads);
            assert_eq!(node.engine.verify(false).unwrap(), []);
        }
    }
}

#[test]
fn nodes_that_are_killed_and_cut_from_the_log_agree() {
    for seed in 0..12 {
        let mut history = History::new(seed);
        for step in 0..40 {
            history.step(step);
        }
        history.finish();
    }
}

/// Changes of every kind on a node that loses power; returns what was acknowledged.
fn change(node: &Node, release: &ReleaseId) -> (Vec<(u64, String)>, bool, bool) {
    let mut titles = Vec::new();
    let engine = &node.engine;
    if import(engine, 3..=8, "one").is_ok() {
        titles.extend((3..=8).map(|number| (number, format!("one {number}"))));
    }
    let has_account = engine.apply(vec![new_account("eva@example.org")]).is_ok();
    let stored = engine
        .files()
        .store_file(release, b"file", FileKind::ALL[0], None);
    if let Ok(mut lane) = engine.usage().counter_lane() {
        for _ in 0..5 {
            let _ = lane.count(id(DOWNLOADED), None, Day(20_000));
        }
    }
    let _ = engine.usage().sync_counters();
    let _ = engine.database().aggregate_counters(false);
    // One that failed may be in the log all the same.
    let is_second_done = import(engine, 6..=7, "two").is_ok();
    titles.retain(|(number, _)| !(6..=7).contains(number));
    if is_second_done {
        titles.extend((6..=7).map(|number| (number, format!("two {number}"))));
    }
    let _ = engine.maintain(now());
    (titles, has_account, stored.is_ok())
}

fn cut_at(prepared: &Path, logged: &[Vec<u8>], operation: u64) -> bool {
    let dir = work_dir();
    super::test_support::copy_dir(prepared, dir.path());
    let log = Arc::<MemoryLog>::default();
    log.reset(1).unwrap();
    for body in logged {
        log.append(1, body).unwrap();
    }
    let other = start(&dir.path().join("node-2"), &log);
    // A root of its own: the other node's disk stays on.
    let root = dir.path().join("cut");
    std::fs::create_dir(&root).unwrap();
    std::fs::rename(dir.path().join("node-1"), root.join("node-1")).unwrap();
    let cut = Arc::new(PowerCut::new(&root, operation, None).unwrap());
    let release = ReleaseId::parse("77").unwrap();
    let data = root.join("node-1");
    let disk = Arc::clone(&cut) as Arc<dyn Disk>;
    let acknowledged = open_with(&data, disk, StoreKind::Redb).ok().map(|engine| {
        let node = attach(engine, &data, &log);
        change(&node, &release)
    });
    let (titles, has_account, has_file) = acknowledged.unwrap_or_default();
    let left = work_dir();
    cut.write_survivors(left.path(), operation).unwrap();
    let node = start(&left.path().join("node-1"), &log);
    node.catch_up();
    node.engine.database().aggregate_counters(false).unwrap();
    let nodes = [node, other];
    assert_same(&nodes);
    for node in &nodes {
        for (number, title) in &titles {
            let found = title_of(&node.engine, *number);
            assert_eq!(found.as_ref(), Some(title), "cut {operation}, {number}");
        }
        let eva = Email::parse("eva@example.org").unwrap();
        let is_there = node.engine.accounts().by_email(&eva).is_some();
        assert!(is_there || !has_account, "cut {operation}");
        let file = node.engine.files().cached_file(&release);
        assert!(file.is_some() || !has_file, "cut {operation}");
        // Blobs come from object storage, which these nodes do not have.
        let mut found = node.engine.verify(false).unwrap();
        found.retain(|finding| !finding.file.starts_with("blobs/"));
        assert_eq!(found, [], "cut {operation}");
    }
    let downloads = nodes.map(|node| node.engine.usage().downloads(id(DOWNLOADED)));
    assert_eq!(downloads[0], downloads[1], "cut {operation}");
    cut.ops_count() > operation
}

#[test]
fn a_power_cut_at_any_operation_of_a_node_loses_nothing_acknowledged() {
    let dir = work_dir();
    let log = Arc::<MemoryLog>::default();
    let first = found(dir.path(), &log, 1);
    let second = join(dir.path(), &log, &first, 2);
    first.engine.close().unwrap();
    second.engine.close().unwrap();
    drop((first, second));
    let logged = log.read(0, usize::MAX).unwrap();
    let logged: Vec<_> = logged.into_iter().map(|entry| entry.body).collect();
    let mut operation = 0;
    while cut_at(dir.path(), &logged, operation) {
        operation += 7;
    }
    assert!(100 < operation, "{operation} operations only");
}
