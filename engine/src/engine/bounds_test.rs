//! Bounds and links inside the transaction that changes them.

use super::test_support::{new_account, now, open, work_dir};
use crate::Engine;
use crate::limits::SIGN_IN_ENTRIES_OF_ACCOUNT_MAX;
use crate::model::{
    AccountId, ApiKeyState, AuditEntry, Email, LinkPurpose, OneTimeLink, Role, Scopes,
};
use crate::state::{Change, KeyBound, NewAccount, NewApiKey, Outcome, StateEvent};

fn new_key(number: u8, scopes: Scopes) -> NewApiKey {
    NewApiKey {
        account: Some(AccountId(1)),
        name: "x".into(),
        digest: [number; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes,
        limit: None,
        expires_at: None,
    }
}

fn by_ana(change: Change) -> StateEvent {
    change.into_event("ana@example.org", now())
}

fn active(engine: &Engine) -> usize {
    let keys = engine.accounts().api_keys_of(AccountId(1));
    let is_active = |key: &&crate::model::ApiKey| key.state(now()) == ApiKeyState::Active;
    keys.iter().filter(is_active).count()
}

#[test]
fn keys_are_bounded_in_one_frame() {
    let dir = work_dir();
    let engine = open(dir.path());
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    let bound = KeyBound {
        keys_max: 8,
        active_max: 5,
    };
    let make = |number| {
        by_ana(Change::CreateApiKeyWithin(
            new_key(number, Scopes::ALL),
            bound,
        ))
    };
    let outcomes = engine.apply((0..20).map(make).collect()).unwrap();
    assert_eq!(active(&engine), 5);
    assert_eq!(outcomes[5..], vec![Outcome::TooManyActiveKeys; 15]);
    // A feed has a place of its own, once.
    for number in 30..40 {
        let feed = Change::ReplaceFeedKey(new_key(number, Scopes::NONE));
        engine.apply(vec![by_ana(feed)]).unwrap();
        assert_eq!(active(&engine), 6);
    }
    let keys = engine.accounts().api_keys_of(AccountId(1));
    assert_eq!(keys.len(), 5 + 2, "dead keys of feeds are removed");
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(engine.accounts().api_keys_of(AccountId(1)), keys);
}

fn invitation(issuer: Option<AccountId>) -> OneTimeLink {
    OneTimeLink {
        digest: [9; 32],
        issuer,
        purpose: LinkPurpose::Invitation(Role::Admin),
        expires_at: now().plus_seconds(60),
    }
}

#[test]
fn only_an_enabled_administrator_makes_links() {
    let dir = work_dir();
    let engine = open(dir.path());
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    let issue = |issuer| {
        let issued = engine.apply(vec![by_ana(Change::IssueLink(invitation(issuer)))]);
        matches!(issued.unwrap()[..], [Outcome::Link(_)])
    };
    let set_role = |role| engine.apply(vec![by_ana(Change::SetRole(AccountId(1), role))]);
    set_role(Role::User).unwrap();
    assert!(!issue(Some(AccountId(1))));
    assert!(!issue(Some(AccountId(7))));
    assert!(!issue(None));
    set_role(Role::Admin).unwrap();
    assert!(issue(Some(AccountId(1))));
    let accept = |address: &str| {
        let new = NewAccount {
            email: Email::parse(address).unwrap(),
            display_name: String::new(),
            role: Role::User,
            password_hash: "x".into(),
        };
        let accepted = by_ana(Change::AcceptInvitation([9; 32], new));
        engine.apply(vec![accepted]).unwrap().remove(0)
    };
    assert_eq!(accept("ana@example.org"), Outcome::EmailTaken);
    let Outcome::Account(account) = accept("eva@example.org") else {
        panic!("the link is still valid");
    };
    assert_eq!(account.role, Role::Admin, "the link gives the role");
    assert_eq!(accept("luz@example.org"), Outcome::Unknown);
    // One of an older program has no maker.
    engine
        .apply(vec![StateEvent::IssueLink(invitation(None))])
        .unwrap();
    assert_eq!(accept("luz@example.org"), Outcome::Unknown);
}

#[test]
fn sign_ins_push_out_no_other_entries() {
    let dir = work_dir();
    let engine = open(dir.path());
    let entry = |account: u64, action: &str| AuditEntry {
        at: now(),
        actor: format!("account {account}"),
        action: action.into(),
        account: Some(AccountId(account)),
        api_key: None,
        detail: String::new(),
    };
    engine.apply(vec![new_account("ana@example.org")]).unwrap();
    engine
        .apply(vec![StateEvent::AuditSignIn(entry(2, "sign-in"))])
        .unwrap();
    let many = 3 * SIGN_IN_ENTRIES_OF_ACCOUNT_MAX;
    let flood = (0..many).map(|_| StateEvent::AuditSignIn(entry(1, "sign-in")));
    engine.apply(flood.collect()).unwrap();
    engine
        .apply(vec![StateEvent::AuditSignIn(entry(1, "sign-in locked"))])
        .unwrap();
    let log = engine.accounts().audit_log(None, 10_000).unwrap();
    let count = |account: u64, action: &str| {
        let is_alike = |(_, known): &&(u64, AuditEntry)| {
            known.account == Some(AccountId(account)) && known.action == action
        };
        log.iter().filter(is_alike).count()
    };
    assert_eq!(count(1, "sign-in"), SIGN_IN_ENTRIES_OF_ACCOUNT_MAX);
    assert_eq!(count(1, "sign-in locked"), 1);
    assert_eq!(count(2, "sign-in"), 1);
    assert_eq!(count(1, "account created"), 1);
    assert!(
        log.windows(2).all(|pair| pair[1].0 < pair[0].0),
        "newest first"
    );
}
