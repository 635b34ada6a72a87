//! The place where messages between nodes wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use subcat_engine::NodeId;
use tokio::sync::Notify;

use super::blocking::Blocking;
use super::exchange::{Exchange, MessageKind};
use super::open_log_error::OpenLogError;
use crate::limits::COUNT_MESSAGES_MAX;

/// A message that is to be sent.
pub(super) struct OutgoingMessage {
    pub(super) node: NodeId,
    pub(super) kind: MessageKind,
    pub(super) body: Vec<u8>,
}

/// Place between the callers of an exchange and the task that has its connection.
#[derive(Default)]
pub(super) struct Mailbox {
    /// By kind.
    outgoing: Mutex<[Option<OutgoingMessage>; MessageKind::ALL.len()]>,
    outgoing_wanted: Notify,
    incoming: Mutex<VecDeque<Vec<u8>>>,
    is_failing: AtomicBool,
}

impl Mailbox {
    /// Puts a message where the task finds it.
    pub(super) fn send(&self, node: NodeId, kind: MessageKind, body: Vec<u8>) {
        let message = OutgoingMessage { node, kind, body };
        self.outgoing.lock()[kind as usize] = Some(message);
        self.outgoing_wanted.notify_one();
    }

    /// Waits until there may be a message to send.
    pub(super) async fn wait(&self) {
        self.outgoing_wanted.notified().await;
    }

    /// The newest messages that are to be sent.
    pub(super) fn outgoing(&self) -> impl Iterator<Item = OutgoingMessage> + use<> {
        std::mem::take(&mut *self.outgoing.lock())
            .into_iter()
            .flatten()
    }

    /// Keeps a message that has come.
    pub(super) fn deliver(&self, body: Vec<u8>) {
        let mut incoming = self.incoming.lock();
        if COUNT_MESSAGES_MAX <= incoming.len() {
            incoming.pop_front();
        }
        incoming.push_back(body);
    }

    /// The messages that have come.
    pub(super) fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.incoming.lock()).into()
    }

    /// Logs that messages get lost, unless it is known.
    pub(super) fn note_failure(&self, error: &str) {
        if !self.is_failing.swap(true, Ordering::AcqRel) {
            tracing::warn!(error, "rate limits hold for each node by itself");
        }
    }

    /// Logs that messages pass again, if they did not.
    pub(super) fn note_success(&self) {
        if self.is_failing.swap(false, Ordering::AcqRel) {
            tracing::info!("rate limits hold for all nodes together again");
        }
    }
}

/// Messages that a task passes on.
pub(super) struct TaskExchange {
    pub(super) mailbox: Arc<Mailbox>,
    /// Threads of the task.
    pub(super) runtime: Blocking,
}

impl TaskExchange {
    /// An exchange without its task.
    pub(super) fn start() -> Result<Self, OpenLogError> {
        Ok(Self {
            mailbox: Arc::default(),
            runtime: Blocking::start().map_err(OpenLogError::Client)?,
        })
    }
}

impl Exchange for TaskExchange {
    fn publish(&self, node: NodeId, kind: MessageKind, body: Vec<u8>) {
        self.mailbox.send(node, kind, body);
    }

    fn take(&self) -> Vec<Vec<u8>> {
        self.mailbox.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_bounded() {
        let mailbox = Mailbox::default();
        for number in 0..=COUNT_MESSAGES_MAX {
            mailbox.deliver(number.to_le_bytes().to_vec());
            for kind in MessageKind::ALL {
                mailbox.send(NodeId(1), kind, number.to_le_bytes().to_vec());
            }
        }
        let taken = mailbox.take();
        assert_eq!(taken.len(), COUNT_MESSAGES_MAX);
        assert_eq!(taken[0], 1_usize.to_le_bytes());
        assert!(mailbox.take().is_empty());
        let newest: Vec<_> = mailbox.outgoing().map(|it| (it.kind, it.body)).collect();
        let body = COUNT_MESSAGES_MAX.to_le_bytes().to_vec();
        assert_eq!(newest, MessageKind::ALL.map(|kind| (kind, body.clone())));
        assert_eq!(mailbox.outgoing().count(), 0);
    }
}
