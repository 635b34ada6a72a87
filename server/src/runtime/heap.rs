//! The allocator's memory.
#![cfg_attr(
    target_env = "gnu",
    expect(unsafe_code, reason = "the C library has no wrapper for its settings")
)]

/// Lets all threads share one arena of the heap. Each of their own keeps what it has freed, a fifth
/// of the memory of an import of a folder; a server, whose workers must not wait for each other,
/// keeps them. Threads that have an arena already keep it.
#[cfg(target_env = "gnu")]
pub fn share_one_arena() {
    // SAFETY: it changes a number of the allocator, under its own lock.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Only glibc has arenas of threads.
#[cfg(not(target_env = "gnu"))]
pub fn share_one_arena() {}

/// Returns free pages of the heap to the system. Cost: a pass over the free blocks.
#[cfg(target_env = "gnu")]
pub(super) fn trim() {
    // SAFETY: it touches free memory only, under the allocator's own locks.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Only glibc keeps free pages for long.
#[cfg(not(target_env = "gnu"))]
pub(super) fn trim() {}
