//! How far an import is: a bar on a terminal, plain lines elsewhere.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::admin::ImportReport;

/// Time between two plain lines.
const LINE_PERIOD: Duration = Duration::from_secs(5);

/// The news of one import on stderr.
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

    /// Takes news in.
    pub(super) fn take(&self, news: ImportReport) {
        let line = match news {
            ImportReport::Refused(refused) => return self.write_line(&refused.to_string()),
            ImportReport::Read(rows) => format!("{rows} lines read"),
            ImportReport::Loaded(records) => format!("{records} records loaded"),
        };
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.read_bytes.load(Ordering::Relaxed));
                bar.set_message(line);
            }
            None if LINE_PERIOD <= self.last_line_at.get().elapsed() => {
                self.last_line_at.set(Instant::now());
                self.write_line(&line);
            }
            None => {}
        }
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

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is one of ours")
}
