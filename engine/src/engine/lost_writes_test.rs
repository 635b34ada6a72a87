//! An older version of a row with a checksum that matches: the write of its page was lost. The
//! audit log and memory have the later one.

use std::path::Path;
use std::sync::Arc;

use super::test_support::{new_account, new_api_key, now, open, open_with, work_dir};
use crate::codec::{StoredValue, encode_number};
use crate::data_dir::DataDir;
use crate::database::{STATE_FILE, open_store};
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::error::Result;
use crate::model::{Account, AccountId, ApiKey, ApiKeyId, Session};
use crate::state::{Change, StateEvent};
use crate::store::{Store, Table, Transaction};
use crate::{Engine, MaintenanceTask, StoreKind};

const ACCOUNTS: Table = Table("accounts");
const API_KEYS: Table = Table("api_keys");
const SESSIONS: Table = Table("sessions");
const NUMBERS: Table = Table("meta");
const SESSION: [u8; 32] = [7; 32];

/// A directory in which the first key is revoked, the second account disabled, and the third one,
/// which has the third key, deleted.
fn prepare(data: &Path) -> Engine {
    let engine = open(data);
    let events = vec![
        new_account("ana@example.org"),
        new_account("luz@example.org"),
        new_account("sol@example.org"),
        new_api_key(Some(AccountId(1))),
        new_api_key(None),
        new_api_key(Some(AccountId(3))),
        Change::RevokeApiKey(ApiKeyId(1)).into_event("ana@example.org", now()),
        Change::SetDisabled(AccountId(1), true).into_event("luz@example.org", now()),
        Change::SetDisabled(AccountId(1), false).into_event("luz@example.org", now()),
        Change::SetDisabled(AccountId(2), true).into_event("ana@example.org", now()),
        Change::DeleteAccount(AccountId(3)).into_event("ana@example.org", now()),
        StateEvent::OpenSession(
            Session {
                digest: SESSION,
                account: AccountId(1),
                created_at: now(),
                expires_at: now().plus_seconds(60),
                device: String::new(),
                last_used_at: None,
                is_pending: false,
            },
            "x".into(),
        ),
    ];
    engine.apply(events).unwrap();
    engine
}

/// Puts the rows of keys and accounts back to before they were out of use.
fn undo(store: &Store) {
    store
        .write(|rows| {
            for number in [1, 3_u64] {
                let row_key = number.to_be_bytes();
                let stored = rows.get(API_KEYS, &row_key)?.expect("keys stay");
                let mut api_key = ApiKey::decode(&stored)?;
                assert!(api_key.revoked_at.take().is_some());
                rows.put(API_KEYS, &row_key, &api_key.encode())?;
            }
            let row_key = 2_u64.to_be_bytes();
            let stored = rows.get(ACCOUNTS, &row_key)?.expect("it is there");
            let mut account = Account::decode(&stored)?;
            assert!(account.disabled_at.take().is_some());
            rows.put(ACCOUNTS, &row_key, &account.encode())?;
            account.id = AccountId(3);
            rows.put(ACCOUNTS, &3_u64.to_be_bytes(), &account.encode())
        })
        .unwrap();
}

/// Does the same in the file of a closed directory.
fn close_and_undo(engine: Engine, data: &Path) {
    engine.close().unwrap();
    drop(engine);
    let data_dir = DataDir::open(Arc::new(Real), data).unwrap();
    let store = open_store(&data_dir, true, &STATE_FILE).unwrap();
    undo(&store);
    store.close().unwrap();
}

/// For each key whether it is revoked, and for each account whether it is disabled.
fn out_of_use(engine: &Engine) -> (Vec<bool>, Vec<bool>) {
    let keys = engine.accounts().api_keys().into_iter();
    let accounts = engine.accounts().all().into_iter();
    (
        keys.map(|key| key.revoked_at.is_some()).collect(),
        accounts.map(|it| it.disabled_at.is_some()).collect(),
    )
}

#[test]
fn a_start_believes_the_audit_log() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    let expected = (vec![true, false, true], vec![false, true]);
    assert_eq!(out_of_use(&engine), expected);
    close_and_undo(engine, &data);
    for noted_count in [4, 0] {
        let engine = open(&data);
        let (keys, accounts) = out_of_use(&engine);
        assert_eq!(keys, [true, false, true]);
        // The third is back, and of no use: its row was in the same page.
        assert_eq!(accounts, [false, true, true]);
        let noted = engine.take_damage();
        assert_eq!(noted.len(), noted_count, "{noted:?}");
        assert!(noted.iter().all(|entry| entry.is_repaired));
    }
}

/// Changes that cannot be stored are held in memory, and stored by the scrubber once there is room.
#[test]
fn a_full_disk_makes_nothing_valid_again() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    close_and_undo(engine, &data);
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    faulty.set_free_bytes(1 << 20);
    let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
    let engine = open_with(&data, disk, StoreKind::Redb).unwrap();
    let expected = (vec![true, false, true], vec![false, true, true]);
    assert_eq!(out_of_use(&engine), expected);
    assert_eq!(engine.take_damage().len(), 4);
    faulty.set_free_bytes(u64::MAX);
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    assert_eq!(engine.take_damage().len(), 4, "stored again");
    drop(engine);
    let engine = open(&data);
    assert_eq!(out_of_use(&engine), expected);
    assert_eq!(engine.take_damage(), []);
}

#[test]
fn the_scrubber_believes_memory() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    let store = engine.database().state.store();
    undo(store);
    store.write(|rows| rows.remove(SESSIONS, &SESSION)).unwrap();
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    let noted = engine.take_damage();
    assert_eq!(noted.len(), 5, "{noted:?}");
    assert!(
        noted
            .iter()
            .all(|entry| entry.outcome == "stored again from memory")
    );
    assert_eq!(engine.stats().unwrap().scrub_findings, 5);
    drop(engine);
    let engine = open(&data);
    assert_eq!(
        out_of_use(&engine),
        (vec![true, false, true], vec![false, true])
    );
    assert!(engine.accounts().session(&SESSION).is_some());
    assert_eq!(engine.take_damage(), []);
}

/// Changes the rows of numbers in the file of a closed directory.
fn change_numbers(data: &Path, change: impl Fn(&mut Transaction<'_>, &[u8]) -> Result<()>) {
    let data_dir = DataDir::open(Arc::new(Real), data).unwrap();
    let store = open_store(&data_dir, true, &STATE_FILE).unwrap();
    let changed = store.write(|rows| {
        for row_key in rows.row_keys(NUMBERS)? {
            if row_key.starts_with(b"last a") {
                change(rows, &row_key)?;
            }
        }
        Ok(())
    });
    changed.unwrap();
    store.close().unwrap();
}

/// The last assigned ids are lost or older ones: no account, key or entry of the audit log takes
/// the place of another.
#[test]
fn a_number_is_never_given_twice() {
    let dir = work_dir();
    for (name, is_lost) in [("older", false), ("lost", true)] {
        let data = dir.path().join(name);
        let engine = prepare(&data);
        let entries = engine.accounts().audit_log(None, 100).unwrap().len();
        engine.close().unwrap();
        drop(engine);
        change_numbers(&data, |rows, row_key| {
            if is_lost {
                return rows.remove(NUMBERS, row_key).map(drop);
            }
            rows.put(NUMBERS, row_key, &encode_number(1))
        });
        let engine = open(&data);
        let events = vec![
            new_account("mar@example.org"),
            new_api_key(Some(AccountId(1))),
        ];
        engine.apply(events).unwrap();
        let ids: Vec<u64> = engine.accounts().all().iter().map(|it| it.id.0).collect();
        // The third account was deleted: only what names it still shows its number.
        let expected: &[u64] = if is_lost { &[1, 2, 4] } else { &[1, 2, 3] };
        assert_eq!(ids, expected, "{name}");
        let keys = engine.accounts().api_keys();
        let ids: Vec<u64> = keys.iter().map(|api_key| api_key.id.0).collect();
        assert_eq!(ids, [1, 2, 3, 4], "{name}");
        let audit = engine.accounts().audit_log(None, 100).unwrap();
        assert_eq!(audit.len(), entries + 2, "{name}");
        engine.close().unwrap();
    }
}

/// A row that is damaged while the engine runs is met by a change: memory has what it was.
#[test]
fn a_change_heals_the_rows_that_it_meets() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    let store = engine.database().state.store();
    let key_row = 2_u64.to_be_bytes();
    store
        .write(|rows| rows.discredit(API_KEYS, &key_row))
        .unwrap();
    let revoke = Change::RevokeApiKey(ApiKeyId(2)).into_event("ana@example.org", now());
    engine.apply(vec![revoke]).unwrap();
    store
        .write(|rows| rows.discredit(NUMBERS, b"applied"))
        .unwrap();
    engine.apply(vec![new_account("mar@example.org")]).unwrap();
    // As if the last commits had gone nowhere.
    undo(store);
    store
        .write(|rows| rows.put(NUMBERS, b"applied", &encode_number(0)))
        .unwrap();
    engine.apply(vec![new_account("sal@example.org")]).unwrap();
    let expected = (vec![true; 3], vec![false, true, false, false]);
    assert_eq!(out_of_use(&engine), expected);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&data);
    assert_eq!(out_of_use(&engine), expected);
    assert_eq!(engine.take_damage(), []);
}

/// A row that could not be read at the start, and can be later, was not removed in between.
#[test]
fn the_scrubber_removes_nothing_that_was_unreadable() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    let row_key = 2_u64.to_be_bytes();
    let store = engine.database().state.store();
    let stored = store.read(|rows| rows.get(API_KEYS, &row_key)).unwrap();
    store
        .write(|rows| rows.discredit(API_KEYS, &row_key))
        .unwrap();
    drop(engine);
    let engine = open(&data);
    assert_eq!(engine.accounts().api_keys().len(), 2);
    let store = engine.database().state.store();
    let whole = stored.unwrap();
    store
        .write(|rows| rows.put(API_KEYS, &row_key, &whole))
        .unwrap();
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    drop(engine);
    assert_eq!(open(&data).accounts().api_keys().len(), 3);
}
