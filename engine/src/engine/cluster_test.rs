//! Nodes of one process on a log in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::test_support::{
    copy_dir, id, import, new_account, new_api_key, now, open, open_as, title_of, work_dir,
};
use crate::block_on::block_on;
use crate::disk::Real;
use crate::log_rows::read_sum;
use crate::model::{
    ContentHash, Day, FileFacts, FileKind, NodeId, RecordId, ReleaseId, Usage, Variant,
};
use crate::replication::{
    Attachment, BeatPromise, FrameVersions, Log, LogFault, MemoryLog, MonotonicClock, Replica,
};
use crate::state::{Change, Outcome, StateEvent, UsageBatch, UsageDelta};
use crate::{ApiKeyId, CounterLane, Email, Engine, Error, Options, StoreKind};

/// Starts of nodes, in order, as the clock of a real one gives them.
static STARTS: AtomicU64 = AtomicU64::new(1);

pub(super) fn clock() -> MonotonicClock {
    let began = Instant::now();
    // Faster than the real one: what waits for ten seconds waits for a tenth of one.
    Arc::new(move || began.elapsed() * 100)
}

pub(super) struct Node {
    pub(super) engine: Engine,
    pub(super) replica: Arc<Replica>,
    path: PathBuf,
}

pub(super) fn start(path: &Path, log: &Arc<MemoryLog>) -> Node {
    attach(open(path), path, log)
}

pub(super) fn attach(engine: Engine, path: &Path, log: &Arc<MemoryLog>) -> Node {
    let versions = FrameVersions::OF_THIS_PROGRAM;
    attach_with(engine, path, attachment(log, versions))
}

/// A start of a program that knows these versions of frames.
pub(super) fn start_with(path: &Path, log: &Arc<MemoryLog>, versions: FrameVersions) -> Node {
    attach_with(open(path), path, attachment(log, versions))
}

fn attachment(log: &Arc<MemoryLog>, versions: FrameVersions) -> Attachment {
    Attachment {
        log: Arc::clone(log) as Arc<dyn Log>,
        clock: clock(),
        incarnation: STARTS.fetch_add(1, Ordering::Relaxed),
        versions,
    }
}

pub(super) fn attach_with(engine: Engine, path: &Path, attachment: Attachment) -> Node {
    let replica = engine.database().follow(attachment).unwrap();
    Node {
        engine,
        replica,
        path: path.to_owned(),
    }
}

impl Node {
    /// Applies what there is.
    pub(super) fn catch_up(&self) {
        while self.replica.step().unwrap() {}
    }

    pub(super) fn beat(&self) {
        self.replica
            .beat("node", "1", self.replica.applied(), BeatPromise::default())
            .unwrap();
    }

    pub(super) fn sum(&self) -> u64 {
        let database = self.engine.database();
        let catalog = database.catalog.store().read(read_sum).unwrap();
        let state = database.state.store().read(read_sum).unwrap();
        catalog.wrapping_add(state)
    }

    /// The end of a process: nothing is closed.
    pub(super) fn kill(self) -> PathBuf {
        let Self {
            engine,
            replica,
            path,
        } = self;
        drop(replica);
        drop(engine);
        path
    }
}

/// The first node of a cluster, with what the data directory had before.
pub(super) fn found(dir: &Path, log: &Arc<MemoryLog>, node: u64) -> Node {
    let path = dir.join(format!("node-{node}"));
    let engine = open_as(&path, node);
    import(&engine, 1..=5, "before").unwrap();
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    engine.enter_cluster(1).unwrap();
    engine.close().unwrap();
    drop(engine);
    log.reset(1).unwrap();
    start(&path, log)
}

/// Another node, from a snapshot of one.
pub(super) fn join(dir: &Path, log: &Arc<MemoryLog>, of: &Node, node: u64) -> Node {
    let mut snapshot = Vec::new();
    let written = of.engine.write_snapshot(&mut snapshot).unwrap();
    let path = dir.join(format!("node-{node}"));
    let engine = open_as(&path, node);
    let loaded = engine.load_snapshot(&mut snapshot.as_slice()).unwrap();
    assert_eq!(loaded, written);
    engine.close().unwrap();
    drop(engine);
    start(&path, log)
}

pub(super) fn three() -> (tempfile::TempDir, Arc<MemoryLog>, [Node; 3]) {
    let dir = work_dir();
    let log = Arc::<MemoryLog>::default();
    let a = found(dir.path(), &log, 1);
    let b = join(dir.path(), &log, &a, 2);
    let c = join(dir.path(), &log, &b, 3);
    (dir, log, [a, b, c])
}

pub(super) fn assert_same(nodes: &[Node]) {
    for node in nodes {
        node.catch_up();
    }
    for node in nodes {
        assert_eq!(node.sum(), nodes[0].sum());
        let counts = |node: &Node| node.engine.stats().unwrap().records;
        assert_eq!(counts(node), counts(&nodes[0]));
    }
}

pub(super) fn use_of_key(number: u64, requests: u64) -> StateEvent {
    let usage = Usage {
        requests,
        ..Usage::default()
    };
    StateEvent::AddUsage(UsageBatch {
        number,
        deltas: vec![UsageDelta {
            api_key: None,
            day: Day(20_000),
            usage,
            last_used_at: None,
        }],
    })
}

#[test]
fn what_one_node_changes_all_nodes_have() {
    let (_dir, _log, nodes) = three();
    let [a, b, c] = &nodes;
    assert_eq!(title_of(&c.engine, 3).unwrap(), "before 3");
    import(&b.engine, 4..=9, "after").unwrap();
    // The writer reads its own writes; the others after they have caught up.
    assert_eq!(title_of(&b.engine, 4).unwrap(), "after 4");
    assert_eq!(title_of(&a.engine, 4).unwrap(), "before 4");
    a.catch_up();
    assert_eq!(title_of(&a.engine, 4).unwrap(), "after 4");
    assert!(a.engine.catalog().set_active(id(9), false).unwrap());
    let unknown = c.engine.catalog().delete_records(&[id(1), id(77)]).unwrap();
    assert_eq!(unknown, [id(77)]);
    assert_same(&nodes);
    for node in &nodes {
        assert_eq!(title_of(&node.engine, 1), None);
        assert_eq!(title_of(&node.engine, 9), None);
        assert_eq!(title_of(&node.engine, 8).unwrap(), "after 8");
    }
}

#[test]
fn a_conflict_is_decided_the_same_everywhere() {
    let (_dir, _log, nodes) = three();
    let [a, b, _] = &nodes;
    // Neither has seen the other's change when it makes its own.
    let taken = vec![new_account("eva@example.org")];
    let first = a.engine.apply(taken.clone()).unwrap();
    let second = b.engine.apply(taken).unwrap();
    assert!(matches!(first[..], [Outcome::Account(_)]));
    assert_eq!(second, [Outcome::EmailTaken]);
    let ids = [new_api_key(None), new_api_key(None)];
    let numbers = nodes
        .iter()
        .flat_map(|node| node.engine.apply(ids.to_vec()).unwrap());
    let numbers = numbers.map(|outcome| match outcome {
        Outcome::ApiKey(api_key) => api_key.id.0,
        other => panic!("no key: {other:?}"),
    });
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_same(&nodes);
    let email = Email::parse("eva@example.org").unwrap();
    let eva = |node: &Node| node.engine.accounts().by_email(&email).unwrap();
    assert_eq!(eva(a), eva(b));
}

#[test]
fn touched_keys_are_told_to_every_node() {
    let (_dir, _log, nodes) = three();
    let [a, b, _] = &nodes;
    a.engine.apply(vec![new_api_key(None)]).unwrap();
    b.catch_up();
    assert_eq!(b.replica.take_touched().api_keys, [ApiKeyId(1)]);
    assert!(b.replica.is_beat_wanted());
    let revoke = Change::RevokeApiKey(ApiKeyId(1)).into_event("ana", now());
    a.engine.apply(vec![revoke]).unwrap();
    b.catch_up();
    assert_eq!(b.replica.take_touched().api_keys, [ApiKeyId(1)]);
    // A caller that waits until others obey waits for this entry, and not for their beats.
    let revoked_at = b.replica.applied();
    assert_eq!(a.replica.keys_changed_at(), revoked_at);
    b.beat();
    a.engine.apply(vec![use_of_key(1, 1)]).unwrap();
    a.catch_up();
    assert!(revoked_at + 1 < a.replica.applied());
    assert_eq!(a.replica.keys_changed_at(), revoked_at);
    let api_key = b.engine.accounts().api_key(ApiKeyId(1)).unwrap();
    assert!(api_key.revoked_at.is_some());
}

#[test]
fn usage_is_numbered_per_node() {
    let (_dir, _log, nodes) = three();
    for (node, requests) in nodes.iter().zip([1, 10, 100]) {
        assert_eq!(node.engine.usage().last_batch().unwrap(), 0);
        let batch = use_of_key(1, requests);
        assert_eq!(
            node.engine.apply(vec![batch.clone()]).unwrap(),
            [Outcome::Done]
        );
        assert_eq!(node.engine.apply(vec![batch]).unwrap(), [Outcome::Stale]);
        assert_eq!(node.engine.usage().last_batch().unwrap(), 1);
    }
    assert_same(&nodes);
    let days = nodes[0]
        .engine
        .usage()
        .per_day(Day(0), Day(30_000))
        .unwrap();
    assert_eq!(days[0].1.requests, 111);
}

fn count(lane: &mut CounterLane, record: RecordId, times: u64) {
    for _ in 0..times {
        lane.count(record, None, Day(20_000)).unwrap();
    }
}

#[test]
fn every_download_is_counted_once_on_every_node() {
    let (_dir, log, [a, b, c]) = three();
    let mut lane = a.engine.usage().counter_lane().unwrap();
    count(&mut lane, id(1), 3);
    count(&mut b.engine.usage().counter_lane().unwrap(), id(1), 4);
    for node in [&a, &b] {
        node.engine.database().aggregate_counters(false).unwrap();
    }
    count(&mut lane, id(1), 5);
    for node in [&a, &b, &c] {
        node.catch_up();
    }
    assert_eq!(a.engine.usage().downloads(id(1)), 12);
    assert_eq!(b.engine.usage().downloads(id(1)), 7);
    assert_eq!(c.engine.usage().downloads(id(1)), 7);
    // Killed with counts that are in a file only, and started again.
    drop(lane);
    let a = start(&a.kill(), &log);
    assert_eq!(a.engine.usage().downloads(id(1)), 12);
    a.engine.database().aggregate_counters(false).unwrap();
    let nodes = [a, b, c];
    assert_same(&nodes);
    for node in &nodes {
        assert_eq!(node.engine.usage().downloads(id(1)), 12);
    }
}

#[test]
fn an_append_that_seemed_to_fail_counts_once() {
    let (_dir, log, nodes) = three();
    log.fail_next(LogFault::StoredUnknown);
    let batch = use_of_key(1, 7);
    assert_eq!(nodes[0].engine.apply(vec![batch]).unwrap(), [Outcome::Done]);
    log.fail_next(LogFault::LostUnknown);
    let account = new_account("eva@example.org");
    let made = nodes[1].engine.apply(vec![account]).unwrap();
    assert!(matches!(made[..], [Outcome::Account(_)]));
    assert_same(&nodes);
    let days = nodes[2]
        .engine
        .usage()
        .per_day(Day(0), Day(30_000))
        .unwrap();
    assert_eq!(days[0].1.requests, 7);
}

#[test]
fn without_the_log_nothing_is_changed_and_everything_is_read() {
    let (_dir, log, nodes) = three();
    let before = nodes[0].sum();
    log.fail_next(LogFault::Unavailable);
    let refused = nodes[0].engine.apply(vec![new_account("eva@example.org")]);
    assert!(
        matches!(refused, Err(Error::LogUnavailable { .. })),
        "{refused:?}"
    );
    log.fail_next(LogFault::Unavailable);
    let refused = import(&nodes[0].engine, 1..=1, "no");
    assert!(
        matches!(refused, Err(Error::LogUnavailable { .. })),
        "{refused:?}"
    );
    assert_eq!(title_of(&nodes[0].engine, 1).unwrap(), "before 1");
    assert_eq!(nodes[0].sum(), before);
    nodes[0]
        .engine
        .apply(vec![new_account("eva@example.org")])
        .unwrap();
    assert_same(&nodes);
}

#[test]
fn a_killed_node_catches_up() {
    let (_dir, log, [a, b, c]) = three();
    import(&a.engine, 1..=3, "one").unwrap();
    let path = c.kill();
    import(&a.engine, 2..=20_000, "two").unwrap();
    b.catch_up();
    a.engine
        .apply(vec![new_account("eva@example.org")])
        .unwrap();
    let c = start(&path, &log);
    let nodes = [a, b, c];
    assert_same(&nodes);
    for node in &nodes {
        assert_eq!(title_of(&node.engine, 1).unwrap(), "one 1");
        assert_eq!(title_of(&node.engine, 19_999).unwrap(), "two 19999");
        assert_eq!(node.engine.verify(false).unwrap(), []);
    }
}

/// Records for some chunks of a catch-up, read in several parts of the log.
const MANY: u64 = 70_000;

#[test]
fn a_long_log_is_applied_while_threads_build_what_was_applied() {
    let (_dir, log, [a, b, c]) = three();
    let (path, other_path) = (b.kill(), c.kill());
    // An import of this size takes longer than the clock of the other tests lets it wait.
    let a_path = a.kill();
    let began = Instant::now();
    let attachment = Attachment {
        clock: Arc::new(move || began.elapsed()),
        ..attachment(&log, FrameVersions::OF_THIS_PROGRAM)
    };
    let a = attach_with(open(&a_path), &a_path, attachment);
    let title = format!("one {}", "long ".repeat(40));
    import(&a.engine, 1..=MANY, &title).unwrap();
    // Of chunks that are shown, are being built, and wait.
    let changed = (1..=MANY).step_by(1_000);
    import(&a.engine, changed.clone(), "two").unwrap();
    a.catch_up();

    let b = start(&path, &log);
    let mut applied = vec![b.replica.applied()];
    while b.replica.step().unwrap() {
        applied.push(b.replica.applied());
    }
    assert!(applied.is_sorted());
    assert_eq!(applied.last(), Some(&log.state().unwrap().last));

    // One that is closed in the midst of it, and one that is killed.
    for is_closed in [true, false] {
        let c = start(&other_path, &log);
        c.replica.step().unwrap();
        c.replica.step().unwrap();
        if is_closed {
            c.engine.close().unwrap();
        }
        c.kill();
    }
    let c = start(&other_path, &log);
    let nodes = [a, b, c];
    assert_same(&nodes);
    for node in &nodes {
        assert_eq!(title_of(&node.engine, 1_001).unwrap(), "two 1001");
        assert_eq!(
            title_of(&node.engine, MANY).unwrap(),
            format!("{title} {MANY}")
        );
        assert_eq!(node.engine.verify(false).unwrap(), []);
    }
}

#[test]
fn a_copy_of_a_data_directory_stops() {
    let (dir, log, [a, _, _]) = three();
    let copy = dir.path().join("copy");
    let path = a.kill();
    copy_dir(&path, &copy);
    let _ = std::fs::remove_file(copy.join("lock"));
    let old = start(&path, &log);
    let new = start(&copy, &log);
    new.engine
        .apply(vec![new_account("eva@example.org")])
        .unwrap();
    let refused = old.engine.apply(vec![new_account("leo@example.org")]);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("another process runs"), "{text}");
    assert!(old.replica.status().stopped.is_some());
    new.catch_up();
    let leo = Email::parse("leo@example.org").unwrap();
    assert_eq!(new.engine.accounts().by_email(&leo), None);
}

#[test]
fn another_log_is_not_followed() {
    let (_dir, log, [a, b, c]) = three();
    import(&a.engine, 1..=3, "one").unwrap();
    b.catch_up();
    let (a, b) = (a.kill(), b.kill());
    // Made anew, with another epoch.
    log.reset(2).unwrap();
    let refused = start(&a, &log).replica.step().unwrap_err().to_string();
    assert!(refused.contains("epoch 2"), "{refused}");
    // The same epoch, and the tail is lost.
    log.reset(1).unwrap();
    let b = start(&b, &log);
    let refused = b.replica.step().unwrap_err().to_string();
    assert!(refused.contains("this node has applied"), "{refused}");
    // Ten seconds of the clock later it is certain.
    std::thread::sleep(Duration::from_millis(110));
    let refused = b.replica.step().unwrap_err().to_string();
    assert!(refused.contains("has lost entries"), "{refused}");
    // A node that runs sees it with its next beat.
    c.replica.step().unwrap();
    drop(c);
}

/// A node of the log before, which has given no beat since, changes nothing in the new one.
#[test]
fn a_node_that_is_left_behind_harms_nobody() {
    let (_dir, log, [a, b, c]) = three();
    import(&a.engine, 1..=3, "one").unwrap();
    b.catch_up();
    c.catch_up();
    let path = a.kill();
    let engine = open(&path);
    engine.enter_cluster(2).unwrap();
    engine.close().unwrap();
    drop(engine);
    log.reset(2).unwrap();
    let refused = b.engine.apply(vec![new_account("eva@example.org")]);
    assert!(
        matches!(refused, Err(Error::LogUnavailable { .. })),
        "{refused:?}"
    );
    assert_eq!(log.state().unwrap().last, 0);
    let problem = b.replica.status().stopped.unwrap();
    assert!(problem.contains("the log has epoch 2"), "{problem}");
    let refused = import(&b.engine, 7..=8, "lost").unwrap_err().to_string();
    assert!(refused.contains("subcat cluster join"), "{refused}");
    let a = start(&path, &log);
    import(&a.engine, 9..=9, "kept").unwrap();
    assert_eq!(title_of(&a.engine, 7), None);
    a.beat();
    // The new log is longer than what this node has applied, and it has given no beat.
    while log.state().unwrap().last <= c.replica.applied() {
        a.beat();
    }
    let refused = c.replica.step().unwrap_err().to_string();
    assert!(refused.contains("the log has epoch 2"), "{refused}");
    assert!(refused.contains("subcat cluster join"), "{refused}");
}

#[test]
fn a_node_that_was_away_for_too_long_says_so() {
    let (_dir, log, [a, b, c]) = three();
    let path = c.kill();
    import(&a.engine, 1..=3, "one").unwrap();
    b.catch_up();
    log.truncate(log.state().unwrap().last).unwrap();
    let refused = start(&path, &log).replica.step().unwrap_err().to_string();
    assert!(refused.contains("was away for too long"), "{refused}");
    b.catch_up();
}

#[test]
fn beats_show_that_the_rows_are_the_same_and_when_they_are_not() {
    let (_dir, _log, nodes) = three();
    let round = || {
        for node in &nodes {
            node.beat();
        }
        for node in &nodes {
            node.catch_up();
        }
    };
    round();
    round();
    let is_diverged = |node: &Node| {
        let status = node.replica.status();
        assert_eq!(status.nodes.len(), 3);
        assert!(status.fresh_as_of.is_some());
        status.nodes.iter().any(|node| node.is_diverged)
    };
    assert!(!nodes.iter().any(is_diverged));
    // Behind the back of the log.
    let state = nodes[2].engine.database().state.store();
    let table = crate::state::FILES;
    state.write(|rows| rows.put(table, b"1", b"x")).unwrap();
    round();
    round();
    assert!(nodes.iter().all(is_diverged));
}

#[test]
fn a_data_directory_leaves_a_cluster_whole_and_may_enter_another() {
    let (_dir, _log, [a, _, _]) = three();
    count(&mut a.engine.usage().counter_lane().unwrap(), id(1), 3);
    a.engine.database().aggregate_counters(false).unwrap();
    a.engine.apply(vec![use_of_key(1, 7)]).unwrap();
    a.engine.close().unwrap();
    let path = a.kill();
    // Without its log nothing may be changed.
    let detached = open(&path);
    assert_eq!(title_of(&detached, 3).unwrap(), "before 3");
    let refused = detached.apply(vec![new_account("eva@example.org")]);
    assert!(refused.unwrap_err().to_string().contains("cluster.log"));
    assert!(import(&detached, 1..=1, "no").is_err());
    detached.leave_cluster().unwrap();
    detached.close().unwrap();
    drop(detached);
    let alone = open(&path);
    assert_eq!(alone.log_position(), None);
    assert_eq!(alone.usage().downloads(id(1)), 3);
    assert_eq!(alone.usage().last_batch().unwrap(), 1);
    count(&mut alone.usage().counter_lane().unwrap(), id(1), 2);
    alone.database().aggregate_counters(false).unwrap();
    import(&alone, 1..=9, "alone").unwrap();
    assert_eq!(alone.usage().downloads(id(1)), 5);
    alone.enter_cluster(4).unwrap();
    alone.close().unwrap();
    drop(alone);
    let log = Arc::<MemoryLog>::default();
    log.reset(4).unwrap();
    let again = start(&path, &log);
    import(&again.engine, 9..=10, "again").unwrap();
    assert_eq!(title_of(&again.engine, 10).unwrap(), "again 10");
    assert_eq!(again.engine.usage().downloads(id(1)), 5);
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let (dir, _log, [a, _, _]) = three();
    let mut snapshot = Vec::new();
    a.engine.write_snapshot(&mut snapshot).unwrap();
    let load = |bytes: &[u8], name: &str| {
        let engine = open(&dir.path().join(name));
        let loaded = engine.load_snapshot(&mut &*bytes);
        loaded.map(drop).unwrap_err()
    };
    for (place, name) in [
        (30, "x"),
        (snapshot.len() / 2, "y"),
        (snapshot.len() - 12, "z"),
    ] {
        let mut damaged = snapshot.clone();
        damaged[place] ^= 1;
        assert!(matches!(load(&damaged, name), Error::Corrupt { .. }));
    }
    let cut = load(&snapshot[..snapshot.len() - 30], "cut");
    assert!(matches!(cut, Error::Corrupt { .. }), "{cut:?}");
    for (more, name) in [(&[0][..], "longer"), (&snapshot[..], "twice")] {
        let long = load(&[&snapshot[..], more].concat(), name);
        let sentence = long.to_string();
        assert!(sentence.contains("ends with the block"), "{sentence}");
    }
}

#[test]
fn a_node_in_memory_follows_too() {
    let (_dir, log, [a, _, _]) = three();
    let mut snapshot = Vec::new();
    a.engine.write_snapshot(&mut snapshot).unwrap();
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Memory,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(Path::new("unused"), options).unwrap();
    engine.load_snapshot(&mut snapshot.as_slice()).unwrap();
    // Its position is read when it is opened, which one in memory is once.
    assert_eq!(engine.log_position(), None);
    assert_eq!(title_of(&engine, 3).unwrap(), "before 3");
    drop(log);
}

#[test]
fn a_frame_that_is_in_the_log_twice_is_skipped_by_a_node_that_joins_between() {
    let (dir, log, [a, b, _]) = three();
    log.fail_next(LogFault::StoredUnknown);
    a.engine.apply(vec![new_api_key(None)]).unwrap();
    let last = log.state().unwrap().last;
    let twice = log.read(last - 2, usize::MAX).unwrap();
    assert_eq!(twice[0].body, twice[1].body);
    // B has applied the first of them only.
    let between = Arc::<MemoryLog>::default();
    between.reset(1).unwrap();
    for entry in log.read(0, usize::MAX).unwrap() {
        if entry.seq < last {
            between.append(1, &entry.body).unwrap();
        }
    }
    let b = start(&b.kill(), &between);
    b.catch_up();
    let mut snapshot = Vec::new();
    b.engine.write_snapshot(&mut snapshot).unwrap();
    let path = dir.path().join("node-4");
    let engine = open_as(&path, 4);
    engine.load_snapshot(&mut snapshot.as_slice()).unwrap();
    engine.close().unwrap();
    drop(engine);
    let joined = start(&path, &log);
    assert_same(&[a, joined]);
}

#[test]
fn a_clock_that_was_set_back_costs_nothing() {
    let (_dir, log, [a, b, _]) = three();
    a.engine.apply(vec![new_api_key(None)]).unwrap();
    let path = a.kill();
    let engine = open(&path);
    let replica = engine
        .follow(Arc::clone(&log) as Arc<dyn Log>, clock(), 0)
        .unwrap();
    let made = engine.apply(vec![new_api_key(None)]).unwrap();
    assert!(matches!(made[..], [Outcome::ApiKey(_)]), "{made:?}");
    let a = Node {
        engine,
        replica,
        path,
    };
    assert_same(&[a, b]);
}

#[test]
fn a_backup_of_a_node_is_a_data_directory_alone() {
    let (dir, log, [a, _, _]) = three();
    count(&mut a.engine.usage().counter_lane().unwrap(), id(1), 3);
    let backup = dir.path().join("backup");
    a.engine.backup(&backup).unwrap();
    let copy = open(&backup);
    assert_eq!(copy.log_position(), None);
    assert_eq!(copy.usage().downloads(id(1)), 3);
    import(&copy, 1..=9, "alone").unwrap();
    assert_eq!(title_of(&copy, 9).unwrap(), "alone 9");
    // Without its log, too.
    log.fail_next(LogFault::Unavailable);
    count(&mut a.engine.usage().counter_lane().unwrap(), id(1), 3);
    a.engine.backup(&dir.path().join("another")).unwrap();
}

#[test]
fn all_nodes_serve_the_file_that_was_known_first() {
    let (_dir, log, nodes) = three();
    let [a, b, _] = &nodes;
    let release = ReleaseId::parse("77").unwrap();
    let store = |node: &Node, content: &[u8], replaces: Option<ContentHash>| {
        let facts = FileFacts {
            kind: FileKind::ALL[0],
            upstream_name: None,
            refetch_at: None,
            replaces,
        };
        let stored = node.engine.files().store_fetched(&release, content, facts);
        stored.unwrap()
    };
    let known = |node: &Node| node.engine.files().cached_file(&release).unwrap();
    // The second one has fetched without knowing of the first.
    let first = store(a, b"first", None);
    assert_eq!(store(b, b"second", None), first);
    assert_same(&nodes);
    assert!(nodes.iter().all(|node| known(node) == first));
    // It is not here, but the row of its file stays.
    let opened = block_on(b.engine.files().fetch_blob(&first, Variant::Identity));
    assert!(matches!(opened, Err(Error::Source { .. })), "{opened:?}");
    let third = store(b, b"third", Some(first.content));
    assert_ne!(third, first);
    // While the log is away, too.
    log.fail_next(LogFault::Unavailable);
    let fourth = store(a, b"fourth", Some(first.content));
    assert_eq!(known(a), fourth, "until it hears of the third");
    a.catch_up();
    assert_eq!(known(a), third);
    log.fail_next(LogFault::Unavailable);
    assert_eq!(store(a, b"fifth", Some(first.content)), third);
    a.replica.announce().unwrap();
    assert_same(&nodes);
    assert!(nodes.iter().all(|node| known(node) == third));
}

#[test]
fn a_file_is_kept_while_the_log_is_away_and_announced_later() {
    let (_dir, log, nodes) = three();
    let [a, b, _] = &nodes;
    let release = ReleaseId::parse("77").unwrap();
    log.fail_next(LogFault::Unavailable);
    let stored = a
        .engine
        .files()
        .store_file(&release, b"file", FileKind::ALL[0], None);
    let stored = stored.unwrap();
    assert_eq!(a.engine.files().cached_file(&release), Some(stored.clone()));
    b.catch_up();
    assert_eq!(b.engine.files().cached_file(&release), None);
    log.fail_next(LogFault::Unavailable);
    assert!(a.replica.announce().is_err());
    a.replica.announce().unwrap();
    assert_same(&nodes);
    assert_eq!(b.engine.files().cached_file(&release), Some(stored));
}
