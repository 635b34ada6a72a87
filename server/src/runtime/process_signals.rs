//! Signals to the process from an operator.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ControlHandle;

/// Signals that ask the process to stop, caught as soon as this exists.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Installs the handlers. Errors: the system does not allow it.
    pub fn catch(control: &ControlHandle) -> io::Result<Self> {
        let _context = control.enter();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal; returns its name.
    pub async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// A request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSignal {
    /// To stop, by the signal of this name.
    Stop(&'static str),
    /// To read the settings again: SIGHUP.
    Reload,
}

/// Signals to a server, caught as soon as this exists.
pub struct ServerSignals {
    stop: StopSignals,
    hangup: Signal,
}

impl ServerSignals {
    /// Installs the handlers. Errors: the system does not allow it.
    pub fn catch(control: &ControlHandle) -> io::Result<Self> {
        let stop = StopSignals::catch(control)?;
        let _context = control.enter();
        let hangup = signal(SignalKind::hangup())?;
        Ok(Self { stop, hangup })
    }

    /// Waits for a signal.
    pub async fn wait(&mut self) -> ServerSignal {
        tokio::select! {
            name = self.stop.wait() => ServerSignal::Stop(name),
            _ = self.hangup.recv() => ServerSignal::Reload,
        }
    }

    /// Waits for a signal to stop; returns its name.
    pub async fn wait_for_stop(&mut self) -> &'static str {
        self.stop.wait().await
    }
}
