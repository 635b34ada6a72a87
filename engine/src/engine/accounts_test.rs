//! Accounts, keys, sessions and usage through an engine that is closed and opened again.

use super::test_support::{new_account, new_api_key, now, open, work_dir};
use crate::Engine;
use crate::limits::{ONE_TIME_LINKS_MAX, SESSIONS_MAX};
use crate::model::{
    AccountId, ApiKeyId, AuditEntry, Day, Email, LinkPurpose, OneTimeLink, Role, SecondStep,
    Session, StepSecret, Timestamp, Usage, UsedCode,
};
use crate::state::{Change, Outcome, StateEvent, UsageBatch, UsageDelta};

/// A session of the first account, which ends after `seconds`.
fn session(digest: [u8; 32], seconds: i64) -> Session {
    Session {
        digest,
        account: AccountId(1),
        created_at: now(),
        expires_at: now().plus_seconds(seconds),
        device: "Firefox · Linux".into(),
        last_used_at: None,
        is_pending: false,
    }
}

#[test]
fn accounts_keys_and_sessions_follow_their_events() {
    let dir = work_dir();
    let engine = open(dir.path());
    let session = |digest| StateEvent::OpenSession(session(digest, 60), "x".into());
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

#[test]
fn a_use_of_a_session_is_noted_once_an_hour() {
    let dir = work_dir();
    let engine = open(dir.path());
    let session = session([1; 32], 14 * 86_400);
    let opened = StateEvent::OpenSession(session.clone(), "x".into());
    engine
        .apply(vec![new_account("ana@example.org"), opened])
        .unwrap();
    let used = |digest, seconds| {
        let used = StateEvent::UseSession([digest; 32], now().plus_seconds(seconds));
        engine.apply(vec![used]).unwrap().remove(0)
    };
    assert_eq!(used(1, 3_599), Outcome::Stale);
    assert_eq!(used(1, 3_600), Outcome::Done);
    assert_eq!(used(1, 3_601), Outcome::Stale);
    assert_eq!(used(1, 0), Outcome::Stale);
    assert_eq!(used(2, 3_600), Outcome::Unknown);
    assert_eq!(used(1, 9_000), Outcome::Done);
    drop(engine);
    let engine = open(dir.path());
    let expected = Session {
        last_used_at: Some(now().plus_seconds(9_000)),
        ..session
    };
    assert_eq!(engine.accounts().session(&[1; 32]), Some(expected));
}

/// Checking a password takes a while: decisions made during it stand.
#[test]
fn whoever_gave_an_old_password_changes_nothing() {
    let dir = work_dir();
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
            device: String::new(),
            last_used_at: None,
            is_pending: false,
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
fn old_days_of_a_key_are_dropped_and_its_totals_stay() {
    let dir = work_dir();
    let engine = open(dir.path());
    let (key, other) = (ApiKeyId(7), ApiKeyId(8));
    let today = now().day();
    let used = |number: u64, api_key: ApiKeyId, days_ago: u32| {
        let delta = UsageDelta {
            api_key: Some(api_key),
            day: Day(today.0 - days_ago),
            usage: Usage {
                requests: 1,
                ..Usage::default()
            },
            last_used_at: None,
        };
        let deltas = vec![delta];
        StateEvent::AddUsage(UsageBatch { number, deltas })
    };
    let days = [(key, 900), (other, 900), (key, 401), (key, 400), (key, 1)];
    for (number, (api_key, days_ago)) in (1..).zip(days) {
        engine.apply(vec![used(number, api_key, days_ago)]).unwrap();
    }
    let counted = |api_key: ApiKeyId| {
        let usage = engine.usage().api_key_usage(api_key, Day(0), today);
        usage.unwrap().len()
    };
    // 400 days before the day before today are kept.
    assert_eq!((counted(key), counted(other)), (3, 1));
    engine.apply(vec![used(6, key, 0)]).unwrap();
    assert_eq!((counted(key), counted(other)), (3, 1));
    let (totals, _) = engine.usage().api_key_totals(key).unwrap();
    assert_eq!(totals.requests, 5);
}

#[test]
fn figures_of_a_day_are_replaced_and_old_days_are_dropped() {
    let dir = work_dir();
    let engine = open(dir.path());
    let today = now().day();
    let keep = |days_ago: u32, figures: &[u64]| {
        StateEvent::KeepFigures(Day(today.0 - days_ago), figures.to_vec())
    };
    let events = vec![
        keep(30, &[1]),
        keep(29, &[2, 3]),
        keep(1, &[4]),
        keep(0, &[5]),
        keep(0, &[6, 7]),
    ];
    engine.apply(events).unwrap();
    drop(engine);
    let kept = open(dir.path()).usage().figures().unwrap();
    let expected = [
        (Day(today.0 - 29), vec![2, 3]),
        (Day(today.0 - 1), vec![4]),
        (today, vec![6, 7]),
    ];
    assert_eq!(kept, expected);
}

#[test]
fn the_latest_moment_is_kept() {
    let dir = work_dir();
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
    let dir = work_dir();
    let engine = open(dir.path());
    let [ana, eva] = [AccountId(1), AccountId(2)];
    let session = |account, digest: u8, age: i64| {
        let session = Session {
            digest: [digest; 32],
            account,
            created_at: now().plus_seconds(-age),
            expires_at: now(),
            device: String::new(),
            last_used_at: None,
            is_pending: false,
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

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

#[test]
fn a_deleted_account_leaves_revoked_keys_and_a_number_behind() {
    let dir = work_dir();
    let engine = open(dir.path());
    let session = session([1; 32], 60);
    let link = link(3, LinkPurpose::NewPassword(AccountId(1)));
    let events = vec![
        new_account("ana@example.org"),
        new_account("luz@example.org"),
        new_api_key(Some(AccountId(1))),
        new_api_key(Some(AccountId(2))),
        StateEvent::OpenSession(session.clone(), "x".into()),
        StateEvent::IssueLink(link.clone()),
        Change::SetSecondStep(AccountId(1), Some(second_step())).into_event("x", now()),
        Change::RenameApiKey(ApiKeyId(1), "tv".into()).into_event("ana@example.org", now()),
    ];
    engine.apply(events).unwrap();
    assert_eq!(engine.accounts().session(&[1; 32]), Some(session));
    let delete = || Change::DeleteAccount(AccountId(1)).into_event("ana@example.org", now());
    assert_eq!(engine.apply(vec![delete()]).unwrap(), [Outcome::Done]);
    assert_eq!(engine.apply(vec![delete()]).unwrap(), [Outcome::Unknown]);
    let check = |engine: &Engine| {
        let accounts = engine.accounts();
        assert_eq!(accounts.get(AccountId(1)), None);
        assert_eq!(accounts.by_email(&email("ana@example.org")), None);
        assert_eq!(accounts.session(&[1; 32]), None);
        assert_eq!(accounts.second_step(AccountId(1)), None);
        assert_eq!(accounts.link(&link.digest).unwrap(), None);
        let revoked = |id| accounts.api_key(id).unwrap().revoked_at.is_some();
        assert_eq!((revoked(ApiKeyId(1)), revoked(ApiKeyId(2))), (true, false));
        let log = accounts.audit_log(None, 100).unwrap();
        let has_name = |entry: &AuditEntry| format!("{entry:?}").contains("ana@");
        assert!(!log.iter().any(|(_, entry)| has_name(entry)), "{log:?}");
        let newest = &log[0].1;
        assert_eq!(
            (&*newest.actor, &*newest.action),
            ("account 1", "account deleted")
        );
        assert_eq!(newest.account, Some(AccountId(1)));
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    // The address is free again; the number is not.
    let again = engine.apply(vec![new_account("ana@example.org")]).unwrap();
    assert!(matches!(&again[0], Outcome::Account(account) if account.id == AccountId(3)));
}

#[test]
fn the_choice_of_registration_is_remembered_and_logged_once() {
    let dir = work_dir();
    let engine = open(dir.path());
    assert_eq!(engine.accounts().registration(), None);
    let set = |is_open| Change::SetRegistration(is_open).into_event("ana@example.org", now());
    let outcomes = engine.apply(vec![set(true), set(true)]).unwrap();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done]);
    assert_eq!(engine.accounts().registration(), Some(true));
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(engine.accounts().registration(), Some(true));
    engine.apply(vec![set(false)]).unwrap();
    assert_eq!(engine.accounts().registration(), Some(false));
    let log = engine.accounts().audit_log(None, 10).unwrap();
    let actions: Vec<&str> = log.iter().map(|(_, entry)| &*entry.action).collect();
    assert_eq!(actions, ["registration closed", "registration opened"]);
}

#[test]
fn an_address_is_changed_unless_it_is_taken() {
    let dir = work_dir();
    let engine = open(dir.path());
    let set = |text: &str| {
        Change::SetEmail(AccountId(1), email(text)).into_event("ana@example.org", now())
    };
    let outcomes = engine.apply(vec![
        new_account("ana@example.org"),
        new_account("luz@example.org"),
        set("luz@example.org"),
        set("ana@example.org"),
        set("eva@example.org"),
    ]);
    let expected = [Outcome::EmailTaken, Outcome::Done, Outcome::Done];
    assert_eq!(outcomes.unwrap()[2..], expected);
    let check = |engine: &Engine| {
        let found = |text: &str| engine.accounts().by_email(&email(text)).map(|it| it.id);
        assert_eq!(found("eva@example.org"), Some(AccountId(1)));
        assert_eq!(found("luz@example.org"), Some(AccountId(2)));
        assert_eq!(found("ana@example.org"), None);
        let log = engine.accounts().audit_log(None, 100).unwrap();
        let changes = log
            .iter()
            .filter(|(_, entry)| entry.action == "address changed");
        assert_eq!(changes.count(), 1, "what changes nothing adds no entry");
    };
    check(&engine);
    drop(engine);
    check(&open(dir.path()));
}

fn second_step() -> SecondStep {
    SecondStep {
        secret: StepSecret::Plain([7; 20]),
        last_step: 10,
        recovery_digests: vec![[1; 32], [2; 32]],
    }
}

#[test]
fn a_code_of_the_second_step_works_once() {
    let dir = work_dir();
    let engine = open(dir.path());
    let used = |code| StateEvent::UseCode(AccountId(1), code);
    let turned = |second| Change::SetSecondStep(AccountId(1), second).into_event("ana", now());
    let outcomes = engine.apply(vec![
        new_account("ana@example.org"),
        used(UsedCode::Step(11)),
        turned(Some(second_step())),
        used(UsedCode::Step(10)),
        used(UsedCode::Step(11)),
        used(UsedCode::Step(11)),
        used(UsedCode::Recovery([2; 32])),
        used(UsedCode::Recovery([2; 32])),
        Change::SetSecondStep(AccountId(9), None).into_event("ana", now()),
    ]);
    let (done, stale) = (Outcome::Done, Outcome::Stale);
    let expected = [&done, &stale, &done, &stale, &done, &stale];
    let outcomes = outcomes.unwrap();
    assert_eq!(outcomes[1], Outcome::Unknown);
    assert_eq!(outcomes[2..8].iter().collect::<Vec<_>>(), expected);
    assert_eq!(outcomes[8], Outcome::Unknown);
    drop(engine);
    let engine = open(dir.path());
    let left = engine.accounts().second_step(AccountId(1)).unwrap();
    assert_eq!((left.last_step, left.recovery_digests.len()), (11, 1));
    engine.apply(vec![turned(None), turned(None)]).unwrap();
    assert_eq!(engine.accounts().second_step(AccountId(1)), None);
    let log = engine.accounts().audit_log(None, 100).unwrap();
    let off = log
        .iter()
        .filter(|(_, entry)| entry.action == "second step turned off");
    assert_eq!(off.count(), 1);
}

fn link(number: u8, purpose: LinkPurpose) -> OneTimeLink {
    OneTimeLink {
        digest: [number; 32],
        issuer: None,
        purpose,
        expires_at: now().plus_seconds(60),
    }
}

#[test]
fn one_time_links_survive_a_restart_and_work_once() {
    let dir = work_dir();
    let engine = open(dir.path());
    let reset = |id| LinkPurpose::NewPassword(AccountId(id));
    let events = [
        link(1, LinkPurpose::Invitation(Role::Admin)),
        link(2, reset(1)),
        link(3, reset(2)),
        // A newer one for the same account.
        link(4, reset(1)),
    ];
    let events = events.map(StateEvent::IssueLink).into();
    engine.apply(events).unwrap();
    drop(engine);
    let engine = open(dir.path());
    let purpose = |number| {
        let link = engine.accounts().link(&[number; 32]).unwrap();
        link.map(|link| link.purpose)
    };
    assert_eq!(purpose(1), Some(LinkPurpose::Invitation(Role::Admin)));
    assert_eq!(purpose(2), None);
    assert_eq!(purpose(3), Some(reset(2)));
    assert_eq!(purpose(4), Some(reset(1)));
    let take = |number| {
        engine
            .apply(vec![StateEvent::TakeLink([number; 32])])
            .unwrap()
    };
    assert_eq!(take(4), [Outcome::Done]);
    assert_eq!(take(4), [Outcome::Unknown]);
    assert_eq!(purpose(4), None);
    let late = StateEvent::DropExpiredSessions(now().plus_seconds(60));
    engine.apply(vec![late]).unwrap();
    assert_eq!((purpose(1), purpose(3)), (None, None));
}

#[test]
fn one_time_links_are_bounded() {
    let dir = work_dir();
    let engine = open(dir.path());
    let links = (0..=ONE_TIME_LINKS_MAX as u32).map(|number| {
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&number.to_le_bytes());
        StateEvent::IssueLink(OneTimeLink {
            digest,
            issuer: None,
            purpose: LinkPurpose::Invitation(Role::User),
            expires_at: now().plus_seconds(i64::from(number)),
        })
    });
    engine.apply(links.collect()).unwrap();
    assert_eq!(
        engine.accounts().link(&[0; 32]).unwrap(),
        None,
        "the one that ends first goes"
    );
    let mut second = [0; 32];
    second[0] = 1;
    assert!(engine.accounts().link(&second).unwrap().is_some());
}

/// Open sessions and sign-ins that wait for their code are bounded apart, inside the transaction.
#[test]
fn sessions_are_bounded_where_they_are_opened() {
    let dir = work_dir();
    let engine = open(dir.path());
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    let open_one = |number: u8, is_pending| {
        let session = Session {
            digest: [number; 32],
            account: AccountId(1),
            created_at: now().plus_seconds(number.into()),
            expires_at: now().plus_seconds(600),
            device: String::new(),
            last_used_at: None,
            is_pending,
        };
        StateEvent::OpenSession(session, "x".into())
    };
    let mut events: Vec<StateEvent> = (0..60).map(|number| open_one(number, false)).collect();
    events.extend((100..120).map(|number| open_one(number, true)));
    engine.apply(events).unwrap();
    let accounts = engine.accounts();
    let sessions = accounts.sessions_of(AccountId(1));
    assert_eq!(sessions.len(), SESSIONS_MAX);
    assert_eq!(sessions[0].digest, [10; 32], "the oldest were closed");
    let pending = (0..=u8::MAX).filter(|it| accounts.pending_sign_in(&[*it; 32]).is_some());
    assert_eq!(pending.collect::<Vec<_>>(), (112..120).collect::<Vec<_>>());
    assert_eq!(accounts.session(&[119; 32]), None, "it is not open");
    let changed = Change::SetPassword(AccountId(1), "y".into()).into_event("ana", now());
    engine.apply(vec![changed]).unwrap();
    assert_eq!(accounts.pending_sign_in(&[119; 32]), None);
}

#[test]
fn a_plain_secret_is_sealed_once() {
    let dir = work_dir();
    let engine = open(dir.path());
    let sealed = [9; crate::model::SEALED_SECRET_BYTES];
    let seal = || StateEvent::SealSecret(AccountId(1), sealed);
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    assert_eq!(engine.apply(vec![seal()]).unwrap(), [Outcome::Unknown]);
    let set = Change::SetSecondStep(AccountId(1), Some(second_step())).into_event("x", now());
    let outcomes = engine.apply(vec![set, seal(), seal()]).unwrap();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Stale]);
    let check = |engine: &Engine| {
        let second = engine.accounts().second_step(AccountId(1)).unwrap();
        assert_eq!(second.secret, StepSecret::Sealed(sealed));
        assert_eq!(second.recovery_digests, second_step().recovery_digests);
    };
    check(&engine);
    drop(engine);
    check(&open(dir.path()));
}
