//! What comes close together is stored together.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::runtime::ControlHandle;
use crate::runtime::sync::oneshot::{self, Sender};
use crate::runtime::time::{Instant, sleep_until};

/// Items that wait to be stored in one go, each for an outcome of its own.
///
/// One that comes alone is stored at once. Those that come within `pause` of the last time wait
/// until it is over, then go together.
pub(crate) struct GroupCommit<T, R> {
    pause: Duration,
    store: Box<Store<T, R>>,
    queue: Mutex<Queue<T, R>>,
}

/// What stores items.
type Store<T, R> = dyn Fn(&[T]) -> Vec<R> + Send + Sync;

struct Queue<T, R> {
    items: Vec<T>,
    /// Where the outcome of each item goes.
    replies: Vec<Sender<R>>,
    /// Nothing is stored before this.
    free_at: Option<Instant>,
}

impl<T: Send + 'static, R: Send + 'static> GroupCommit<T, R> {
    /// Nothing waits. `store` blocks, and gives an outcome for each item, in their order.
    pub(crate) fn new(
        pause: Duration,
        store: impl Fn(&[T]) -> Vec<R> + Send + Sync + 'static,
    ) -> Self {
        let queue = Queue {
            items: Vec::new(),
            replies: Vec::new(),
            free_at: None,
        };
        Self {
            pause,
            store: Box::new(store),
            queue: Mutex::new(queue),
        }
    }

    /// The outcome of an item; `None` when storing panicked.
    pub(crate) async fn submit(self: &Arc<Self>, control: &ControlHandle, item: T) -> Option<R> {
        let (reply, outcome) = oneshot::channel();
        if let Some(due) = self.enqueue(item, reply) {
            let this = Arc::clone(self);
            let blocking = control.clone();
            // On a task of its own: a client that goes takes nobody else along.
            control.spawn(async move {
                sleep_until(due).await;
                blocking.spawn_blocking(move || this.store_all());
            });
        }
        outcome.await.ok()
    }

    /// When all are to be stored, for the first of them.
    fn enqueue(&self, item: T, reply: Sender<R>) -> Option<Instant> {
        let mut queue = self.queue.lock();
        queue.items.push(item);
        queue.replies.push(reply);
        let now = Instant::now();
        let due = queue.free_at.map_or(now, |free_at| free_at.max(now));
        (queue.items.len() == 1).then_some(due)
    }

    fn store_all(&self) {
        let (items, replies) = {
            let mut queue = self.queue.lock();
            queue.free_at = Some(Instant::now() + self.pause);
            let items = std::mem::take(&mut queue.items);
            (items, std::mem::take(&mut queue.replies))
        };
        for (reply, outcome) in replies.into_iter().zip((self.store)(&items)) {
            // Who has gone does not want to know.
            drop(reply.send(outcome));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Control;

    /// Stores numbers; the outcome of each is itself and with how many it went.
    fn store(items: &[usize]) -> Vec<(usize, usize)> {
        items.iter().map(|item| (*item, items.len())).collect()
    }

    #[test]
    fn one_goes_at_once_and_those_that_follow_go_together() {
        let control = Control::start().unwrap();
        let group_commit = Arc::new(GroupCommit::new(Duration::from_secs(2), store));
        let submit = |item: usize| {
            let (group_commit, handle) = (Arc::clone(&group_commit), control.handle());
            let task = async move { group_commit.submit(&handle, item).await };
            control.handle().spawn(task)
        };
        let began = Instant::now();
        assert_eq!(control.block_on(submit(0)).unwrap(), Some((0, 1)));
        assert!(began.elapsed() < Duration::from_secs(1));
        let given_up = submit(1);
        while group_commit.queue.lock().items.is_empty() {
            std::thread::yield_now();
        }
        given_up.abort();
        let rest: Vec<_> = (2..20).map(submit).collect();
        for (item, task) in (2..20).zip(rest) {
            assert_eq!(control.block_on(task).unwrap(), Some((item, 19)));
        }
        assert!(Duration::from_secs(2) <= began.elapsed());
    }
}
