//! Engines, records and events that the tests of this module share.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::data_dir::DataDir;
use crate::database::{StoreFile, open_store};
use crate::disk::{Disk, Real};
use crate::model::{
    AccountId, DraftValue, Email, NodeId, RecordDraft, RecordId, Role, Scopes, Timestamp,
};
use crate::state::{Change, NewAccount, NewApiKey, StateEvent};
use crate::store::Store;
use crate::{Engine, ImportSummary, Options, StoreKind};

/// Free bytes in memory below which tests work on the disk. Chosen here.
const ROOM_BYTES_MIN: u64 = 1 << 30;

/// A directory in memory where there is one with room. What a disk may do to the engine is
/// simulated here; a real one would cost more than the tests themselves.
pub(super) fn work_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail * found.f_frsize);
    let made = if ROOM_BYTES_MIN <= room {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    };
    made.unwrap()
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).unwrap()
}

pub(super) fn after(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(now().seconds() + seconds).unwrap()
}

pub(super) fn open_with(
    dir: &Path,
    disk: Arc<dyn Disk>,
    store: StoreKind,
) -> crate::Result<Engine> {
    let options = Options {
        disk,
        store,
        counter_lanes: 2,
        node: NodeId(1),
    };
    Engine::open(dir, options)
}

pub(super) fn open(dir: &Path) -> Engine {
    open_with(dir, Arc::new(Real), StoreKind::Redb).unwrap()
}

/// Opens a data directory that becomes this node if it is new.
pub(super) fn open_as(dir: &Path, node: u64) -> Engine {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 2,
        node: NodeId(node),
    };
    Engine::open(dir, options).unwrap()
}

/// Runs a test over both kinds of store.
pub(super) fn over_both(test: impl Fn(&Engine)) {
    let dir = work_dir();
    test(&open(&dir.path().join("data")));
    test(&open_with(dir.path(), Arc::new(Real), StoreKind::Memory).unwrap());
}

pub(super) fn id(number: u64) -> RecordId {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    RecordId::from_bytes(((u128::from(spread) << 64) | u128::from(number)).to_be_bytes())
}

pub(super) fn text(text: &str) -> DraftValue<'_> {
    DraftValue::Text(Cow::Borrowed(text))
}

/// Gives the draft of a record, with its number behind the title.
pub(super) fn draft<R>(number: u64, title: &str, each: impl FnOnce(RecordDraft<'_>) -> R) -> R {
    let id = id(number).to_string();
    each(RecordDraft {
        id: text(&id),
        video_type: text("movie"),
        title: text(&format!("{title} {number}")),
        posted_at: text("2020-01-02T03:04:05Z"),
        ..RecordDraft::default()
    })
}

pub(super) fn import(
    engine: &Engine,
    numbers: impl Iterator<Item = u64>,
    title: &str,
) -> crate::Result<ImportSummary> {
    let mut importer = engine.catalog().importer();
    for number in numbers {
        draft(number, title, |draft| importer.push(draft))?.unwrap();
    }
    importer.finish(&mut |_| {})
}

pub(super) fn title_of(engine: &Engine, number: u64) -> Option<String> {
    let snapshot = engine.catalog().snapshot();
    let doc = snapshot.doc(id(number)).unwrap()?;
    let fragment = String::from_utf8(doc.fragment().to_vec()).unwrap();
    let start = fragment.find("\"title\":\"").unwrap() + 9;
    Some(fragment[start..].split('"').next().unwrap().to_owned())
}

pub(super) fn summary(inserted: u64, updated: u64, unchanged: u64) -> ImportSummary {
    ImportSummary {
        inserted,
        updated,
        unchanged,
    }
}

pub(super) fn new_account(email: &str) -> StateEvent {
    let new = NewAccount {
        email: Email::parse(email).unwrap(),
        display_name: String::new(),
        role: Role::User,
        password_hash: "x".into(),
    };
    Change::CreateAccount(new).into_event(email, now())
}

pub(super) fn new_api_key(account: Option<AccountId>) -> StateEvent {
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

/// Works on a file of the truth of a closed directory.
pub(super) fn with_store<R>(data: &Path, file: &StoreFile, work: impl FnOnce(&Store) -> R) -> R {
    let data_dir = DataDir::open(Arc::new(Real), data).unwrap();
    let store = open_store(&data_dir, true, file).unwrap();
    let result = work(&store);
    store.close().unwrap();
    result
}

pub(super) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
