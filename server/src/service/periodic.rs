//! A thread that does the same work once a period until it is asked to stop.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::runtime::Priority;

/// A failed run of a periodic task. Later runs still happen.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] subcat_engine::Error),
    /// The run panicked; the panic hook has logged where.
    #[error("the run panicked: earlier lines of the log say where")]
    Panicked,
}

/// A request to stop that a thread waits for.
#[derive(Default)]
struct StopFlag {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl StopFlag {
    fn set(&self) {
        *self.is_set.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for the flag, for up to `period`. Returns true if it is set.
    fn wait(&self, period: Duration) -> bool {
        let mut is_set = self.is_set.lock();
        // A spurious wake-up only makes a run come early.
        if !*is_set {
            self.changed.wait_for(&mut is_set, period);
        }
        *is_set
    }
}

/// A periodic task and its thread.
pub(super) struct PeriodicTask {
    stop: Arc<StopFlag>,
    /// Never receives a message; it disconnects when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl PeriodicTask {
    /// Calls `run` every `period`, and once more when it is asked to stop: the argument is true in
    /// that last run. `report` gets the result of each run. The thread has a lower priority than
    /// the workers. Errors: the thread cannot be started.
    pub(super) fn start(
        name: &str,
        period: Duration,
        mut run: impl FnMut(bool) -> Result<(), TaskError> + Send + 'static,
        report: impl Fn(Result<(), TaskError>) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::<StopFlag>::default();
        let signal = Arc::clone(&stop);
        let (sender, ended) = channel();
        let run_all = move || {
            let _until_the_end = sender;
            // If the priority cannot be lowered, only fairness suffers.
            let _ = Priority::Behind.enter();
            loop {
                let is_last = signal.wait(period);
                // A task keeps its shared state consistent at every step, so a panic in one run
                // cannot break the next one.
                let outcome = catch_unwind(AssertUnwindSafe(|| run(is_last)));
                report(outcome.unwrap_or(Err(TaskError::Panicked)));
                if is_last {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run_all)?;
        Ok(Self {
            stop,
            ended: Mutex::new(ended),
        })
    }

    /// Asks for the last run. Never waits.
    pub(super) fn finish(&self) {
        self.stop.set();
    }

    /// Asks for the last run and waits for its end, for up to `limit`. Returns false if the thread
    /// is still running then.
    pub(super) fn stop(self, limit: Duration) -> bool {
        self.finish();
        let ended = self.ended.into_inner().recv_timeout(limit);
        ended != Err(RecvTimeoutError::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;

    use super::*;

    const SOON: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    fn send_to<T: Send>(sender: Sender<T>) -> impl Fn(T) + Send {
        move |value| drop(sender.send(value))
    }

    #[test]
    fn a_run_that_panics_is_not_the_last() {
        let (sender, results) = channel();
        let mut number = 0;
        let run = move |_| {
            number += 1;
            assert!(number != 1, "this one panics");
            Ok(())
        };
        let task = PeriodicTask::start("test", SOON, run, send_to(sender)).unwrap();
        assert!(results.recv_timeout(LONG).unwrap().is_err());
        assert!(results.recv_timeout(LONG).unwrap().is_ok());
        assert!(task.stop(LONG));
    }

    #[test]
    fn the_last_run_comes_at_once_and_is_waited_for() {
        let (sender, runs) = channel();
        let note = send_to(sender);
        let run = move |is_last| {
            note(is_last);
            Ok(())
        };
        let task = PeriodicTask::start("test", LONG, run, drop).unwrap();
        assert!(task.stop(LONG));
        assert_eq!(runs.try_iter().collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn a_run_that_takes_too_long_is_not_waited_for() {
        let (go, gone) = channel::<()>();
        let gone = Mutex::new(gone);
        let (sender, begun) = channel();
        let note = send_to(sender);
        let run = move |_| {
            note(());
            // Until the test drops the sender.
            let _ = gone.lock().recv();
            Ok(())
        };
        let task = PeriodicTask::start("test", SOON, run, drop).unwrap();
        begun.recv_timeout(LONG).unwrap();
        assert!(!task.stop(SOON));
        drop(go);
    }
}
