//! Changes on their way, as a future.

use std::future::Ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::ticket::{ChangeTicket, EventOutcome};
use crate::error::Result;
use crate::state::Outcome;

/// Changes on their way: those of the state from [`Engine::submit`](crate::Engine::submit).
///
/// A future of their outcomes, or of an error of [`Engine::apply`](crate::Engine::apply). It is
/// ready when the changes are durable and readers here see them. Dropped before, it stops nothing.
#[must_use = "the outcomes say if the changes were made"]
pub struct PendingChange<T = Outcome>(ChangeProgress<T>);

enum ChangeProgress<T> {
    /// The change was made, or refused, when it was submitted.
    Made(Ready<Result<Vec<T>>>),
    /// A thread appends it to a shared log, another one applies it. With the choice of the outcomes
    /// of its kind.
    Logged(Arc<ChangeTicket>, fn(Vec<EventOutcome>) -> Vec<T>),
}

impl<T> PendingChange<T> {
    pub(crate) fn made(outcomes: Result<Vec<T>>) -> Self {
        Self(ChangeProgress::Made(std::future::ready(outcomes)))
    }

    pub(super) fn logged(
        ticket: Arc<ChangeTicket>,
        outcomes: fn(Vec<EventOutcome>) -> Vec<T>,
    ) -> Self {
        Self(ChangeProgress::Logged(ticket, outcomes))
    }
}

impl<T> Future for PendingChange<T> {
    type Output = Result<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            ChangeProgress::Made(made) => Pin::new(made).poll(task),
            ChangeProgress::Logged(ticket, outcomes) => {
                ticket.poll(task).map(|given| given.map(*outcomes))
            }
        }
    }
}
