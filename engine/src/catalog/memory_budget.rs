//! Memory that all imports share.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that callers take and return: together they never hold more than the budget.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    free_bytes: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of this many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            free_bytes: AtomicUsize::new(bytes),
        }
    }

    /// Takes bytes. Returns false, and takes none, if fewer are left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let rest = |free: usize| free.checked_sub(bytes);
        self.free_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest)
            .is_ok()
    }

    /// Returns bytes that were taken.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.free_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
