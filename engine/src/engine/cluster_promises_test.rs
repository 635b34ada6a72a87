//! Promises of a node of a cluster: rows that are counted, changes that it can apply, progress over
//! any link.

use std::sync::Arc;
use std::time::Duration;

use super::cluster_test::{Node, assert_same, attach_with, clock, join, start, three};
use super::test_support::{copy_dir, import, new_api_key, now, open, title_of, with_store};
use crate::database::STATE_FILE;
use crate::limits::LOG_READ_BYTES_MIN;
use crate::model::{ApiKeyId, FileKind, ReleaseId};
use crate::replication::{
    AppendError, Attachment, FrameVersions, Log, LogEntry, LogState, MemoryLog, ReadError,
};
use crate::state::{Change, StateEvent};
use crate::store::Table;
use crate::{Error, MaintenanceTask};

fn scrub(node: &Node) {
    let task = MaintenanceTask::Scrub;
    while node.engine.run_task(task, now()).unwrap() {}
}

fn problem(node: &Node) -> String {
    let stopped = node.replica.step().unwrap_err().to_string();
    assert_eq!(node.replica.status().stopped, Some(stopped.clone()));
    stopped
}

#[test]
fn rows_that_were_lost_are_counted() {
    let (dir, log, [a, b, c]) = three();
    a.engine
        .apply(vec![new_api_key(None), new_api_key(None)])
        .unwrap();
    for node in [&b, &c] {
        node.catch_up();
        scrub(node);
        assert_eq!(node.engine.take_damage(), []);
    }
    c.engine.close().unwrap();
    let path = c.kill();
    // As a repair does that could not reach a page.
    with_store(&path, &STATE_FILE, |store| {
        let lost = store.write(|rows| rows.remove(Table("api_keys"), &2u64.to_be_bytes()));
        assert!(lost.unwrap());
    });
    let c = start(&path, &log);
    c.catch_up();
    let found = c.engine.verify(false).unwrap();
    assert!(
        found
            .iter()
            .any(|found| found.problem.contains("cluster join")),
        "{found:?}"
    );
    scrub(&c);
    assert!(problem(&c).contains("subcat cluster join"));
    let refused = c.engine.apply(vec![new_api_key(None)]);
    assert!(matches!(refused, Err(Error::Cluster { .. })), "{refused:?}");
    // After a start as well.
    c.engine.close().unwrap();
    let c = start(&c.kill(), &log);
    assert!(problem(&c).contains("state.redb"));
    drop(c.kill());
    let joined = join(dir.path(), &log, &b, 4);
    assert_same(&[a, b, joined]);
}

#[test]
fn a_node_without_space_obeys_and_appends_nothing_that_it_cannot_apply() {
    let (_dir, log, [a, b, _c]) = three();
    a.engine.apply(vec![new_api_key(None)]).unwrap();
    b.catch_up();
    b.engine.database().data_dir().reserve(u64::MAX / 2);
    let before = log.state().unwrap().last;
    let refused = import(&b.engine, 20..21, "refused").unwrap_err();
    assert!(matches!(refused, Error::Space { .. }), "{refused}");
    assert_eq!(log.state().unwrap().last, before);
    // Others go on, and it obeys what ends keys.
    import(&a.engine, 30..40, "later").unwrap();
    let revoke = Change::RevokeApiKey(ApiKeyId(1)).into_event("command line", now());
    a.engine.apply(vec![revoke]).unwrap();
    import(&a.engine, 40..41, "later").unwrap();
    assert!(matches!(b.replica.step(), Err(Error::Space { .. })));
    assert!(
        b.engine
            .accounts()
            .api_key(ApiKeyId(1))
            .unwrap()
            .revoked_at
            .is_some()
    );
    assert_eq!(b.replica.obeyed(), log.state().unwrap().last);
    assert!(b.replica.applied() < b.replica.obeyed());
    assert_eq!(title_of(&b.engine, 3).unwrap(), "before 3");
    assert_eq!(title_of(&b.engine, 30), None);
    // It is heard, and says that it does not apply.
    b.beat();
    a.catch_up();
    let nodes = a.replica.status().nodes;
    let heard = nodes.iter().find(|it| it.node == b.replica.node()).unwrap();
    assert!(!heard.beat.can_apply);
    b.engine.database().data_dir().reserve(0);
    assert_same(&[a, b]);
}

/// The part of a damaged row in the sum is not known: it is not taken out of it again.
#[test]
fn a_row_that_is_damaged_while_it_runs_stops_a_node_that_removes_it() {
    let (_dir, _log, [a, b, _c]) = three();
    let release = ReleaseId::parse("r1").unwrap();
    let content = b"1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
    let stored = a
        .engine
        .files()
        .store_file(&release, content, FileKind::Srt, None);
    stored.unwrap();
    b.catch_up();
    let store = b.engine.database().state.store();
    let damaged = store.write(|rows| rows.discredit(Table("files"), b"r1"));
    damaged.unwrap();
    let forget = StateEvent::ForgetFile(release);
    a.engine.apply(vec![forget]).unwrap();
    assert!(problem(&b).contains("subcat cluster join"));
}

#[test]
fn a_data_directory_that_was_set_back_is_noticed() {
    let (dir, log, [a, b, _c]) = three();
    b.beat();
    b.engine.close().unwrap();
    let path = b.kill();
    let older = dir.path().join("older");
    copy_dir(&path, &older);
    // A start after a kill continues, whatever it had appended.
    for _ in 0..2 {
        let b = start(&path, &log);
        b.engine.apply(vec![new_api_key(None)]).unwrap();
        b.beat();
        drop(b.kill());
    }
    a.catch_up();
    let b = start(&older, &log);
    let stopped = loop {
        match b.replica.step() {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(stopped.contains("set back to an older copy"), "{stopped}");
}

/// A log behind a link that brings this number of bytes in time.
struct SlowLog {
    all: Arc<MemoryLog>,
    bytes_max: usize,
}

impl Log for SlowLog {
    fn create(&self, epoch: u64) -> Result<(), ReadError> {
        self.all.create(epoch)
    }

    fn reset(&self, epoch: u64) -> Result<(), ReadError> {
        self.all.reset(epoch)
    }

    fn state(&self) -> Result<LogState, ReadError> {
        self.all.state()
    }

    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError> {
        self.all.append(epoch, body)
    }

    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError> {
        if self.bytes_max < bytes_max {
            return Err(ReadError::Unavailable("the time is over".into()));
        }
        self.all.read(after, bytes_max)
    }

    fn wait(&self, after: u64, at_most: Duration) {
        self.all.wait(after, at_most);
    }

    fn truncate(&self, through: u64) -> Result<(), ReadError> {
        self.all.truncate(through)
    }
}

#[test]
fn a_node_behind_a_slow_link_catches_up() {
    let (_dir, log, [a, b, c]) = three();
    b.engine.close().unwrap();
    let path = b.kill();
    for round in 0..30 {
        import(&a.engine, round * 50..(round + 1) * 50, "later").unwrap();
    }
    let slow = SlowLog {
        all: Arc::clone(&log),
        bytes_max: LOG_READ_BYTES_MIN,
    };
    let attachment = Attachment {
        log: Arc::new(slow),
        clock: clock(),
        incarnation: u64::MAX / 2,
        versions: FrameVersions::OF_THIS_PROGRAM,
    };
    let b = attach_with(open(&path), &path, attachment);
    let mut failures_count = 0;
    loop {
        match b.replica.step() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                assert!(matches!(error, Error::LogUnavailable { .. }), "{error}");
                failures_count += 1;
            }
        }
    }
    assert!((1..4).contains(&failures_count), "{failures_count}");
    assert_eq!(title_of(&b.engine, 1_499).unwrap(), "later 1499");
    assert_same(&[a, b, c]);
}
