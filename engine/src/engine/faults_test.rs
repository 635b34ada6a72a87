//! Errors of the disk at each operation: nothing acknowledged is lost, each download counts once,
//! reads are answered, and the engine recovers.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::test_support::{
    after, copy_dir, id, import, new_api_key, now, open, open_with, title_of, work_dir,
};
use crate::disk::{Disk, Fault, Faulty};
use crate::error::{Error, error_chain};
use crate::limits::AGGREGATE_SECONDS_MAX;
use crate::model::{ApiKeyId, FileKind, ReleaseId, Usage, Variant};
use crate::state::{Change, StateEvent, UsageBatch, UsageDelta};
use crate::{Engine, StoreKind};

/// Rounds of work, a second each; more while they fail. `SUBCAT_FAULT_ROUNDS` asks for more, and
/// for [`LONG_FAULTS`] (`scripts/crash --faults`).
const ROUNDS: u64 = 3;
/// Seconds after which a fault must be overcome.
const HEALING_SECONDS_MAX: u64 = 5;

/// Calls `check` with 0, 1, 2 … on all cores, until it returns false: the fault came too late to be
/// met. Returns the number of faults that were met.
fn at_each_operation(check: impl Fn(u64) -> bool + Sync) -> u64 {
    let threads_count = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(0);
    let end = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for _ in 0..threads_count {
            scope.spawn(|| {
                loop {
                    let op_idx = next.fetch_add(1, Ordering::Relaxed);
                    if end.load(Ordering::Relaxed) <= op_idx {
                        return;
                    }
                    if !check(op_idx) {
                        end.fetch_min(op_idx, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    end.into_inner()
}

fn open_faulty(dir: &Path, faulty: &Arc<Faulty>) -> crate::Result<Engine> {
    let disk = Arc::clone(faulty) as Arc<dyn Disk>;
    open_with(dir, disk, StoreKind::Redb)
}

fn release() -> ReleaseId {
    ReleaseId::parse("1").unwrap()
}

/// Changes that were acknowledged.
#[derive(Default)]
struct Acknowledged {
    imported: Vec<u64>,
    deleted: Vec<u64>,
    keys_count: usize,
    revoked: Vec<ApiKeyId>,
    has_file: bool,
}

impl Acknowledged {
    /// Does one second of work; returns what failed of it, by name.
    fn work(&mut self, engine: &Engine, round: u64) -> Vec<(&'static str, Error)> {
        let numbers = round * 10..round * 10 + 10;
        let imported = import(engine, numbers.clone(), "Uno");
        if imported.is_ok() {
            self.imported.extend(numbers);
        }
        let created = engine.apply(vec![new_api_key(None)]);
        self.keys_count += usize::from(created.is_ok());
        let content = [round as u8; 99];
        let files = engine.files();
        let stored = files.store_file(&release(), &content, FileKind::Srt, None);
        self.has_file |= stored.is_ok();
        let deleted = self.delete_last(engine);
        let revoked = self.revoke_last(engine);
        engine.catalog().request_reindex();
        let maintained = engine.maintain(after(round as i64));
        let failed = [
            ("import", imported.err()),
            ("create a key", created.err()),
            ("store a file", stored.err()),
            ("delete a record", deleted.err()),
            ("revoke a key", revoked.err()),
            ("maintain", maintained.err()),
        ];
        let failed = failed.into_iter();
        failed
            .filter_map(|(name, error)| Some((name, error?)))
            .collect()
    }

    fn delete_last(&mut self, engine: &Engine) -> crate::Result<()> {
        // If it fails, the record may be there or not.
        let Some(number) = self.imported.pop() else {
            return Ok(());
        };
        engine.catalog().delete_records(&[id(number)])?;
        self.deleted.push(number);
        Ok(())
    }

    fn revoke_last(&mut self, engine: &Engine) -> crate::Result<()> {
        let Some(last) = engine.accounts().api_keys().last().map(|key| key.id) else {
            return Ok(());
        };
        let revoke = Change::RevokeApiKey(last).into_event("command line", now());
        engine.apply(vec![revoke])?;
        self.revoked.push(last);
        Ok(())
    }

    /// Everything that was acknowledged is there.
    fn check(&self, engine: &Engine) {
        for &number in &self.imported {
            let title = title_of(engine, number).expect("an acknowledged record is there");
            assert_eq!(title, format!("Uno {number}"));
        }
        for &number in &self.deleted {
            assert_eq!(title_of(engine, number), None);
        }
        let api_keys = engine.accounts().api_keys();
        assert!(self.keys_count <= api_keys.len());
        for key in api_keys.iter().filter(|key| self.revoked.contains(&key.id)) {
            assert!(key.revoked_at.is_some());
        }
        if self.has_file {
            let known = engine.files().cached_file(&release()).unwrap();
            let blob = engine.files().blob(&known, Variant::Identity);
            assert!(blob.unwrap().is_some());
        }
    }
}

/// Ends of faults that a campaign must have met: a fault of each kind of work, one that was
/// overcome within the call, and one at the first start.
const REACHED: [&str; 8] = [
    "create a key",
    "delete a record",
    "import",
    "maintain",
    "overcome",
    "revoke a key",
    "start",
    "store a file",
];

/// Report of a fault.
struct FaultOutcome {
    /// True if it came before the end.
    is_met: bool,
    /// Seconds from the end of the fault to the last work that failed.
    healed_after: u64,
}

fn survives_a_fault(
    fault: Fault,
    rounds: u64,
    reached: &Mutex<BTreeSet<&'static str>>,
) -> FaultOutcome {
    let dir = work_dir();
    let faulty = Arc::new(Faulty::new(fault));
    let is_over = || fault.first + fault.count <= faulty.ops_count();
    let mut starts = (0..4 + fault.count).map(|_| open_faulty(dir.path(), &faulty));
    let engine = match starts.next() {
        Some(Ok(engine)) => engine,
        _ => {
            reached.lock().insert("start");
            starts.find_map(Result::ok).expect("it opens")
        }
    };
    let mut acknowledged = Acknowledged::default();
    let mut failed_rounds = Vec::new();
    let (mut seconds_over, mut healed_after) = (0, 0);
    let mut round = 0;
    loop {
        let was_over = is_over();
        let failed = acknowledged.work(&engine, round);
        round += 1;
        seconds_over += u64::from(was_over);
        // Reads are answered, whatever fails.
        acknowledged.check(&engine);
        let is_well = failed.is_empty();
        if !is_well {
            reached.lock().extend(failed.iter().map(|(name, _)| *name));
            ensure_clear(&failed);
            healed_after = seconds_over;
            failed_rounds.push((round, failed));
        }
        if is_well && rounds <= round {
            break;
        }
        // While it lasts, each round meets it at least once.
        let is_in_time = seconds_over < HEALING_SECONDS_MAX
            && round < rounds + fault.count + HEALING_SECONDS_MAX;
        assert!(is_in_time || is_well, "{fault:?}: {failed_rounds:?}");
    }
    let is_met = fault.first < faulty.ops_count();
    if is_met && failed_rounds.is_empty() {
        reached.lock().insert("overcome");
    }
    drop(engine);
    faulty.set_fault(Fault::NONE);
    let engine = open_faulty(dir.path(), &faulty).unwrap();
    acknowledged.check(&engine);
    let findings = engine.verify(true).unwrap();
    let damage = findings.iter().find(|finding| !finding.is_repaired);
    assert_eq!(damage, None, "{fault:?}");
    FaultOutcome {
        is_met,
        healed_after,
    }
}

/// Asserts that each refusal says why, by the number of the system's error.
fn ensure_clear(failed: &[(&str, Error)]) {
    for (name, error) in failed {
        let text = error_chain(error);
        let is_clear = ["os error 5", "os error 28"]
            .iter()
            .any(|part| text.contains(part));
        assert!(is_clear, "{name}: {text}");
    }
}

/// Faults of a campaign at each operation: EIO and ENOSPC, of some operations or many.
const LONG_FAULTS: [(u64, i32); 4] = [
    (2, Fault::EIO),
    (2, Fault::ENOSPC),
    (60, Fault::EIO),
    (60, Fault::ENOSPC),
];

#[test]
fn a_fault_at_any_operation_loses_nothing_acknowledged() {
    let rounds = std::env::var("SUBCAT_FAULT_ROUNDS").map_or(ROUNDS, |it| it.parse().unwrap());
    let reached = Mutex::default();
    let longest = AtomicU64::new(0);
    let met_count = at_each_operation(|first| {
        let turn = first as usize % 2;
        let faults = if rounds == ROUNDS {
            &LONG_FAULTS[turn..=turn]
        } else {
            &LONG_FAULTS[..]
        };
        let outcomes = faults.iter().map(|&(count, errno)| {
            let fault = Fault {
                first,
                count,
                errno,
            };
            let outcome = survives_a_fault(fault, rounds, &reached);
            longest.fetch_max(outcome.healed_after, Ordering::Relaxed);
            outcome.is_met
        });
        outcomes.fold(false, |met, is_met| met | is_met)
    });
    println!("faults at each of {met_count} operations: healed after {longest:?} seconds at most");
    assert!(rounds * 40 < met_count, "only {met_count} operations");
    let reached: Vec<&str> = reached.into_inner().into_iter().collect();
    assert_eq!(reached, REACHED);
}

/// The canary: what was acknowledged and is not there is noticed.
#[test]
fn a_loss_is_noticed() {
    let dir = work_dir();
    let engine = open(dir.path());
    let mut acknowledged = Acknowledged::default();
    assert!(acknowledged.work(&engine, 0).is_empty());
    acknowledged.check(&engine);
    let is_noticed =
        |lost: &Acknowledged| catch_unwind(AssertUnwindSafe(|| lost.check(&engine))).is_err();
    let lost_record = Acknowledged {
        imported: vec![99],
        ..Acknowledged::default()
    };
    let lost_key = Acknowledged {
        keys_count: acknowledged.keys_count + 2,
        ..Acknowledged::default()
    };
    let undone_deletion = Acknowledged {
        deleted: vec![0],
        ..Acknowledged::default()
    };
    let last = engine.apply(vec![new_api_key(None)]).map(|_| ApiKeyId(2));
    let undone_revocation = Acknowledged {
        revoked: vec![last.unwrap()],
        ..Acknowledged::default()
    };
    assert!(is_noticed(&lost_record));
    assert!(is_noticed(&lost_key));
    assert!(is_noticed(&undone_deletion));
    assert!(is_noticed(&undone_revocation));
    engine
        .apply(vec![StateEvent::ForgetFile(release())])
        .unwrap();
    assert!(is_noticed(&acknowledged), "the file is gone");
}

fn counts_once(first: u64, count: u64) -> bool {
    let day = now().day();
    let dir = work_dir();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let engine = open_faulty(dir.path(), &faulty).unwrap();
    let mut lane = engine.usage().counter_lane().unwrap();
    for _ in 0..6 {
        lane.count(id(1), None, day).unwrap();
    }
    let batch = UsageBatch {
        number: engine.usage().last_batch().unwrap() + 1,
        deltas: vec![UsageDelta {
            api_key: None,
            day,
            usage: Usage {
                requests: 10,
                ..Usage::default()
            },
            last_used_at: None,
        }],
    };
    // Its counts wait from here on.
    engine.maintain(now()).unwrap();
    let first = faulty.ops_count() + first;
    faulty.set_fault(Fault {
        first,
        count,
        errno: Fault::EIO,
    });
    let is_done = (1..20).any(|time| {
        let added = engine.apply(vec![StateEvent::AddUsage(batch.clone())]);
        engine.maintain(after(time * AGGREGATE_SECONDS_MAX)).is_ok() && added.is_ok()
    });
    assert!(is_done, "{count} faults from {first} on: it does not heal");
    let is_met = first < faulty.ops_count();
    faulty.set_fault(Fault::NONE);
    drop(lane);
    drop(engine);
    let engine = open(dir.path());
    let usage = engine.usage().per_day(day, day).unwrap()[0].1;
    let counted = (
        engine.usage().downloads(id(1)),
        usage.downloads,
        usage.requests,
    );
    assert_eq!(counted, (6, 6, 10), "{count} faults from {first} on");
    is_met
}

#[test]
fn a_fault_of_any_length_counts_every_download_and_request_once() {
    let met_count = at_each_operation(|first| {
        let met = [1, 2, 3, 5, 9].map(|count| counts_once(first, count));
        met.contains(&true)
    });
    assert!(10 < met_count, "only {met_count} operations");
}

/// A read error costs the answer, never what is stored: nothing is taken for damaged for it.
#[test]
fn an_error_at_any_read_loses_nothing() {
    let dir = work_dir();
    let prepared = dir.path().join("prepared");
    let mut acknowledged = Acknowledged::default();
    let engine = open(&prepared);
    for round in 0..3 {
        assert!(acknowledged.work(&engine, round).is_empty());
    }
    import(&engine, 30..40, "Uno").unwrap();
    acknowledged.imported.extend(30..40);
    engine.close().unwrap();
    drop(engine);
    let met_count = at_each_operation(|read_idx| {
        let data = dir.path().join(format!("data-{read_idx}"));
        copy_dir(&prepared, &data);
        let faulty = Arc::new(Faulty::new(Fault::NONE));
        faulty.set_read_fault(Fault::at(read_idx));
        let engine = (0..3)
            .find_map(|_| open_faulty(&data, &faulty).ok())
            .expect("it opens");
        let _ = engine.catalog().export(&mut |_| Ok(()));
        let _ = engine.maintain(now());
        if let Some(known) = engine.files().cached_file(&release()) {
            let _ = engine.files().blob(&known, Variant::Identity);
        }
        let is_met = read_idx < faulty.reads_count();
        faulty.set_read_fault(Fault::NONE);
        acknowledged.check(&engine);
        let mut count = 0;
        let export = engine.catalog().export(&mut |_| {
            count += 1;
            Ok(())
        });
        assert!(export.unwrap().is_empty(), "read {read_idx}");
        assert_eq!(count, acknowledged.imported.len(), "read {read_idx}");
        let findings = engine.verify(false).unwrap();
        let damage = findings
            .iter()
            .find(|finding| !finding.is_repaired && !finding.is_note);
        assert_eq!(damage, None, "read {read_idx}");
        drop(engine);
        std::fs::remove_dir_all(&data).unwrap();
        is_met
    });
    assert!(20 < met_count, "only {met_count} reads");
}
