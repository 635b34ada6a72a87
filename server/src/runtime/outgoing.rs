//! Parts of a response that bypass hyper, between the body that hyper polls and the socket to
//! which it writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use super::file_body::{FileInTransit, StoredBytes};

/// Raw header block, file and close of the response that a connection is sending.
///
/// INVARIANT (raw headers): a block is set before hyper writes the head of its response, and taken
/// by the first write afterwards. That write begins with the head alone in its first slice, ended
/// by an empty line: hyper starts no response before the one before it has left its queue (it would
/// with `pipeline_flush`, which stays off).
///
/// INVARIANT (file): addresses of the mapping appear in writes only while `file` names that file.
/// hyper polls the next frame only when the body before it has left its queue, so one file is
/// enough.
///
/// INVARIANT (close): once `may_close` is set, a flush waits until everything has been sent. hyper
/// drops a connection after an upgrade without shutting it down.
///
/// Tests of hyper's side: `tests/tests/runtime_heads.rs`.
///
/// One thread uses all of it; the atomics and locks are there because hyper's connection runs in a
/// task that must be `Send`. The flags spare answers from memory the locks. See
/// [`super::connection::ConnectionState`] for what that costs.
#[derive(Default)]
pub(super) struct Outgoing {
    has_raw_headers: AtomicBool,
    raw_headers: Mutex<Bytes>,
    is_sending_file: AtomicBool,
    file: Mutex<Option<FileInTransit>>,
    may_close: AtomicBool,
}

impl Outgoing {
    /// Sets the raw header block of the head that hyper writes next.
    pub(super) fn set_raw_headers(&self, raw_headers: Bytes) {
        *self.raw_headers.lock() = raw_headers;
        self.has_raw_headers.store(true, Ordering::Relaxed);
    }

    /// Takes the raw header block of the head that is being written, once.
    pub(super) fn take_raw_headers(&self) -> Option<Bytes> {
        if !self.has_raw_headers.load(Ordering::Relaxed) {
            return None;
        }
        self.has_raw_headers.store(false, Ordering::Relaxed);
        Some(std::mem::take(&mut *self.raw_headers.lock()))
    }

    /// From now on, addresses of this file's mapping stand for its bytes.
    pub(super) fn set_file(&self, stored: &Arc<dyn StoredBytes>) {
        *self.file.lock() = Some(FileInTransit::new(stored));
        self.is_sending_file.store(true, Ordering::Relaxed);
    }

    /// The body that is sent from now on is in memory.
    pub(super) fn clear_file(&self) {
        if self.is_sending_file.load(Ordering::Relaxed) {
            self.is_sending_file.store(false, Ordering::Relaxed);
            *self.file.lock() = None;
        }
    }

    /// True while a file is being sent.
    pub(super) fn is_sending_file(&self) -> bool {
        self.is_sending_file.load(Ordering::Relaxed)
    }

    /// The file that is being sent.
    pub(super) fn file(&self) -> Option<MutexGuard<'_, Option<FileInTransit>>> {
        if self.is_sending_file() {
            Some(self.file.lock())
        } else {
            None
        }
    }

    /// The client asked for an upgrade: hyper may drop the connection after its next flush.
    pub(super) fn allow_close(&self) {
        self.may_close.store(true, Ordering::Relaxed);
    }

    /// True if hyper may drop the connection after a flush.
    pub(super) fn may_close(&self) -> bool {
        self.may_close.load(Ordering::Relaxed)
    }
}
