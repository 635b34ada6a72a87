//! The service manager that started the process: the sockets that it passes on, and notifications
//! to it.
//!
//! The protocol is that of systemd (`sd_notify(3)`, `sd_listen_fds(3)`), which others speak too.
//! Without a service manager nothing happens.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;

/// Sockets that listened before the process started. Clients that connect while one process ends
/// and the next begins wait in their queue.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    /// The first one: the public address. If it is a Unix socket, it bears the type of a TCP one.
    pub public: Option<TcpListener>,
    /// The second one: the admin address.
    pub admin: Option<TcpListener>,
}

impl InheritedSockets {
    /// Takes the sockets over. Later calls return none.
    ///
    /// Errors: one is not a socket that listens, or the second one not a TCP socket.
    pub fn take() -> io::Result<Self> {
        let mut passed = ListenFd::from_env();
        Ok(Self {
            public: take_public(&mut passed)?,
            admin: passed.take_tcp_listener(1)?,
        })
    }
}

/// The first socket, of either kind.
fn take_public(passed: &mut ListenFd) -> io::Result<Option<TcpListener>> {
    match passed.take_tcp_listener(0) {
        Ok(listener) => Ok(listener),
        // It stays among those passed on when it is of another kind.
        Err(_) => {
            let listener = passed.take_unix_listener(0)?;
            Ok(listener.map(|listener| TcpListener::from(OwnedFd::from(listener))))
        }
    }
}

/// Messages to the service manager. One that cannot be sent is logged: the manager then acts as if
/// the process had not spoken.
#[derive(Debug, Clone, Copy)]
pub struct ServiceManager;

impl ServiceManager {
    /// The service answers.
    pub fn ready() {
        send(&[NotifyState::Ready, NotifyState::Status("serving")]);
    }

    /// The settings are being read again. [`ServiceManager::ready`] follows.
    pub fn reloading() {
        // The manager takes a message with an older time for that of an earlier reload.
        match NotifyState::monotonic_usec_now() {
            Ok(now) => send(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "the monotonic clock cannot be read"),
        }
    }

    /// The service finishes its work in progress.
    pub fn stopping() {
        send(&[NotifyState::Stopping, NotifyState::Status("draining")]);
    }

    /// The process is well. Without it for [`ServiceManager::watchdog`], the manager restarts it.
    pub fn alive() {
        send(&[NotifyState::Watchdog]);
    }

    /// Time within which the manager wants to hear that the process is well.
    pub fn watchdog() -> Option<Duration> {
        sd_notify::watchdog_enabled()
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told what the process does");
    }
}
