//! Reading of files that are not in memory, off the worker.
//!
//! When bytes are not in the page cache, `sendfile` reads them from the disk. Until then it blocks,
//! on any socket, and with it every connection of the worker. So a part of a file is looked up in
//! the page cache first, and what is not there is read by another thread, for the page cache only.
//! A file that was in memory within the last second, all of it, is not looked up: it is in use.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::file_body::StoredBytes;
use super::priority::Priority;
use crate::limits::COLD_READERS_MAX;

/// Time without an answer after which a file is looked up in the page cache again.
const IN_USE_MS: u64 = 1_000;

/// The runtime of one worker. Its blocking threads read files. Errors: no epoll.
pub(super) fn worker_runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(COLD_READERS_MAX)
        // Those threads only: this one is the worker's. A failure costs only fairness.
        .on_thread_start(|| {
            let _ = Priority::Behind.enter();
        })
        .build()
}

/// The part of a file that a connection waits for.
#[derive(Default)]
pub(super) struct ColdRead {
    reading: Option<JoinHandle<()>>,
}

impl ColdRead {
    /// Ready with the number of bytes from the start of `range` that can be sent now; never 0.
    ///
    /// After a part was read it is not looked up again: on a machine that is short of memory it may
    /// be evicted already, and a requested part must be sent some time.
    pub(super) fn poll_resident(
        &mut self,
        context: &mut Context<'_>,
        stored: &Arc<dyn StoredBytes>,
        range: Range<usize>,
    ) -> Poll<usize> {
        if self.reading.is_none() {
            if is_in_use(stored, &range, milliseconds()) {
                return Poll::Ready(range.len());
            }
            // The first part asks for the others, too: a file of 8 MB takes more than ten calls.
            let file_bytes = stored.mapped().len();
            let looked = if range.start == 0 {
                file_bytes
            } else {
                range.end
            };
            let resident_bytes = stored.resident_bytes(range.start..looked);
            if resident_bytes == file_bytes {
                stored.set_resident_stamp(milliseconds());
            }
            if resident_bytes != 0 {
                return Poll::Ready(resident_bytes.min(range.len()));
            }
            let (stored, range) = (Arc::clone(stored), range.clone());
            let read_in = move || stored.read_in(range);
            self.reading = Some(tokio::task::spawn_blocking(read_in));
        }
        if let Some(reading) = &mut self.reading {
            // A reader that panicked has read nothing; then `sendfile` does.
            let _ = ready!(Pin::new(reading).poll(context));
            self.reading = None;
        }
        Poll::Ready(range.len())
    }
}

/// Returns true if the whole file is known to be in memory. An answer of one call prolongs that; a
/// part shows nothing about the rest.
fn is_in_use(stored: &Arc<dyn StoredBytes>, range: &Range<usize>, now: u64) -> bool {
    let stamp = stored.resident_stamp();
    let is_in_use = stamp != 0 && now.saturating_sub(stamp) < IN_USE_MS;
    if is_in_use && range.len() == stored.mapped().len() && stamp != now {
        stored.set_resident_stamp(now);
    }
    is_in_use
}

/// Milliseconds of a monotonic clock, as exact as the scheduler's tick, never 0. Cost: a few
/// nanoseconds, no system call.
fn milliseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let part = u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000;
    seconds * 1_000 + part + 1
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;

    /// A file that is in memory, and the number of questions about that.
    struct Looked {
        mapped: Vec<u8>,
        asked_count: AtomicUsize,
        stamp: AtomicU64,
    }

    impl StoredBytes for Looked {
        fn file(&self) -> &File {
            unreachable!("nothing is sent")
        }

        fn mapped(&self) -> &[u8] {
            &self.mapped
        }

        fn mark_truncated(&self) {}

        fn resident_bytes(&self, range: Range<usize>) -> usize {
            self.asked_count.fetch_add(1, Ordering::Relaxed);
            range.len()
        }

        fn resident_stamp(&self) -> u64 {
            self.stamp.load(Ordering::Relaxed)
        }

        fn set_resident_stamp(&self, stamp: u64) {
            self.stamp.store(stamp, Ordering::Relaxed);
        }
    }

    fn file_of(size_bytes: usize) -> Arc<Looked> {
        Arc::new(Looked {
            mapped: vec![0; size_bytes],
            asked_count: AtomicUsize::new(0),
            stamp: AtomicU64::new(0),
        })
    }

    /// Count of look-ups after a range was sent.
    fn asked_after(file: &Arc<Looked>, range: Range<usize>) -> usize {
        let stored = Arc::clone(file) as Arc<dyn StoredBytes>;
        let mut context = Context::from_waker(std::task::Waker::noop());
        let expected = range.len();
        let polled = ColdRead::default().poll_resident(&mut context, &stored, range);
        assert_eq!(polled, Poll::Ready(expected));
        file.asked_count.load(Ordering::Relaxed)
    }

    #[test]
    fn a_file_in_use_is_looked_up_once() {
        let file = file_of(40_000);
        for _ in 0..3 {
            assert_eq!(asked_after(&file, 0..40_000), 1);
            assert_eq!(asked_after(&file, 20_000..40_000), 1);
        }
        // It was not sent for a second.
        file.set_resident_stamp(milliseconds() - IN_USE_MS);
        assert_eq!(asked_after(&file, 0..40_000), 2);
        assert_eq!(asked_after(&file, 0..40_000), 2);
    }

    #[test]
    fn a_file_of_many_calls_is_looked_up_once_a_second() {
        const PART: usize = 1 << 20;
        let file = file_of(8 * PART);
        let parts = (0..8).map(|at| at * PART..(at + 1) * PART);
        for part in parts.clone() {
            assert_eq!(asked_after(&file, part), 1);
        }
        // Parts do not prolong that.
        file.set_resident_stamp(milliseconds() - IN_USE_MS);
        for part in parts.clone() {
            assert_eq!(asked_after(&file, part), 2);
        }
        file.set_resident_stamp(milliseconds() - IN_USE_MS);
        let last = 7 * PART..8 * PART;
        assert_eq!(asked_after(&file, last.clone()), 3);
        assert_eq!(
            asked_after(&file, last),
            4,
            "a part shows nothing about the rest"
        );
    }
}
