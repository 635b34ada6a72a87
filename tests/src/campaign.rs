//! Parts of a campaign: many rounds, each of a seed, on all cores.

use std::ops::Range;
use std::path::Path;
use std::sync::Once;

use subcat_engine::{Engine, MaintenanceTask};
use tempfile::TempDir;

use crate::filled::now;

/// Steps of maintenance after which a round of the scrubber must have ended, and the repair.
const STEPS_MAX: usize = 200;

/// A number from the environment. Panics if it is none.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs a round for each seed; what each came to, or the first failure of a worker, which runs no
/// more.
pub fn run_rounds<T: Send>(
    seeds: &Range<u64>,
    round: impl Fn(u64) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let workers_count = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let results: Vec<Result<Vec<T>, String>> = std::thread::scope(|scope| {
        let start = |worker: u64| {
            let round = &round;
            let seeds = seeds.clone();
            let own = seeds.filter(move |seed| seed % workers_count == worker);
            scope.spawn(move || own.map(round).collect())
        };
        let workers: Vec<_> = (0..workers_count).map(start).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().expect("a round catches its panics")
        };
        workers.into_iter().map(join).collect()
    });
    let mut outcomes = Vec::new();
    for result in results {
        outcomes.extend(result?);
    }
    Ok(outcomes)
}

/// Writes no panics of the threads of [`run_rounds`], which have no name: redb panics on damaged
/// pages, which is caught, and thousands of traces say nothing.
pub fn silence_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let write = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name().is_some() {
                write(info);
            }
        }));
    });
}

/// A directory in memory where there is one: a round writes some megabytes.
pub fn work_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        TempDir::new_in(memory)
    } else {
        TempDir::new()
    };
    made.expect("a temporary directory")
}

/// Lets the scrubber read everything, then maintains until there is nothing to do. A step that
/// meets damage may fail: the next one repairs it.
pub fn maintain(engine: &Engine) {
    let steps = || 0..STEPS_MAX;
    steps().find(|_| matches!(engine.run_task(MaintenanceTask::Scrub, now()), Ok(false)));
    let mut idle_steps = 0;
    for _ in steps() {
        let is_idle = matches!(engine.maintain(now()), Ok(false));
        idle_steps = if is_idle { idle_steps + 1 } else { 0 };
        if idle_steps == 2 {
            return;
        }
    }
}

/// Repeatable random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`; 0 below 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    /// An index below `len`; 0 below 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}
