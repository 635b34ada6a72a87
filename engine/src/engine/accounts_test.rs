//! Accounts, keys, sessions and usage through an engine that is closed and opened again.

use super::test_support::{new_account, new_api_key, now, open};
use crate::Engine;
use crate::model::{AccountId, ApiKeyId, Email, Session, Timestamp, Usage};
use crate::state::{Change, Outcome, StateEvent, UsageBatch, UsageDelta};

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
        assert_eq!(engine.accounts().by_email(&email).unwrap().id, AccountId(1));
        assert_eq!(engine.accounts().api_keys().len(), 2);
        assert_eq!(engine.accounts().api_keys()[0].revoked_at, Some(now()));
        assert!(engine.accounts().session(&[1; 32]).is_none());
        assert!(engine.accounts().session(&[2; 32]).is_some());
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    let set_password = Change::SetPassword(AccountId(1), "y".into());
    engine
        .apply(vec![set_password.into_event("ana", now())])
        .unwrap();
    assert!(engine.accounts().session(&[2; 32]).is_none());
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
    let hash = || engine.accounts().get(ana).unwrap().password_hash;
    let open_count = || engine.accounts().sessions_of(ana).len();
    assert_eq!(try_it(1, "x", "mine"), [Outcome::Done, Outcome::Done]);
    assert_eq!((hash().as_str(), open_count()), ("mine", 1));
    let operator = Change::SetPassword(ana, "operator's".into());
    engine
        .apply(vec![operator.into_event("command line", now())])
        .unwrap();
    let lines = engine.accounts().audit_log(None, 9).unwrap().len();
    assert_eq!(try_it(2, "mine", "again"), [Outcome::Stale, Outcome::Stale]);
    assert_eq!((hash().as_str(), open_count()), ("operator's", 0));
    let disable = Change::SetDisabled(ana, true);
    engine
        .apply(vec![disable.into_event("command line", now())])
        .unwrap();
    let refused = try_it(3, "operator's", "again");
    assert_eq!(refused, [Outcome::Stale, Outcome::Stale]);
    assert_eq!((hash().as_str(), open_count()), ("operator's", 0));
    assert_eq!(
        engine.accounts().audit_log(None, 9).unwrap().len(),
        lines + 1
    );
}

#[test]
fn the_latest_moment_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let start = Timestamp::from_seconds(0).unwrap();
    assert_eq!(engine.usage().latest_moment().unwrap(), start);
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
    assert_eq!(
        engine.usage().latest_moment().unwrap(),
        now().plus_seconds(60)
    );
    let seen = StateEvent::DropExpiredSessions(now().plus_seconds(61));
    engine.apply(vec![seen]).unwrap();
    drop(engine);
    let again = open(dir.path()).usage().latest_moment().unwrap();
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
        let keys = engine.accounts().api_keys_of(ana);
        let ids: Vec<u64> = keys.iter().map(|api_key| api_key.id.0).collect();
        assert_eq!(ids, [2, 4]);
        assert_eq!(
            engine.accounts().api_key(ApiKeyId(3)).unwrap().account,
            None
        );
        assert!(engine.accounts().api_key(ApiKeyId(5)).is_none());
        let sessions = engine.accounts().sessions_of(ana);
        let digests: Vec<u8> = sessions.iter().map(|session| session.digest[0]).collect();
        assert_eq!(digests, [2, 1]);
    };
    check(&engine);
    drop(engine);
    check(&open(dir.path()));
}
