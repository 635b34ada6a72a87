//! Changes that a task waits for while other threads append and apply them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::cluster_test::{Node, three};
use super::test_support::{new_account, open, work_dir};
use crate::replication::{Log, LogFault, PendingChange};
use crate::state::Outcome;
use crate::{Error, Result};

/// A task that notes when it is woken.
#[derive(Default)]
struct Task(AtomicBool);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// One look at a change. Returns the outcomes, if there are any yet.
fn look(change: &mut PendingChange, task: &Arc<Task>) -> Option<Result<Vec<Outcome>>> {
    let waker = Waker::from(Arc::clone(task));
    let change = std::pin::Pin::new(change);
    match change.poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(outcomes) => Some(outcomes),
        Poll::Pending => None,
    }
}

fn begin(node: &Node, email: &str) -> (PendingChange, Arc<Task>) {
    let mut change = node.engine.submit(vec![new_account(email)]);
    let task = Arc::default();
    assert!(look(&mut change, &task).is_none());
    (change, task)
}

#[test]
fn a_task_is_woken_when_its_change_is_applied() {
    let (_dir, log, [a, b, _]) = three();
    let before = log.state().unwrap().last;
    let (mut first, first_task) = begin(&a, "eva@example.org");
    let (mut second, second_task) = begin(&a, "eva@example.org");
    // Neither holds the thread that has submitted it, nor appends by itself.
    assert_eq!(log.state().unwrap().last, before);
    a.replica.append_queued(Duration::ZERO);
    assert_eq!(
        log.state().unwrap().last,
        before + 1,
        "both are in one frame"
    );
    assert!(!first_task.0.load(Ordering::SeqCst));
    a.catch_up();
    for task in [&first_task, &second_task] {
        assert!(task.0.load(Ordering::SeqCst));
    }
    let outcomes = look(&mut first, &first_task).unwrap().unwrap();
    assert!(
        matches!(outcomes[..], [Outcome::Account(_)]),
        "{outcomes:?}"
    );
    let outcomes = look(&mut second, &second_task).unwrap().unwrap();
    assert_eq!(outcomes, [Outcome::EmailTaken]);
    // One that no task waits for is made all the same.
    drop(begin(&b, "ida@example.org"));
    b.replica.append_queued(Duration::ZERO);
    b.catch_up();
    assert_eq!(b.engine.accounts().all().len(), 3);
}

#[test]
fn a_task_learns_that_nothing_was_changed_or_that_it_is_unknown() {
    let (_dir, log, [a, _, _]) = three();
    let (mut refused, task) = begin(&a, "eva@example.org");
    log.fail_next(LogFault::Unavailable);
    a.replica.append_queued(Duration::ZERO);
    let error = look(&mut refused, &task).unwrap().unwrap_err();
    assert!(matches!(error, Error::LogUnavailable { .. }), "{error}");
    let (mut late, task) = begin(&a, "eva@example.org");
    a.replica.append_queued(Duration::ZERO);
    // Ten seconds of the clock of these nodes, in which nothing is applied.
    std::thread::sleep(Duration::from_millis(150));
    assert!(look(&mut late, &task).is_none());
    log.reset(2).unwrap();
    assert!(a.replica.step().is_err());
    let error = look(&mut late, &task).unwrap().unwrap_err();
    assert!(matches!(error, Error::LogUnanswered { .. }), "{error}");
}

/// Without a cluster nothing is waited for but the own disk.
#[test]
fn a_data_directory_alone_has_the_outcomes_at_once() {
    let dir = work_dir();
    let engine = open(&dir.path().join("data"));
    let mut change = engine.submit(vec![new_account("eva@example.org")]);
    let outcomes = look(&mut change, &Arc::default()).unwrap().unwrap();
    assert!(
        matches!(outcomes[..], [Outcome::Account(_)]),
        "{outcomes:?}"
    );
}
