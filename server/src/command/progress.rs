//! How far long work is: a bar on a terminal, plain lines elsewhere.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::ops::ImportReport;

/// Time between two plain lines.
const LINE_PERIOD: Duration = Duration::from_secs(5);
/// Time between two turns of the mark that shows that work goes on.
const TICK_PERIOD: Duration = Duration::from_millis(200);

/// The news of one import or export on stderr.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    read_bytes: Arc<AtomicU64>,
    last_line_at: Cell<Instant>,
}

impl Progress {
    /// `total_bytes` of the files, when known, and how many of them are read.
    pub(super) fn start(total_bytes: Option<u64>, read_bytes: Arc<AtomicU64>) -> Self {
        let bar = io::stderr().is_terminal().then(|| match total_bytes {
            Some(total) => ProgressBar::new(total).with_style(style(
                "{bar:30} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {msg}",
            )),
            None => ProgressBar::no_length().with_style(style("{spinner} {binary_bytes} {msg}")),
        });
        Self {
            bar,
            read_bytes,
            last_line_at: Cell::new(Instant::now()),
        }
    }

    /// Takes news of an import in.
    pub(super) fn take(&self, news: ImportReport) {
        match news {
            ImportReport::Refused(refused) => self.write_line(&refused.to_string()),
            ImportReport::Read(rows) => self.tell(&format!("{rows} lines read")),
            ImportReport::Loaded(records) => self.tell(&format!("{records} records loaded")),
        }
    }

    /// Shows how far it is: at once on a terminal, now and then elsewhere.
    pub(super) fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.read_bytes.load(Ordering::Relaxed));
                bar.set_message(line.to_owned());
            }
            None if LINE_PERIOD <= self.last_line_at.get().elapsed() => {
                self.last_line_at.set(Instant::now());
                self.write_line(line);
            }
            None => {}
        }
    }

    /// The bar, when there is one.
    pub(super) fn bar(&self) -> Option<ProgressBar> {
        self.bar.clone()
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn write_line(&self, line: &str) {
        // Without a stderr there is nobody to tell.
        let write = || {
            let _ = writeln!(io::stderr(), "{line}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// Says that work of unknown length goes on, until it is dropped.
pub(super) struct Waiting {
    bar: Option<ProgressBar>,
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// `what` is being done, such as `checking`.
    pub(super) fn start(what: &'static str) -> Self {
        if io::stderr().is_terminal() {
            let bar = ProgressBar::no_length().with_style(style("{spinner} {msg} {elapsed}"));
            bar.set_message(what);
            bar.enable_steady_tick(TICK_PERIOD);
            return Self {
                bar: Some(bar),
                ending: None,
                thread: None,
            };
        }
        Self::telling(LINE_PERIOD, move |seconds| {
            // Without a stderr there is nobody to tell.
            let _ = writeln!(io::stderr(), "{what} for {seconds} s");
        })
    }

    fn telling(period: Duration, tell: impl Fn(u64) + Send + 'static) -> Self {
        let (ending, end) = channel::<()>();
        let started = Instant::now();
        let thread = std::thread::spawn(move || {
            while end.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                tell(started.elapsed().as_secs());
            }
        });
        Self {
            bar: None,
            ending: Some(ending),
            thread: Some(thread),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        drop(self.ending.take());
        if let Some(thread) = self.thread.take() {
            // It only tells: that it failed to is no failure of the work.
            let _ = thread.join();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is one of ours")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_tells_until_it_ends() {
        let (sender, receiver) = channel();
        let waiting = Waiting::telling(Duration::from_millis(1), move |seconds| {
            let _ = sender.send(seconds);
        });
        for _ in 0..3 {
            assert!(receiver.recv().is_ok());
        }
        drop(waiting);
        while receiver.try_recv().is_ok() {}
        assert!(receiver.recv().is_err(), "its thread has ended");
    }
}
