//! The allocator's free memory.
#![cfg_attr(
    target_env = "gnu",
    expect(unsafe_code, reason = "the C library has no wrapper for malloc_trim")
)]

/// Returns free pages of the heap to the system. Cost: a pass over the free blocks.
#[cfg(target_env = "gnu")]
pub(super) fn trim() {
    // SAFETY: it touches free memory only, under the allocator's own locks.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Only glibc keeps free pages for long.
#[cfg(not(target_env = "gnu"))]
pub(super) fn trim() {}
