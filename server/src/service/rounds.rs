//! A thread that does the same thing once a second until it is told to stop.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::runtime::Priority;

/// What is wrong, in a sentence with its cause.
pub(super) type Trouble = String;

/// A thread and its rounds. A panic in one is its trouble; the next one comes all the same.
pub(super) struct Rounds {
    is_stopping: Arc<(Mutex<bool>, Condvar)>,
    /// Nothing is sent: it closes when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl Rounds {
    /// Calls `work` every `period`, and once more when it is told to stop, with whether that is the
    /// last time; `report` hears how each round ended. Requests go first. Errors: no thread can be
    /// made.
    pub(super) fn start(
        name: &str,
        period: Duration,
        mut work: impl FnMut(bool) -> Result<(), Trouble> + Send + 'static,
        report: impl Fn(Result<(), Trouble>) + Send + 'static,
    ) -> io::Result<Self> {
        let is_stopping = Arc::new((Mutex::new(false), Condvar::new()));
        let signal = Arc::clone(&is_stopping);
        let (sender, ended) = channel();
        let run = move || {
            let _until_the_end = sender;
            // A refusal costs only fairness.
            let _ = Priority::Behind.enter();
            loop {
                let is_last = wait(&signal, period);
                let worked = catch_unwind(AssertUnwindSafe(|| work(is_last)));
                let panicked = |_| Err("it panicked: the lines before this say where".to_owned());
                report(worked.unwrap_or_else(panicked));
                if is_last {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)?;
        Ok(Self {
            is_stopping,
            ended: Mutex::new(ended),
        })
    }

    /// Asks for the last round. Never waits.
    pub(super) fn finish(&self) {
        let (flag, wake) = &*self.is_stopping;
        *flag.lock() = true;
        wake.notify_all();
    }

    /// Asks for the last round and waits for its end, but not longer than `limit`: false when it
    /// is left to itself.
    pub(super) fn stop(self, limit: Duration) -> bool {
        self.finish();
        let ended = self.ended.into_inner().recv_timeout(limit);
        ended != Err(RecvTimeoutError::Timeout)
    }
}

/// Waits for the next round; whether it is the last.
fn wait((flag, wake): &(Mutex<bool>, Condvar), period: Duration) -> bool {
    let mut is_stopping = flag.lock();
    if !*is_stopping {
        wake.wait_for(&mut is_stopping, period);
    }
    *is_stopping
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;

    use super::*;

    const SOON: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    fn heard_by<T: Send>(sender: Sender<T>) -> impl Fn(T) + Send {
        move |heard| drop(sender.send(heard))
    }

    #[test]
    fn a_round_that_panics_is_not_the_last() {
        let (sender, heard) = channel();
        let mut number = 0;
        let work = move |_| {
            number += 1;
            assert!(number != 1, "this one panics");
            Ok(())
        };
        let rounds = Rounds::start("test", SOON, work, heard_by(sender)).unwrap();
        assert!(heard.recv_timeout(LONG).unwrap().is_err());
        assert_eq!(heard.recv_timeout(LONG).unwrap(), Ok(()));
        assert!(rounds.stop(LONG));
    }

    #[test]
    fn the_last_round_comes_at_once_and_is_waited_for() {
        let (sender, heard) = channel();
        let tell = heard_by(sender);
        let work = move |is_last| {
            tell(is_last);
            Ok(())
        };
        let rounds = Rounds::start("test", LONG, work, drop).unwrap();
        assert!(rounds.stop(LONG));
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn a_round_that_takes_too_long_is_left_to_itself() {
        let (go, gone) = channel::<()>();
        let gone = Mutex::new(gone);
        let (sender, begun) = channel();
        let tell = heard_by(sender);
        let work = move |_| {
            tell(());
            // Until the test lets it go.
            let _ = gone.lock().recv();
            Ok(())
        };
        let rounds = Rounds::start("test", SOON, work, drop).unwrap();
        begun.recv_timeout(LONG).unwrap();
        assert!(!rounds.stop(SOON));
        drop(go);
    }
}
