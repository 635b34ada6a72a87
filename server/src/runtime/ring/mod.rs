//! Sockets on an io_uring: our own driver, one per worker. Linux 6.1 and later.
//!
//! A receive is submitted once per connection and completes whenever bytes come (multishot), into
//! memory that all connections of the worker share. Answers are queued while requests are worked
//! off and go to the kernel in one call for all of them, which also brings what has come meanwhile
//! (deferred task work). So a busy worker makes one system call for many requests. tokio-uring has
//! neither: its operations complete once each and interrupt what runs, which costs more than epoll
//! (`floor --io tokio-uring`; figures in bench/README.md).
//!
//! All memory that the kernel is given belongs to this room, and stays where it is until the
//! completion has been seen: where bytes arrive (`pieces`) to the ring, what is sent to the slot of
//! its connection, which stays until nothing of it is in flight. The ring waits for all of its
//! slots before it goes. A thread has one ring, and only that thread touches it.

mod driver;
mod provided_buffers;
mod slot;
mod socket;

pub(super) use driver::{Ring, is_here};
pub(super) use socket::RingSocket;
