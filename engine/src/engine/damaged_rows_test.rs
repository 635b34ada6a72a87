//! A damaged row of any table of both files costs what it holds, and nothing else.

use std::path::Path;
use std::sync::Arc;

use super::test_support::{
    after, copy_dir, id, import, new_account, new_api_key, now, open, summary, title_of, work_dir,
};
use crate::catalog::CATALOG_TABLES;
use crate::data_dir::DataDir;
use crate::database::{CATALOG_FILE, STATE_FILE, StoreFile, open_store};
use crate::disk::Real;
use crate::error::Error;
use crate::limits::AGGREGATE_SECONDS_MAX;
use crate::model::{
    AccountId, ApiKeyId, FileKind, LinkPurpose, OneTimeLink, RecordId, ReleaseId, Role, SecondStep,
    Session, StepSecret, Usage,
};
use crate::query::{Filters, Query, SearchText};
use crate::state::{Change, STATE_TABLES, StateEvent, UsageBatch, UsageDelta};
use crate::store::{Store, Table};
use crate::{Engine, Finding, MaintenanceTask};

/// Records, all of them active.
const RECORDS: u64 = 60;
/// Record that was downloaded.
const DOWNLOADED: u64 = 7;
const SESSION: [u8; 32] = [7; 32];
const LINK: [u8; 32] = [9; 32];

fn with_store<R>(data: &Path, file: &StoreFile, work: impl FnOnce(&Store) -> R) -> R {
    let data_dir = DataDir::open(Arc::new(Real), data).unwrap();
    let store = open_store(&data_dir, true, file).unwrap();
    let result = work(&store);
    store.close().unwrap();
    result
}

fn usage_of(engine: &Engine, number: u64, api_key: ApiKeyId) -> StateEvent {
    assert_eq!(engine.usage().last_batch().unwrap() + 1, number);
    StateEvent::AddUsage(UsageBatch {
        number,
        deltas: vec![UsageDelta {
            api_key: Some(api_key),
            day: now().day(),
            usage: Usage {
                requests: 10,
                ..Usage::default()
            },
            last_used_at: Some(now()),
        }],
    })
}

/// A data directory with rows in every table.
fn prepare(data: &Path) {
    let engine = open(data);
    import(&engine, 0..50, "Uno").unwrap();
    engine.catalog().request_reindex();
    engine.maintain(now()).unwrap();
    // Replaced: the first segment gets tombstones, which the flush stores.
    import(&engine, 40..55, "Dos").unwrap();
    engine.catalog().request_reindex();
    engine.maintain(now()).unwrap();
    import(&engine, 50..RECORDS, "Tres").unwrap();
    let session = Session {
        digest: SESSION,
        account: AccountId(1),
        created_at: now(),
        expires_at: now().plus_seconds(60),
        device: String::new(),
        last_used_at: None,
        is_pending: false,
    };
    let second_step = SecondStep {
        secret: StepSecret::Plain([1; 20]),
        last_step: 1,
        recovery_digests: vec![[2; 32]],
    };
    let events = vec![
        new_account("ana@example.org"),
        new_account("luz@example.org"),
        new_api_key(Some(AccountId(1))),
        new_api_key(None),
        StateEvent::OpenSession(session, "x".into()),
        StateEvent::IssueLink(OneTimeLink {
            digest: LINK,
            issuer: None,
            purpose: LinkPurpose::Invitation(Role::User),
            expires_at: after(86_400),
        }),
        Change::SetSecondStep(AccountId(1), Some(second_step)).into_event("ana", now()),
        usage_of(&engine, 1, ApiKeyId(1)),
        StateEvent::KeepFigures(now().day(), vec![7]),
    ];
    engine.apply(events).unwrap();
    let release = ReleaseId::parse("1").unwrap();
    let stored = engine
        .files()
        .store_file(&release, b"1\n00:00", FileKind::Srt, None);
    stored.unwrap();
    let mut lane = engine.usage().counter_lane().unwrap();
    lane.count(id(DOWNLOADED), None, now().day()).unwrap();
    engine.maintain(now()).unwrap();
    engine.maintain(after(AGGREGATE_SECONDS_MAX)).unwrap();
    // As if the process was killed: its file stays, aggregated up to its end.
    std::mem::forget(lane);
    engine.close().unwrap();
}

/// Figures of a data directory that a caller can see.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Contents {
    found: u64,
    active_records: u64,
    accounts: usize,
    api_keys: usize,
    has_session: bool,
    has_second_step: bool,
    has_link: bool,
    files: u64,
    downloads: u64,
    requests_of_key: u64,
    requests_of_day: u64,
    days_with_figures: usize,
    audit_entries: usize,
}

impl Contents {
    /// Of the prepared directory.
    const WHOLE: Self = Self {
        found: RECORDS,
        active_records: RECORDS,
        accounts: 2,
        api_keys: 2,
        has_session: true,
        has_second_step: true,
        has_link: true,
        files: 1,
        downloads: 1,
        requests_of_key: 10,
        requests_of_day: 10,
        days_with_figures: 1,
        audit_entries: 5,
    };

    fn of(engine: &Engine) -> Self {
        let snapshot = engine.catalog().snapshot();
        let found = |word| {
            let query =
                Query::new(Filters::default(), 200).with_query(SearchText::query(word).unwrap());
            snapshot.search(&query).unwrap().total()
        };
        let stats = engine.stats().unwrap();
        let usage = engine.usage();
        let days = usage.per_day(now().day(), now().day()).unwrap();
        Self {
            found: found("uno") + found("dos") + found("tres"),
            active_records: stats.active_records,
            accounts: engine.accounts().all().len(),
            api_keys: engine.accounts().api_keys().len(),
            has_session: engine.accounts().session(&SESSION).is_some(),
            has_second_step: engine.accounts().second_step(AccountId(1)).is_some(),
            has_link: engine.accounts().link(&LINK).unwrap().is_some(),
            files: stats.cached_files,
            downloads: usage.downloads(id(DOWNLOADED)),
            requests_of_key: usage.api_key_totals(ApiKeyId(1)).unwrap().0.requests,
            requests_of_day: days.iter().map(|(_, usage)| usage.requests).sum(),
            days_with_figures: usage.figures().unwrap().len(),
            audit_entries: engine.accounts().audit_log(None, 100).unwrap().len(),
        }
    }
}

/// The rest when a row of this table is damaged; and true if verification still names damage.
fn outcome(table: Table, row_key: &[u8]) -> (Contents, bool) {
    let whole = Contents::WHOLE;
    match (table.0, row_key) {
        ("records", _) => (
            Contents {
                found: RECORDS - 1,
                active_records: RECORDS - 1,
                ..whole
            },
            true,
        ),
        ("accounts", _) => (
            Contents {
                accounts: 1,
                ..whole
            },
            true,
        ),
        ("api_keys", _) => (
            Contents {
                api_keys: 1,
                ..whole
            },
            true,
        ),
        ("sessions" | "links", _) => (
            Contents {
                has_session: table.0 != "sessions",
                has_link: table.0 != "links",
                ..whole
            },
            false,
        ),
        // A code is asked for all the same, and none is right, until an operator turns it off.
        ("second_steps", _) => (whole, false),
        ("files", _) => (Contents { files: 0, ..whole }, false),
        ("downloads", _) => (
            Contents {
                downloads: 0,
                ..whole
            },
            false,
        ),
        ("api_key_totals", _) => (
            Contents {
                requests_of_key: 0,
                ..whole
            },
            true,
        ),
        ("usage", _) => (
            Contents {
                requests_of_day: 0,
                ..whole
            },
            true,
        ),
        ("figures" | "audit", _) => (
            Contents {
                days_with_figures: usize::from(table.0 != "figures"),
                audit_entries: if table.0 == "audit" { 4 } else { 5 },
                ..whole
            },
            true,
        ),
        // No figure of `Contents`: the usage of one key on one day is gone. An offset is settled
        // with the next aggregation.
        ("api_key_usage" | "positions", _) => (whole, true),
        ("meta" | "emails" | "journal" | "segments" | "tombstones", _) => (whole, false),
        other => panic!("no outcome is stated for {other:?}"),
    }
}

/// Everything can be changed: records, accounts, keys, usage and counts.
fn check_changes(engine: &Engine) {
    assert_eq!(import(engine, 100..103, "Otro").unwrap(), summary(3, 0, 0));
    assert_eq!(title_of(engine, 102).unwrap(), "Otro 102");
    let next = engine.usage().last_batch().unwrap() + 1;
    let disable = Change::SetDisplayName(AccountId(9), "x".into());
    let events = vec![
        new_account("eva@example.org"),
        new_api_key(None),
        usage_of(engine, next, ApiKeyId(1)),
        disable.into_event("ana", now()),
    ];
    let outcomes = engine.apply(events).unwrap();
    assert!(
        format!("{:?}", outcomes[0]).contains("AccountId(3)"),
        "{outcomes:?}"
    );
    assert!(
        format!("{:?}", outcomes[1]).contains("ApiKeyId(3)"),
        "{outcomes:?}"
    );
    let mut lane = engine.usage().counter_lane().unwrap();
    for number in 0..3 {
        lane.count(id(DOWNLOADED + number), Some(ApiKeyId(1)), now().day())
            .unwrap();
    }
    engine.maintain(now()).unwrap();
    engine.maintain(after(AGGREGATE_SECONDS_MAX)).unwrap();
}

fn check_row(prepared: &Path, file: &StoreFile, table: Table, row_key: &[u8]) {
    let dir = work_dir();
    let data = dir.path().join("data");
    copy_dir(prepared, &data);
    with_store(&data, file, |store| {
        store.damage_value(table, row_key).unwrap();
    });
    let place = format!("table {}, row {row_key:02x?}", table.0);
    let (expected, stays_damaged) = outcome(table, row_key);
    let engine = open(&data);
    if table.0 == "records" {
        // Its document in a segment is whole: only a reader of the row sees it.
        engine.verify(false).unwrap();
    }
    assert_eq!(Contents::of(&engine), expected, "{place}");
    let backup = dir.path().join("backup");
    engine.backup(&backup).unwrap();
    drop(engine);
    let engine = open(&data);
    assert_eq!(Contents::of(&engine), expected, "{place}, opened again");
    let found = engine.verify(false).unwrap();
    let is_damage = |finding: &&Finding| !finding.is_repaired && !finding.is_note;
    let damage = found.iter().filter(is_damage);
    assert_eq!(0 < damage.count(), stays_damaged, "{place}: {found:?}");
    check_changes(&engine);
    engine.close().unwrap();
    drop(engine);
    let copy = Contents::of(&open(&backup));
    assert_eq!(copy, expected, "{place}, in a backup");
    check_changes(&open(&backup));
}

#[test]
fn a_damaged_row_of_any_table_costs_what_it_holds() {
    let dir = work_dir();
    let prepared = dir.path().join("prepared");
    prepare(&prepared);
    for (file, tables) in [(&CATALOG_FILE, CATALOG_TABLES), (&STATE_FILE, STATE_TABLES)] {
        for &table in tables {
            let row_keys = with_store(&prepared, file, |store| {
                store.write(|rows| rows.row_keys(table)).unwrap()
            });
            // Without damage there are no damaged records, without a cluster no
            // position, without a folder no paths.
            let is_empty = ["damaged", "cluster", "imported_paths"].contains(&table.0);
            assert_eq!(row_keys.is_empty(), is_empty, "{}", table.0);
            // Names are different things; of the others the first and the last will do.
            let is_chosen =
                |row_idx: usize| table.0 == "meta" || row_idx == 0 || row_idx + 1 == row_keys.len();
            for (row_idx, row_key) in row_keys.iter().enumerate() {
                if is_chosen(row_idx) {
                    check_row(&prepared, file, table, row_key);
                }
            }
        }
    }
}

/// The error of an existing record that cannot be read.
fn damage_of(engine: &Engine, record: RecordId) -> String {
    let snapshot = engine.catalog().snapshot();
    let Err(error) = snapshot.doc(record) else {
        panic!("{record} does not fail");
    };
    assert!(matches!(error, Error::Corrupt { .. }));
    assert!(snapshot.locate(record).is_err());
    error.to_string()
}

#[test]
fn a_damaged_record_is_left_out_until_it_is_imported_or_deleted() {
    let dir = work_dir();
    let data = dir.path().join("data");
    prepare(&data);
    // The first is in a segment file, the last in the journal only.
    let damaged = [3, 30, RECORDS - 1];
    with_store(&data, &CATALOG_FILE, |store| {
        for number in damaged {
            let row_key = *id(number).as_bytes();
            store.damage_value(Table("records"), &row_key).unwrap();
        }
    });
    // Without an index every record is read.
    std::fs::remove_dir_all(data.join("index")).unwrap();
    let check = |engine: &Engine, left: &[u64]| {
        for &number in left {
            let error = damage_of(engine, id(number));
            assert!(error.contains(&id(number).to_string()), "{error}");
            assert!(engine.catalog().has_record(id(number)).unwrap());
            assert!(engine.catalog().stored_record(id(number)).is_err());
            assert!(engine.catalog().set_active(id(number), false).is_err());
        }
        let contents = Contents::of(engine);
        let expected = RECORDS - left.len() as u64;
        assert_eq!(
            (contents.found, contents.active_records),
            (expected, expected)
        );
        let mut exported = 0;
        let left_out = engine.catalog().export(&mut |_| {
            exported += 1;
            Ok(())
        });
        let left_out = left_out.unwrap();
        assert_eq!((exported, left_out.len()), (expected, left.len()));
        for (error, number) in left_out.iter().zip(sorted(left)) {
            assert!(
                error.to_string().contains(&id(number).to_string()),
                "{error}"
            );
        }
    };
    let engine = open(&data);
    let logged = engine.take_damage();
    assert_eq!(
        logged.iter().filter(|entry| !entry.is_repaired).count(),
        3,
        "{logged:?}"
    );
    check(&engine, &damaged);
    drop(engine);
    let engine = open(&data);
    check(&engine, &damaged);
    let replaced = import(&engine, std::iter::once(3), "Uno").unwrap();
    assert_eq!(replaced, summary(0, 1, 0), "it counts as being there");
    check(&engine, &damaged[1..]);
    assert_eq!(title_of(&engine, 3).unwrap(), "Uno 3");
    let ids = [id(30), id(RECORDS - 1)];
    assert_eq!(engine.catalog().delete_records(&ids).unwrap(), []);
    assert_eq!(title_of(&engine, 30), None);
    assert_eq!(Contents::of(&engine).active_records, RECORDS - 2);
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    drop(engine);
    let engine = open(&data);
    assert_eq!(Contents::of(&engine).found, RECORDS - 2);
    assert_eq!(engine.take_damage(), []);
    let found = engine.verify(false).unwrap();
    assert!(found.iter().all(|finding| finding.is_repaired), "{found:?}");
}

fn sorted(numbers: &[u64]) -> Vec<u64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by_key(|number| id(*number));
    sorted
}

#[test]
fn the_scrubber_leaves_a_damaged_record_out() {
    let dir = work_dir();
    let data = dir.path().join("data");
    prepare(&data);
    with_store(&data, &CATALOG_FILE, |store| {
        let row_key = *id(3).as_bytes();
        store.damage_value(Table("records"), &row_key).unwrap();
    });
    let engine = open(&data);
    assert_eq!(
        title_of(&engine, 3).unwrap(),
        "Uno 3",
        "its document is whole"
    );
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    assert!(damage_of(&engine, id(3)).contains(&id(3).to_string()));
    let stats = engine.stats().unwrap();
    assert_eq!((stats.damaged_records, stats.scrub_findings), (1, 1));
    assert_eq!(engine.take_damage().len(), 1);
}
