//! The latest second, behind which time never falls, and clocks that are wrong.

use std::path::Path;

use super::test_support::{after, new_account, new_api_key, now, open, work_dir};
use crate::Engine;
use crate::limits::CLOCK_STEP_SECONDS_MAX;
use crate::model::{
    AccountId, ApiKey, ApiKeyId, ApiKeyState, Day, LinkPurpose, OneTimeLink, Role, Scopes, Session,
    Timestamp, Usage,
};
use crate::state::{
    Change, KeyRenewal, KeyRoll, NewApiKey, Outcome, StateEvent, UsageBatch, UsageDelta,
};

const DAY: i64 = 86_400;
const YEAR: i64 = 366 * DAY;

/// An engine whose latest second is that of the test's clock.
fn opened_now(data: &Path) -> Engine {
    let engine = open(data);
    let second = StateEvent::DropExpiredSessions(now());
    engine.apply(vec![second]).unwrap();
    engine
}

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
    let dir = work_dir();
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

/// Rolls a key with this grace period.
fn roll(engine: &Engine, old: u64, grace_seconds: i64, at: Timestamp) {
    let roll = KeyRoll {
        old: ApiKeyId(old),
        digest: [old as u8 + 10; 32],
        partial: "sct_".into(),
        old_ends_at: at.plus_seconds(grace_seconds),
    };
    let renewal = KeyRenewal {
        roll,
        expires_at: None,
        bound: None,
    };
    apply(engine, Change::RenewApiKey(renewal), at);
}

fn session(number: u8, created_at: Timestamp) -> Session {
    Session {
        digest: [number; 32],
        account: AccountId(1),
        created_at,
        expires_at: created_at.plus_seconds(14 * DAY),
        device: String::new(),
        last_used_at: None,
        is_pending: false,
    }
}

fn open_session(engine: &Engine, session: Session) {
    let opened = StateEvent::OpenSession(session, "x".into());
    assert_eq!(engine.apply(vec![opened]).unwrap(), [Outcome::Done]);
}

fn link(number: u8, expires_at: Timestamp) -> OneTimeLink {
    OneTimeLink {
        digest: [number; 32],
        purpose: LinkPurpose::Invitation(Role::User),
        issuer: Some(AccountId(1)),
        expires_at,
    }
}

/// A clock that is ten years ahead ends nothing for good, and makes nothing live on when it is set
/// right: neither what was revoked by it, nor what it rolled.
#[test]
fn what_is_revoked_by_a_wrong_clock_stays_revoked() {
    let dir = work_dir();
    let engine = opened_now(dir.path());
    let wrong = after(10 * YEAR);
    for number in 1..=4 {
        make_key(&engine, number, None);
    }
    apply(&engine, Change::RevokeApiKey(ApiKeyId(1)), wrong);
    roll(&engine, 2, 0, wrong);
    roll(&engine, 3, 7 * DAY, wrong);
    roll(&engine, 4, 7 * DAY, wrong);
    assert_eq!(api_key(&engine, 4).state(wrong), ApiKeyState::Active);
    apply(&engine, Change::RevokeApiKey(ApiKeyId(4)), wrong);
    assert_eq!(latest(&engine), now());
    drop(engine);
    let engine = open(dir.path());
    for number in 1..=4 {
        let state = api_key(&engine, number).state(now());
        assert_eq!(state, ApiKeyState::Revoked, "{number}");
    }
}

/// Other nodes have a right clock, and so has this one later: to them the moment of such a roll is
/// yet to come, as the end of a grace period is.
#[test]
fn a_key_that_is_rolled_without_grace_is_revoked_whatever_the_clock_says() {
    for days in [0, 2, 5, 20, 31, 32, 400] {
        let dir = work_dir();
        let engine = opened_now(dir.path());
        make_key(&engine, 1, None);
        let wrong = after(days * DAY);
        roll(&engine, 1, 0, wrong);
        for at in [now(), wrong] {
            let state = api_key(&engine, 1).state(at);
            assert_eq!(state, ApiKeyState::Revoked, "{days}");
        }
    }
}

/// After a machine was off for weeks, its clock is right and far ahead of the latest second.
#[test]
fn a_key_that_is_rolled_after_weeks_goes_on_for_the_chosen_time() {
    let dir = work_dir();
    let engine = opened_now(dir.path());
    make_key(&engine, 1, None);
    make_key(&engine, 2, None);
    let weeks = 21 * DAY;
    roll(&engine, 1, 7 * DAY, after(weeks));
    roll(&engine, 2, 30 * DAY, after(weeks));
    for (number, days) in [(1, 7), (2, 30)] {
        let end = weeks + days * DAY;
        let state = |seconds| api_key(&engine, number).state(after(seconds));
        // The clock of another node may lag.
        for second in [weeks - 60, weeks, end - 1] {
            assert_eq!(state(second), ApiKeyState::Active, "{number}, {second}");
        }
        assert_eq!(state(end), ApiKeyState::Revoked);
    }
    // It was right, as is known after some hours.
    let hours = weeks + 6 * 3_600;
    let set = apply(&engine, Change::SetClock(after(hours)), after(hours));
    assert_eq!(set, Outcome::Done);
    let second = StateEvent::DropExpiredSessions(after(hours + 60));
    assert_eq!(engine.apply(vec![second]).unwrap(), [Outcome::Done]);
    let ends = [1, 2].map(|number| api_key(&engine, number).revoked_at);
    assert_eq!(ends, [7, 30].map(|days| Some(after(weeks + days * DAY))));
}

/// The clock of one node is days ahead. Keys that it rolls end as if they had been rolled when a
/// right clock is heard, and not as many days later, also after one was rolled again.
#[test]
fn a_key_that_a_wrong_clock_has_rolled_goes_on_for_the_chosen_time() {
    let dir = work_dir();
    let engine = opened_now(dir.path());
    for number in 1..=3 {
        make_key(&engine, number, None);
    }
    let wrong = after(5 * DAY);
    roll(&engine, 1, 7 * DAY, wrong);
    roll(&engine, 4, 2 * DAY, wrong.plus_seconds(60));
    roll(&engine, 2, 7 * DAY, after(60));
    let hear = |at| {
        engine
            .apply(vec![StateEvent::DropExpiredSessions(at)])
            .unwrap()
    };
    let ends = |engine: &Engine| [1, 2, 4].map(|number| api_key(engine, number).revoked_at);
    // It is doubted, and not yet known to be wrong.
    assert_eq!(hear(wrong.plus_seconds(120)), [Outcome::Done]);
    let rolled = [12 * DAY, 7 * DAY + 60, 7 * DAY + 60].map(|seconds| Some(after(seconds)));
    assert_eq!(ends(&engine), rolled);
    assert_eq!(hear(after(120)), [Outcome::KeysCorrected]);
    let right = [7 * DAY + 120, 7 * DAY + 60, 2 * DAY + 120].map(|it| Some(after(it)));
    assert_eq!(ends(&engine), right);
    assert_eq!(hear(after(180)), [Outcome::Done]);
    // Once more, and the data directory is opened in between.
    roll(&engine, 3, 7 * DAY, wrong);
    drop(engine);
    let engine = open(dir.path());
    let heard = vec![StateEvent::DropExpiredSessions(after(240))];
    assert_eq!(engine.apply(heard).unwrap(), [Outcome::KeysCorrected]);
    assert_eq!(ends(&engine), right);
    let ended = api_key(&engine, 3).revoked_at;
    assert_eq!(ended, Some(after(7 * DAY + 240)));
    let created = (1..=7).map(|number| api_key(&engine, number).created_at);
    assert!(created.max() <= Some(after(240)));
}

/// A clock that was wrong and believed for hours is taken back.
#[test]
fn a_key_that_a_believed_clock_has_rolled_goes_on_for_the_chosen_time() {
    let dir = work_dir();
    let engine = opened_now(dir.path());
    make_key(&engine, 1, None);
    let wrong = after(5 * DAY);
    apply(&engine, Change::SetClock(wrong), wrong);
    roll(&engine, 1, 7 * DAY, wrong);
    assert_eq!(api_key(&engine, 1).revoked_at, Some(after(12 * DAY)));
    let set = apply(&engine, Change::SetClock(after(60)), after(60));
    assert_eq!(set, Outcome::KeysCorrected);
    assert_eq!(api_key(&engine, 1).revoked_at, Some(after(7 * DAY + 60)));
}

#[test]
fn a_clock_that_is_far_ahead_deletes_nothing() {
    let dir = work_dir();
    let engine = open(dir.path());
    let wrong = after(10 * YEAR);
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    make_key(&engine, 1, None);
    open_session(&engine, session(1, now()));
    let issued = StateEvent::IssueLink(link(1, after(DAY)));
    engine.apply(vec![issued]).unwrap();
    let used = |number: u64, at: Timestamp| {
        let usage = Usage {
            requests: 1,
            ..Usage::default()
        };
        let delta = UsageDelta {
            api_key: Some(ApiKeyId(1)),
            day: at.day(),
            usage,
            last_used_at: Some(at),
        };
        StateEvent::AddUsage(UsageBatch {
            number,
            deltas: vec![delta],
        })
    };
    let figures = |at: Timestamp| StateEvent::KeepFigures(at.day(), vec![7]);
    engine.apply(vec![used(1, now()), figures(now())]).unwrap();
    let far = vec![
        StateEvent::DropExpiredSessions(wrong),
        used(2, wrong),
        figures(wrong),
    ];
    engine.apply(far).unwrap();
    assert!(engine.accounts().session(&[1; 32]).is_some());
    assert!(engine.accounts().link(&[1; 32]).unwrap().is_some());
    let usage = engine.usage();
    let key = ApiKeyId(1);
    let of_day = usage.api_key_usage(key, now().day(), now().day()).unwrap();
    assert_eq!(of_day.len(), 1);
    assert!(usage.figures().unwrap().contains(&(now().day(), vec![7])));
    // Nor does it hide that the key is used later on.
    engine.apply(vec![used(3, after(60))]).unwrap();
    assert_eq!(usage.api_key_totals(key).unwrap().1, Some(after(60)));
}

#[test]
fn what_a_wrong_clock_has_opened_is_over_when_it_is_right() {
    let dir = work_dir();
    let engine = open(dir.path());
    let wrong = after(10 * YEAR);
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    open_session(&engine, session(1, wrong));
    let stored = engine.accounts().session(&[1; 32]).unwrap();
    assert_eq!(
        (stored.is_expired(wrong), stored.is_expired(now())),
        (false, true)
    );
    // The clock of another node may lag.
    assert!(!session(2, after(60)).is_expired(now()));
    let link = link(1, wrong.plus_seconds(7 * DAY));
    assert_eq!(
        (link.is_expired(wrong), link.is_expired(now())),
        (false, true)
    );
    let used = Session {
        last_used_at: Some(wrong),
        ..session(3, now())
    };
    assert!(used.is_use_due(after(60)));
    engine.apply(vec![StateEvent::IssueLink(link)]).unwrap();
    apply(&engine, Change::SetClock(wrong), wrong);
    apply(&engine, Change::SetClock(now()), now());
    assert!(engine.accounts().session(&[1; 32]).is_none());
    assert!(engine.accounts().link(&[1; 32]).unwrap().is_none());
}

#[test]
fn a_clock_that_is_taken_back_revives_what_was_expired_and_nothing_else() {
    let dir = work_dir();
    let engine = open(dir.path());
    let wrong = after(10 * YEAR);
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    make_key(&engine, 1, Some(after(30 * DAY)));
    make_key(&engine, 2, Some(after(-DAY)));
    make_key(&engine, 3, None);
    engine.apply(vec![new_api_key(Some(AccountId(1)))]).unwrap();
    open_session(&engine, session(1, now()));
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
