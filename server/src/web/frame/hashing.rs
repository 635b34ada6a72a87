//! The bounded pool of threads that hash passwords. They yield to all other threads.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::hashing_share::{HashingPermit, HashingQueueError, HashingShares, HashingSubject};
use super::password::{self, Password, Workspace};
use crate::limits::{ADMIN_PASSWORD_QUEUE_MAX, PASSWORD_QUEUE_MAX};
use crate::runtime::Priority;
use tokio::sync::oneshot;

/// Idle time until a thread frees its 19 MiB.
const MEMORY_KEPT: Duration = Duration::from_secs(5);
/// A thread that was idle for less than this many times its last job enters the idle scheduling
/// class. Chosen here: a flood of sign-ins gets only spare time, while a single sign-in makes
/// progress on a busy machine.
const REST_PER_WORK: u32 = 4;

type Job = Box<dyn FnOnce(&mut Workspace) + Send>;

/// A user with a password to hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applicant {
    /// An administrator with a session, or from a browser that has signed in before.
    Administrator,
    /// Somebody with a session, a one-time link, or a browser that has signed in before.
    Known,
    /// Anybody else.
    Unknown,
}

/// Passwords that wait, those of known applicants apart. A flood of sign-ins by others, from any
/// number of networks, gets no more than every second turn while a known applicant waits.
/// Administrators come first: they are few, since each account has up to two places.
#[derive(Default)]
struct WaitingJobs {
    administrators: VecDeque<Job>,
    known: VecDeque<Job>,
    unknown: VecDeque<Job>,
    /// True if the last job was that of a known applicant.
    was_known: bool,
    /// True if the pool was dropped.
    is_closed: bool,
}

impl WaitingJobs {
    fn line(&mut self, applicant: Applicant) -> &mut VecDeque<Job> {
        match applicant {
            Applicant::Administrator => &mut self.administrators,
            Applicant::Known => &mut self.known,
            Applicant::Unknown => &mut self.unknown,
        }
    }

    /// The next job: that of an administrator, else while both wait, one of each in turn.
    fn take(&mut self) -> Option<(Applicant, Job)> {
        if let Some(job) = self.administrators.pop_front() {
            return Some((Applicant::Administrator, job));
        }
        let is_known = match (self.known.is_empty(), self.unknown.is_empty()) {
            (false, false) => !self.was_known,
            (is_empty, _) => !is_empty,
        };
        let applicant = if is_known {
            Applicant::Known
        } else {
            Applicant::Unknown
        };
        let job = self.line(applicant).pop_front()?;
        self.was_known = is_known;
        Some((applicant, job))
    }
}

/// The queue, and what wakes the threads.
#[derive(Default)]
struct HashingQueue {
    waiting: Mutex<WaitingJobs>,
    arrival: Condvar,
}

impl HashingQueue {
    /// Queues a job, unless too many of its kind wait.
    fn put(&self, applicant: Applicant, job: Job) -> Result<(), HashingQueueError> {
        let mut waiting = self.waiting.lock();
        let line = waiting.line(applicant);
        let jobs_max = match applicant {
            Applicant::Administrator => ADMIN_PASSWORD_QUEUE_MAX,
            Applicant::Known | Applicant::Unknown => PASSWORD_QUEUE_MAX,
        };
        if jobs_max <= line.len() {
            return Err(HashingQueueError);
        }
        line.push_back(job);
        self.arrival.notify_one();
        Ok(())
    }
}

/// Threads that only run argon2. They end when the pool is dropped.
pub(crate) struct HashingPool {
    queue: Arc<HashingQueue>,
    shares: HashingShares,
}

impl HashingPool {
    /// Starts half as many threads as there are cores, or one.
    pub(crate) fn start() -> std::io::Result<Self> {
        let queue = Arc::<HashingQueue>::default();
        for _ in 0..threads_count() {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name("passwords".to_owned())
                .spawn(move || work(&queue))?;
        }
        Ok(Self {
            queue,
            shares: HashingShares::default(),
        })
    }

    /// [`Password::hash`], on the pool.
    pub(crate) async fn hash(
        &self,
        applicant: Applicant,
        password: Password,
    ) -> Result<String, HashingQueueError> {
        let hash = move |workspace: &mut Workspace| password.hash_in(workspace);
        self.run(applicant, hash).await
    }

    /// [`password::verify_in`], on the pool.
    pub(crate) async fn verify(
        &self,
        applicant: Applicant,
        text: &str,
        stored: Option<String>,
    ) -> Result<bool, HashingQueueError> {
        let text = text.to_owned();
        let verify =
            move |workspace: &mut _| password::verify_in(workspace, &text, stored.as_deref());
        self.run(applicant, verify).await
    }

    /// Waits until a password of this subject may be hashed: see [`HashingShares`].
    pub(crate) async fn enter(
        &self,
        subject: HashingSubject,
    ) -> Result<HashingPermit<'_>, HashingQueueError> {
        self.shares.enter(subject).await
    }

    async fn run<T: Send + 'static>(
        &self,
        applicant: Applicant,
        work: impl FnOnce(&mut Workspace) -> T + Send + 'static,
    ) -> Result<T, HashingQueueError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |workspace| {
            // The receiver was dropped (client disconnected); ignore.
            drop(reply.send(work(workspace)));
        });
        self.queue.put(applicant, job)?;
        answer.await.map_err(|_| HashingQueueError)
    }
}

impl Drop for HashingPool {
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.arrival.notify_all();
    }
}

fn threads_count() -> usize {
    let cores_count = thread::available_parallelism().map_or(1, NonZero::get);
    (cores_count / 2).max(1)
}

fn work(queue: &HashingQueue) {
    let mut workspace = Workspace::default();
    let mut pace = Pace::default();
    let mut waiting = queue.waiting.lock();
    while !waiting.is_closed {
        let Some((applicant, job)) = waiting.take() else {
            let woken = queue.arrival.wait_for(&mut waiting, MEMORY_KEPT);
            if woken.timed_out() {
                workspace = Workspace::default();
            }
            continue;
        };
        drop(waiting);
        let class = pace.begin(applicant, Instant::now());
        // If the system refuses the class, only fairness suffers.
        let _ = class.map(Priority::enter);
        job(&mut workspace);
        pace.end(Instant::now());
        // Control threads take this lock, too: a thread that runs only when nothing else does would
        // keep them waiting while it holds it.
        let _ = pace.leave_idle().map(Priority::enter);
        waiting = queue.waiting.lock();
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
    fn begin(&mut self, applicant: Applicant, now: Instant) -> Option<Priority> {
        self.began = Some(now);
        let is_flood = self
            .last
            .is_some_and(|(ended, work)| now.duration_since(ended) < work * REST_PER_WORK);
        let class = if is_flood && applicant == Applicant::Unknown {
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

    /// Returns the class to enter before a lock is taken that other threads want.
    fn leave_idle(&mut self) -> Option<Priority> {
        if self.class != Some(Priority::Idle) {
            return None;
        }
        self.class = Some(Priority::Low);
        self.class
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
        let stored = control.block_on(pool.hash(Applicant::Known, password));
        let stored = stored.unwrap();
        let verify = |text: &str, stored| {
            let verified = pool.verify(Applicant::Unknown, text, stored);
            control.block_on(verified)
        };
        assert_eq!(verify("correct horse", Some(stored.clone())), Ok(true));
        assert_eq!(verify("wrong horse", Some(stored)), Ok(false));
        assert_eq!(verify("correct horse", None), Ok(false));
    }

    #[test]
    fn a_flood_is_idle_class_and_known_applicants_are_not() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(pace.begin(Applicant::Unknown, at(0)), Some(Priority::Low));
        pace.end(at(20));
        assert_eq!(pace.begin(Applicant::Unknown, at(99)), Some(Priority::Idle));
        pace.end(at(119));
        assert_eq!(pace.begin(Applicant::Unknown, at(120)), None);
        pace.end(at(140));
        assert_eq!(pace.begin(Applicant::Known, at(141)), Some(Priority::Low));
        pace.end(at(161));
        assert_eq!(
            pace.begin(Applicant::Unknown, at(162)),
            Some(Priority::Idle)
        );
        pace.end(at(182));
        assert_eq!(pace.begin(Applicant::Unknown, at(280)), Some(Priority::Low));
    }

    #[test]
    fn no_lock_is_taken_in_the_idle_class() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        pace.begin(Applicant::Unknown, at(0));
        pace.end(at(20));
        assert_eq!(pace.leave_idle(), None);
        assert_eq!(pace.begin(Applicant::Unknown, at(21)), Some(Priority::Idle));
        pace.end(at(41));
        assert_eq!(pace.leave_idle(), Some(Priority::Low));
        assert_eq!(pace.begin(Applicant::Unknown, at(42)), Some(Priority::Idle));
    }

    #[test]
    fn a_flood_takes_every_second_turn_at_most() {
        let mut waiting = WaitingJobs::default();
        for _ in 0..10 {
            waiting.unknown.push_back(Box::new(|_| {}));
        }
        for _ in 0..3 {
            waiting.known.push_back(Box::new(|_| {}));
        }
        let order = std::iter::from_fn(|| waiting.take());
        let order: Vec<_> = order.map(|(applicant, _)| applicant).take(7).collect();
        let (known, unknown) = (Applicant::Known, Applicant::Unknown);
        waiting.administrators.push_back(Box::new(|_| {}));
        let first = waiting.take().map(|(applicant, _)| applicant);
        assert_eq!(first, Some(Applicant::Administrator));
        let expected = [known, unknown, known, unknown, known, unknown, unknown];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_full_queue_is_refused_at_once_and_serves_who_is_known() {
        let control = Control::start().unwrap();
        let pool = HashingPool::start().unwrap();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock();
        let (begun, begins) = std::sync::mpsc::channel();
        let waits = || -> Job {
            let (gate, begun) = (Arc::clone(&gate), begun.clone());
            Box::new(move |_| {
                // The test may have ended.
                let _ = begun.send(());
                drop(gate.lock());
            })
        };
        let put = || pool.queue.put(Applicant::Unknown, waits());
        for _ in 0..threads_count() {
            put().unwrap();
        }
        // Once every thread waits at the gate, none takes a job that is put now.
        for _ in 0..threads_count() {
            begins.recv().unwrap();
        }
        assert!((0..PASSWORD_QUEUE_MAX).all(|_| put().is_ok()));
        assert_eq!(put(), Err(HashingQueueError));
        let refused = control.block_on(pool.verify(Applicant::Unknown, "x", None));
        assert_eq!(refused, Err(HashingQueueError));
        let (reply, answer) = std::sync::mpsc::channel();
        let of_known = Box::new(move |_: &mut Workspace| reply.send(()).unwrap());
        pool.queue.put(Applicant::Known, of_known).unwrap();
        drop(closed);
        answer.recv().unwrap();
    }
}
