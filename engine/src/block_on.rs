//! Futures on a thread that may block, outside of a runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Runs a future on this thread until it is ready. What it calls may block, and may enter a
/// runtime of its own, which the tasks of a runtime may not.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(ParkedThread(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// The thread that waits for a future.
struct ParkedThread(Thread);

impl Wake for ParkedThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_future_is_woken_by_another_thread() {
        let mut waking = None;
        let woken = poll_fn(|task| {
            if waking.is_some() {
                return Poll::Ready(7);
            }
            let waker = task.waker().clone();
            waking = Some(thread::spawn(move || {
                thread::sleep(Duration::from_millis(5));
                waker.wake();
            }));
            Poll::Pending
        });
        assert_eq!(block_on(woken), 7);
        waking.expect("it was started").join().unwrap();
    }
}
