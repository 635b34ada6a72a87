//! Shares of the hashing queue. An account and a network have up to two passwords each in it at
//! once, so that neither fills it for all others. Some more wait before it, in the order of their
//! arrival; the rest is refused at once.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::limits::{PASSWORDS_IN_FLIGHT_MAX, PASSWORDS_WAITING_MAX};
use crate::runtime::ClientNetwork;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The queue of passwords is full: this one would wait for more than about two seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords wait to be hashed")]
pub(crate) struct HashingQueueError;

/// Subject that has one share of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HashingSubject {
    /// An account, by a user who is signed in or has been.
    Account(u64),
    /// An account, by anybody else: outsiders do not wait in the place of its owner.
    AccountOfOutsider(u64),
    /// A network of clients: an IPv4 address, or an IPv6 network of 64 bits.
    Network(ClientNetwork),
}

/// A part of the queue, while it is in use.
struct Share {
    /// Passwords that have a permit or wait for one.
    users: usize,
    permits: Arc<Semaphore>,
}

/// Parts of the queue that are in use.
///
/// INVARIANT: a share is in the table while it has users, and no longer.
#[derive(Default)]
pub(crate) struct HashingShares(Mutex<HashMap<HashingSubject, Share>>);

/// A place in the share of a subject, from the first moment of waiting on.
struct Place<'s> {
    shares: &'s HashingShares,
    subject: HashingSubject,
}

/// The right to hash one password of a subject now.
pub(crate) struct HashingPermit<'s> {
    _permit: OwnedSemaphorePermit,
    _place: Place<'s>,
}

impl HashingShares {
    /// Waits until a password of this subject may be hashed.
    ///
    /// Errors: too many of them wait.
    pub(crate) async fn enter(
        &self,
        subject: HashingSubject,
    ) -> Result<HashingPermit<'_>, HashingQueueError> {
        let permits = {
            let mut shares = self.0.lock();
            let share = shares.entry(subject).or_insert_with(|| Share {
                users: 0,
                permits: Arc::new(Semaphore::new(PASSWORDS_IN_FLIGHT_MAX)),
            });
            if PASSWORDS_IN_FLIGHT_MAX + PASSWORDS_WAITING_MAX <= share.users {
                return Err(HashingQueueError);
            }
            share.users += 1;
            Arc::clone(&share.permits)
        };
        // Left on every way out: a client that disconnects drops the future.
        let place = Place {
            shares: self,
            subject,
        };
        let permit = permits.acquire_owned().await;
        Ok(HashingPermit {
            _permit: permit.map_err(|_| HashingQueueError)?,
            _place: place,
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut shares = self.shares.0.lock();
        if let Some(share) = shares.get_mut(&self.subject) {
            share.users -= 1;
            if share.users == 0 {
                shares.remove(&self.subject);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Control;

    const ANA: HashingSubject = HashingSubject::Account(1);

    #[test]
    fn two_of_a_subject_are_in_flight_and_some_more_wait() {
        let control = Control::start().unwrap();
        let shares = HashingShares::default();
        control.block_on(async {
            let first = shares.enter(ANA).await.unwrap();
            let second = shares.enter(ANA).await.unwrap();
            // Others are not held up.
            drop(shares.enter(HashingSubject::Account(2)).await.unwrap());
            let mut waiting = Vec::new();
            for _ in 0..PASSWORDS_WAITING_MAX {
                let mut entering = Box::pin(shares.enter(ANA));
                let is_ready = poll_once(entering.as_mut()).await;
                assert!(!is_ready);
                waiting.push(entering);
            }
            assert!(shares.enter(ANA).await.is_err());
            drop(first);
            drop(waiting.remove(0).await.unwrap());
            drop(waiting);
            drop(second);
        });
        assert!(shares.0.lock().is_empty());
        control.stop();
    }

    /// Polls a future once.
    async fn poll_once<F: Future + Unpin>(mut future: F) -> bool {
        std::future::poll_fn(|context| {
            let polled = std::pin::Pin::new(&mut future).poll(context);
            std::task::Poll::Ready(polled.is_ready())
        })
        .await
    }
}
