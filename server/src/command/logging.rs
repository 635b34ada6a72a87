//! The log of a server, on stderr.
//!
//! Lines are written by a thread of their own: a reader that does not take them (a full pipe, a
//! stopped terminal) must not stop a worker. Lines that find no place in its queue are dropped and
//! counted.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use parking_lot::Mutex;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::LogSettings;
use crate::limits::LOG_LINES_QUEUED_MAX;

/// The log of this process.
struct LogOutput {
    level: reload::Handle<LevelFilter, Registry>,
    dropped: ErrorCounter,
    /// Writes the queued lines when it is dropped.
    writer: Mutex<Option<WorkerGuard>>,
}

static LOG: OnceLock<LogOutput> = OnceLock::new();

/// Starts the log with these settings. Only the first call in a process has an effect.
pub(super) fn start(settings: &LogSettings) {
    let (filter, level) = reload::Layer::new(level(settings));
    let (lines, writer) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LOG_LINES_QUEUED_MAX)
        .thread_name("log")
        .finish(io::stderr());
    let dropped = lines.error_counter();
    let registry = tracing_subscriber::registry().with(filter);
    let layer = fmt::layer()
        .with_writer(lines)
        .with_ansi(io::stderr().is_terminal());
    let started = if settings.is_json {
        registry.with(layer.json()).try_init()
    } else {
        registry.with(layer.with_target(false)).try_init()
    };
    // A failure means that a log was started before, which is the one to keep.
    if started.is_ok() {
        let _ = LOG.set(LogOutput {
            level,
            dropped,
            writer: Mutex::new(Some(writer)),
        });
    }
}

/// Changes the level of the log to that of the settings.
pub(super) fn set_level(settings: &LogSettings) {
    if let Some(log) = LOG.get() {
        // It fails only after the log has ended.
        let _ = log.level.reload(level(settings));
    }
}

/// Dropped lines.
pub(super) fn dropped_lines() -> u64 {
    LOG.get()
        .map_or(0, |log| log.dropped.dropped_lines() as u64)
}

/// Writes the queued lines, for up to a second. Called before the process ends.
pub(super) fn finish() {
    if let Some(log) = LOG.get() {
        drop(log.writer.lock().take());
    }
}

fn level(settings: &LogSettings) -> LevelFilter {
    settings.level.parse().unwrap_or(LevelFilter::INFO)
}
