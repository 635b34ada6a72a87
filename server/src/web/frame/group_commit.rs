//! Group commit: items that arrive close together are stored in one transaction.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::runtime::{ControlHandle, WorkKind};
use tokio::sync::oneshot::{self, Sender};
use tokio::time::{Instant, sleep_until};

/// A queue of items that are stored together, each with an outcome of its own.
///
/// ```text
/// idle ── submit ──> due now ── store ──> pausing (until free_at)
///                                            │ submit: the first item schedules a store at
///                                            │ free_at, the others join it
///                                            └─────────> store ──> pausing
/// ```
///
/// So an item that arrives alone is stored at once, and each `pause` has up to one transaction,
/// however many items arrive.
pub(crate) struct GroupCommit<T, R> {
    pause: Duration,
    store: Box<StoreBatch<T, R>>,
    queue: Mutex<Queue<T, R>>,
}

/// Stores items and returns an outcome for each, in their order.
type StoreBatch<T, R> = dyn Fn(&[T]) -> Vec<R> + Send + Sync;

/// Items that are not stored yet.
///
/// INVARIANT: `items` and `replies` have the same length. If they are not empty, exactly one
/// scheduled task will take them.
struct Queue<T, R> {
    items: Vec<T>,
    /// Receiver of the outcome of each item.
    replies: Vec<Sender<R>>,
    /// Time before which nothing is stored; `None` before the first store.
    free_at: Option<Instant>,
}

impl<T: Send + 'static, R: Send + 'static> GroupCommit<T, R> {
    /// An empty queue. `store` may block; it returns an outcome for each item, in their order.
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

    /// Stores an item, together with others, and returns its outcome; `None` if `store` panicked.
    pub(crate) async fn submit(self: &Arc<Self>, control: &ControlHandle, item: T) -> Option<R> {
        let (reply, outcome) = oneshot::channel();
        if let Some(due) = self.enqueue(item, reply) {
            let this = Arc::clone(self);
            let blocking = control.clone();
            // A task of its own: if this client disconnects, the items of the others are still
            // stored.
            control.spawn(async move {
                sleep_until(due).await;
                blocking.detach(WorkKind::Changes, move || this.store_all());
            });
        }
        outcome.await.ok()
    }

    /// Queues an item. Returns the due time of the store if the caller has to schedule it, because
    /// it added the first item.
    fn enqueue(&self, item: T, reply: Sender<R>) -> Option<Instant> {
        let mut queue = self.queue.lock();
        queue.items.push(item);
        queue.replies.push(reply);
        let now = Instant::now();
        let due = queue.free_at.map_or(now, |free_at| free_at.max(now));
        if queue.items.len() == 1 {
            Some(due)
        } else {
            None
        }
    }

    fn store_all(&self) {
        let (items, replies) = {
            let mut queue = self.queue.lock();
            queue.free_at = Some(Instant::now() + self.pause);
            let items = std::mem::take(&mut queue.items);
            (items, std::mem::take(&mut queue.replies))
        };
        for (reply, outcome) in replies.into_iter().zip((self.store)(&items)) {
            // The receiver was dropped (client disconnected); ignore.
            drop(reply.send(outcome));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Control;

    /// The outcome of each number is itself and the number of items stored with it.
    fn store(items: &[usize]) -> Vec<(usize, usize)> {
        items.iter().map(|item| (*item, items.len())).collect()
    }

    #[test]
    fn the_first_is_stored_at_once_and_the_next_ones_together() {
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
