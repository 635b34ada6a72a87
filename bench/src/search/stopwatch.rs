//! Clocks, and what many measurements say.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU that this thread has used.
pub fn thread_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds that passed since a fixed moment.
pub fn wall_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of CPU that this process has used, all threads together.
pub fn process_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Measurements of one kind, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Times {
    nanoseconds: Vec<u64>,
}

impl Times {
    /// Adds a measurement.
    pub fn push(&mut self, nanoseconds: u64) {
        self.nanoseconds.push(nanoseconds);
    }

    /// The mean, in microseconds.
    pub fn mean_us(&self) -> f64 {
        let sum: u64 = self.nanoseconds.iter().sum();
        sum as f64 / self.nanoseconds.len().max(1) as f64 / 1000.0
    }

    /// The value that `share` of the measurements do not exceed, in microseconds.
    pub fn quantile_us(&self, share: f64) -> f64 {
        let mut sorted = self.nanoseconds.clone();
        sorted.sort_unstable();
        let idx = (sorted.len() as f64 * share).ceil() as usize;
        sorted
            .get(idx.max(1) - 1)
            .map_or(0.0, |&value| value as f64 / 1000.0)
    }
}
