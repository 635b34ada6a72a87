//! Data of another version of the program: each file and each kind of row is read, upgraded, built
//! anew, or refused with what to do. The tests are the cells of the matrix in `DESIGN.md`.

use std::path::Path;
use std::sync::Arc;

use super::test_support::{
    id, import, new_account, new_api_key, now, open, open_with, title_of, with_store, work_dir,
};
use crate::catalog::{CATALOG_TABLES, INDEX_VERSION, META, RECORDS, SEGMENTS, TOMBSTONES};
use crate::database::{CATALOG_FILE, STATE_FILE, StoreFile};
use crate::disk::Real;
use crate::error::Error;
use crate::model::{
    AccountId, ApiKeyId, FileFacts, FileKind, LinkPurpose, NodeId, OneTimeLink, ReleaseId, Role,
    SecondStep, Session, StepSecret, Usage, Variant,
};
use crate::state::{Change, FILES, STATE_TABLES, StateEvent, UsageBatch, UsageDelta};
use crate::store::{Span, Table};
use crate::{Engine, StoreKind, restore};

/// A data directory with a segment, tombstones, a journal, and rows of state.
fn prepare(data: &Path) {
    let engine = open(data);
    for (numbers, title) in [(0..50, "Uno"), (40..55, "Dos")] {
        import(&engine, numbers, title).unwrap();
        engine.catalog().request_reindex();
        engine.maintain(now()).unwrap();
    }
    import(&engine, 55..60, "Tres").unwrap();
    let session = Session {
        digest: [7; 32],
        account: AccountId(1),
        created_at: now(),
        expires_at: now().plus_seconds(60),
        device: String::new(),
        last_used_at: None,
        is_pending: false,
    };
    let second_step = SecondStep {
        secret: StepSecret::Plain([5; 20]),
        last_step: 1,
        recovery_digests: vec![[6; 32]],
    };
    let events = vec![
        new_account("ana@example.org"),
        new_api_key(Some(AccountId(1))),
        StateEvent::OpenSession(session, "x".into()),
        StateEvent::IssueLink(OneTimeLink {
            digest: [8; 32],
            issuer: None,
            purpose: LinkPurpose::Invitation(Role::User),
            expires_at: now().plus_seconds(60),
        }),
        Change::SetSecondStep(AccountId(1), Some(second_step)).into_event("ana", now()),
    ];
    engine.apply(events).unwrap();
    let used = usage_of(&engine);
    let figures = StateEvent::KeepFigures(now().day(), vec![7]);
    engine.apply(vec![used, figures]).unwrap();
    let mut lane = engine.usage().counter_lane().unwrap();
    lane.count(id(1), Some(ApiKeyId(1)), now().day()).unwrap();
    engine.usage().aggregate_downloads(now());
    let release = ReleaseId::parse("1").unwrap();
    let facts = FileFacts {
        kind: FileKind::Srt,
        upstream_name: None,
        refetch_at: None,
        replaces: None,
    };
    let stored = engine.files().store_fetched(&release, b"1\n00:00", facts);
    let hash = stored.unwrap().content;
    let made = engine.files().store_variant(&hash, Variant::Gzip, b"gz");
    made.unwrap();
    engine.close().unwrap();
}

/// The next batch of usage of the first key.
fn usage_of(engine: &Engine) -> StateEvent {
    StateEvent::AddUsage(UsageBatch {
        number: engine.usage().last_batch().unwrap() + 1,
        deltas: vec![UsageDelta {
            api_key: Some(ApiKeyId(1)),
            day: now().day(),
            usage: Usage {
                requests: 10,
                ..Usage::default()
            },
            last_used_at: Some(now()),
        }],
    })
}

/// Raises the version byte of the first value of a table: the next version of the program.
fn raise_version(data: &Path, file: &StoreFile, table: Table) {
    with_store(data, file, |store| {
        let raised = store.write(|rows| {
            let row_key = rows.row_keys(table)?.swap_remove(0);
            let mut value = rows.get(table, &row_key)?.expect("the row is there");
            value[0] += 100;
            rows.put(table, &row_key, &value)
        });
        raised.unwrap();
    });
}

fn rows_count(data: &Path, file: &StoreFile, table: Table) -> usize {
    with_store(data, file, |store| {
        let mut count = 0;
        let counted = store.read(|rows| {
            rows.inspect(table, Span::ALL, &mut |_, value| {
                value?;
                count += 1;
                Ok(std::ops::ControlFlow::Continue(()))
            })
        });
        counted.unwrap();
        count
    })
}

fn refusal(data: &Path) -> String {
    let refused = open_with(data, Arc::new(Real), StoreKind::Redb);
    let error = refused.err().expect("it is refused");
    assert!(
        matches!(error, Error::NewerValue { .. } | Error::Format { .. }),
        "{error}"
    );
    error.to_string()
}

fn ensure_whole(engine: &Engine) {
    assert_eq!(title_of(engine, 0).unwrap(), "Uno 0");
    assert_eq!(title_of(engine, 50).unwrap(), "Dos 50");
    assert_eq!(title_of(engine, 59).unwrap(), "Tres 59");
    let found = engine.verify(false).unwrap();
    assert!(found.iter().all(|finding| finding.is_repaired), "{found:?}");
}

/// Tables of values with a version at their beginning; any row of them is read at the start.
#[test]
fn a_newer_row_that_is_read_at_the_start_refuses_it_and_stays() {
    let dir = work_dir();
    for name in [
        "accounts",
        "api_keys",
        "second_steps",
        "links",
        "sessions",
        "files",
    ] {
        let data = dir.path().join(name);
        prepare(&data);
        let table = *STATE_TABLES.iter().find(|table| table.0 == name).unwrap();
        let before = rows_count(&data, &STATE_FILE, table);
        raise_version(&data, &STATE_FILE, table);
        let text = refusal(&data);
        assert!(text.contains(&format!("table {name}")), "{text}");
        assert!(text.contains("or a newer one"), "{text}");
        assert_eq!(rows_count(&data, &STATE_FILE, table), before);
    }
}

fn is_newer<T>(answer: &crate::Result<T>) -> bool {
    matches!(answer, Err(Error::NewerValue { .. }))
}

/// Sums and log entries are read when they are asked for. This program is the older one then: it
/// does not add to what it cannot read, and drops nothing.
#[test]
fn a_newer_row_of_use_is_told_and_stays() {
    type Ask = fn(&Engine) -> bool;
    let asked: [(&str, Ask); 5] = [
        ("usage", |engine| {
            let day = now().day();
            is_newer(&engine.usage().per_day(day, day))
        }),
        ("api_key_usage", |engine| {
            let day = now().day();
            is_newer(&engine.usage().api_key_usage(ApiKeyId(1), day, day))
        }),
        ("api_key_totals", |engine| {
            is_newer(&engine.usage().api_key_totals(ApiKeyId(1)))
        }),
        ("figures", |engine| is_newer(&engine.usage().figures())),
        ("audit", |engine| {
            is_newer(&engine.accounts().audit_log(None, 10))
        }),
    ];
    let dir = work_dir();
    for (name, is_told) in asked {
        let data = dir.path().join(name);
        prepare(&data);
        let table = *STATE_TABLES.iter().find(|table| table.0 == name).unwrap();
        raise_version(&data, &STATE_FILE, table);
        let before = value_of_first(&data, &STATE_FILE, table);
        let engine = open(&data);
        assert!(is_told(&engine), "{name}");
        let added = engine.apply(vec![usage_of(&engine)]);
        // The log is added to, and figures are kept, without a look at what is there.
        let is_read = !["audit", "figures"].contains(&name);
        assert_eq!(is_newer(&added), is_read, "{name}");
        ensure_whole(&engine);
        drop(engine);
        assert_eq!(value_of_first(&data, &STATE_FILE, table), before, "{name}");
    }
}

/// Counts are kept in memory: they are all read at the start.
#[test]
fn a_newer_count_refuses_the_start_and_stays() {
    let dir = work_dir();
    prepare(dir.path());
    let table = *STATE_TABLES
        .iter()
        .find(|table| table.0 == "downloads")
        .unwrap();
    raise_version(dir.path(), &STATE_FILE, table);
    let before = value_of_first(dir.path(), &STATE_FILE, table);
    assert!(refusal(dir.path()).contains("or a newer one"));
    assert_eq!(value_of_first(dir.path(), &STATE_FILE, table), before);
}

fn value_of_first(data: &Path, file: &StoreFile, table: Table) -> Vec<u8> {
    with_store(data, file, |store| {
        let read = store.write(|rows| {
            let row_key = rows.row_keys(table)?.swap_remove(0);
            Ok(rows.get(table, &row_key)?.expect("the row is there"))
        });
        read.unwrap()
    })
}

/// Rows of another version in the journal and among the ids of damaged records are not read: its
/// index version says so. An older program leaves such rows for this one, too.
#[test]
fn the_journal_of_another_index_version_is_not_read() {
    let dir = work_dir();
    for (name, row_key) in [
        ("journal", 9_u64.to_be_bytes().to_vec()),
        ("damaged", vec![1; 3]),
    ] {
        let data = dir.path().join(name);
        prepare(&data);
        let table = *CATALOG_TABLES.iter().find(|table| table.0 == name).unwrap();
        with_store(&data, &CATALOG_FILE, |store| {
            let put = store.write(|rows| rows.put(table, &row_key, b"of another form"));
            put.unwrap();
        });
        set_index_version(&data);
        ensure_whole(&open(&data));
        assert!(!row_keys(&data, table).contains(&row_key), "{name}");
    }
}

fn row_keys(data: &Path, table: Table) -> Vec<Vec<u8>> {
    with_store(data, &CATALOG_FILE, |store| {
        store.write(|rows| rows.row_keys(table)).unwrap()
    })
}

/// The older program changes no part of a record that it cannot read. An import replaces the whole
/// record.
#[test]
fn an_older_program_changes_no_part_of_a_newer_record() {
    let dir = work_dir();
    prepare(dir.path());
    raise_version(dir.path(), &CATALOG_FILE, RECORDS);
    let before = value_of_first(dir.path(), &CATALOG_FILE, RECORDS);
    let engine = open(dir.path());
    let first = (0..60).min_by_key(|number| id(*number)).unwrap();
    assert!(is_newer(&engine.catalog().set_active(id(first), false)));
    engine.close().unwrap();
    drop(engine);
    assert_eq!(value_of_first(dir.path(), &CATALOG_FILE, RECORDS), before);
    let engine = open(dir.path());
    import(&engine, std::iter::once(first), "Cuatro").unwrap();
    let title = format!("Cuatro {first}");
    assert_eq!(title_of(&engine, first), Some(title.clone()));
    let stored = engine.catalog().stored_record(id(first)).unwrap().unwrap();
    assert_eq!(*stored.title, *title);
}

/// A release with another redb format raises `format`, which is read first: the files below it are
/// not opened, and not changed.
#[test]
fn stores_below_a_raised_format_are_not_opened() {
    let dir = work_dir();
    prepare(dir.path());
    let line = std::fs::read_to_string(dir.path().join("format")).unwrap();
    std::fs::write(
        dir.path().join("format"),
        line.replace("format 1", "format 2"),
    )
    .unwrap();
    for name in ["catalog.redb", "state.redb"] {
        std::fs::write(dir.path().join(name), b"a redb of the future").unwrap();
    }
    assert!(refusal(dir.path()).contains("or a newer one"));
    for name in ["catalog.redb", "state.redb"] {
        let content = std::fs::read(dir.path().join(name)).unwrap();
        assert_eq!(content, b"a redb of the future");
    }
}

/// A record is read when it is asked for: the index has its document.
#[test]
fn a_newer_record_is_told_and_is_not_lost() {
    let dir = work_dir();
    prepare(dir.path());
    raise_version(dir.path(), &CATALOG_FILE, RECORDS);
    let engine = open(dir.path());
    let first = (0..60).map(id).min().unwrap();
    let error = engine.catalog().stored_record(first).err().unwrap();
    assert!(matches!(error, Error::NewerValue { .. }), "{error}");
    assert!(engine.catalog().export(&mut |_| Ok(())).is_err());
    drop(engine);
    // The index cannot be built without it, and is not built with fewer records.
    std::fs::remove_dir_all(dir.path().join("index")).unwrap();
    assert!(refusal(dir.path()).contains("table records"));
    assert_eq!(rows_count(dir.path(), &CATALOG_FILE, RECORDS), 60);
}

/// A later version has another index version, too, and is not read that far; were it not so, the
/// manifest would refuse.
#[test]
fn a_newer_manifest_refuses_the_start_and_stays() {
    let dir = work_dir();
    prepare(dir.path());
    raise_version(dir.path(), &CATALOG_FILE, SEGMENTS);
    assert!(refusal(dir.path()).contains("table segments"));
    assert_eq!(rows_count(dir.path(), &CATALOG_FILE, SEGMENTS), 2);
    set_index_version(dir.path());
    ensure_whole(&open(dir.path()));
}

fn set_index_version(data: &Path) {
    with_store(data, &CATALOG_FILE, |store| {
        let set = store.write(|rows| rows.put(META, INDEX_VERSION, b"rules 99"));
        set.unwrap();
    });
}

/// Tombstones have the version of their public format: a later one is not readable.
#[test]
fn an_index_of_another_version_is_built_anew() {
    let dir = work_dir();
    let (version, tombstones) = (dir.path().join("version"), dir.path().join("tombstones"));
    prepare(&version);
    set_index_version(&version);
    ensure_whole(&open(&version));
    prepare(&tombstones);
    raise_version(&tombstones, &CATALOG_FILE, TOMBSTONES);
    ensure_whole(&open(&tombstones));
}

#[test]
fn a_segment_of_another_version_is_built_anew() {
    let dir = work_dir();
    for change in [-1, 1] {
        let data = dir.path().join(change.to_string());
        prepare(&data);
        for entry in std::fs::read_dir(data.join("index")).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[8] = bytes[8].wrapping_add_signed(change);
            let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..24]);
            bytes[24..32].copy_from_slice(&checksum.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
        }
        ensure_whole(&open(&data));
    }
}

#[test]
fn a_variant_of_another_version_is_made_again() {
    let dir = work_dir();
    prepare(dir.path());
    let engine = open(dir.path());
    let release = ReleaseId::parse("1").unwrap();
    let file = engine.files().cached_file(&release).unwrap();
    let hash = file.content.to_string();
    drop(engine);
    let path = dir.path().join("blobs").join(&hash[..2]).join(hash + ".gz");
    let text = std::fs::read_to_string(&path);
    assert!(text.is_err(), "a footer is binary");
    let mut bytes = std::fs::read(&path).unwrap();
    let footer = bytes.len() - 16;
    assert_eq!(&bytes[footer..footer + 8], b"subcatV1");
    bytes[footer + 7] = b'2';
    std::fs::write(&path, &bytes).unwrap();
    let engine = open(dir.path());
    assert!(engine.files().blob(&file, Variant::Gzip).unwrap().is_none());
    let made = engine
        .files()
        .store_variant(&file.content, Variant::Gzip, b"gz");
    assert_eq!(made.unwrap().bytes(), b"gz");
    assert!(engine.files().blob(&file, Variant::Gzip).unwrap().is_some());
}

#[test]
fn a_counter_file_of_a_newer_version_refuses_the_start_and_stays() {
    let dir = work_dir();
    prepare(dir.path());
    let path = dir.path().join("counters/0000000077.count");
    let mut header = *b"subcatCT\x04\0\0\0____";
    let checksum = xxhash_rust::xxh3::xxh3_64(&header[..12]) as u32;
    header[12..].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&path, header).unwrap();
    let text = refusal(dir.path());
    assert!(text.contains("counters"), "{text}");
    assert!(text.contains("or a newer one"), "{text}");
    assert!(path.exists());
}

/// The next fetch of a file is a field of a later version than the others: a file without it is
/// written as the first version wrote it, and a program of that version reads it.
#[test]
fn a_file_row_has_the_first_version_that_can_hold_it() {
    let dir = work_dir();
    let engine = open(dir.path());
    for (release, refetch_at) in [("1", None), ("2", Some(now()))] {
        let facts = FileFacts {
            kind: FileKind::Srt,
            upstream_name: None,
            refetch_at,
            replaces: None,
        };
        let release = ReleaseId::parse(release).unwrap();
        let stored = engine.files().store_fetched(&release, b"1\n00:00", facts);
        stored.unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    with_store(dir.path(), &STATE_FILE, |store| {
        let versions = store.read(|rows| {
            let first_byte = |release: &[u8]| Ok(rows.get(FILES, release)?.expect("a row")[0]);
            Ok::<_, Error>([first_byte(b"1")?, first_byte(b"2")?])
        });
        assert_eq!(versions.unwrap(), [1, 2]);
    });
}

#[test]
fn a_backup_of_a_newer_format_is_not_restored() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    prepare(&data);
    let engine = open(&data);
    engine.backup(&copy).unwrap();
    drop(engine);
    let line = std::fs::read_to_string(copy.join("format")).unwrap();
    std::fs::write(copy.join("format"), line.replace("format 1", "format 2")).unwrap();
    let disk: Arc<dyn crate::Disk> = Arc::new(Real);
    let refused = restore(&disk, &copy, &data, NodeId(1)).unwrap_err();
    assert!(matches!(refused, Error::Format { found: 2, .. }));
    ensure_whole(&open(&data));
    assert!(refusal(&copy).contains("or a newer one"));
}
