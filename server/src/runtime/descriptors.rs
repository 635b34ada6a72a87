//! File descriptors of the process, and how they are divided.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::{OPEN_BLOBS_MAX, OTHER_DESCRIPTORS_MAX, WORKER_FILES_MAX};

/// File descriptors of the process, and their division: up to a quarter is for stored files that
/// are kept open, so that one is always left for a connection and for a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    count_max: usize,
}

impl Descriptors {
    /// The current limit of the process.
    pub fn of_process() -> Self {
        let soft = getrlimit(Resource::Nofile).current;
        let count_max = soft.and_then(|soft| usize::try_from(soft).ok());
        Self {
            count_max: count_max.unwrap_or(usize::MAX),
        }
    }

    /// Raises the soft limit to the hard one. The soft limit that shells and service managers set
    /// (1,024) is for programs that use `select`, which this one does not.
    pub fn raise() -> Self {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let whole = Rlimit {
            current: maximum,
            maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, whole) {
            tracing::warn!(%error, "the limit of open files could not be raised");
        }
        Self::of_process()
    }

    /// Maximum number of blobs that the engine keeps open.
    pub fn blobs_max(self) -> usize {
        (self.count_max / 8).min(OPEN_BLOBS_MAX)
    }

    /// Maximum number of large files that each of `workers_count` workers keeps open, besides
    /// blobs.
    pub fn worker_files_max(self, workers_count: usize) -> usize {
        (self.count_max / 8 / workers_count.max(1)).min(WORKER_FILES_MAX)
    }

    /// Maximum number of concurrent fetches from upstream, up to `wanted_count`. Each takes a
    /// socket.
    pub fn fetches_max(self, wanted_count: usize) -> usize {
        wanted_count.min((self.count_max / 8).max(1))
    }

    /// Maximum number of connections with the descriptors that are left beside `fetches_count`
    /// fetches.
    pub fn connections_max(self, workers_count: usize, fetches_count: usize) -> usize {
        let files = self.blobs_max() + self.worker_files_max(workers_count) * workers_count;
        let others = (self.count_max / 4).min(OTHER_DESCRIPTORS_MAX);
        let fetches = self.fetches_max(fetches_count);
        (self.count_max - files - others)
            .saturating_sub(fetches)
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_take_at_most_a_quarter_and_connections_the_rest() {
        let check = |count_max: usize, workers: usize, expected: [usize; 4]| {
            let descriptors = Descriptors { count_max };
            let found = [
                descriptors.blobs_max(),
                descriptors.worker_files_max(workers),
                descriptors.fetches_max(64),
                descriptors.connections_max(workers, 64),
            ];
            assert_eq!(found, expected, "{count_max} for {workers}");
            assert!(found[0] + found[1] * workers <= count_max / 4);
        };
        check(256, 2, [32, 16, 32, 96]);
        check(1_024, 2, [128, 64, 64, 448]);
        let left = 65_536 - 1_024 - 4 * 2_048 - 64 - 512;
        check(65_536, 4, [1_024, 2_048, 64, left]);
        check(8, 64, [1, 0, 1, 4]);
    }

    /// `upstream.concurrency` may be larger than the limit of open files.
    #[test]
    fn fetches_leave_descriptors_for_connections() {
        for count_max in [8, 256, 1_024, 20_000] {
            let descriptors = Descriptors { count_max };
            let fetches = descriptors.fetches_max(10_000);
            assert!((1..=count_max / 8).contains(&fetches));
            let files = descriptors.blobs_max() + 2 * descriptors.worker_files_max(2);
            let connections = descriptors.connections_max(2, 10_000);
            assert!(files + fetches + connections <= count_max);
            assert!(count_max / 4 <= connections);
        }
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        let before = getrlimit(Resource::Nofile);
        let most = before.maximum.unwrap_or(1 << 20);
        let lowered = Rlimit {
            current: Some(most - 1),
            maximum: before.maximum,
        };
        setrlimit(Resource::Nofile, lowered).unwrap();
        Descriptors::raise();
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
    }
}
