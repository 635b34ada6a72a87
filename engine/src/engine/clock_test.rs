//! The latest second, behind which time never falls, and clocks that are wrong.

use super::test_support::{after, new_account, new_api_key, now, open};
use crate::Engine;
use crate::limits::CLOCK_STEP_SECONDS_MAX;
use crate::model::{
    AccountId, ApiKey, ApiKeyId, ApiKeyState, Day, Scopes, Session, Timestamp, Usage,
};
use crate::state::{
    Change, KeyRenewal, KeyRoll, NewApiKey, Outcome, StateEvent, UsageBatch, UsageDelta,
};

const DAY: i64 = 86_400;
const YEAR: i64 = 366 * DAY;

fn apply(engine: &Engine, change: Change, at: Timestamp) -> Outcome {
    let mut outcomes = engine.apply(vec![change.into_event("ana", at)]).unwrap();
    outcomes.pop().unwrap()
}

fn latest(engine: &Engine) -> Timestamp {
    engine.usage().latest_moment().unwrap()
}

fn api_key(engine: &Engine, number: u64) -> ApiKey {
    engine.accounts().api_key(ApiKeyId(number)).unwrap()
}

/// Makes a key that expires.
fn make_key(engine: &Engine, number: u8, expires_at: Option<Timestamp>) {
    let new = NewApiKey {
        account: None,
        name: "laptop".into(),
        digest: [number; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at,
    };
    apply(engine, Change::CreateApiKey(new), now());
}

fn used_at(number: u64, at: Timestamp) -> StateEvent {
    let delta = UsageDelta {
        api_key: None,
        day: Day(20_000),
        usage: Usage::default(),
        last_used_at: Some(at),
    };
    StateEvent::AddUsage(UsageBatch {
        number,
        deltas: vec![delta],
    })
}

#[test]
fn a_moment_far_ahead_is_remembered_when_it_is_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let see = |at| engine.apply(vec![StateEvent::DropExpiredSessions(at)]);
    see(now()).unwrap();
    see(after(10 * YEAR)).unwrap();
    engine.apply(vec![used_at(1, after(YEAR))]).unwrap();
    see(after(CLOCK_STEP_SECONDS_MAX + 1)).unwrap();
    assert_eq!(latest(&engine), now());
    see(after(CLOCK_STEP_SECONDS_MAX)).unwrap();
    assert_eq!(latest(&engine), after(CLOCK_STEP_SECONDS_MAX));
    apply(&engine, Change::SetClock(after(YEAR)), after(YEAR));
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(latest(&engine), after(YEAR));
    let log = engine.accounts().audit_log(None, 9).unwrap();
    let actions: Vec<&str> = log.iter().map(|(_, it)| it.action.as_str()).collect();
    assert_eq!(actions, ["clock set"]);
}

/// A clock that is ten years ahead ends nothing for good, and makes nothing live on when it is set
/// right: neither what was revoked by it, nor what it rolled.
#[test]
fn what_is_revoked_by_a_wrong_clock_stays_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let wrong = after(10 * YEAR);
    engine
        .apply(vec![StateEvent::DropExpiredSessions(now())])
        .unwrap();
    for number in 1..=4 {
        make_key(&engine, number, None);
    }
    let roll = |old: u64, grace_seconds: i64| {
        let roll = KeyRoll {
            old: ApiKeyId(old),
            digest: [old as u8 + 10; 32],
            partial: "sct_".into(),
            old_ends_at: wrong.plus_seconds(grace_seconds),
        };
        let renewal = KeyRenewal {
            roll,
            expires_at: None,
            bound: None,
        };
        apply(&engine, Change::RenewApiKey(renewal), wrong);
    };
    apply(&engine, Change::RevokeApiKey(ApiKeyId(1)), wrong);
    roll(2, 0);
    roll(3, 7 * DAY);
    roll(4, 7 * DAY);
    apply(&engine, Change::RevokeApiKey(ApiKeyId(4)), wrong);
    assert_eq!(latest(&engine), now());
    drop(engine);
    let engine = open(dir.path());
    let state = |number, at| api_key(&engine, number).state(at);
    let states = [1, 2, 3, 4].map(|number| state(number, now()));
    let [active, revoked] = [ApiKeyState::Active, ApiKeyState::Revoked];
    assert_eq!(states, [revoked, revoked, active, revoked]);
    assert_eq!(state(3, after(7 * DAY)), revoked);
}

#[test]
fn a_clock_that_is_taken_back_revives_what_was_expired_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let wrong = after(10 * YEAR);
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    make_key(&engine, 1, Some(after(30 * DAY)));
    make_key(&engine, 2, Some(after(-DAY)));
    make_key(&engine, 3, None);
    engine.apply(vec![new_api_key(Some(AccountId(1)))]).unwrap();
    let session = Session {
        digest: [1; 32],
        account: AccountId(1),
        created_at: now(),
        expires_at: after(30 * DAY),
        device: String::new(),
        last_used_at: None,
        is_pending: false,
    };
    engine
        .apply(vec![StateEvent::OpenSession(session, "x".into())])
        .unwrap();
    apply(&engine, Change::SetClock(wrong), wrong);
    apply(&engine, Change::RevokeApiKey(ApiKeyId(3)), wrong);
    assert_eq!(api_key(&engine, 3).revoked_at, Some(wrong));
    apply(&engine, Change::SetClock(now()), now());
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(latest(&engine), now());
    let states = [1, 2, 3, 4].map(|number| api_key(&engine, number).state(now()));
    let [active, expired] = [ApiKeyState::Active, ApiKeyState::Expired];
    assert_eq!(states, [active, expired, ApiKeyState::Revoked, active]);
    assert!(engine.accounts().session(&[1; 32]).is_none());
}
