//! Every event survives a round trip, and its bytes do not change from version to version.

use proptest::prelude::*;

use super::frame::{Beat, BeatPromise, Departure, Event, LogFrame};
use crate::catalog::CatalogEvent;
use crate::error::Error;
use crate::log_rows::FrameOrigin;
use crate::model::{
    AccountId, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email, FileKind, LinkPurpose,
    NodeId, OneTimeLink, RateLimit, RecordId, ReleaseId, Role, SEALED_SECRET_BYTES, Scopes,
    SecondStep, Session, StepSecret, Timestamp, Usage, UsedCode,
};
use crate::state::{
    AggregatedPart, By, Change, DownloadAggregate, KeyBound, KeyRenewal, KeyRoll, NewAccount,
    NewApiKey, RememberedFile, StateEvent, UsageBatch, UsageDelta,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds).unwrap()
}

fn changes() -> Vec<Change> {
    let email = Email::parse("ana@example.org").unwrap();
    let limit = RateLimit {
        requests: 60.try_into().unwrap(),
        window_seconds: 60.try_into().unwrap(),
    };
    let second = SecondStep {
        secret: StepSecret::Plain([4; 20]),
        last_step: 5,
        recovery_digests: vec![[6; 32]],
    };
    vec![
        Change::CreateAccount(NewAccount {
            email: email.clone(),
            display_name: "Ana".into(),
            role: Role::Admin,
            password_hash: "$argon2id$".into(),
        }),
        Change::SetPassword(AccountId(1), "new".into()),
        Change::ReplacePassword {
            account: AccountId(1),
            old: "old".into(),
            new: "new".into(),
        },
        Change::SetDisplayName(AccountId(1), "Ana B.".into()),
        Change::SetEmail(AccountId(1), email),
        Change::DeleteAccount(AccountId(1)),
        Change::SetSecondStep(AccountId(1), Some(second)),
        Change::SetSecondStep(AccountId(1), None),
        Change::SetRole(AccountId(1), Role::User),
        Change::SetDisabled(AccountId(1), true),
        Change::CloseSessions(AccountId(1)),
        Change::CreateApiKey(NewApiKey {
            account: Some(AccountId(1)),
            name: "laptop".into(),
            digest: [1; 32],
            partial: "sct_AbCd…wXyZ".into(),
            scopes: Scopes::ALL,
            limit: Some(limit),
            expires_at: Some(at(5)),
        }),
        Change::RenameApiKey(ApiKeyId(2), "phone".into()),
        Change::SetApiKeyLimit(ApiKeyId(2), Some(limit)),
        Change::RevokeApiKey(ApiKeyId(2)),
        Change::RollApiKey(KeyRoll {
            old: ApiKeyId(2),
            digest: [2; 32],
            partial: "sct_".into(),
            old_ends_at: at(6),
        }),
        Change::SetRegistration(true),
    ]
}

fn session() -> Session {
    Session {
        digest: [3; 32],
        account: AccountId(1),
        created_at: at(1),
        expires_at: at(2),
        device: "Firefox".into(),
        last_used_at: None,
        is_pending: false,
    }
}

fn state_events() -> Vec<StateEvent> {
    let by = By {
        actor: "command line".into(),
        at: at(0),
    };
    let usage = Usage {
        requests: 1,
        ..Usage::default()
    };
    let mut events: Vec<_> = changes()
        .into_iter()
        .map(|change| StateEvent::Change(by.clone(), change))
        .collect();
    events.extend([
        StateEvent::OpenSession(session(), "hash".into()),
        StateEvent::CloseSession([3; 32]),
        StateEvent::UseCode(AccountId(1), UsedCode::Step(8)),
        StateEvent::UseCode(AccountId(1), UsedCode::Recovery([8; 32])),
        StateEvent::IssueLink(OneTimeLink {
            digest: [9; 32],
            issuer: None,
            purpose: LinkPurpose::NewPassword(AccountId(1)),
            expires_at: at(4),
        }),
        StateEvent::TakeLink([9; 32]),
        StateEvent::DropExpiredSessions(at(5)),
        StateEvent::AddUsage(UsageBatch {
            number: 3,
            deltas: vec![UsageDelta {
                api_key: Some(ApiKeyId(2)),
                day: Day(20_000),
                usage,
                last_used_at: Some(at(1)),
            }],
        }),
        StateEvent::KeepFigures(Day(20_000), vec![1, 2, 3]),
        StateEvent::Audit(AuditEntry {
            at: at(0),
            actor: "ana".into(),
            action: "signed in".into(),
            account: Some(AccountId(1)),
            api_key: None,
            detail: String::new(),
        }),
    ]);
    events.extend(file_events());
    events.push(StateEvent::AggregateDownloads(DownloadAggregate {
        records: vec![(RecordId::from_bytes([1; 16]), 2)],
        usage: vec![(Some(ApiKeyId(2)), Day(20_000), 2)],
        parts: vec![AggregatedPart {
            name: "0000000001.count".into(),
            from: 0,
            to: 96,
        }],
        forgotten: vec!["0000000000.count".into()],
    }));
    events
}

fn file_events() -> [StateEvent; 3] {
    let release = ReleaseId::parse("123").unwrap();
    let file = CachedFile {
        content: ContentHash([7; 32]),
        size_bytes: 9,
        checksum: 10,
        kind: FileKind::ALL[0],
        upstream_name: None,
        refetch_at: Some(at(3)),
        is_brought: false,
    };
    let remembered = |replaces: Option<ContentHash>| {
        StateEvent::RememberFile(RememberedFile {
            release: release.clone(),
            file: file.clone(),
            replaces,
        })
    };
    [
        remembered(None),
        remembered(Some(file.content)),
        StateEvent::ForgetFile(release.clone()),
    ]
}

/// Events that were added after the bytes below were written down.
fn added_events() -> Vec<StateEvent> {
    let email = Email::parse("eva@example.org").unwrap();
    let new_account = NewAccount {
        email: email.clone(),
        display_name: String::new(),
        role: Role::User,
        password_hash: "$argon2id$".into(),
    };
    let new_key = NewApiKey {
        account: Some(AccountId(1)),
        name: "feed".into(),
        digest: [1; 32],
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::NONE,
        limit: None,
        expires_at: None,
    };
    let bound = KeyBound {
        keys_max: 5_000,
        active_max: 25,
    };
    let roll = KeyRoll {
        old: ApiKeyId(1),
        digest: [2; 32],
        partial: "sct_AbCd…wXyZ".into(),
        old_ends_at: at(6),
    };
    let link = OneTimeLink {
        digest: [9; 32],
        issuer: Some(AccountId(1)),
        purpose: LinkPurpose::Invitation(Role::Admin),
        expires_at: at(4),
    };
    let changes = [
        Change::IssueLink(link),
        Change::WithdrawLink([9; 32]),
        Change::AcceptInvitation([9; 32], new_account),
        Change::SetPasswordByLink {
            link: [9; 32],
            account: AccountId(1),
            hash: "new".into(),
        },
        Change::CreateApiKeyWithin(new_key.clone(), bound),
        Change::RenewApiKey(KeyRenewal {
            roll,
            expires_at: Some(at(7)),
            bound: Some(bound),
        }),
        Change::ReplaceFeedKey(new_key),
        Change::ReplaceRecoveryCodes(AccountId(1), vec![[5; 32], [6; 32]]),
        Change::SetClock(at(8)),
    ];
    let mut events = Vec::from(changes.map(|change| change.into_event("ana", at(0))));
    events.push(StateEvent::SealSecret(
        AccountId(1),
        [3; SEALED_SECRET_BYTES],
    ));
    events.push(StateEvent::UseSession([3; 32], at(8)));
    events.push(StateEvent::AuditSignIn(AuditEntry {
        at: at(0),
        actor: "ana".into(),
        action: "sign-in".into(),
        account: Some(AccountId(1)),
        api_key: None,
        detail: String::new(),
    }));
    events
}

fn frame() -> LogFrame {
    let id = RecordId::from_bytes([5; 16]);
    let mut events = vec![
        Event::Catalog(CatalogEvent::PutRecord(id, b"record".to_vec())),
        Event::Catalog(CatalogEvent::SetActive(id, false)),
        Event::Catalog(CatalogEvent::DeleteRecord(id)),
        Event::Beat(Beat {
            name: "node-1".into(),
            version: "1.0.0".into(),
            applied: 300,
            hashed_at: 299,
            state_hash: u64::MAX - 1,
            reads: 1,
            promise: BeatPromise {
                accepts_ms: 60_000,
                stale_seconds: 60,
            },
            can_apply: true,
            free_bytes: 1 << 40,
        }),
        Event::Departure(Departure {
            node: NodeId(0xbeef),
            as_of: 300,
        }),
    ];
    events.extend(state_events().into_iter().map(Event::State));
    LogFrame {
        version: 1,
        epoch: 1,
        origin: FrameOrigin {
            node: NodeId(0xfeed),
            incarnation: 1_700_000_000_000_000,
            number: 7,
        },
        events,
    }
}

#[test]
fn every_event_comes_back() {
    let mut frame = frame();
    frame
        .events
        .extend(added_events().into_iter().map(Event::State));
    assert_eq!(LogFrame::decode(&frame.encode(), 1).unwrap(), frame);
}

/// Logs and nodes of older versions hold these bytes: a change of them needs another version.
#[test]
fn the_bytes_of_version_1_do_not_change() {
    let bytes = frame().encode();
    let digest = super::frame::digest_of(&bytes);
    assert_eq!(
        (bytes.len(), format!("{digest:016x}")),
        (1239, "1dc7e11b5dc0be88".to_owned())
    );
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let mut bytes = frame().encode();
    bytes.truncate(bytes.len() - 8);
    bytes[0] = 2;
    let sum = super::frame::digest_of(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let refused = LogFrame::decode(&bytes, 1);
    assert!(
        matches!(refused, Err(Error::NewerValue { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_program_reads_every_version_up_to_its_own() {
    let of = |version| LogFrame { version, ..frame() };
    for version in [1, 2] {
        let read = LogFrame::decode(&of(version).encode(), 2).unwrap();
        assert_eq!(read, of(version));
    }
    let refused = LogFrame::decode(&of(3).encode(), 2).unwrap_err();
    let sentence = "a value of version 3, this program reads versions up to 2";
    assert!(refused.to_string().contains(sentence), "{refused}");
    let refused = LogFrame::decode(&of(0).encode(), 2);
    assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
}

proptest! {
    #[test]
    fn a_changed_bit_is_found(bit in 0..frame().encode().len() * 8) {
        let mut bytes = frame().encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let refused = matches!(LogFrame::decode(&bytes, 1), Err(Error::Corrupt { .. }));
        prop_assert!(refused);
    }

    #[test]
    fn any_bytes_are_a_frame_or_an_error(mut bytes: Vec<u8>) {
        let _ = LogFrame::decode(&bytes, 1);
        // With a checksum that matches, what is inside is read.
        bytes.insert(0, 1);
        let sum = super::frame::digest_of(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let _ = LogFrame::decode(&bytes, 1);
    }
}
