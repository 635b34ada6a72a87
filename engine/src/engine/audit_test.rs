//! The audit log and the changes in it: both, or neither, wherever writing stops.

use std::path::Path;
use std::sync::Arc;

use super::test_support::work_dir;
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::model::{
    AccountId, ApiKeyId, AuditEntry, Email, NodeId, Role, Scopes, Session, Timestamp,
};
use crate::state::{Change, NewAccount, NewApiKey, StateEvent};
use crate::{Engine, Options, StoreKind};

fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).unwrap()
}

fn open(dir: &Path, disk: Arc<dyn Disk>) -> crate::Result<Engine> {
    let options = Options {
        disk,
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(1),
    };
    Engine::open(dir, options)
}

fn new_account(email: &str) -> Change {
    Change::CreateAccount(NewAccount {
        email: Email::parse(email).unwrap(),
        display_name: String::new(),
        role: Role::User,
        password_hash: "x".into(),
    })
}

fn new_api_key(account: Option<AccountId>) -> Change {
    Change::CreateApiKey(NewApiKey {
        account,
        name: "laptop".into(),
        digest: [1; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    })
}

fn session() -> StateEvent {
    let session = Session {
        digest: [7; 32],
        account: AccountId(1),
        created_at: now(),
        expires_at: now().plus_seconds(60),
        device: String::new(),
        last_used_at: None,
        is_pending: false,
    };
    StateEvent::OpenSession(session, "y".into())
}

/// Every kind of change, one transaction each, as commands and pages make them.
fn life() -> Vec<Vec<StateEvent>> {
    let ana = AccountId(1);
    let by = |change: Change| change.into_event("ana@example.org", now());
    vec![
        vec![by(new_account("ana@example.org"))],
        vec![by(new_api_key(Some(ana)))],
        vec![by(Change::SetDisplayName(ana, "Ana".into()))],
        vec![by(Change::SetRole(ana, Role::Admin))],
        vec![by(Change::SetPassword(ana, "y".into())), session()],
        vec![by(Change::CloseSessions(ana))],
        vec![by(Change::RevokeApiKey(ApiKeyId(1)))],
        vec![by(Change::SetDisabled(ana, true))],
    ]
}

/// Changes that the rows show, in the order of [`life`].
fn done(engine: &Engine) -> Vec<&'static str> {
    let account = engine.accounts().get(AccountId(1));
    let account = account.as_ref();
    let api_keys = engine.accounts().api_keys();
    let is_changed = account.is_some_and(|account| account.password_hash == "y");
    let has_session = engine.accounts().session(&[7; 32]).is_some();
    let is_revoked = api_keys.iter().any(|key| key.revoked_at.is_some());
    // A closed session leaves no row: the next change shows it.
    let is_closed = is_revoked || (is_changed && !has_session);
    [
        ("account created", account.is_some()),
        ("key created", !api_keys.is_empty()),
        (
            "name changed",
            account.is_some_and(|account| account.display_name == "Ana"),
        ),
        (
            "role changed to admin",
            account.is_some_and(|account| account.role == Role::Admin),
        ),
        ("password changed", is_changed),
        ("signed out everywhere", is_closed),
        ("key revoked", is_revoked),
        (
            "account disabled",
            account.is_some_and(|account| account.disabled_at.is_some()),
        ),
    ]
    .into_iter()
    .filter_map(|(action, is_done)| is_done.then_some(action))
    .collect()
}

/// Changes that the audit log shows, oldest first.
fn entries(engine: &Engine) -> Vec<String> {
    let mut lines = engine.accounts().audit_log(None, 100).unwrap();
    lines.reverse();
    lines.into_iter().map(|(_, line)| line.action).collect()
}

#[test]
fn a_change_and_its_line_are_stored_together_wherever_writing_stops() {
    let mut lengths = Vec::new();
    for op_idx in 0.. {
        let dir = work_dir();
        let faulty = Arc::new(Faulty::new(Fault::NONE));
        let engine = open(dir.path(), Arc::clone(&faulty) as Arc<dyn Disk>).unwrap();
        // From here on nothing reaches the disk: as if the process was killed.
        let first = faulty.ops_count() + op_idx;
        faulty.set_fault(Fault {
            first,
            count: u64::MAX,
            errno: Fault::EIO,
        });
        let acknowledged = life()
            .into_iter()
            .take_while(|events| engine.apply(events.clone()).is_ok())
            .count();
        drop(engine);
        let engine = open(dir.path(), Arc::new(Real)).unwrap();
        assert_eq!(entries(&engine), done(&engine), "operation {op_idx}");
        let length = entries(&engine).len();
        assert!(acknowledged <= length, "operation {op_idx}");
        lengths.push(length);
        if acknowledged == life().len() {
            break;
        }
    }
    // It was cut between any two of them.
    lengths.dedup();
    assert!(lengths.is_sorted(), "{lengths:?}");
    assert_eq!(lengths.len(), life().len() + 1, "{lengths:?}");
}

#[test]
fn what_is_refused_or_changes_nothing_adds_no_line() {
    let dir = work_dir();
    let engine = open(dir.path(), Arc::new(Real)).unwrap();
    let apply = |change: Change| {
        engine.apply(vec![change.into_event("ana", now())]).unwrap();
        engine.accounts().audit_log(None, 100).unwrap().len()
    };
    let ana = AccountId(1);
    assert_eq!(apply(new_account("ana@example.org")), 1);
    assert_eq!(apply(new_account("ANA@example.org")), 1);
    assert_eq!(apply(new_api_key(Some(AccountId(9)))), 1);
    assert_eq!(apply(new_api_key(Some(ana))), 2);
    assert_eq!(apply(Change::RevokeApiKey(ApiKeyId(1))), 3);
    assert_eq!(apply(Change::RevokeApiKey(ApiKeyId(1))), 3);
    assert_eq!(apply(Change::RevokeApiKey(ApiKeyId(9))), 3);
    assert_eq!(apply(Change::SetRole(ana, Role::User)), 3);
    assert_eq!(apply(Change::SetDisabled(ana, false)), 3);
    assert_eq!(apply(Change::CloseSessions(ana)), 3);
    let (number, line) = &engine.accounts().audit_log(None, 1).unwrap()[0];
    let expected = AuditEntry {
        at: now(),
        actor: "ana".into(),
        action: "key revoked".into(),
        account: Some(ana),
        api_key: Some(ApiKeyId(1)),
        detail: "laptop".into(),
    };
    assert_eq!(line, &expected);
    let older = engine.accounts().audit_log(Some(*number), 1).unwrap();
    assert_eq!(older[0].1.action, "key created");
    assert_eq!(engine.accounts().audit_log(Some(1), 9).unwrap(), []);
}

/// Entries of accounts about themselves must not push out those of administrators and operators.
#[test]
fn routine_entries_leave_the_others_alone() {
    let dir = work_dir();
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Memory,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(dir.path(), options).unwrap();
    let ana = AccountId(1);
    let by = |actor: &str, change: Change| change.into_event(actor, now());
    let operator = "command line";
    engine
        .apply(vec![
            by(operator, new_account("ana@example.org")),
            by("eva@example.org", Change::SetRole(ana, Role::Admin)),
            by("ana@example.org", Change::SetRole(ana, Role::User)),
        ])
        .unwrap();
    let rename = |number: usize| {
        let name = format!("Ana {number}");
        by("ana@example.org", Change::SetDisplayName(ana, name))
    };
    let renames_count = usize::try_from(crate::limits::AUDIT_ENTRIES_MAX).unwrap() + 7;
    engine
        .apply((0..renames_count).map(rename).collect())
        .unwrap();
    engine
        .apply(vec![by(operator, Change::SetDisabled(ana, true))])
        .unwrap();
    let all = engine.accounts().audit_log(None, usize::MAX).unwrap();
    assert_eq!(all.len(), renames_count - 7 + 4);
    assert!(all.is_sorted_by(|newer, older| older.0 < newer.0));
    let actions = |log: &[(u64, AuditEntry)]| -> Vec<String> {
        log.iter().map(|(_, entry)| entry.action.clone()).collect()
    };
    assert_eq!(actions(&all[..2]), ["account disabled", "name changed"]);
    let oldest = [
        "role changed to user",
        "role changed to admin",
        "account created",
    ];
    assert_eq!(actions(&all[all.len() - 3..]), oldest);
    let page = engine.accounts().audit_log(Some(all[1].0), 3).unwrap();
    assert_eq!(page, all[2..5]);
}
