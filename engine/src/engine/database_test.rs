//! A database that is opened, filled, changed, closed and opened again.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::database::Database;
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::error::Error;
use crate::limits::{AGGREGATE_BYTES_MAX, AGGREGATE_SECONDS_MAX, DELTA_RECORDS_MAX};
use crate::model::{
    AccountId, ApiKeyId, Day, DraftValue, Email, FileKind, RecordDraft, RecordId, ReleaseId, Role,
    Scopes, Session, Timestamp, Usage, Variant,
};
use crate::state::{Change, NewAccount, NewApiKey, Outcome, StateEvent, UsageBatch, UsageDelta};
use crate::{Engine, ImportSummary, Options, StoreKind};

fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).unwrap()
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(now().seconds() + seconds).unwrap()
}

fn open_with(dir: &Path, disk: Arc<dyn Disk>, store: StoreKind) -> crate::Result<Engine> {
    let options = Options {
        disk,
        store,
        counter_lanes: 2,
    };
    Engine::open(dir, options, now())
}

fn open(dir: &Path) -> Engine {
    open_with(dir, Arc::new(Real), StoreKind::Redb).unwrap()
}

/// Runs a test over both kinds of store.
fn over_both(test: impl Fn(&Engine)) {
    let dir = tempfile::tempdir().unwrap();
    test(&open(&dir.path().join("data")));
    test(&open_with(dir.path(), Arc::new(Real), StoreKind::Memory).unwrap());
}

fn id(number: u64) -> RecordId {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    RecordId::from_bytes(((u128::from(spread) << 64) | u128::from(number)).to_be_bytes())
}

fn text(text: &str) -> DraftValue<'_> {
    DraftValue::Text(Cow::Borrowed(text))
}

fn import(
    engine: &Engine,
    numbers: impl Iterator<Item = u64>,
    title: &str,
) -> crate::Result<ImportSummary> {
    let mut importer = engine.importer()?;
    for number in numbers {
        let id = id(number).to_string();
        let pushed = importer.push(RecordDraft {
            id: text(&id),
            video_type: text("movie"),
            title: text(&format!("{title} {number}")),
            posted_at: text("2020-01-02T03:04:05Z"),
            ..RecordDraft::default()
        })?;
        pushed.unwrap();
    }
    importer.finish(&mut |_| {})
}

fn title_of(engine: &Engine, number: u64) -> Option<String> {
    let snapshot = engine.snapshot();
    let doc = snapshot.doc(id(number)).unwrap()?;
    let fragment = String::from_utf8(doc.fragment().to_vec()).unwrap();
    let start = fragment.find("\"title\":\"").unwrap() + 9;
    Some(fragment[start..].split('"').next().unwrap().to_owned())
}

fn summary(inserted: u64, updated: u64, unchanged: u64) -> ImportSummary {
    ImportSummary {
        inserted,
        updated,
        unchanged,
    }
}

#[test]
fn a_few_records_are_found_at_once_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    assert_eq!(import(&engine, 0..10, "Uno").unwrap(), summary(10, 0, 0));
    assert_eq!(import(&engine, 5..15, "Uno").unwrap(), summary(5, 0, 5));
    assert_eq!(import(&engine, 0..2, "Dos").unwrap(), summary(0, 2, 0));
    assert!(engine.set_active(id(3), false).unwrap());
    assert!(!engine.set_active(id(99), false).unwrap());
    assert_eq!(engine.delete_records(&[id(4), id(99)]).unwrap(), [id(99)]);
    let check = |engine: &Engine| {
        assert_eq!(title_of(engine, 0).unwrap(), "Dos 0");
        assert_eq!(title_of(engine, 2).unwrap(), "Uno 2");
        assert_eq!(title_of(engine, 3), None);
        assert_eq!(title_of(engine, 4), None);
        assert!(!engine.stored_record(id(3)).unwrap().unwrap().is_active);
        let stats = engine.stats().unwrap();
        assert_eq!((stats.records, stats.active_records), (14, 13));
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    engine.request_reindex();
    assert!(engine.maintain(now()).unwrap());
    check(&engine);
    assert_eq!(engine.stats().unwrap().delta_records, 0);
    assert_eq!(engine.stats().unwrap().file_segments, 1);
    engine.close(now()).unwrap();
    drop(engine);
    check(&open(dir.path()));
}

#[test]
fn a_large_import_becomes_segments_that_are_merged() {
    over_both(|engine| {
        let first = import(engine, 0..25_000, "Uno").unwrap();
        assert_eq!(first, summary(25_000, 0, 0));
        let second = import(engine, 5_000..30_000, "Dos").unwrap();
        assert_eq!(second, summary(5_000, 20_000, 0));
        let third = import(engine, 0..5_000, "Uno").unwrap();
        assert_eq!(third, summary(0, 0, 5_000));
        assert_eq!(engine.stats().unwrap().tombstones, 20_000);
        assert!(2 < engine.stats().unwrap().file_segments);
        while engine.maintain(now()).unwrap() {}
        assert_eq!(engine.stats().unwrap().tombstones, 0);
        assert_eq!(title_of(engine, 4_999).unwrap(), "Uno 4999");
        assert_eq!(title_of(engine, 5_000).unwrap(), "Dos 5000");
        assert_eq!(title_of(engine, 29_999).unwrap(), "Dos 29999");
        let docs: u64 = engine
            .snapshot()
            .parts()
            .iter()
            .map(|(segment, tombstones)| u64::from(segment.len()) - tombstones.len())
            .sum();
        assert_eq!(docs, 30_000);
        assert_eq!(engine.verify(false).unwrap(), []);
        let mut exported = Vec::new();
        let export = engine.export(&mut |record| {
            exported.push(record.id);
            Ok(())
        });
        export.unwrap();
        assert_eq!(exported.len(), 30_000);
        assert!(exported.is_sorted());
    });
}

#[test]
fn the_index_is_rebuilt_when_it_is_gone_or_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    import(&engine, 0..12_000, "Uno").unwrap();
    import(&engine, 0..100, "Dos").unwrap();
    drop(engine);
    let index = dir.path().join("index");
    std::fs::remove_dir_all(&index).unwrap();
    let check = || {
        let engine = open(dir.path());
        assert_eq!(title_of(&engine, 99).unwrap(), "Dos 99");
        assert_eq!(title_of(&engine, 11_999).unwrap(), "Uno 11999");
        let repaired = engine.verify(false).unwrap();
        assert!(
            !repaired.is_empty(),
            "what opening has repaired is reported once"
        );
        assert!(repaired.iter().all(|finding| finding.is_repaired));
        assert_eq!(engine.verify(false).unwrap(), []);
    };
    check();
    for entry in std::fs::read_dir(&index).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap();
        std::fs::write(&path, &content[..content.len() / 2]).unwrap();
    }
    check();
}

#[test]
fn a_flipped_bit_anywhere_in_a_segment_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    import(&engine, 0..500, "Uno").unwrap();
    engine.request_reindex();
    while engine.maintain(now()).unwrap() {}
    drop(engine);
    let index = dir.path().join("index");
    let mut entries = std::fs::read_dir(&index).unwrap();
    let segment_bytes = entries.next().unwrap().unwrap().metadata().unwrap().len();
    for offset in (0..segment_bytes).step_by(997) {
        // Opening may have repaired the last damage by a new file.
        let mut entries = std::fs::read_dir(&index).unwrap();
        let path = entries.next().unwrap().unwrap().path();
        let mut content = std::fs::read(&path).unwrap();
        content[offset as usize] ^= 4;
        std::fs::write(&path, &content).unwrap();
        let found = open(dir.path()).verify(true).unwrap();
        assert!(!found.is_empty(), "byte {offset} of {segment_bytes}");
        assert!(found.iter().all(|finding| finding.is_repaired));
    }
}

#[test]
fn verify_names_damage_and_repairs_what_is_derived() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    import(&engine, 0..12_000, "Uno").unwrap();
    let release = ReleaseId::parse("1").unwrap();
    let file = engine.store_file(&release, b"1\n00:00", FileKind::Srt, None);
    let hash = file.unwrap().content;
    engine.store_variant(&hash, Variant::Gzip, b"gz").unwrap();
    assert_eq!(engine.verify(false).unwrap(), []);
    let blobs = dir.path().join("blobs").join(&hash.to_string()[..2]);
    std::fs::write(blobs.join("stray"), "x").unwrap();
    let gz = blobs.join(format!("{hash}.gz"));
    std::fs::write(&gz, "gzgzgzgzgzgzgzgzgzgzgz").unwrap();
    std::fs::write(dir.path().join("index/0000000099.seg"), "x").unwrap();
    let found = engine.verify(true).unwrap();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|finding| finding.is_repaired), "{found:?}");
    assert_eq!(engine.verify(false).unwrap(), []);
    std::fs::write(blobs.join(hash.to_string()), "1\n00:01").unwrap();
    let found = engine.verify(true).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!found[0].is_repaired);
    assert!(found[0].file.ends_with(&hash.to_string()));
}

#[test]
fn a_second_process_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path());
    let second = open_with(dir.path(), Arc::new(Real), StoreKind::Redb);
    assert!(matches!(second, Err(Error::Locked { pid, .. }) if pid == std::process::id()));
}

fn new_account(email: &str) -> StateEvent {
    let new = NewAccount {
        email: Email::parse(email).unwrap(),
        display_name: String::new(),
        role: Role::User,
        password_hash: "x".into(),
    };
    Change::CreateAccount(new).into_event(email, now())
}

fn new_api_key(account: Option<AccountId>) -> StateEvent {
    let new = NewApiKey {
        account,
        name: "laptop".into(),
        digest: [1; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    };
    Change::CreateApiKey(new).into_event("command line", now())
}

#[test]
fn accounts_keys_and_sessions_follow_their_events() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let session = |digest| {
        let session = Session {
            digest,
            account: AccountId(1),
            created_at: now(),
            expires_at: now().plus_seconds(60),
        };
        StateEvent::OpenSession(session, "x".into())
    };
    let outcomes = engine.apply(vec![
        new_account("ana@example.org"),
        new_account("ANA@example.org"),
        new_api_key(Some(AccountId(1))),
        new_api_key(Some(AccountId(7))),
        new_api_key(None),
        Change::RevokeApiKey(ApiKeyId(1)).into_event("ana", now()),
        Change::RevokeApiKey(ApiKeyId(9)).into_event("ana", now()),
        session([1; 32]),
        session([2; 32]),
        StateEvent::CloseSession([1; 32]),
        StateEvent::CloseSession([9; 32]),
    ]);
    let outcomes = outcomes.unwrap();
    assert!(matches!(&outcomes[0], Outcome::Account(account) if account.id == AccountId(1)));
    assert_eq!(outcomes[1], Outcome::EmailTaken);
    assert!(matches!(&outcomes[2], Outcome::ApiKey(key) if key.id == ApiKeyId(1)));
    assert_eq!(outcomes[3], Outcome::Unknown);
    assert!(matches!(&outcomes[5], Outcome::ApiKey(key) if key.revoked_at == Some(now())));
    assert_eq!(outcomes[6], Outcome::Unknown);
    assert_eq!(outcomes[10], Outcome::Unknown);
    let check = |engine: &Engine| {
        let email = Email::parse("ana@example.org").unwrap();
        assert_eq!(engine.account_by_email(&email).unwrap().id, AccountId(1));
        assert_eq!(engine.api_keys().len(), 2);
        assert_eq!(engine.api_keys()[0].revoked_at, Some(now()));
        assert!(engine.session(&[1; 32]).is_none());
        assert!(engine.session(&[2; 32]).is_some());
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    let set_password = Change::SetPassword(AccountId(1), "y".into());
    engine
        .apply(vec![set_password.into_event("ana", now())])
        .unwrap();
    assert!(engine.session(&[2; 32]).is_none());
}

/// Checking a password takes a while: what was decided meanwhile stands.
#[test]
fn whoever_gave_an_old_password_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let ana = AccountId(1);
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    let try_it = |digest: u8, old: &str, new: &str| {
        let replace = Change::ReplacePassword {
            account: ana,
            old: old.into(),
            new: new.into(),
        };
        let session = Session {
            digest: [digest; 32],
            account: ana,
            created_at: now().plus_seconds(digest.into()),
            expires_at: now().plus_seconds(600),
        };
        let opened = StateEvent::OpenSession(session, new.into());
        engine
            .apply(vec![replace.into_event("ana", now()), opened])
            .unwrap()
    };
    let hash = || engine.account(ana).unwrap().password_hash;
    let open_count = || engine.sessions_of(ana).len();
    assert_eq!(try_it(1, "x", "mine"), [Outcome::Done, Outcome::Done]);
    assert_eq!((hash().as_str(), open_count()), ("mine", 1));
    let operator = Change::SetPassword(ana, "operator's".into());
    engine
        .apply(vec![operator.into_event("command line", now())])
        .unwrap();
    let lines = engine.audit_log(None, 9).unwrap().len();
    assert_eq!(try_it(2, "mine", "again"), [Outcome::Stale, Outcome::Stale]);
    assert_eq!((hash().as_str(), open_count()), ("operator's", 0));
    let disable = Change::SetDisabled(ana, true);
    engine
        .apply(vec![disable.into_event("command line", now())])
        .unwrap();
    let refused = try_it(3, "operator's", "again");
    assert_eq!(refused, [Outcome::Stale, Outcome::Stale]);
    assert_eq!((hash().as_str(), open_count()), ("operator's", 0));
    assert_eq!(engine.audit_log(None, 9).unwrap().len(), lines + 1);
}

#[test]
fn the_latest_moment_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let start = Timestamp::from_seconds(0).unwrap();
    assert_eq!(engine.latest_moment().unwrap(), start);
    let used = |number: u64, seconds: i64| {
        let delta = UsageDelta {
            api_key: None,
            day: now().day(),
            usage: Usage::default(),
            last_used_at: Some(now().plus_seconds(seconds)),
        };
        let deltas = vec![
            delta.clone(),
            UsageDelta {
                last_used_at: None,
                ..delta
            },
        ];
        StateEvent::AddUsage(UsageBatch { number, deltas })
    };
    engine.apply(vec![used(1, 60)]).unwrap();
    engine.apply(vec![used(2, 5)]).unwrap();
    assert_eq!(engine.latest_moment().unwrap(), now().plus_seconds(60));
    let seen = StateEvent::DropExpiredSessions(now().plus_seconds(61));
    engine.apply(vec![seen]).unwrap();
    drop(engine);
    let again = open(dir.path()).latest_moment().unwrap();
    assert_eq!(again, now().plus_seconds(61));
}

#[test]
fn keys_and_sessions_are_known_by_their_account() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let [ana, eva] = [AccountId(1), AccountId(2)];
    let session = |account, digest: u8, age: i64| {
        let session = Session {
            digest: [digest; 32],
            account,
            created_at: now().plus_seconds(-age),
            expires_at: now(),
        };
        StateEvent::OpenSession(session, "x".into())
    };
    engine
        .apply(vec![
            new_account("ana@example.org"),
            new_account("eva@example.org"),
            new_api_key(Some(eva)),
            new_api_key(Some(ana)),
            new_api_key(None),
            new_api_key(Some(ana)),
            Change::RevokeApiKey(ApiKeyId(2)).into_event("ana", now()),
            session(ana, 1, 5),
            session(ana, 2, 7),
            session(eva, 3, 9),
            session(ana, 4, 6),
            StateEvent::CloseSession([4; 32]),
        ])
        .unwrap();
    let check = |engine: &Engine| {
        let keys = engine.api_keys_of(ana);
        let ids: Vec<u64> = keys.iter().map(|api_key| api_key.id.0).collect();
        assert_eq!(ids, [2, 4]);
        assert_eq!(engine.api_key(ApiKeyId(3)).unwrap().account, None);
        assert!(engine.api_key(ApiKeyId(5)).is_none());
        let sessions = engine.sessions_of(ana);
        let digests: Vec<u8> = sessions.iter().map(|session| session.digest[0]).collect();
        assert_eq!(digests, [2, 1]);
    };
    check(&engine);
    drop(engine);
    check(&open(dir.path()));
}

#[test]
fn downloads_are_counted_exactly_once() {
    let dir = tempfile::tempdir().unwrap();
    let day = Day(20_000);
    let api_key = Some(ApiKeyId(1));
    let engine = open(dir.path());
    let mut lane = engine.counter_lane().unwrap();
    let mut other = engine.counter_lane().unwrap();
    for round in 0..1_000 {
        lane.count(id(1), api_key, day).unwrap();
        other.count(id(2), None, day).unwrap();
        if round % 100 == 0 {
            engine
                .maintain(after(round * AGGREGATE_SECONDS_MAX))
                .unwrap();
        }
    }
    engine.sync_counters().unwrap();
    assert_eq!(engine.downloads(id(1)), 1_000);
    // Neither lanes nor engine are closed: as if the process was killed.
    std::mem::forget(lane);
    std::mem::forget(other);
    drop(engine);
    for _ in 0..3 {
        let engine = open(dir.path());
        assert_eq!(engine.downloads(id(1)), 1_000);
        assert_eq!(engine.downloads(id(2)), 1_000);
        assert_eq!(
            engine.api_key_totals(ApiKeyId(1)).unwrap().0.downloads,
            1_000
        );
        let usage = engine.usage(day, day).unwrap();
        assert_eq!(usage[0].1.downloads, 2_000);
        engine.maintain(now()).unwrap();
        engine.close(now()).unwrap();
    }
}

#[test]
fn counts_are_aggregated_when_they_are_old_or_many_or_read() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path(), Arc::new(Real), true, 1).unwrap();
    let mut lane = database.counters.lane().unwrap();
    let mut count = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            lane.count(id(number), Some(ApiKeyId(1)), Day(1)).unwrap();
        }
    };
    let stored = || {
        let usage = database.state.usage(Day(1), Day(1)).unwrap();
        usage.first().map_or(0, |(_, usage)| usage.downloads)
    };
    let aggregated = |seconds| {
        database.maintain(after(seconds)).unwrap();
        stored()
    };
    count(0..1);
    assert_eq!(aggregated(100), 0, "it was only just counted");
    assert_eq!(aggregated(100 + AGGREGATE_SECONDS_MAX - 1), 0);
    assert_eq!(aggregated(100 + AGGREGATE_SECONDS_MAX), 1);
    count(0..1);
    assert_eq!(aggregated(200), 1, "this one has not waited yet");
    assert_eq!(aggregated(150), 1, "a clock that is set back");
    assert_eq!(aggregated(150 + AGGREGATE_SECONDS_MAX), 2);
    let many = AGGREGATE_BYTES_MAX / 32;
    count(0..many);
    assert_eq!(aggregated(300), 2 + many, "it is enough for a transaction");
    count(0..5);
    assert_eq!(aggregated(400), 2 + many);
    database.aggregate_for_reader(after(401));
    assert_eq!(stored(), 7 + many, "a reader sees all of it");
    count(0..1);
    database.aggregate_for_reader(after(401));
    assert_eq!(stored(), 7 + many, "but not twice in a second");
    database.aggregate_for_reader(after(400));
    assert_eq!(stored(), 8 + many);
}

/// A file of a lane has room for 32,767 entries. The second disk gives no mapping to write to.
#[test]
fn a_full_counter_file_is_followed_by_another() {
    const COUNTED: u64 = 70_000;
    let disks: [Arc<dyn Disk>; 2] = [Arc::new(Real), Arc::new(Faulty::new(Fault::NONE))];
    for disk in disks {
        let dir = tempfile::tempdir().unwrap();
        let open = || open_with(dir.path(), Arc::clone(&disk), StoreKind::Redb).unwrap();
        let engine = open();
        let mut lane = engine.counter_lane().unwrap();
        for number in 0..COUNTED {
            lane.count(id(number), None, Day(1)).unwrap();
            if number == COUNTED / 2 {
                engine.maintain(now()).unwrap();
            }
        }
        let files = std::fs::read_dir(dir.path().join("counters")).unwrap();
        assert_eq!(files.count(), 2, "the first is aggregated and gone");
        // Not closed: as if the process was killed.
        std::mem::forget(lane);
        drop(engine);
        let engine = open();
        assert!((0..COUNTED).all(|number| engine.downloads(id(number)) == 1));
        assert!(
            engine.verify(false).unwrap().is_empty(),
            "zeros are no damage"
        );
    }
}

#[test]
fn a_torn_tail_of_a_counter_file_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let mut lane = engine.counter_lane().unwrap();
    for day in 1..=10 {
        lane.count(id(1), None, Day(day)).unwrap();
    }
    drop((lane, engine));
    let entry = std::fs::read_dir(dir.path().join("counters"))
        .unwrap()
        .next();
    let path = entry.unwrap().unwrap().path();
    let mut content = std::fs::read(&path).unwrap();
    content.extend([7; 50]);
    content[16] ^= 1;
    std::fs::write(&path, content).unwrap();
    let engine = open(dir.path());
    assert_eq!(engine.downloads(id(1)), 9);
    let findings = engine.verify(false).unwrap();
    let torn = findings.iter().map(|finding| finding.offset);
    let expected = [16, (1 << 20) - 16, (1 << 20) + 16].map(Some);
    assert!(torn.eq(expected), "{findings:?}");
    drop(engine);
    assert_eq!(open(dir.path()).downloads(id(1)), 9);
}

#[test]
fn a_fault_at_any_operation_loses_nothing_acknowledged() {
    for op_idx in (0..260).step_by(3) {
        let dir = tempfile::tempdir().unwrap();
        let faulty = Arc::new(Faulty::new(Fault {
            first: op_idx,
            count: 2,
            errno: Fault::EIO,
        }));
        let open = || {
            open_with(
                dir.path(),
                Arc::clone(&faulty) as Arc<dyn Disk>,
                StoreKind::Redb,
            )
        };
        let engine = (0..4).find_map(|_| open().ok()).expect("it opens");
        let mut imported = Vec::new();
        let mut keys_count = 0;
        let release = ReleaseId::parse("1").unwrap();
        let mut file = None;
        for round in 0..6 {
            let numbers = round * 10..round * 10 + 10;
            if import(&engine, numbers.clone(), "Uno").is_ok() {
                imported.extend(numbers);
            }
            keys_count += usize::from(engine.apply(vec![new_api_key(None)]).is_ok());
            let stored = engine.store_file(&release, &[round as u8; 99], FileKind::Srt, None);
            file = stored.ok().or(file);
            engine.request_reindex();
            let _ = engine.maintain(now());
        }
        assert!(40 <= imported.len(), "operation {op_idx}: it does not heal");
        drop(engine);
        faulty.set_fault(Fault::NONE);
        let engine = open().unwrap();
        for number in imported {
            let title = title_of(&engine, number).expect("an acknowledged record is there");
            assert_eq!(title, format!("Uno {number}"));
        }
        assert!(keys_count <= engine.api_keys().len());
        let known = engine.cached_file(&release).unwrap();
        assert!(engine.blob(&known, Variant::Identity).unwrap().is_some());
        assert!(file.is_some());
        assert_eq!(
            engine
                .verify(true)
                .unwrap()
                .iter()
                .filter(|f| !f.is_repaired)
                .count(),
            0
        );
    }
}

#[test]
fn a_fault_of_any_length_counts_every_download_and_request_once() {
    let day = now().day();
    for (first, count) in (0..24).flat_map(|first| [1, 2, 3, 5, 9].map(|count| (first, count))) {
        let dir = tempfile::tempdir().unwrap();
        let faulty = Arc::new(Faulty::new(Fault::NONE));
        let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
        let engine = open_with(dir.path(), disk, StoreKind::Redb).unwrap();
        let mut lane = engine.counter_lane().unwrap();
        for _ in 0..6 {
            lane.count(id(1), None, day).unwrap();
        }
        let batch = UsageBatch {
            number: engine.last_usage().unwrap() + 1,
            deltas: vec![UsageDelta {
                api_key: None,
                day,
                usage: Usage {
                    requests: 10,
                    ..Usage::default()
                },
                last_used_at: None,
            }],
        };
        // Its counts wait from here on.
        engine.maintain(now()).unwrap();
        faulty.set_fault(Fault {
            first: faulty.ops_count() + first,
            count,
            errno: Fault::EIO,
        });
        let is_done = (1..20).any(|time| {
            let added = engine.apply(vec![StateEvent::AddUsage(batch.clone())]);
            engine.maintain(after(time * AGGREGATE_SECONDS_MAX)).is_ok() && added.is_ok()
        });
        assert!(is_done, "{count} faults from {first} on: it does not heal");
        faulty.set_fault(Fault::NONE);
        drop(lane);
        drop(engine);
        let engine = open(dir.path());
        let usage = engine.usage(day, day).unwrap()[0].1;
        let counted = (engine.downloads(id(1)), usage.downloads, usage.requests);
        assert_eq!(counted, (6, 6, 10), "{count} faults from {first} on");
    }
}

#[test]
fn a_full_disk_lets_everyone_read_and_begins_no_merge() {
    let dir = tempfile::tempdir().unwrap();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let open = || {
        open_with(
            dir.path(),
            Arc::clone(&faulty) as Arc<dyn Disk>,
            StoreKind::Redb,
        )
    };
    let engine = open().unwrap();
    for round in 0..4 {
        import(&engine, round * 10..round * 10 + 10, "Uno").unwrap();
        engine.request_reindex();
        if round < 3 {
            engine.maintain(now()).unwrap();
        }
    }
    let mut lane = engine.counter_lane().unwrap();
    lane.count(id(1), None, now().day()).unwrap();
    // As if the process was killed.
    std::mem::forget(lane);
    drop(engine);
    faulty.set_free_bytes(1 << 20);
    let engine = open().unwrap();
    assert_eq!(engine.downloads(id(1)), 1);
    assert_eq!(title_of(&engine, 39).unwrap(), "Uno 39");
    let refused = import(&engine, 40..50, "Uno");
    assert!(matches!(refused, Err(Error::Space { .. })));
    let ops_count = faulty.ops_count();
    engine.maintain(now()).unwrap();
    for time in 1..4 {
        let maintained = engine.maintain(after(time * AGGREGATE_SECONDS_MAX));
        assert!(matches!(maintained, Err(Error::Space { .. })));
    }
    assert_eq!(faulty.ops_count(), ops_count, "nothing is tried");
    engine.close(now()).unwrap();
    drop(engine);
    faulty.set_free_bytes(u64::MAX);
    let engine = open().unwrap();
    engine.request_reindex();
    while engine.maintain(now()).unwrap() {}
    assert_eq!(engine.downloads(id(1)), 1);
    assert_eq!(
        engine.usage(now().day(), now().day()).unwrap()[0]
            .1
            .downloads,
        1
    );
    assert_eq!(engine.stats().unwrap().file_segments, 1);
}

#[test]
fn merges_are_stopped_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    for round in 0..4 {
        import(&engine, round * 10..round * 10 + 10, "Uno").unwrap();
        engine.request_reindex();
        if round == 3 {
            engine.stop_merging();
        }
        engine.maintain(now()).unwrap();
    }
    assert!(!engine.maintain(now()).unwrap());
    assert_eq!(engine.stats().unwrap().file_segments, 4);
    engine.close(now()).unwrap();
}

#[test]
fn imports_updates_and_merges_at_once_end_as_one_after_another() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    std::thread::scope(|scope| {
        scope.spawn(|| import(&engine, 0..30_000, "Uno").unwrap());
        scope.spawn(|| {
            for number in 0..200 {
                engine.delete_records(&[id(number * 7)]).unwrap();
                engine.request_reindex();
            }
        });
        scope.spawn(|| import(&engine, 20_000..40_000, "Dos").unwrap());
        scope.spawn(|| {
            for _ in 0..50 {
                engine.maintain(now()).unwrap();
            }
        });
    });
    let check = |engine: &Engine| {
        let mut stored_count = 0;
        let export = engine.export(&mut |record| {
            stored_count += 1;
            let snapshot = engine.snapshot();
            let doc = snapshot
                .doc(record.id)?
                .expect("every stored record is found");
            let fragment = String::from_utf8_lossy(doc.fragment()).into_owned();
            assert!(
                fragment.contains(&format!("\"{}\"", record.title)),
                "{fragment}"
            );
            Ok(())
        });
        export.unwrap();
        let docs: u64 = engine
            .snapshot()
            .parts()
            .iter()
            .map(|(segment, tombstones)| u64::from(segment.len()) - tombstones.len())
            .sum();
        assert_eq!(docs, stored_count);
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    while engine.maintain(now()).unwrap() {}
    check(&engine);
    const { assert!(DELTA_RECORDS_MAX < 30_000) };
}
