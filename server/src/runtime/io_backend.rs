//! I/O backend of a worker: epoll or io_uring.

use std::future::Future;
use std::io;

use super::cold_read::worker_runtime;
use super::ring::Ring;
use crate::config::Io;

/// A ring is configured and not available.
#[derive(Debug, thiserror::Error)]
#[error("this kernel or container does not allow a ring; auto uses epoll where there is none")]
pub struct RingRefusedError(#[source] pub io::Error);

/// An I/O backend that this kernel allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IoBackend {
    /// System calls once epoll reports that they will not block.
    Epoll,
    /// Completions of the worker's io_uring.
    IoUring,
}

impl IoBackend {
    /// The backend for a setting. `auto` is a ring if the kernel allows one. With it and with
    /// epoll, a cached search took 5.95 and 6.29 µs of processor time (64 connections), 5.23 and
    /// 5.90 (256), a download of 40 KB 7.57 and 7.87, and one client alone, for which both mostly
    /// sleep, 33.5 and 30.3 (one worker, interleaved, Linux 6.18).
    ///
    /// Errors: a ring is configured, and the kernel allows none ([`RingRefusedError`]).
    pub(super) fn of(setting: Io) -> io::Result<Self> {
        Self::allowed(setting, Ring::probe)
    }

    /// The backend for a setting; `probe` tries to set up a ring.
    fn allowed(setting: Io, probe: impl FnOnce() -> io::Result<()>) -> io::Result<Self> {
        if setting == Io::Epoll {
            return Ok(Self::Epoll);
        }
        match probe() {
            Ok(()) => Ok(Self::IoUring),
            Err(error) if setting == Io::IoUring => {
                Err(io::Error::new(error.kind(), RingRefusedError(error)))
            }
            Err(error) => {
                tracing::warn!(%error, "io_uring is not available; using epoll");
                Ok(Self::Epoll)
            }
        }
    }

    /// The setting that names this backend.
    pub(super) fn setting(self) -> Io {
        match self {
            Self::Epoll => Io::Epoll,
            Self::IoUring => Io::IoUring,
        }
    }

    /// Runs a worker's future to its end on the calling thread. Errors: no epoll, no io_uring.
    pub(super) fn run<F: Future<Output = io::Result<()>>>(self, worker: F) -> io::Result<()> {
        match self {
            Self::Epoll => worker_runtime()?.block_on(worker),
            Self::IoUring => match Ring::new() {
                Ok(ring) => ring.run(worker),
                // The probe succeeded, but locked memory may run out at a later worker.
                Err(error) => {
                    tracing::warn!(%error, "io_uring is not available to a worker; using epoll");
                    Self::Epoll.run(worker)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(setting: Io, errno: Option<i32>) -> Option<IoBackend> {
        let probe = || match errno {
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(()),
        };
        IoBackend::allowed(setting, probe).ok()
    }

    #[test]
    fn a_ring_is_used_unless_the_setting_is_epoll() {
        for setting in [Io::Auto, Io::IoUring] {
            assert_eq!(allowed(setting, None), Some(IoBackend::IoUring));
        }
        let no_probe = || unreachable!("epoll needs no ring");
        let backend = IoBackend::allowed(Io::Epoll, no_probe);
        assert_eq!(backend.ok(), Some(IoBackend::Epoll));
    }

    #[test]
    fn epoll_is_used_where_a_ring_is_not_allowed_and_not_asked_for() {
        for errno in [libc::EPERM, libc::ENOSYS, libc::EINVAL] {
            assert_eq!(allowed(Io::Auto, Some(errno)), Some(IoBackend::Epoll));
            let refused = || Err(io::Error::from_raw_os_error(errno));
            let error = IoBackend::allowed(Io::IoUring, refused).unwrap_err();
            assert!(error.get_ref().unwrap().is::<RingRefusedError>());
        }
    }

    #[test]
    fn each_backend_runs() {
        for setting in [Io::Auto, Io::Epoll] {
            let backend = IoBackend::of(setting).unwrap();
            backend.run(std::future::ready(Ok(()))).unwrap();
        }
    }
}
