//! No event is too large for a frame of a cluster's log: each with its largest values.

use std::iter::repeat_n;
use std::time::Duration;

use super::cluster_test::{assert_same, three};
use super::test_support::now;
use crate::block_on::block_on;
use crate::limits::{
    BROUGHT_FILES_MAX, DISPLAY_NAME_CHARS_MAX, FIGURES_MAX, FILE_NAME_CHARS_MAX, FRAME_BYTES_MAX,
    FRAME_DOWNLOADS_MAX, KEY_NAME_CHARS_MAX, RELEASE_ID_BYTES_MAX, USAGE_DELTAS_MAX,
};
use crate::model::{
    AccountId, ApiKeyId, AuditEntry, BroughtFile, CachedFile, ContentHash, Day, Email, FileKind,
    FileName, LinkPurpose, OneTimeLink, RateLimit, RecordId, ReleaseId, Role, SEALED_SECRET_BYTES,
    Scopes, SecondStep, Session, StepSecret, Timestamp, Usage, UsedCode,
};
use crate::replication::Log;
use crate::state::{
    AggregatedPart, By, Change, DownloadAggregate, KeyBound, KeyRenewal, KeyRoll, NewAccount,
    NewApiKey, Outcome, RememberedFile, StateEvent, UsageBatch, UsageDelta,
};

const ACCOUNT: AccountId = AccountId(u64::MAX);
const API_KEY: ApiKeyId = ApiKeyId(u64::MAX);
const DAY: Day = Day(u32::MAX);
/// Recovery codes of a second step: far more than the server makes.
const CODES_COUNT: usize = 100;
/// Files of counters: far more than the lanes of a machine.
const COUNTER_FILES_COUNT: usize = 1_000;

/// A text of this many of the longest characters.
fn text(chars_count: usize) -> String {
    "\u{1F4FC}".repeat(chars_count)
}

/// A hash of a password, with room for other parameters.
fn password_hash() -> String {
    "x".repeat(512)
}

fn end() -> Timestamp {
    Timestamp::parse("9999-12-31T23:59:59Z").unwrap()
}

fn email() -> Email {
    Email::parse(&format!("{}@example.org", "x".repeat(242))).unwrap()
}

fn release(number: usize) -> ReleaseId {
    let name = format!("{number:0RELEASE_ID_BYTES_MAX$}");
    ReleaseId::parse(&name).unwrap()
}

fn new_account() -> NewAccount {
    NewAccount {
        email: email(),
        display_name: text(DISPLAY_NAME_CHARS_MAX),
        role: Role::Admin,
        password_hash: password_hash(),
    }
}

fn limit() -> RateLimit {
    RateLimit {
        requests: u32::MAX.try_into().unwrap(),
        window_seconds: u32::MAX.try_into().unwrap(),
    }
}

fn new_api_key() -> NewApiKey {
    NewApiKey {
        account: Some(ACCOUNT),
        name: text(KEY_NAME_CHARS_MAX),
        digest: [0xFF; 32],
        partial: text(13),
        scopes: Scopes::ALL,
        limit: Some(limit()),
        expires_at: Some(end()),
    }
}

fn link() -> OneTimeLink {
    OneTimeLink {
        digest: [0xFF; 32],
        issuer: Some(ACCOUNT),
        purpose: LinkPurpose::NewPassword(ACCOUNT),
        expires_at: end(),
    }
}

fn roll() -> KeyRoll {
    KeyRoll {
        old: API_KEY,
        digest: [0xFF; 32],
        partial: text(13),
        old_ends_at: end(),
    }
}

fn audit_entry() -> AuditEntry {
    AuditEntry {
        at: end(),
        actor: email().as_str().to_owned(),
        action: text(100),
        account: Some(ACCOUNT),
        api_key: Some(API_KEY),
        detail: text(KEY_NAME_CHARS_MAX),
    }
}

fn changes() -> Vec<Change> {
    let bound = KeyBound {
        keys_max: u64::MAX,
        active_max: u64::MAX,
    };
    let second = SecondStep {
        secret: StepSecret::Sealed([0xFF; SEALED_SECRET_BYTES]),
        last_step: u64::MAX,
        recovery_digests: vec![[0xFF; 32]; CODES_COUNT],
    };
    vec![
        Change::CreateAccount(new_account()),
        Change::SetPassword(ACCOUNT, password_hash()),
        Change::ReplacePassword {
            account: ACCOUNT,
            old: password_hash(),
            new: password_hash(),
        },
        Change::SetDisplayName(ACCOUNT, text(DISPLAY_NAME_CHARS_MAX)),
        Change::SetEmail(ACCOUNT, email()),
        Change::DeleteAccount(ACCOUNT),
        Change::SetSecondStep(ACCOUNT, Some(second)),
        Change::SetRole(ACCOUNT, Role::Admin),
        Change::SetDisabled(ACCOUNT, true),
        Change::CloseSessions(ACCOUNT),
        Change::CreateApiKey(new_api_key()),
        Change::RenameApiKey(API_KEY, text(KEY_NAME_CHARS_MAX)),
        Change::SetApiKeyLimit(API_KEY, Some(limit())),
        Change::RevokeApiKey(API_KEY),
        Change::RollApiKey(roll()),
        Change::SetRegistration(true),
        Change::IssueLink(link()),
        Change::WithdrawLink([0xFF; 32]),
        Change::AcceptInvitation([0xFF; 32], new_account()),
        Change::SetPasswordByLink {
            link: [0xFF; 32],
            account: ACCOUNT,
            hash: password_hash(),
        },
        Change::CreateApiKeyWithin(new_api_key(), bound),
        Change::RenewApiKey(KeyRenewal {
            roll: roll(),
            expires_at: Some(end()),
            bound: Some(bound),
        }),
        Change::ReplaceFeedKey(new_api_key()),
        Change::ReplaceRecoveryCodes(ACCOUNT, vec![[0xFF; 32]; CODES_COUNT]),
        Change::SetClock(end()),
    ]
}

fn usage() -> Usage {
    Usage {
        requests: u64::MAX,
        downloads: u64::MAX,
        client_errors: u64::MAX,
        limited: u64::MAX,
    }
}

fn downloads() -> DownloadAggregate {
    let count = FRAME_DOWNLOADS_MAX as usize;
    let record = |number: usize| RecordId::from_bytes((u128::MAX - number as u128).to_be_bytes());
    let name = |number: usize| format!("{number:010}.count");
    DownloadAggregate {
        records: (0..count)
            .map(|number| (record(number), u64::MAX))
            .collect(),
        usage: repeat_n((Some(API_KEY), DAY, u64::MAX), count).collect(),
        parts: (0..COUNTER_FILES_COUNT)
            .map(|number| AggregatedPart {
                name: name(number),
                // Refused: the state has other offsets.
                from: u64::MAX - 1,
                to: u64::MAX,
            })
            .collect(),
        forgotten: (0..COUNTER_FILES_COUNT).map(name).collect(),
    }
}

/// Every event with its largest value. The engine cannot tell which values the server bounds, so
/// texts that it makes are longer here than there.
fn events() -> Vec<StateEvent> {
    let by = By {
        actor: email().as_str().to_owned(),
        at: now(),
    };
    let mut events: Vec<StateEvent> = changes()
        .into_iter()
        .map(|change| StateEvent::Change(by.clone(), change))
        .collect();
    let session = Session {
        digest: [0xFF; 32],
        account: ACCOUNT,
        created_at: end(),
        expires_at: end(),
        device: text(200),
        last_used_at: None,
        is_pending: true,
    };
    let delta = UsageDelta {
        api_key: Some(API_KEY),
        day: DAY,
        usage: usage(),
        last_used_at: Some(now()),
    };
    events.extend([
        StateEvent::OpenSession(session, password_hash()),
        StateEvent::SealSecret(ACCOUNT, [0xFF; SEALED_SECRET_BYTES]),
        StateEvent::UseSession([0xFF; 32], now()),
        StateEvent::CloseSession([0xFF; 32]),
        StateEvent::UseCode(ACCOUNT, UsedCode::Recovery([0xFF; 32])),
        StateEvent::IssueLink(link()),
        StateEvent::TakeLink([0xFF; 32]),
        StateEvent::DropExpiredSessions(now()),
        StateEvent::AddUsage(UsageBatch {
            // Refused: sums of these numbers are none.
            number: 0,
            deltas: vec![delta; USAGE_DELTAS_MAX],
        }),
        StateEvent::KeepFigures(DAY, vec![u64::MAX; FIGURES_MAX]),
        StateEvent::Audit(audit_entry()),
        StateEvent::AuditSignIn(audit_entry()),
        StateEvent::RememberFile(RememberedFile {
            release: release(0),
            file: CachedFile {
                content: ContentHash([0xFF; 32]),
                size_bytes: u64::MAX,
                checksum: u64::MAX,
                kind: FileKind::Srt,
                upstream_name: FileName::parse(&text(FILE_NAME_CHARS_MAX)),
                refetch_at: Some(end()),
                is_brought: false,
            },
            replaces: Some(ContentHash([0xFF; 32])),
        }),
        StateEvent::ForgetFile(release(0)),
        StateEvent::AggregateDownloads(downloads()),
    ]);
    events
}

/// Numbers of the variants that [`events`] and [`changes`] name. A new one does not compile until
/// it is added here, and there.
fn number_of(event: &StateEvent) -> usize {
    match event {
        StateEvent::Change(_, change) => 100 + number_of_change(change),
        StateEvent::OpenSession(..) => 1,
        StateEvent::SealSecret(..) => 2,
        StateEvent::CloseSession(_) => 3,
        StateEvent::UseCode(..) => 4,
        StateEvent::IssueLink(_) => 5,
        StateEvent::TakeLink(_) => 6,
        StateEvent::DropExpiredSessions(_) => 7,
        StateEvent::AddUsage(_) => 8,
        StateEvent::KeepFigures(..) => 9,
        StateEvent::Audit(_) => 10,
        StateEvent::AuditSignIn(_) => 11,
        StateEvent::RememberFile(_) => 12,
        StateEvent::ForgetFile(_) => 13,
        StateEvent::AggregateDownloads(_) => 14,
        StateEvent::UseSession(..) => 15,
    }
}

fn number_of_change(change: &Change) -> usize {
    match change {
        Change::CreateAccount(_) => 1,
        Change::SetPassword(..) => 2,
        Change::ReplacePassword { .. } => 3,
        Change::SetDisplayName(..) => 4,
        Change::SetEmail(..) => 5,
        Change::DeleteAccount(_) => 6,
        Change::SetSecondStep(..) => 7,
        Change::SetRole(..) => 8,
        Change::SetDisabled(..) => 9,
        Change::CloseSessions(_) => 10,
        Change::CreateApiKey(_) => 11,
        Change::RenameApiKey(..) => 12,
        Change::SetApiKeyLimit(..) => 13,
        Change::RevokeApiKey(_) => 14,
        Change::RollApiKey(_) => 15,
        Change::SetRegistration(_) => 16,
        Change::IssueLink(_) => 17,
        Change::WithdrawLink(_) => 18,
        Change::AcceptInvitation(..) => 19,
        Change::SetPasswordByLink { .. } => 20,
        Change::CreateApiKeyWithin(..) => 21,
        Change::RenewApiKey(_) => 22,
        Change::ReplaceFeedKey(_) => 23,
        Change::ReplaceRecoveryCodes(..) => 24,
        Change::SetClock(_) => 25,
    }
}

#[test]
fn every_event_is_committed_with_its_largest_value() {
    let (_dir, log, nodes) = three();
    let events = events();
    let mut numbers: Vec<usize> = events.iter().map(number_of).collect();
    numbers.sort_unstable();
    let expected: Vec<usize> = (1..=15).chain(101..=125).collect();
    assert_eq!(numbers, expected);
    for event in events {
        let before = log.state().unwrap().last;
        let number = number_of(&event);
        // Figures are a node's own.
        let is_shared = !matches!(event, StateEvent::KeepFigures(..));
        let applied = nodes[0].engine.apply(vec![event]);
        assert_eq!(applied.unwrap().len(), 1, "{number}");
        let appended = log.state().unwrap().last - before;
        assert_eq!(appended, u64::from(is_shared), "{number}");
    }
    assert_same(&nodes);
}

/// As many files as an import brings at once, with the longest names. Callers that come together
/// share frames, up to their size; one that waits for each of its frames shares none.
#[test]
fn files_that_an_import_brings_come_into_several_frames() {
    let (_dir, log, nodes) = three();
    let releases: Vec<ReleaseId> = (0..BROUGHT_FILES_MAX).map(release).collect();
    let bring = || {
        let files: Vec<BroughtFile<'_>> = releases
            .iter()
            .map(|release| BroughtFile {
                release,
                content: b"1\n00:00:01,000 --> 00:00:02,000\nHola.\n",
                kind: FileKind::Srt,
            })
            .collect();
        block_on(nodes[0].engine.files().bring(&files))
    };
    let before = log.state().unwrap().last;
    std::thread::scope(|scope| {
        let bringing = scope.spawn(bring);
        while !bringing.is_finished() {
            nodes[0].replica.append_queued(Duration::from_millis(1));
            nodes[0].catch_up();
        }
        bringing.join().unwrap().unwrap();
    });
    let entries = log.read(before, usize::MAX).unwrap();
    let bodies_bytes: Vec<usize> = entries.iter().map(|entry| entry.body.len()).collect();
    assert!(bodies_bytes.iter().all(|bytes| *bytes <= FRAME_BYTES_MAX));
    assert!(FRAME_BYTES_MAX / 2 < bodies_bytes.iter().sum());
    assert_same(&nodes);
    for node in &nodes {
        assert_eq!(
            node.engine.stats().unwrap().cached_files,
            BROUGHT_FILES_MAX as u64
        );
    }
    // All have one content: to evict it forgets every release.
    let forget = releases.iter().cloned().map(StateEvent::ForgetFile);
    let before = log.state().unwrap().last;
    let outcomes = nodes[1].engine.database().change_each(forget.collect());
    assert!(before + 1 < log.state().unwrap().last);
    let expected = vec![Outcome::Done; BROUGHT_FILES_MAX];
    assert_eq!(outcomes.unwrap(), expected);
    assert_same(&nodes);
}
