//! Group commit: items that arrive close together are stored in one transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::limits::GROUP_ITEMS_MAX;
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
/// So an item that arrives alone is stored at once, and each `pause` has up to one transaction.
/// Items that do not fit a transaction wait for the next one.
pub(crate) struct GroupCommit<T, R> {
    pause: Duration,
    store: Box<StoreBatch<T, R>>,
    queue: Mutex<Queue<T, R>>,
}

/// Stores items; the future has an outcome for each, in their order.
type StoreBatch<T, R> = dyn Fn(Vec<T>) -> StoredGroup<R> + Send + Sync;

/// The outcomes of a batch. It is polled where it may block.
pub(crate) type StoredGroup<R> = Pin<Box<dyn Future<Output = Vec<R>> + Send>>;

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
    /// An empty queue. `store` gives an outcome for each item, in their order.
    pub(crate) fn new(
        pause: Duration,
        store: impl Fn(Vec<T>) -> StoredGroup<R> + Send + Sync + 'static,
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
            self.store_at(control, due);
        }
        outcome.await.ok()
    }

    /// Stores a batch when it is due.
    fn store_at(self: &Arc<Self>, control: &ControlHandle, due: Instant) {
        let (this, handle) = (Arc::clone(self), control.clone());
        // A task of its own: if a client disconnects, the items of the others are still stored.
        control.spawn(async move {
            sleep_until(due).await;
            let control = handle.clone();
            let stored = async move { this.store_batch(&control).await };
            // A panic is in the log, and its items have no outcome.
            let _ = handle.run_waiting(WorkKind::Changes, stored).await;
        });
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

    async fn store_batch(self: &Arc<Self>, control: &ControlHandle) {
        let (items, replies) = self.take_batch(control);
        let outcomes = (self.store)(items).await;
        for (reply, outcome) in replies.into_iter().zip(outcomes) {
            // The receiver was dropped (client disconnected); ignore.
            drop(reply.send(outcome));
        }
    }

    /// Takes the oldest items, and schedules a store of those that are left.
    fn take_batch(self: &Arc<Self>, control: &ControlHandle) -> (Vec<T>, Vec<Sender<R>>) {
        let mut queue = self.queue.lock();
        let free_at = Instant::now() + self.pause;
        queue.free_at = Some(free_at);
        let count = queue.items.len().min(GROUP_ITEMS_MAX);
        let items = queue.items.drain(..count).collect();
        let replies = queue.replies.drain(..count).collect();
        if !queue.items.is_empty() {
            self.store_at(control, free_at);
        }
        (items, replies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Control;

    /// The outcome of each number is itself and the number of items stored with it.
    fn store(items: Vec<usize>) -> StoredGroup<(usize, usize)> {
        let count = items.len();
        Box::pin(async move { items.into_iter().map(|item| (item, count)).collect() })
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

    #[test]
    fn more_items_than_fit_a_batch_come_into_several() {
        let control = Control::start().unwrap();
        let group_commit = Arc::new(GroupCommit::new(Duration::from_millis(50), store));
        let submit = |item: usize| {
            let (group_commit, handle) = (Arc::clone(&group_commit), control.handle());
            let task = async move { group_commit.submit(&handle, item).await };
            control.handle().spawn(task)
        };
        control.block_on(submit(0)).unwrap();
        let items = 1..=2 * GROUP_ITEMS_MAX + 1;
        let tasks: Vec<_> = items.clone().map(submit).collect();
        for (item, task) in items.zip(tasks) {
            let (stored, count) = control.block_on(task).unwrap().unwrap();
            assert_eq!(stored, item);
            assert!(count <= GROUP_ITEMS_MAX, "{count}");
        }
    }
}
