//! One history, one cut, one recovery.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use subcat_engine::internals::{IgnoredSyncs, PowerCut};
use subcat_tests::campaign::{Random, work_dir};
use tempfile::TempDir;

use crate::history::Step;
use crate::model::{Model, Subject};

/// Steps that a cut may fall into.
pub const STEPS: &[&str] = &[
    "open",
    "import",
    "delete",
    "set active",
    "create a key",
    "revoke a key",
    "store a file",
    "sync counters",
    "aggregate",
    "maintain",
    "backup",
];

/// Operations of a history before which the power is cut: early in a part of the rounds, for the
/// first start is full of them.
const CUTS_BELOW: [u64; 3] = [60, 300, 900];
/// The same for a recovery.
const SECOND_CUT_BELOW: u64 = 60;

/// Input of a round, which decides all of it.
pub struct Round {
    /// Decides steps, cuts and what survives.
    pub seed: u64,
    /// Syncs that the disk leaves out.
    pub ignored: Option<IgnoredSyncs>,
}

/// Report of a round.
pub struct Outcome {
    /// The step during which the power was cut.
    pub cut_in: &'static str,
    /// Path of the operation with which the power was cut, below the root.
    pub cut_path: String,
    /// The same for a second cut, while it recovered.
    pub second_path: Option<String>,
}

/// Runs a round. Errors: what was lost or damaged, and how to see it again.
pub fn run(round: &Round) -> Result<Outcome, String> {
    let ran = catch_unwind(AssertUnwindSafe(|| run_once(round)));
    let ran = ran.unwrap_or_else(|_| Err("it panicked".to_owned()));
    ran.map_err(|failure| {
        let seed = round.seed;
        format!(
            "{failure}\n  again: SUBCAT_CUT_SEED={seed} SUBCAT_CUT_ROUNDS=1 cargo test -p \
             subcat-tests --test power_cut survives"
        )
    })
}

fn run_once(round: &Round) -> Result<Outcome, String> {
    let mut random = Random(round.seed);
    let mut acknowledged = Model::default();
    let mut in_doubt = Model::default();
    let mut cut_in = "open";

    let first = work_dir();
    let below = CUTS_BELOW[random.below(3) as usize];
    let disk = cut_disk(first.path(), random.below(below), round.ignored);
    if let Ok(mut subject) = Subject::open(first.path(), Arc::clone(&disk) as _) {
        for number in 1.. {
            let step = Step::choose(&mut random, number);
            in_doubt = acknowledged.after(&step);
            cut_in = step.name();
            let is_done = subject.apply(first.path(), &step, number);
            if disk.is_off() {
                break;
            }
            if !is_done {
                return Err(format!("{cut_in} failed before the cut"));
            }
            acknowledged = in_doubt.clone();
        }
    }
    let second = survivors(&disk, &mut random);
    let Some(recovery) = recover_with_a_cut(second.path(), &mut random) else {
        acknowledged.check(second.path(), &in_doubt)?;
        return Ok(Outcome {
            cut_in,
            cut_path: disk.cut_path().unwrap_or_default(),
            second_path: None,
        });
    };
    let third = survivors(&recovery, &mut random);
    acknowledged.check(third.path(), &in_doubt)?;
    Ok(Outcome {
        cut_in,
        cut_path: disk.cut_path().unwrap_or_default(),
        second_path: recovery.cut_path(),
    })
}

/// Opens what is left on a disk that is cut again, in half of the rounds; the disk if it was cut.
fn recover_with_a_cut(root: &Path, random: &mut Random) -> Option<Arc<PowerCut>> {
    if random.below(2) == 0 {
        return None;
    }
    let disk = cut_disk(root, random.below(SECOND_CUT_BELOW), None);
    drop(Subject::open(root, Arc::clone(&disk) as _));
    disk.is_off().then_some(disk)
}

fn cut_disk(root: &Path, cut_at: u64, ignored: Option<IgnoredSyncs>) -> Arc<PowerCut> {
    Arc::new(PowerCut::new(root, cut_at, ignored).unwrap())
}

fn survivors(disk: &PowerCut, random: &mut Random) -> TempDir {
    let left = work_dir();
    disk.write_survivors(left.path(), random.below(u64::MAX))
        .unwrap();
    left
}
