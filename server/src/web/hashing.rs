//! The bounded pool of threads that hash passwords. They yield to all other threads.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::password::{self, Password, Workspace};
use crate::limits::PASSWORD_QUEUE_MAX;
use crate::runtime::Priority;
use tokio::sync::oneshot;

/// Time after which an idle thread frees its 19 MiB.
const MEMORY_KEPT: Duration = Duration::from_secs(5);
/// A thread that was idle for less than this many times its last job enters the idle scheduling
/// class. Chosen here: a flood of sign-ins gets only spare time, while a single sign-in makes
/// progress on a busy machine.
const REST_PER_WORK: u32 = 4;

type Job = Box<dyn FnOnce(&mut Workspace) + Send>;

/// Threads that only run argon2. They end when the pool is dropped.
pub(crate) struct HashingPool {
    jobs: SyncSender<Job>,
}

/// The queue of passwords is full: this one would wait for more than about a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords wait to be hashed")]
pub(crate) struct HashingQueueError;

impl HashingPool {
    /// Starts half as many threads as there are cores, at least one.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (jobs, queue) = sync_channel(PASSWORD_QUEUE_MAX);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads_count() {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name("passwords".to_owned())
                .spawn(move || work(&queue))?;
        }
        Ok(Self { jobs })
    }

    /// [`Password::hash`], on the pool.
    pub(crate) async fn hash(&self, password: Password) -> Result<String, HashingQueueError> {
        self.run(move |workspace| password.hash_in(workspace)).await
    }

    /// [`password::verify_in`], on the pool.
    pub(crate) async fn verify(
        &self,
        text: &str,
        stored: Option<String>,
    ) -> Result<bool, HashingQueueError> {
        let text = text.to_owned();
        self.run(move |workspace| password::verify_in(workspace, &text, stored.as_deref()))
            .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Workspace) -> T + Send + 'static,
    ) -> Result<T, HashingQueueError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |workspace| {
            // The receiver was dropped (client disconnected); ignore.
            drop(reply.send(work(workspace)));
        });
        self.jobs.try_send(job).map_err(|_| HashingQueueError)?;
        answer.await.map_err(|_| HashingQueueError)
    }
}

fn threads_count() -> usize {
    let cores_count = thread::available_parallelism().map_or(1, NonZero::get);
    (cores_count / 2).max(1)
}

fn work(queue: &Mutex<Receiver<Job>>) {
    let mut workspace = Workspace::default();
    let mut pace = Pace::default();
    loop {
        let job = queue.lock().recv_timeout(MEMORY_KEPT);
        match job {
            Ok(job) => {
                // If the system refuses the class, only fairness suffers.
                let _ = pace.begin(Instant::now()).map(Priority::enter);
                job(&mut workspace);
                pace.end(Instant::now());
            }
            Err(RecvTimeoutError::Timeout) => workspace = Workspace::default(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Scheduling class of a hashing thread, derived from how much of the time it works.
#[derive(Default)]
struct Pace {
    class: Option<Priority>,
    began: Option<Instant>,
    last: Option<(Instant, Duration)>,
}

impl Pace {
    /// Notes that a job begins. Returns the class to enter if it differs from the current one.
    fn begin(&mut self, now: Instant) -> Option<Priority> {
        self.began = Some(now);
        let is_flood = self
            .last
            .is_some_and(|(ended, work)| now.duration_since(ended) < work * REST_PER_WORK);
        let class = if is_flood {
            Priority::Idle
        } else {
            Priority::Low
        };
        if self.class.replace(class) == Some(class) {
            None
        } else {
            Some(class)
        }
    }

    /// Notes that the job ended.
    fn end(&mut self, now: Instant) {
        let began = self.began.take();
        self.last = began.map(|began| (now, now.duration_since(began)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Control;

    #[test]
    fn hashes_and_verifies_on_its_threads() {
        let control = Control::start().unwrap();
        let pool = HashingPool::start().unwrap();
        let password = Password::parse("correct horse").unwrap();
        let stored = control.block_on(pool.hash(password)).unwrap();
        let verify = |text: &str, stored| control.block_on(pool.verify(text, stored));
        assert_eq!(verify("correct horse", Some(stored.clone())), Ok(true));
        assert_eq!(verify("wrong horse", Some(stored)), Ok(false));
        assert_eq!(verify("correct horse", None), Ok(false));
    }

    #[test]
    fn a_flood_is_idle_class_and_a_single_job_is_not() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(pace.begin(at(0)), Some(Priority::Low));
        pace.end(at(20));
        assert_eq!(pace.begin(at(99)), Some(Priority::Idle));
        pace.end(at(119));
        assert_eq!(pace.begin(at(120)), None);
        pace.end(at(140));
        assert_eq!(pace.begin(at(220)), Some(Priority::Low));
    }

    #[test]
    fn a_full_queue_is_refused_at_once() {
        let control = Control::start().unwrap();
        let pool = HashingPool::start().unwrap();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock();
        // Wait until every thread has a job: one that took its job later would free a place in
        // the full queue.
        let (begun, begins) = sync_channel(threads_count());
        for _ in 0..threads_count() {
            let (gate, begun) = (Arc::clone(&gate), begun.clone());
            let job: Job = Box::new(move |_| {
                begun.send(()).unwrap();
                drop(gate.lock());
            });
            assert!(pool.jobs.try_send(job).is_ok());
        }
        (0..threads_count()).for_each(|_| begins.recv().unwrap());
        let mut refused_count = 0;
        for _ in 0..PASSWORD_QUEUE_MAX + 64 {
            let gate = Arc::clone(&gate);
            let job: Job = Box::new(move |_| drop(gate.lock()));
            refused_count += usize::from(pool.jobs.try_send(job).is_err());
        }
        assert!(0 < refused_count);
        assert_eq!(
            control.block_on(pool.verify("x", None)),
            Err(HashingQueueError)
        );
        drop(closed);
    }
}
