//! The log of a server, on stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::LevelFilter;

use crate::config::LogSettings;

/// Starts the log as the settings say. Only the first call in a process has an effect.
pub(super) fn start(settings: &LogSettings) {
    let level: LevelFilter = settings.level.parse().unwrap_or(LevelFilter::INFO);
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let started = if settings.is_json {
        builder.json().try_init()
    } else {
        builder.with_target(false).try_init()
    };
    // A failure means that a log was started before, which is the one to keep.
    drop(started);
}
