//! Truncation of a log by an operation, which must hold no thread that others need.

use std::io;
use std::thread;

use tokio::sync::oneshot;

use super::address::open_log;

/// Drops the entries of a log up to `through`. The client of the log blocks: it does so on a thread
/// of its own, for the time limits of a connection and of a call.
pub async fn truncate_log(address: String, stream: String, through: u64) -> io::Result<()> {
    let (sender, truncated) = oneshot::channel();
    let truncate = move || {
        let log = open_log(&address, &stream).map_err(io::Error::other)?;
        log.truncate(through).map_err(io::Error::other)
    };
    let thread = thread::Builder::new().name("truncation".into());
    // The caller may have left.
    thread.spawn(move || drop(sender.send(truncate())))?;
    truncated
        .await
        .unwrap_or_else(|lost| Err(io::Error::other(lost)))
}
