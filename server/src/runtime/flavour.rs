//! How sockets are driven: the seam between a worker and its runtime.

use std::future::Future;
use std::io;

use crate::config::Io;

/// A way of driving sockets that this kernel allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// One current-thread runtime on epoll.
    Epoll,
    /// One current-thread runtime whose thread sleeps in epoll and submits to an io_uring.
    IoUring,
}

impl Flavour {
    /// The flavour for a setting. `auto` is epoll: neither is faster, and epoll needs no ring. Of
    /// three servers of each, epoll and io_uring took per request 7.9 and 7.9 µs (record, 64
    /// connections), 7.9 and 7.9 (256), 10.0 and 9.8 (cached search, 64), 9.5 and 10.0 (256);
    /// two servers of one flavour differ by up to a quarter (Linux 6.18, 22 November 2026).
    pub(super) fn of(setting: Io) -> Self {
        Self::allowed(setting, probe)
    }

    /// The same, where `probe` says whether a ring can be made.
    fn allowed(setting: Io, probe: impl FnOnce() -> io::Result<()>) -> Self {
        match setting {
            Io::Auto | Io::Epoll => Self::Epoll,
            Io::IoUring => match probe() {
                Ok(()) => Self::IoUring,
                Err(error) => {
                    tracing::warn!(%error, "io_uring is not to be had here: epoll serves");
                    Self::Epoll
                }
            },
        }
    }

    /// The setting that asks for it.
    pub(super) fn setting(self) -> Io {
        match self {
            Self::Epoll => Io::Epoll,
            Self::IoUring => Io::IoUring,
        }
    }

    /// Runs a worker's future to its end on the calling thread. Errors: no epoll, no io_uring.
    pub(super) fn run<F: Future<Output = io::Result<()>>>(self, worker: F) -> io::Result<()> {
        match self {
            Self::Epoll => tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?
                .block_on(worker),
            Self::IoUring => tokio_uring::Runtime::new(&tokio_uring::builder())?.block_on(worker),
        }
    }
}

/// Whether a ring can be made: kernels, containers and their filters refuse with `EPERM` or
/// `ENOSYS`. On a thread of its own, as a ring belongs to its thread.
fn probe() -> io::Result<()> {
    let make = || tokio_uring::Runtime::new(&tokio_uring::builder()).map(drop);
    let outcome = std::thread::spawn(make).join();
    outcome.unwrap_or_else(|_| Err(io::Error::other("setting up a ring panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_and_epoll_need_no_ring() {
        assert_eq!(Flavour::of(Io::Auto), Flavour::Epoll);
        assert_eq!(Flavour::of(Io::Epoll), Flavour::Epoll);
    }

    #[test]
    fn io_uring_is_what_is_asked_for_or_epoll() {
        let flavour = Flavour::of(Io::IoUring);
        let expected = match probe() {
            Ok(()) => Flavour::IoUring,
            Err(_) => Flavour::Epoll,
        };
        assert_eq!(flavour, expected);
        flavour.run(std::future::ready(Ok(()))).unwrap();
    }

    #[test]
    fn where_a_ring_is_refused_epoll_serves() {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let refused = || Err(io::Error::from_raw_os_error(errno));
            assert_eq!(Flavour::allowed(Io::IoUring, refused), Flavour::Epoll);
        }
        assert_eq!(Flavour::allowed(Io::IoUring, || Ok(())), Flavour::IoUring);
    }
}
