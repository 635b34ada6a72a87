//! I/O backend on io_uring: one ring per worker. Linux 6.1 and later.
//!
//! A receive is submitted once per connection and completes whenever bytes arrive (multishot), into
//! buffers that all connections of the worker share. Answers are queued while requests are handled;
//! one system call submits all of them and returns what has arrived since the last one (deferred
//! task work). So a busy worker makes one system call for many requests. tokio-uring has neither:
//! its operations complete once each and interrupt what runs, which costs more than epoll (`floor
//! --io tokio-uring`; figures in bench/README.md).
//!
//! All memory that the kernel is given belongs to this module; the invariant stands at the ring
//! (`driver.rs`). A thread has one ring, and only that thread uses it.

mod driver;
mod provided_buffers;
mod slot;
mod socket;

pub(super) use driver::{Ring, is_here};
pub(super) use socket::RingSocket;
