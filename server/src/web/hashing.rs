//! The bounded pool that hashes passwords: its threads yield to everything else.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use parking_lot::Mutex;

use super::password::{self, Password};
use crate::runtime::sync::oneshot;

/// Passwords that wait for a thread, at most: about a second of work each side of two.
const QUEUE_MAX: usize = 64;
/// The lowest priority there is: API workers go first.
const NICENESS: i32 = 19;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that do nothing but argon2. They end when the pool is dropped.
pub(crate) struct HashingPool {
    jobs: SyncSender<Job>,
}

/// More passwords wait than can be hashed in a reasonable time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy;

impl HashingPool {
    /// Starts half as many threads as there are cores, at least one.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let queue = Arc::new(Mutex::new(queue));
        let cores_count = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..(cores_count / 2).max(1) {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name("passwords".to_owned())
                .spawn(move || work(&queue))?;
        }
        Ok(Self { jobs })
    }

    /// [`Password::hash`], on the pool.
    pub(crate) async fn hash(&self, password: Password) -> Result<String, Busy> {
        self.run(move || password.hash()).await
    }

    /// [`password::verify`], on the pool.
    pub(crate) async fn verify(&self, text: &str, stored: Option<String>) -> Result<bool, Busy> {
        let text = text.to_owned();
        self.run(move || password::verify(&text, stored.as_deref()))
            .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move || {
            // Nobody waits any more when the request was given up; the result is dropped.
            drop(reply.send(work()));
        });
        self.jobs.try_send(job).map_err(|_| Busy)?;
        answer.await.map_err(|_| Busy)
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    // On Linux this is the priority of the calling thread alone. A refusal costs only fairness.
    let _ = rustix::process::setpriority_process(None, NICENESS);
    loop {
        let job = queue.lock().recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
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
    fn a_full_queue_is_refused_at_once() {
        let control = Control::start().unwrap();
        let pool = HashingPool::start().unwrap();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock();
        let mut refused_count = 0;
        for _ in 0..QUEUE_MAX + 64 {
            let gate = Arc::clone(&gate);
            let job: Job = Box::new(move || drop(gate.lock()));
            refused_count += usize::from(pool.jobs.try_send(job).is_err());
        }
        assert!(0 < refused_count);
        assert_eq!(control.block_on(pool.verify("x", None)), Err(Busy));
        drop(closed);
    }
}
