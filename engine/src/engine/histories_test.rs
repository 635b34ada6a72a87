//! Two histories with the same events end in the same rows, byte by byte, however the events are
//! grouped into transactions, and wherever the process ended in between.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::test_support::{after, id, import, new_account, new_api_key, open, open_with, work_dir};
use crate::catalog::{CATALOG_TABLES, INDEX_VERSION};
use crate::data_dir::DataDir;
use crate::database::{CATALOG_FILE, STATE_FILE, StoreFile, open_store};
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::model::{
    AccountId, ApiKeyId, AuditEntry, CachedFile, ContentHash, FileKind, LinkPurpose, OneTimeLink,
    RateLimit, RecordId, ReleaseId, Role, SecondStep, Session, StepSecret, Usage,
};
use crate::state::{
    Change, DownloadAggregate, KeyRoll, RememberedFile, STATE_TABLES, StateEvent, UsageBatch,
    UsageDelta,
};
use crate::store::Span;
use crate::{Engine, StoreKind};

const EVENTS: u64 = 300;
const SEEDS: std::ops::Range<u64> = 0..3;

/// Repeatable random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Every row of a store file, by table and row key, but for the number of transactions: only their
/// size decides that.
type Dump = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

fn dump(data: &Path, file: &StoreFile) -> Dump {
    let data_dir = DataDir::open(Arc::new(Real), data).unwrap();
    let store = open_store(&data_dir, true, file).unwrap();
    let mut rows_found = Dump::new();
    for table in [STATE_TABLES, CATALOG_TABLES].concat() {
        if !file.tables.contains(&table) {
            continue;
        }
        let read = store.read(|rows| {
            rows.inspect(table, Span::ALL, &mut |row_key, value| {
                if (table.0, row_key) != ("meta", b"applied") {
                    rows_found.insert((table.0, row_key.to_vec()), value?.to_vec());
                }
                Ok(std::ops::ControlFlow::Continue(()))
            })
        });
        read.unwrap();
    }
    store.close().unwrap();
    rows_found
}

/// The rows that differ, as text; empty if none do.
fn difference(found: &Dump, expected: &Dump) -> String {
    let mut lines = String::new();
    for (table, row_key) in found.keys().chain(expected.keys()) {
        let row = (*table, row_key.clone());
        let (one, other) = (found.get(&row), expected.get(&row));
        if one != other {
            lines.push_str(&format!(
                "{table} {row_key:?}: {one:?} instead of {other:?}\n"
            ));
        }
    }
    lines
}

/// An event of any kind, which may be refused.
fn event(random: &mut Random, number: u64) -> StateEvent {
    let at = after(number as i64);
    let account = AccountId(1 + random.below(6));
    let api_key = ApiKeyId(1 + random.below(12));
    let digest = [random.below(8) as u8; 32];
    let by_ana = |change: Change| change.into_event("ana@example.org", at);
    match random.below(24) {
        0 | 1 => new_account(&format!("user{}@example.org", random.below(9))),
        2..=4 => new_api_key(Some(account).filter(|_| number.is_multiple_of(2))),
        5 => by_ana(Change::RevokeApiKey(api_key)),
        6 => by_ana(Change::RollApiKey(KeyRoll {
            old: api_key,
            digest,
            partial: "sct_AbCd…wXyZ".into(),
            old_ends_at: after(number as i64 + 60),
        })),
        7 if number.is_multiple_of(2) => {
            let limit = RateLimit::parse(&format!("{number}/60"));
            by_ana(Change::SetApiKeyLimit(api_key, limit))
        }
        7 => by_ana(Change::RenameApiKey(api_key, format!("key {number}"))),
        8 if number.is_multiple_of(4) => by_ana(Change::SetRegistration(random.below(2) == 0)),
        8 => by_ana(Change::SetDisabled(account, random.below(2) == 0)),
        9 => by_ana(Change::SetRole(account, Role::Admin)),
        10 => by_ana(Change::SetPassword(account, format!("hash {number}"))),
        11 => by_ana(Change::DeleteAccount(account)),
        12 => by_ana(Change::SetSecondStep(
            account,
            Some(SecondStep {
                secret: StepSecret::Plain([number as u8; 20]),
                last_step: number,
                recovery_digests: vec![digest],
            }),
        )),
        13 | 14 => StateEvent::OpenSession(
            Session {
                digest,
                account,
                created_at: at,
                expires_at: after(number as i64 + 30),
                device: String::new(),
                last_used_at: None,
                is_pending: false,
            },
            "x".into(),
        ),
        15 if number.is_multiple_of(2) => {
            StateEvent::UseSession(digest, after(number as i64 + 3_600))
        }
        15 => StateEvent::CloseSession(digest),
        16 => StateEvent::DropExpiredSessions(at),
        17 => StateEvent::IssueLink(OneTimeLink {
            digest,
            issuer: None,
            purpose: LinkPurpose::NewPassword(account),
            expires_at: after(number as i64 + 40),
        }),
        18 => StateEvent::TakeLink(digest),
        19 => StateEvent::Audit(AuditEntry {
            at,
            actor: "luz@example.org".into(),
            action: "signed in".into(),
            account: Some(account),
            api_key: None,
            detail: String::new(),
        }),
        _ => event_of_use(random, number, api_key),
    }
}

/// An event that no one decides: files, usage, downloads.
fn event_of_use(random: &mut Random, number: u64, api_key: ApiKeyId) -> StateEvent {
    let day = after(number as i64 * 9_000).day();
    let release = ReleaseId::parse(&format!("r{}", random.below(7))).unwrap();
    let content = ContentHash([random.below(4) as u8; 32]);
    match random.below(5) {
        0 => {
            let file = CachedFile {
                content,
                size_bytes: 1,
                checksum: number,
                kind: FileKind::Srt,
                upstream_name: None,
                refetch_at: None,
                is_brought: false,
            };
            // Some are refused: another content is known.
            let replaces = [None, Some(ContentHash([random.below(4) as u8; 32]))];
            StateEvent::RememberFile(RememberedFile {
                release,
                file,
                replaces: replaces[random.below(2) as usize],
            })
        }
        1 => StateEvent::ForgetFile(release),
        2 => StateEvent::KeepFigures(day, vec![number; random.below(3) as usize]),
        3 => StateEvent::AddUsage(UsageBatch {
            // Some are refused: they were added before.
            number: number - random.below(2) * 20,
            deltas: vec![UsageDelta {
                api_key: Some(api_key),
                day,
                usage: Usage {
                    requests: number,
                    ..Usage::default()
                },
                last_used_at: Some(after(number as i64)),
            }],
        }),
        _ => StateEvent::AggregateDownloads(DownloadAggregate {
            records: vec![(id(random.below(5)), 1 + random.below(9))],
            usage: vec![(Some(api_key), day, 1)],
            // A start forgets how far files were read that are not there.
            parts: Vec::new(),
            forgotten: Vec::new(),
        }),
    }
}

fn events(seed: u64) -> Vec<StateEvent> {
    let mut random = Random(seed);
    (100..100 + EVENTS)
        .map(|number| event(&mut random, number))
        .collect()
}

/// Applies the events in groups of random sizes; between some of them the process ends.
fn apply_grouped(data: &Path, events: &[StateEvent], seed: u64, size_max: u64) {
    let mut random = Random(seed);
    let mut engine = open(data);
    let mut left = events;
    while !left.is_empty() {
        let size = left.len().min(1 + random.below(size_max) as usize);
        let (group, rest) = left.split_at(size);
        engine.apply(group.to_vec()).unwrap();
        left = rest;
        if random.below(12) == 0 {
            drop(engine);
            engine = open(data);
        }
    }
    drop(engine);
}

#[test]
fn the_same_events_end_in_the_same_rows_of_the_state() {
    for seed in SEEDS {
        let events = events(seed);
        let dumps = [1, 7, 60, EVENTS].map(|size_max| {
            let dir = work_dir();
            apply_grouped(dir.path(), &events, seed ^ size_max, size_max);
            dump(dir.path(), &STATE_FILE)
        });
        // Events are refused, too, but not most of them.
        assert!(100 < dumps[0].len(), "seed {seed}: {} rows", dumps[0].len());
        for dump in &dumps {
            assert_eq!(difference(dump, &dumps[0]), "", "seed {seed}");
        }
    }
}

/// A group with a failed commit is in the file whole, or not at all; then it is applied again.
#[test]
fn a_history_with_failing_commits_ends_in_the_same_rows() {
    let (mut refused_count, mut durable_count) = (0, 0);
    for seed in SEEDS {
        let events = events(seed);
        let groups: Vec<&[StateEvent]> = events.chunks(20).collect();
        let whole = work_dir();
        let mut prefixes = vec![];
        for group in &groups {
            open(whole.path()).apply(group.to_vec()).unwrap();
            prefixes.push(dump(whole.path(), &STATE_FILE));
        }
        let dir = work_dir();
        let mut random = Random(seed);
        drop(open(dir.path()));
        for (idx, group) in groups.iter().enumerate() {
            let faulty = Arc::new(Faulty::new(Fault::NONE));
            let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
            let engine = open_with(dir.path(), disk, StoreKind::Redb).unwrap();
            faulty.set_fault(Fault {
                first: faulty.ops_count() + random.below(12),
                count: 40,
                errno: Fault::EIO,
            });
            let applied = engine.apply(group.to_vec());
            drop(engine);
            let found = dump(dir.path(), &STATE_FILE);
            if found == prefixes[idx] {
                durable_count += usize::from(applied.is_err());
                continue;
            }
            assert!(applied.is_err(), "seed {seed}: group {idx} is lost");
            let before = idx.checked_sub(1).map(|before| &prefixes[before]);
            assert!(
                before.is_none_or(|before| found == *before),
                "seed {seed}: a part of group {idx} is stored: {}",
                difference(&found, before.unwrap_or(&found))
            );
            refused_count += 1;
            open(dir.path()).apply(group.to_vec()).unwrap();
            assert_eq!(dump(dir.path(), &STATE_FILE), prefixes[idx], "seed {seed}");
        }
    }
    // The rare case: the commit failed, and is durable all the same.
    assert!(10 < refused_count, "{refused_count} commits failed");
    println!("{refused_count} groups applied again, {durable_count} durable in spite of an error");
}

/// A change of records.
#[derive(Clone)]
enum Step {
    Import(std::ops::Range<u64>, u64),
    Delete(Vec<RecordId>),
    SetActive(RecordId, bool),
}

fn steps(seed: u64) -> Vec<Step> {
    let mut random = Random(seed);
    let mut step = |number: u64| {
        let first = random.below(60);
        match random.below(6) {
            0..=3 => Step::Import(first..first + 1 + random.below(20), number),
            4 => Step::Delete(vec![id(first), id(first + 2)]),
            _ => Step::SetActive(id(first), random.below(2) == 0),
        }
    };
    (0..40).map(&mut step).collect()
}

/// Takes the steps; imports in parts of this size at most. Between some of them segments are
/// written and merged, and the process ends.
fn take_steps(data: &Path, steps: &[Step], seed: u64, import_max: u64) {
    let mut random = Random(seed);
    let mut engine = open(data);
    for step in steps.iter().cloned() {
        match step {
            Step::Import(numbers, title) => {
                let mut numbers: Vec<u64> = numbers.collect();
                while !numbers.is_empty() {
                    let size = numbers.len().min(import_max as usize);
                    let part = numbers.drain(..size);
                    import(&engine, part, &format!("Título {title}")).unwrap();
                }
            }
            Step::Delete(ids) => drop(engine.catalog().delete_records(&ids).unwrap()),
            Step::SetActive(id, is_active) => {
                engine.catalog().set_active(id, is_active).unwrap();
            }
        }
        match random.below(8) {
            0 => maintain(&engine),
            1 => {
                drop(engine);
                engine = open(data);
            }
            _ => {}
        }
    }
    drop(engine);
}

fn maintain(engine: &Engine) {
    engine.catalog().request_reindex();
    while engine.maintain(after(0)).unwrap() {}
}

/// Bytes of the segment files, by name.
fn segments(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(data.join("index")).unwrap();
    files
        .map(|file| {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read(file.path()).unwrap())
        })
        .collect()
}

#[test]
fn the_same_changes_end_in_the_same_records_and_the_same_index() {
    for seed in SEEDS {
        let steps = steps(seed);
        let ends = [1, 5, 100].map(|import_max| {
            let dir = work_dir();
            take_steps(dir.path(), &steps, seed ^ import_max, import_max);
            // How it was cut into segments is forgotten: the index is a function of the records.
            let data_dir = DataDir::open(Arc::new(Real), dir.path()).unwrap();
            let store = open_store(&data_dir, true, &CATALOG_FILE).unwrap();
            let meta = *CATALOG_FILE.tables.first().expect("meta is the first");
            store
                .write(|rows| rows.remove(meta, INDEX_VERSION))
                .unwrap();
            store.close().unwrap();
            drop((store, data_dir));
            open(dir.path()).close().unwrap();
            let mut rows = dump(dir.path(), &CATALOG_FILE);
            // Segments are numbered on; their documents and bytes are the same.
            let manifest =
                |(table, _): &(&'static str, Vec<u8>), _: &mut Vec<u8>| *table == "segments";
            let manifest: Vec<Vec<u8>> = rows.extract_if(.., manifest).map(|it| it.1).collect();
            let segments: Vec<Vec<u8>> = segments(dir.path()).into_values().collect();
            (rows, manifest, segments)
        });
        assert!(
            20 < ends[0].0.len(),
            "seed {seed}: {} rows",
            ends[0].0.len()
        );
        for end in &ends {
            assert_eq!(end.0, ends[0].0, "seed {seed}");
            assert_eq!(end.1, ends[0].1, "seed {seed}: manifest");
            assert!(end.2 == ends[0].2, "seed {seed}: bytes of segments");
        }
    }
}
