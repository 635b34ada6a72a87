//! Progress of long work: a bar on a terminal, plain lines elsewhere.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::printable::printable;
use crate::ops::ImportReport;

/// Time between two plain lines.
const LINE_PERIOD: Duration = Duration::from_secs(5);
/// Counted steps between two progress lines.
const COUNTS_PER_LINE: u64 = 256;
/// Time between two frames of the spinner.
const TICK_PERIOD: Duration = Duration::from_millis(200);

/// Progress of one import or export, on stderr.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    total_bytes: Option<u64>,
    read_bytes: Arc<AtomicU64>,
    started_at: Instant,
    /// Lines that had been read when loading began, at `read_at`.
    rows_count: Cell<u64>,
    read_at: Cell<Instant>,
    last_line_at: Cell<Instant>,
}

impl Progress {
    /// Starts with the total size of the files, if known, and the counter of the bytes read.
    pub(super) fn start(total_bytes: Option<u64>, read_bytes: Arc<AtomicU64>) -> Self {
        let bar = if io::stderr().is_terminal() {
            Some(byte_bar(total_bytes))
        } else {
            None
        };
        let now = Instant::now();
        Self {
            bar,
            total_bytes,
            read_bytes,
            started_at: now,
            rows_count: Cell::new(0),
            read_at: Cell::new(now),
            last_line_at: Cell::new(now),
        }
    }

    /// Shows a report of an import.
    pub(super) fn show(&self, report: ImportReport) {
        match report {
            ImportReport::Refused(refused) => self.write_line(&refused.to_string()),
            // The summary names them.
            ImportReport::Ignored(_) => {}
            ImportReport::Read(rows) => {
                self.rows_count.set(rows);
                self.read_at.set(Instant::now());
                let read_bytes = self.read_bytes.load(Ordering::Relaxed);
                let share = self.total_bytes.map(|total| (read_bytes, total));
                let pace = pace(rows, share, self.started_at.elapsed());
                self.update(&format!("{rows} lines read{pace}"));
            }
            ImportReport::Loaded(records) => {
                let rows = self.rows_count.get();
                let pace = pace(records, Some((records, rows)), self.read_at.get().elapsed());
                self.update(&format!("{records} of {rows} records loaded{pace}"));
            }
        }
    }

    /// Shows how many of all things are done, now and then.
    pub(super) fn count(&self, done: u64, total: u64, things: &str) {
        if done.is_multiple_of(COUNTS_PER_LINE) {
            let pace = pace(done, Some((done, total)), self.started_at.elapsed());
            self.update(&format!("{done} of {total} {things}{pace}"));
        }
    }

    /// Shows a line about the progress: at once on a terminal, every few seconds elsewhere.
    pub(super) fn update(&self, line: &str) {
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

    /// The bar, if there is one.
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
        // Without a stderr the line is lost.
        let write = || {
            let _ = writeln!(io::stderr(), "{}", printable(line));
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// Records per second so far, and, if the share of the work that is done is known as two numbers,
/// the time that is left: `, 52000/s, 12 seconds left`. Nothing in the first second.
fn pace(records: u64, share: Option<(u64, u64)>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 1.0 {
        return String::new();
    }
    let mut pace = format!(", {:.0}/s", records as f64 / seconds);
    if let Some((done, total)) = share
        && done != 0
    {
        let left = seconds * total.saturating_sub(done) as f64 / done as f64;
        let left = Duration::from_secs_f64(left.ceil());
        pace.push_str(&format!(", {} left", HumanDuration(left)));
    }
    pace
}

/// Shows that work of unknown length is in progress, until it is dropped.
pub(super) struct Waiting {
    bar: Option<ProgressBar>,
    /// Dropped to end the thread.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Starts with the name of the work, such as `checking`.
    pub(super) fn start(work: &'static str) -> Self {
        if io::stderr().is_terminal() {
            let bar = ProgressBar::no_length().with_style(style("{spinner} {msg} {elapsed}"));
            bar.set_message(work);
            bar.enable_steady_tick(TICK_PERIOD);
            return Self {
                bar: Some(bar),
                ending: None,
                thread: None,
            };
        }
        Self::with_lines(LINE_PERIOD, move |seconds| {
            // Without a stderr the line is lost.
            let _ = writeln!(io::stderr(), "{work} for {seconds} s");
        })
    }

    fn with_lines(period: Duration, write_line: impl Fn(u64) + Send + 'static) -> Self {
        let (ending, end) = channel::<()>();
        let started = Instant::now();
        let thread = std::thread::spawn(move || {
            while end.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                write_line(started.elapsed().as_secs());
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
            // The thread only writes lines: if it panicked, the work did not fail.
            let _ = thread.join();
        }
    }
}

/// A bar of bytes, or a spinner if their number is not known.
fn byte_bar(total_bytes: Option<u64>) -> ProgressBar {
    match total_bytes {
        Some(total) => ProgressBar::new(total).with_style(style(
            "{bar:30} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {msg}",
        )),
        None => ProgressBar::no_length().with_style(style("{spinner} {binary_bytes} {msg}")),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates of this file are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_tells_records_and_time_left() {
        let seconds = Duration::from_secs;
        assert_eq!(pace(10, Some((1, 10)), Duration::from_millis(900)), "");
        assert_eq!(pace(100, None, seconds(4)), ", 25/s");
        let share = Some((100, 1_000));
        assert_eq!(pace(100, share, seconds(4)), ", 25/s, 36 seconds left");
        assert_eq!(pace(9, Some((0, 1_000)), seconds(3)), ", 3/s");
        assert_eq!(pace(9, Some((9, 8)), seconds(3)), ", 3/s, 0 seconds left");
    }

    #[test]
    fn waiting_writes_lines_until_it_is_dropped() {
        let (sender, receiver) = channel();
        let waiting = Waiting::with_lines(Duration::from_millis(1), move |seconds| {
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
