//! Changes on their way, as a future.

use std::future::Ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::ticket::{ChangeTicket, of_state};
use crate::error::Result;
use crate::state::Outcome;

/// Changes of the state on their way, from [`Engine::submit`](crate::Engine::submit).
///
/// A future of their outcomes, or of an error of [`Engine::apply`](crate::Engine::apply). It is
/// ready when the changes are durable and readers here see them. Dropped before, it stops nothing.
#[must_use = "the outcomes say if the changes were made"]
pub struct PendingChange(ChangeProgress);

enum ChangeProgress {
    /// The change was made, or refused, when it was submitted.
    Made(Ready<Result<Vec<Outcome>>>),
    /// A thread appends it to a shared log, another one applies it.
    Logged(Arc<ChangeTicket>),
}

impl PendingChange {
    pub(crate) fn made(outcomes: Result<Vec<Outcome>>) -> Self {
        Self(ChangeProgress::Made(std::future::ready(outcomes)))
    }

    pub(super) fn logged(ticket: Arc<ChangeTicket>) -> Self {
        Self(ChangeProgress::Logged(ticket))
    }
}

impl Future for PendingChange {
    type Output = Result<Vec<Outcome>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            ChangeProgress::Made(outcomes) => Pin::new(outcomes).poll(task),
            ChangeProgress::Logged(ticket) => ticket.poll(task).map(|it| it.map(of_state)),
        }
    }
}
