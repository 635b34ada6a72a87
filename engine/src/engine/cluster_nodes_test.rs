//! Nodes that come, are stopped, are upgraded, and leave; rows that differ.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::cluster_test::{
    Node, assert_same, attach, attach_with, found, join, start, start_with, three, use_of_key,
};
use super::test_support::{import, new_account, new_api_key, open, title_of, work_dir};
use crate::catalog::SHARED_CATALOG_TABLES;
use crate::codec::encode_number;
use crate::log_rows::{LogPosition, put_position};
use crate::model::{Day, NodeId};
use crate::replication::{
    Attachment, Beat, BeatPromise, FrameVersions, Log, LogFault, MemoryLog, MonotonicClock,
    NodeStatus,
};
use crate::state::{Outcome, SHARED_STATE_TABLES};
use crate::store::{Store, Table};
use crate::{Engine, Error};

fn status(node: &Node, of: u64) -> Option<NodeStatus> {
    let nodes = node.replica.status().nodes;
    nodes.into_iter().find(|it| it.node == NodeId(of))
}

fn listed(node: &Node) -> Vec<u64> {
    let nodes = node.replica.status().nodes;
    nodes.into_iter().map(|it| it.node.0).collect()
}

fn stop(node: Node) -> std::path::PathBuf {
    let stopped = node
        .replica
        .beat("node", "1", Beat::ACCEPTS_NOTHING, BeatPromise::default());
    stopped.unwrap();
    node.engine.close().unwrap();
    node.kill()
}

fn bodies(log: &MemoryLog) -> Vec<Vec<u8>> {
    let entries = log.read(0, usize::MAX).unwrap();
    entries.into_iter().map(|entry| entry.body).collect()
}

#[test]
fn a_start_knows_what_each_node_has_said() {
    let (dir, log, [a, b, c]) = three();
    for node in [&a, &b, &c] {
        node.beat();
    }
    let stopped = stop(c);
    // With the position, or in the log behind it.
    for is_closed in [true, false] {
        b.beat();
        a.catch_up();
        a.engine.apply(vec![new_api_key(None)]).unwrap();
        b.beat();
        a.catch_up();
        let before = status(&a, 2).unwrap();
        let path = dir.path().join("node-1");
        let copy = dir.path().join(format!("copy-{is_closed}"));
        if is_closed {
            a.replica.store_position().unwrap();
        }
        super::test_support::copy_dir(&path, &copy);
        let _ = std::fs::remove_file(copy.join("lock"));
        let again = start(&copy, &log);
        assert_eq!(listed(&again), [1, 2, 3]);
        assert_eq!(
            status(&again, 3).unwrap().beat.applied,
            Beat::ACCEPTS_NOTHING
        );
        if is_closed {
            assert_eq!(status(&again, 2).unwrap().beat, before.beat);
        }
        again.catch_up();
        assert_eq!(status(&again, 2).unwrap().beat, before.beat);
    }
    // A node that joins knows it from the snapshot.
    let joined = join(dir.path(), &log, &a, 4);
    assert_eq!(
        status(&joined, 3).unwrap().beat.applied,
        Beat::ACCEPTS_NOTHING
    );
    // It accepts requests again when its beat is in the log.
    let c = start(&stopped, &log);
    c.beat();
    a.catch_up();
    assert!(status(&a, 3).unwrap().beat.applied < Beat::ACCEPTS_NOTHING);
}

#[test]
fn a_node_that_leaves_is_waited_for_by_nobody() {
    let (dir, log, [a, b, c]) = three();
    for node in [&a, &b, &c] {
        node.beat();
    }
    assert_eq!(
        c.engine.apply(vec![use_of_key(1, 7)]).unwrap(),
        [Outcome::Done]
    );
    let said = bodies(&log);
    let path = stop(c);
    let engine = open(&path);
    let leaving = attach(engine, &path, &log);
    leaving.replica.depart().unwrap();
    leaving.engine.leave_cluster().unwrap();
    leaving.engine.close().unwrap();
    let alone = open(&leaving.kill());
    assert_eq!(alone.log_position(), None);
    import(&alone, 1..=2, "alone").unwrap();
    for node in [&a, &b] {
        node.catch_up();
        assert_eq!(listed(node), [1, 2]);
    }
    // A frame of it that is in the log once more still counts once.
    log.append(1, said.last().unwrap()).unwrap();
    a.engine.close().unwrap();
    let a = start(&a.kill(), &log);
    let d = join(dir.path(), &log, &b, 4);
    d.beat();
    assert_same(&[a, b, d]);
    let d = start(&dir.path().join("node-4"), &log);
    d.catch_up();
    assert_eq!(listed(&d), [1, 2, 4]);
    let days = d.engine.usage().per_day(Day(0), Day(30_000)).unwrap();
    assert_eq!(days[0].1.requests, 7);
}

#[test]
fn a_node_leaves_while_the_log_is_away() {
    let (_dir, log, [a, _, c]) = three();
    c.beat();
    log.fail_next(LogFault::Unavailable);
    let departed = c.replica.depart();
    assert!(
        matches!(departed, Err(Error::LogUnavailable { .. })),
        "{departed:?}"
    );
    c.engine.leave_cluster().unwrap();
    c.engine.close().unwrap();
    assert_eq!(open(&c.kill()).log_position(), None);
    a.catch_up();
    assert_eq!(listed(&a), [3]);
}

#[test]
fn a_node_that_was_heard_since_is_not_dismissed() {
    let (_dir, log, [a, _, c]) = three();
    c.beat();
    a.catch_up();
    let as_of = a.replica.applied();
    c.beat();
    assert!(!a.replica.dismiss(NodeId(3), as_of).unwrap());
    assert_eq!(listed(&a), [3]);
    let as_of = a.replica.applied();
    assert!(a.replica.dismiss(NodeId(3), as_of).unwrap());
    assert!(listed(&a).is_empty());
    let departure = bodies(&log).pop().unwrap();
    // It was cut off, and is back; the frame is in the log once more.
    c.beat();
    log.append(1, &departure).unwrap();
    a.catch_up();
    assert_eq!(listed(&a), [3]);
}

#[test]
fn a_beat_that_comes_late_says_nothing() {
    let (_dir, log, [a, _, c]) = three();
    let stopped = stop(c);
    let late = bodies(&log).pop().unwrap();
    let c = start(&stopped, &log);
    c.beat();
    log.append(1, &late).unwrap();
    a.catch_up();
    let obeyed = status(&a, 3).unwrap().beat.applied;
    assert!(obeyed < Beat::ACCEPTS_NOTHING, "it accepts requests");
}

#[test]
fn in_a_log_that_is_made_anew_nobody_has_said_anything() {
    let (_dir, log, [a, b, c]) = three();
    for node in [&a, &b] {
        node.beat();
    }
    stop(c);
    a.catch_up();
    assert!(status(&a, 2).unwrap().beat_seq != 0);
    a.engine.close().unwrap();
    let path = a.kill();
    let engine = open(&path);
    engine.enter_cluster(2).unwrap();
    engine.close().unwrap();
    drop(engine);
    log.reset(2).unwrap();
    let a = start(&path, &log);
    // The other may accept keys until it notices; the one that was stopped cannot come back.
    assert_eq!(listed(&a), [1, 2]);
    let other = status(&a, 2).unwrap();
    assert_eq!((other.beat_seq, other.beat.applied), (0, 0));
    assert!(a.replica.dismiss(NodeId(2), a.replica.applied()).unwrap());
}

/// A node that is killed while it makes the log anew knows the new log for its own, also between
/// its two files, and enters it at the second try.
#[test]
fn a_log_that_was_made_and_not_entered_is_known() {
    for is_half_entered in [false, true] {
        let (_dir, log, [a, b, _]) = three();
        b.engine
            .apply(vec![new_account("eva@example.org")])
            .unwrap();
        a.catch_up();
        a.engine.close().unwrap();
        let path = a.kill();
        let engine = open(&path);
        let before = engine.log_position().unwrap();
        assert_eq!(engine.intended_epoch().unwrap(), None);
        engine.intend_epoch(2).unwrap();
        log.reset(2).unwrap();
        if is_half_entered {
            let catalog = engine.database().catalog.store();
            let position = LogPosition {
                epoch: 2,
                seq: 0,
                digest: 0,
                ..before
            };
            catalog.write(|rows| put_position(rows, &position)).unwrap();
        }
        engine.close().unwrap();
        drop(engine);
        // Its server says what to do, and no other command than that.
        let started = start(&path, &log);
        let refused = started.replica.step().unwrap_err().to_string();
        assert!(
            refused.contains("`subcat cluster reseed` again"),
            "{refused}"
        );
        assert!(!refused.contains("join"), "{refused}");
        let engine = open(&started.kill());
        assert_eq!(engine.log_position(), Some(before));
        assert_eq!(engine.intended_epoch().unwrap(), Some(2));
        engine.enter_cluster(2).unwrap();
        engine.close().unwrap();
        drop(engine);
        let a = start(&path, &log);
        a.beat();
        assert_eq!(a.engine.intended_epoch().unwrap(), None);
        assert_eq!(title_of(&a.engine, 3).unwrap(), "before 3");
        assert_eq!(a.engine.accounts().all().len(), 2);
    }
}

/// A clock that advances by a second at each reading.
fn ticking() -> MonotonicClock {
    let seconds = AtomicU64::new(0);
    Arc::new(move || Duration::from_secs(seconds.fetch_add(1, Ordering::Relaxed)))
}

#[test]
fn beats_that_are_read_while_catching_up_are_as_old_as_the_end_of_the_log() {
    let (_dir, log, [a, b, c]) = three();
    let path = c.kill();
    for _ in 0..20 {
        a.beat();
        b.beat();
    }
    let clock = ticking();
    let c = attach_with(open(&path), &path, this_program(&log, Arc::clone(&clock)));
    c.catch_up();
    let [of_a, of_b] = [1, 2].map(|node| status(&c, node).unwrap().heard_at);
    assert_eq!(of_a, of_b, "both were in the log when its end was seen");
    assert!(of_b + Duration::from_secs(20) < clock());
    // From then on a beat is news.
    let before = clock();
    b.beat();
    c.catch_up();
    assert!(before < status(&c, 2).unwrap().heard_at);
    assert_eq!(status(&c, 1).unwrap().heard_at, of_a);
}

fn this_program(log: &Arc<MemoryLog>, clock: MonotonicClock) -> Attachment {
    Attachment {
        log: Arc::clone(log) as Arc<dyn Log>,
        clock,
        incarnation: u64::MAX / 2,
        versions: FrameVersions::OF_THIS_PROGRAM,
    }
}

const OLD: FrameVersions = FrameVersions {
    oldest: 1,
    newest: 1,
};
const NEW: FrameVersions = FrameVersions {
    oldest: 1,
    newest: 2,
};

/// Versions of the frames since an entry.
fn versions_since(log: &MemoryLog, after: u64) -> Vec<u8> {
    let entries = log.read(after, usize::MAX).unwrap();
    entries.iter().map(|entry| entry.body[0]).collect()
}

/// Changes of both files on each node; returns the versions of their frames.
fn change_on_all(log: &MemoryLog, nodes: &[Node], title: &str) -> Vec<u8> {
    for node in nodes {
        node.beat();
    }
    for node in nodes {
        node.catch_up();
    }
    let after = log.state().unwrap().last;
    for node in nodes {
        import(&node.engine, 1..=3, title).unwrap();
        let account = new_account(&format!("{title}@example.org"));
        node.engine.apply(vec![account]).unwrap();
    }
    assert_same(nodes);
    for node in nodes {
        assert_eq!(title_of(&node.engine, 2).unwrap(), format!("{title} 2"));
    }
    versions_since(log, after)
}

fn upgraded(path: &Path, log: &Arc<MemoryLog>) -> Node {
    start_with(path, log, NEW)
}

#[test]
fn a_new_version_of_frames_begins_with_the_last_node_that_is_upgraded() {
    for order in [[0, 1], [1, 0]] {
        let dir = work_dir();
        let log = Arc::<MemoryLog>::default();
        let a = found(dir.path(), &log, 1);
        let b = join(dir.path(), &log, &a, 2);
        let mut nodes = vec![a, b];
        assert_eq!(change_on_all(&log, &nodes, "old"), [1; 4]);
        for (step, node_idx) in order.into_iter().enumerate() {
            let path = nodes.remove(node_idx).kill();
            let after = log.state().unwrap().last;
            let node = upgraded(&path, &log);
            // Before it has read the log, it does not know the other nodes.
            node.beat();
            assert_eq!(versions_since(&log, after), [1]);
            nodes.insert(node_idx, node);
            let expected = [1 + step as u8; 4];
            let title = format!("step{step}");
            assert_eq!(change_on_all(&log, &nodes, &title), expected, "{order:?}");
        }
        // One that comes late with the older program stops at the first newer frame.
        let late = join(dir.path(), &log, &nodes[0], 3);
        late.catch_up();
        import(&nodes[0].engine, 7..=8, "newer").unwrap();
        let refused = late.replica.step().unwrap_err().to_string();
        assert!(refused.contains("reads versions up to 1"), "{refused}");
        assert_eq!(title_of(&late.engine, 7), None);
        let late = upgraded(&late.kill(), &log);
        nodes.push(late);
        assert_same(&nodes);
        assert_eq!(title_of(&nodes[2].engine, 7).unwrap(), "newer 7");
    }
}

#[test]
fn a_node_that_may_come_back_with_the_older_program_holds_the_version_back() {
    let (_dir, log, nodes) = three();
    let mut nodes: Vec<Node> = nodes.into();
    assert_eq!(change_on_all(&log, &nodes, "old"), [1; 6]);
    let killed = nodes.pop().unwrap().kill();
    for node_idx in 0..2 {
        let path = nodes.remove(node_idx).kill();
        nodes.insert(node_idx, upgraded(&path, &log));
    }
    assert_eq!(change_on_all(&log, &nodes, "both"), [1; 4]);
    let back = start_with(&killed, &log, OLD);
    back.beat();
    nodes.push(back);
    assert_eq!(change_on_all(&log, &nodes, "back"), [1; 6]);
    nodes.pop().unwrap().kill();
    let as_of = nodes[0].replica.applied();
    assert!(nodes[0].replica.dismiss(NodeId(3), as_of).unwrap());
    assert_eq!(change_on_all(&log, &nodes, "left"), [2; 4]);
}

/// Changes a row behind the back of the log, and puts it back.
fn shows_in_sum(node: &Node, store: &Store, table: Table, row_key: &[u8]) -> bool {
    let before = node.sum();
    let stored = store.read(|rows| rows.get(table, row_key)).unwrap();
    store
        .write(|rows| rows.put(table, row_key, &encode_number(99)))
        .unwrap();
    let is_shown = node.sum() != before;
    store
        .write(|rows| match &stored {
            Some(value) => rows.put(table, row_key, value),
            None => rows.remove(table, row_key).map(drop),
        })
        .unwrap();
    assert_eq!(node.sum(), before);
    is_shown
}

#[test]
fn a_difference_in_any_shared_row_changes_the_sum() {
    let (_dir, _log, [a, _, _]) = three();
    a.engine.apply(vec![use_of_key(1, 7)]).unwrap();
    let database = a.engine.database();
    let (catalog, state) = (database.catalog.store(), database.state.store());
    for table in SHARED_CATALOG_TABLES {
        assert!(shows_in_sum(&a, catalog, *table, b"x"), "{}", table.0);
    }
    for table in SHARED_STATE_TABLES {
        assert!(shows_in_sum(&a, state, *table, b"x"), "{}", table.0);
    }
    let numbers = Table("meta");
    for name in [
        "registration",
        "last account",
        "last api key",
        "last audit entry",
        "audit entries",
        "routine audit entries",
        "latest second",
        "last usage 0000000000000001",
    ] {
        assert!(shows_in_sum(&a, state, numbers, name.as_bytes()), "{name}");
    }
    // The number of transactions and the figures are a node's own.
    assert!(!shows_in_sum(&a, state, numbers, b"applied"));
    assert!(!shows_in_sum(&a, state, Table("figures"), b"x"));
}

#[test]
fn an_open_registration_that_one_node_lacks_is_seen() {
    let (_dir, _log, nodes) = three();
    let opened = crate::state::Change::SetRegistration(true);
    let opened = opened.into_event("ana", super::test_support::now());
    let close = |engine: &Engine| {
        engine
            .database()
            .state
            .store()
            .write(|rows| rows.put(Table("meta"), b"registration", &encode_number(0)))
    };
    nodes[0].engine.apply(vec![opened]).unwrap();
    assert_same(&nodes);
    close(&nodes[2].engine).unwrap();
    for _ in 0..2 {
        for node in &nodes {
            node.beat();
        }
        for node in &nodes {
            node.catch_up();
        }
    }
    assert!(status(&nodes[0], 3).unwrap().is_diverged);
    assert!(!status(&nodes[0], 2).unwrap().is_diverged);
}

/// Each block is a durable transaction when it is loaded: with small ones a node that joins a large
/// catalog waits for the disk a hundred thousand times.
#[test]
fn a_snapshot_is_loaded_in_transactions_of_megabytes() {
    let dir = work_dir();
    let engine = open(dir.path());
    import(&engine, 1..=16_000, &"long title ".repeat(40)).unwrap();
    engine.enter_cluster(1).unwrap();
    engine.close().unwrap();
    drop(engine);
    let mut snapshot = Vec::new();
    open(dir.path()).write_snapshot(&mut snapshot).unwrap();
    assert!(6 << 20 < snapshot.len(), "{}", snapshot.len());
    let (mut blocks_count, mut rest) = (0, &snapshot[..]);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let checksum_bytes = 8;
        rest = &after[u32::from_le_bytes(*length) as usize + checksum_bytes..];
        blocks_count += 1;
    }
    // The end of each table is a block of its own, and so are header, end and the nodes of both
    // files.
    let small_count = SHARED_CATALOG_TABLES.len() + SHARED_STATE_TABLES.len() + 4;
    let full_count = snapshot.len() >> 21;
    assert!(blocks_count <= small_count + full_count, "{blocks_count}");
}
