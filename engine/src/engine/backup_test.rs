//! A database that is backed up while it changes, and a backup that is restored.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::test_support::work_dir;
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::error::Error;
use crate::model::{
    ApiKeyId, Day, DraftValue, FileKind, NodeId, RecordDraft, RecordId, ReleaseId, Scopes,
    Timestamp, Variant,
};
use crate::state::{Change, NewApiKey, StateEvent};
use crate::{Engine, Options, StoreKind, restore};

fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).unwrap()
}

fn real() -> Arc<dyn Disk> {
    Arc::new(Real)
}

fn open_with(dir: &Path, disk: Arc<dyn Disk>) -> crate::Result<Engine> {
    let options = Options {
        disk,
        store: StoreKind::Redb,
        counter_lanes: 1,
        node: NodeId(1),
    };
    Engine::open(dir, options)
}

fn open(dir: &Path) -> Engine {
    open_with(dir, real()).unwrap()
}

fn id(number: u64) -> RecordId {
    RecordId::from_bytes(u128::from(number).to_be_bytes())
}

fn import(engine: &Engine, numbers: std::ops::Range<u64>) {
    let mut importer = engine.catalog().importer();
    for number in numbers {
        let id = id(number).to_string();
        let title = format!("Uno {number}");
        let draft = RecordDraft {
            id: DraftValue::Text(Cow::Borrowed(&id)),
            video_type: DraftValue::Text(Cow::Borrowed("movie")),
            title: DraftValue::Text(Cow::Borrowed(&title)),
            posted_at: DraftValue::Text(Cow::Borrowed("2020-01-02T03:04:05Z")),
            ..RecordDraft::default()
        };
        importer.push(draft).unwrap().unwrap();
    }
    importer.finish(&mut |_| {}).unwrap();
}

fn release(number: u64) -> ReleaseId {
    ReleaseId::parse(&number.to_string()).unwrap()
}

fn make_key(engine: &Engine) {
    let change = Change::CreateApiKey(NewApiKey {
        account: None,
        name: "laptop".into(),
        digest: [1; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    });
    engine
        .apply(vec![change.into_event("test", now())])
        .unwrap();
}

/// Records, a delta, a key, files, downloads aggregated and not.
fn live(engine: &Engine) {
    import(engine, 0..300);
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    import(engine, 300..310);
    make_key(engine);
    for number in 0..3 {
        let content = format!("1\n00:00 {number}");
        let kind = FileKind::Srt;
        let stored = engine
            .files()
            .store_file(&release(number), content.as_bytes(), kind, None);
        let hash = stored.unwrap().content;
        engine
            .files()
            .store_variant(&hash, Variant::Gzip, b"gz")
            .unwrap();
    }
    let mut lane = engine.usage().counter_lane().unwrap();
    for number in 0..5 {
        lane.count(id(number), Some(ApiKeyId(1)), Day(20_000))
            .unwrap();
    }
}

/// Everything of [`live`] is there.
fn check(engine: &Engine) {
    let mut exported = 0;
    let export = engine.catalog().export(&mut |record| {
        assert_eq!(record.title, format!("Uno {exported}"));
        exported += 1;
        Ok(())
    });
    export.unwrap();
    assert_eq!(exported, 310);
    assert!(engine.catalog().snapshot().doc(id(305)).unwrap().is_some());
    assert_eq!(engine.accounts().api_keys().len(), 1);
    assert_eq!(engine.accounts().audit_log(None, 9).unwrap().len(), 1);
    let (usage, _) = engine.usage().api_key_totals(ApiKeyId(1)).unwrap();
    assert_eq!(usage.downloads, 5);
    assert_eq!(engine.usage().downloads(id(4)), 1);
    for number in 0..3 {
        let file = engine.files().cached_file(&release(number)).unwrap();
        assert!(
            engine
                .files()
                .blob(&file, Variant::Identity)
                .unwrap()
                .is_some()
        );
    }
    assert_eq!(engine.verify(false).unwrap(), []);
}

#[test]
fn a_backup_is_a_data_directory_with_everything() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("backups/monday"));
    let engine = open(&data);
    live(&engine);
    let summary = engine.backup(&copy).unwrap();
    assert_eq!((summary.records, summary.files), (310, 3));
    assert_eq!(summary.left_out, []);
    assert!(matches!(engine.backup(&copy), Err(Error::Exists { .. })));
    // It shares nothing with later changes.
    import(&engine, 310..320);
    make_key(&engine);
    check(&open(&copy));
    assert_eq!(engine.verify(false).unwrap(), []);
    let names = std::fs::read_dir(dir.path().join("backups")).unwrap();
    assert_eq!(names.count(), 1, "nothing is left beside it");
}

fn blob_path(dir: &Path, engine: &Engine, number: u64) -> std::path::PathBuf {
    let file = engine.files().cached_file(&release(number)).unwrap();
    let hash = file.content.to_string();
    dir.join("blobs").join(&hash[..2]).join(hash)
}

fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn a_dated_backup_links_what_the_newest_one_has_whole() {
    let dir = work_dir();
    let (data, folder) = (dir.path().join("data"), dir.path().join("backups"));
    let engine = open(&data);
    live(&engine);
    let first = engine.back_up_dated(&folder, now()).unwrap();
    assert_eq!(first.path, folder.join("2023-11-14T221320Z"));
    assert_eq!((first.summary.files, first.summary.reused_files), (3, 0));
    let damaged = blob_path(&first.path, &engine, 1);
    std::fs::write(&damaged, "1\n00:00 X").unwrap();
    let forget = StateEvent::ForgetFile(release(2));
    engine.apply(vec![forget]).unwrap();
    let stored = engine
        .files()
        .store_file(&release(9), b"1\n00:00 new", FileKind::Srt, None);
    stored.unwrap();
    let second = engine
        .back_up_dated(&folder, now().plus_seconds(1))
        .unwrap();
    let counts = (second.summary.files, second.summary.reused_files);
    assert_eq!(counts, (3, 1), "one linked, one damaged, one new");
    let path = |number| blob_path(&second.path, &engine, number);
    assert_eq!(inode(&path(0)), inode(&blob_path(&first.path, &engine, 0)));
    assert_ne!(inode(&path(1)), inode(&damaged));
    assert_eq!(open(&second.path).verify(false).unwrap(), []);
    // What has its name is never written to again: the next free second is taken.
    let third = engine
        .back_up_dated(&folder, now().plus_seconds(1))
        .unwrap();
    assert_eq!(third.path, folder.join("2023-11-14T221322Z"));
    assert_eq!(open(&second.path).verify(false).unwrap(), []);
    let inside = engine.back_up_dated(&second.path, now());
    assert!(matches!(inside, Err(Error::Exists { .. })), "{inside:?}");
}

#[test]
fn the_oldest_dated_backups_go_and_nothing_else() {
    let dir = work_dir();
    let folder = dir.path().join("backups");
    let engine = open(&dir.path().join("data"));
    live(&engine);
    let mut paths = Vec::new();
    for seconds in 0..4 {
        let at = now().plus_seconds(seconds);
        paths.push(engine.back_up_dated(&folder, at).unwrap().path);
    }
    let other = folder.join("before the move");
    engine.backup(&other).unwrap();
    std::fs::write(folder.join("2020-01-01T000000Z"), "a file").unwrap();
    // In use: it stays.
    let opened = open(&paths[0]);
    let removed = engine.remove_older_backups(&folder, 2).unwrap();
    assert_eq!(removed, [paths[1].clone()]);
    drop(opened);
    let removed = engine.remove_older_backups(&folder, 2).unwrap();
    assert_eq!(removed, [paths[0].clone()]);
    assert!(other.exists() && folder.join("2020-01-01T000000Z").exists());
    assert!(engine.remove_older_backups(&folder, 2).unwrap().is_empty());
    for path in &paths[2..] {
        check(&open(path));
    }
    // Linked blobs outlive the backup that they were copied for.
    assert_eq!(
        crate::newest_backup(&Real, &folder).unwrap().as_ref(),
        paths.last()
    );
}

#[test]
fn a_half_removed_backup_is_not_one_and_goes_next() {
    let dir = work_dir();
    let folder = dir.path().join("backups");
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
    let engine = open_with(&dir.path().join("data"), disk).unwrap();
    live(&engine);
    let first = engine.back_up_dated(&folder, now()).unwrap().path;
    engine
        .back_up_dated(&folder, now().plus_seconds(1))
        .unwrap();
    // The sync after `format` was removed.
    faulty.set_fault(Fault::at(faulty.ops_count() + 1));
    engine.remove_older_backups(&folder, 1).unwrap_err();
    faulty.set_fault(Fault::NONE);
    let refused = restore(&real(), &first, &dir.path().join("new"), NodeId(1));
    assert!(matches!(refused, Err(Error::Unfinished { .. })));
    assert_eq!(engine.remove_older_backups(&folder, 1).unwrap(), [first]);
}

#[test]
fn an_interrupted_backup_is_gone_on_with() {
    let dir = work_dir();
    let folder = dir.path().join("backups");
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
    let engine = open_with(&dir.path().join("data"), disk).unwrap();
    live(&engine);
    let before = faulty.ops_count();
    engine.backup(&dir.path().join("whole")).unwrap();
    let ops_count = faulty.ops_count() - before;
    // Killed with its last operations: everything is copied, and it has not got its name.
    faulty.set_fault(Fault {
        first: faulty.ops_count() + ops_count - 30,
        count: u64::MAX,
        errno: Fault::EIO,
    });
    engine.back_up_dated(&folder, now()).unwrap_err();
    faulty.set_fault(Fault::NONE);
    let left = blob_path(&folder.join("backup.partial"), &engine, 0);
    let inode_before = inode(&left);
    std::fs::write(blob_path(&folder.join("backup.partial"), &engine, 1), "cut").unwrap();
    let gone = blob_path(&folder.join("backup.partial"), &engine, 2);
    let forget = StateEvent::ForgetFile(release(2));
    engine.apply(vec![forget]).unwrap();
    let at = now().plus_seconds(7);
    let made = engine.back_up_dated(&folder, at).unwrap();
    assert_eq!((made.summary.files, made.summary.reused_files), (2, 1));
    assert_eq!(inode(&blob_path(&made.path, &engine, 0)), inode_before);
    let name = gone.strip_prefix(folder.join("backup.partial")).unwrap();
    assert!(!made.path.join(name).exists(), "it was forgotten meanwhile");
    assert_eq!(open(&made.path).verify(false).unwrap(), []);
    assert!(!folder.join("backup.partial").exists());
}

#[test]
fn a_backup_of_what_is_changing_holds_whole_changes() {
    let dir = work_dir();
    let engine = open(&dir.path().join("data"));
    live(&engine);
    let copy = dir.path().join("copy");
    std::thread::scope(|scope| {
        scope.spawn(|| import(&engine, 310..20_000));
        scope.spawn(|| {
            for _ in 0..50 {
                make_key(&engine);
            }
        });
        engine.backup(&copy).unwrap();
    });
    let copied = open(&copy);
    assert_eq!(copied.verify(false).unwrap(), []);
    let lines = copied.accounts().audit_log(None, 100).unwrap();
    assert_eq!(lines.len(), copied.accounts().api_keys().len());
    assert!(310 <= copied.stats().unwrap().records);
}

#[test]
fn a_damaged_file_is_left_out_and_told() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&data);
    live(&engine);
    let hash = engine
        .files()
        .cached_file(&release(1))
        .unwrap()
        .content
        .to_string();
    let path = data.join("blobs").join(&hash[..2]).join(&hash);
    std::fs::write(&path, "1\n00:00 X").unwrap();
    let summary = engine.backup(&copy).unwrap();
    assert_eq!(summary.files, 2);
    assert!(summary.left_out[0].file.ends_with(&hash));
    let copied = open(&copy);
    assert_eq!(copied.files().cached_file(&release(1)), None);
    assert_eq!(copied.verify(false).unwrap(), []);
}

#[test]
fn a_fault_anywhere_makes_no_backup_or_a_whole_one_and_harms_nothing() {
    let dir = work_dir();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
    let engine = open_with(&dir.path().join("data"), disk).unwrap();
    live(&engine);
    let before = faulty.ops_count();
    engine.backup(&dir.path().join("first")).unwrap();
    let ops_count = faulty.ops_count() - before;
    let copy = dir.path().join("copy");
    for op_idx in (0..ops_count).step_by(5) {
        // Nothing more is written: as if the process was killed.
        let first = faulty.ops_count() + op_idx;
        faulty.set_fault(Fault {
            first,
            count: u64::MAX,
            errno: Fault::ENOSPC,
        });
        let outcome = engine.backup(&copy);
        faulty.set_fault(Fault::NONE);
        if op_idx.is_multiple_of(2) {
            // Otherwise the next one continues with what this one has left.
            let _ = std::fs::remove_dir_all(dir.path().join("copy.partial"));
        }
        // The first backup aggregated counters, so this one takes fewer operations.
        assert!(outcome.is_err() || ops_count < op_idx + 50, "{op_idx}");
        if copy.exists() {
            // Whole, even if only its directory was not synced yet.
            check(&open(&copy));
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    engine.backup(&copy).unwrap();
    check(&open(&copy));
    check(&engine);
}

#[test]
fn a_restored_backup_is_what_it_was_and_the_old_one_is_kept() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&data);
    live(&engine);
    engine.backup(&copy).unwrap();
    import(&engine, 310..400);
    let refused = restore(&real(), &copy, &data, NodeId(1));
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    engine.close().unwrap();
    drop(engine);
    let restored = restore(&real(), &copy, &data, NodeId(1)).unwrap();
    assert_eq!((restored.records, restored.files), (310, 3));
    check(&open(&data));
    let replaced = restored.replaced.unwrap();
    assert_eq!(open(&replaced).stats().unwrap().records, 400);
    let elsewhere = dir.path().join("new/place");
    let restored = restore(&real(), &copy, &elsewhere, NodeId(1)).unwrap();
    assert_eq!(restored.replaced, None);
    check(&open(&elsewhere));
}

/// A backup has no sealing key: what is restored in the place of a directory keeps that one's.
#[test]
fn a_restore_keeps_the_sealing_key() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&data);
    live(&engine);
    engine.keep_sealing_key(&[7; 32]).unwrap();
    engine.backup(&copy).unwrap();
    drop(engine);
    assert_eq!(open(&copy).sealing_key().unwrap(), None);
    restore(&real(), &copy, &data, NodeId(1)).unwrap();
    assert_eq!(open(&data).sealing_key().unwrap(), Some([7; 32]));
    let elsewhere = dir.path().join("elsewhere");
    restore(&real(), &copy, &elsewhere, NodeId(1)).unwrap();
    assert_eq!(open(&elsewhere).sealing_key().unwrap(), None);
    let moved = dir.path().join("moved");
    restore(&real(), &data, &moved, NodeId(1)).unwrap();
    assert_eq!(open(&moved).sealing_key().unwrap(), Some([7; 32]));
}

#[test]
fn what_is_damaged_or_unfinished_replaces_nothing() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&data);
    live(&engine);
    engine.backup(&copy).unwrap();
    let hash = engine
        .files()
        .cached_file(&release(1))
        .unwrap()
        .content
        .to_string();
    drop(engine);
    let blob = copy.join("blobs").join(&hash[..2]).join(&hash);
    let good = std::fs::read(&blob).unwrap();
    std::fs::write(&blob, "1\n00:00 X").unwrap();
    let refused = restore(&real(), &copy, &data, NodeId(1));
    assert!(
        matches!(refused, Err(Error::Damaged { count: 1, .. })),
        "{refused:?}"
    );
    std::fs::write(&blob, good).unwrap();
    let rows = std::fs::read(copy.join("catalog.redb")).unwrap();
    for offset in [5_000, rows.len() / 2] {
        let mut damaged = rows.clone();
        damaged[offset..offset + 64].fill(0x55);
        std::fs::write(copy.join("catalog.redb"), damaged).unwrap();
        let outcome = restore(&real(), &copy, &data, NodeId(1));
        assert!(outcome.is_err() || open(&data).verify(false).unwrap().is_empty());
    }
    std::fs::write(copy.join("catalog.redb"), rows).unwrap();
    std::fs::remove_file(copy.join("format")).unwrap();
    let refused = restore(&real(), &copy, &data, NodeId(1));
    assert!(matches!(refused, Err(Error::Unfinished { .. })));
    check(&open(&data));
    assert!(!dir.path().join("data.restoring").exists());
}

/// A volume keeps its name: its files are replaced.
#[test]
fn a_mount_point_gets_the_contents_of_a_backup() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&dir.path().join("source"));
    live(&engine);
    engine.backup(&copy).unwrap();
    drop(engine);
    let faulty = Faulty::new(Fault::NONE);
    faulty.set_mounted(&data);
    let disk: Arc<dyn Disk> = Arc::new(faulty);
    std::fs::create_dir_all(data.join("lost+found")).unwrap();
    let restored = restore(&disk, &copy, &data, NodeId(1)).unwrap();
    assert_eq!((restored.records, restored.replaced), (310, None));
    check(&open(&data));
    import(&open(&data), 400..407);
    let restored = restore(&disk, &copy, &data, NodeId(1)).unwrap();
    assert_eq!(open(&data).stats().unwrap().records, 310);
    let replaced = restored.replaced.unwrap();
    assert_eq!(replaced, data.join("replaced-1"));
    assert_eq!(open(&replaced).stats().unwrap().records, 317);
    let findings = open(&data).verify(false).unwrap();
    assert!(findings.iter().all(|it| it.is_note), "{findings:?}");
    assert!(data.join("lost+found").exists());
    let beside = std::fs::read_dir(dir.path()).unwrap();
    assert_eq!(beside.count(), 3, "nothing is made beside it");
}

/// Killed anywhere: what was there, or what replaces it.
#[test]
fn a_fault_anywhere_in_a_replacement_leaves_the_old_or_the_new() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&dir.path().join("source"));
    live(&engine);
    engine.backup(&copy).unwrap();
    drop(engine);
    let old = dir.path().join("old");
    import(&open(&old), 0..7);
    let counting = Arc::new(Faulty::new(Fault::NONE));
    counting.set_mounted(&data);
    let disk = Arc::clone(&counting) as Arc<dyn Disk>;
    restore(&real(), &old, &data, NodeId(1)).unwrap();
    restore(&disk, &copy, &data, NodeId(1)).unwrap();
    let ops_count = counting.ops_count();
    let (mut old_count, mut new_count) = (0, 0);
    // Its renames are among the last operations.
    for op_idx in (0..ops_count - 28)
        .step_by(97)
        .chain(ops_count - 28..ops_count)
    {
        std::fs::remove_dir_all(&data).unwrap();
        restore(&real(), &old, &data, NodeId(1)).unwrap();
        let faulty = Faulty::new(Fault {
            first: op_idx,
            count: u64::MAX,
            errno: Fault::EIO,
        });
        faulty.set_mounted(&data);
        let disk: Arc<dyn Disk> = Arc::new(faulty);
        // What is left to do after the last fault is to remove the empty folder.
        let _ = restore(&disk, &copy, &data, NodeId(1));
        let engine = open(&data);
        let findings = engine.verify(false).unwrap();
        assert!(findings.iter().all(|it| it.is_note), "{findings:?}");
        match engine.stats().unwrap().records {
            7 => old_count += 1,
            310 => new_count += 1,
            records => panic!("{records} records after a fault at operation {op_idx}"),
        }
    }
    assert!(0 < old_count, "no fault was before the replacement");
    assert!(4 < new_count, "no fault was in the replacement");
}

#[test]
fn a_directory_in_use_is_not_copied() {
    let dir = work_dir();
    let (data, source) = (dir.path().join("data"), dir.path().join("source"));
    let engine = open(&source);
    live(&engine);
    let refused = restore(&real(), &source, &data, NodeId(1));
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    engine.close().unwrap();
    drop(engine);
    restore(&real(), &source, &data, NodeId(1)).unwrap();
    check(&open(&data));
}

/// Some file systems cannot exchange two names.
#[test]
fn a_restore_needs_no_exchange() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&dir.path().join("source"));
    live(&engine);
    engine.backup(&copy).unwrap();
    drop(engine);
    import(&open(&data), 0..7);
    let counting = Arc::new(Faulty::new(Fault::NONE));
    let disk = Arc::clone(&counting) as Arc<dyn Disk>;
    restore(&disk, &copy, &data, NodeId(1)).unwrap();
    // The exchange is the last but one: the names are synced after it.
    let exchange = Fault {
        first: counting.ops_count() - 2,
        count: 1,
        errno: Fault::EINVAL,
    };
    import(&open(&data), 400..407);
    let disk: Arc<dyn Disk> = Arc::new(Faulty::new(exchange));
    let restored = restore(&disk, &copy, &data, NodeId(1)).unwrap();
    check(&open(&data));
    let replaced = open(&restored.replaced.unwrap());
    assert_eq!(replaced.stats().unwrap().records, 317);
    drop(replaced);
    let disk: Arc<dyn Disk> = Arc::new(Faulty::new(Fault {
        errno: Fault::EIO,
        ..exchange
    }));
    restore(&disk, &copy, &data, NodeId(1)).unwrap_err();
    check(&open(&data));
    assert!(!dir.path().join("data.restoring").exists());
    assert!(!dir.path().join("data.replaced-3").exists());
}

#[test]
fn a_fault_anywhere_in_a_restore_leaves_the_old_or_the_new() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let engine = open(&dir.path().join("source"));
    live(&engine);
    engine.backup(&copy).unwrap();
    drop(engine);
    import(&open(&data), 0..7);
    let mut restored_count = 0;
    for op_idx in (0..).step_by(7) {
        let faulty = Arc::new(Faulty::new(Fault {
            first: op_idx,
            count: u64::MAX,
            errno: Fault::EIO,
        }));
        let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
        let outcome = restore(&disk, &copy, &data, NodeId(1));
        let records = open(&data).stats().unwrap().records;
        assert!(records == 7 || records == 310, "operation {op_idx}");
        if outcome.is_ok() {
            restored_count += 1;
            break;
        }
    }
    assert_eq!(restored_count, 1);
    check(&open(&data));
}
