//! Waits of tasks for what happens elsewhere in the process.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// Something that happens again and again, and that tasks wait for.
#[derive(Default)]
pub struct TaskSignal(Notify);

impl TaskSignal {
    /// Wakes the tasks that wait.
    pub fn give(&self) {
        self.0.notify_waiters();
    }

    /// Waits until it is given, or for that time. One that is given before the first poll is
    /// missed: the caller looks again in any case.
    pub async fn wait(&self, at_most: Duration) {
        let mut given = pin!(self.0.notified());
        given.as_mut().enable();
        let _ = timeout(at_most, given).await;
    }
}
