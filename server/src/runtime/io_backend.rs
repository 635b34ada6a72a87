//! How sockets are driven: the seam between a worker and its runtime.

use std::future::Future;
use std::io;

use super::ring::Ring;
use crate::config::Io;

/// A way of driving sockets that this kernel allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IoBackend {
    /// System calls when epoll says that they will find something.
    Epoll,
    /// Completions of an io_uring.
    IoUring,
}

impl IoBackend {
    /// The backend for a setting. `auto` is the ring where there can be one. By it and by epoll,
    /// a cached search took 5.95 and 6.29 µs of processor time (64 connections), 5.23 and 5.90
    /// (256), a download of 40 KB 7.57 and 7.87, and one client alone, for which both mostly
    /// sleep, 33.5 and 30.3 (one worker, interleaved, Linux 6.18).
    pub(super) fn of(setting: Io) -> Self {
        Self::allowed(setting, Ring::probe)
    }

    /// The same, where `probe` says whether there can be a ring.
    fn allowed(setting: Io, probe: impl FnOnce() -> io::Result<()>) -> Self {
        match setting {
            Io::Epoll => Self::Epoll,
            Io::Auto | Io::IoUring => match probe() {
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
            Self::IoUring => match Ring::new() {
                Ok(ring) => ring.run(worker),
                Err(error) => {
                    tracing::warn!(%error, "no ring for one more worker: epoll serves it");
                    Self::Epoll.run(worker)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_serves_unless_epoll_is_asked_for() {
        for setting in [Io::Auto, Io::IoUring] {
            assert_eq!(IoBackend::allowed(setting, || Ok(())), IoBackend::IoUring);
        }
        let no_question = || unreachable!("epoll needs no ring");
        assert_eq!(IoBackend::allowed(Io::Epoll, no_question), IoBackend::Epoll);
    }

    #[test]
    fn where_a_ring_is_refused_epoll_serves() {
        for errno in [libc::EPERM, libc::ENOSYS, libc::EINVAL] {
            for setting in [Io::Auto, Io::IoUring] {
                let refused = || Err(io::Error::from_raw_os_error(errno));
                assert_eq!(IoBackend::allowed(setting, refused), IoBackend::Epoll);
            }
        }
    }

    #[test]
    fn what_is_allowed_runs() {
        for setting in [Io::Auto, Io::IoUring, Io::Epoll] {
            let backend = IoBackend::of(setting);
            backend.run(std::future::ready(Ok(()))).unwrap();
        }
    }
}
