//! Single flight: one task at a time for a key; every caller waits for its result.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::control::ControlHandle;

type FlightResult<T> = watch::Receiver<Option<T>>;
type FlightTable<K, T> = Mutex<HashMap<K, FlightResult<T>, foldhash::quality::RandomState>>;

/// Tasks in flight, by key.
pub(crate) struct SingleFlight<K, T> {
    in_flight: Arc<FlightTable<K, T>>,
}

/// A caller's part in a flight.
pub(crate) enum Joined<T> {
    /// No flight: the result was known already.
    Known(T),
    /// Receiver of a task that another caller started.
    Follower(FlightResult<T>),
    /// Receiver of the task that this call started.
    Leader(FlightResult<T>),
}

impl<K, T> SingleFlight<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// An empty table.
    pub(crate) fn new() -> Self {
        Self {
            in_flight: Arc::default(),
        }
    }

    /// Tasks in flight.
    pub(crate) fn count(&self) -> usize {
        self.in_flight.lock().len()
    }

    /// Joins the task for `flight_key`, or returns what `known` has, or spawns `work`. The task
    /// runs to its end even if every caller goes away.
    ///
    /// `known` runs under the table's lock, when no task is in flight. So a task must publish its
    /// result where `known` looks before it ends: then no caller can start the work a second time
    /// in between.
    pub(crate) fn join<F: Future<Output = T> + Send + 'static>(
        &self,
        flight_key: &K,
        control: &ControlHandle,
        known: impl FnOnce() -> Option<T>,
        work: impl FnOnce() -> F,
    ) -> Joined<T> {
        let mut in_flight = self.in_flight.lock();
        if let Some(outcome) = in_flight.get(flight_key) {
            return Joined::Follower(outcome.clone());
        }
        if let Some(result) = known() {
            return Joined::Known(result);
        }
        let (sender, outcome) = watch::channel(None);
        in_flight.insert(flight_key.clone(), outcome.clone());
        drop(in_flight);
        let guard = InFlightGuard {
            flight_key: flight_key.clone(),
            in_flight: Arc::clone(&self.in_flight),
        };
        let work = work();
        control.spawn(async move {
            let result = work.await;
            // Off the table first: a caller that comes after the result asks `known` again.
            drop(guard);
            sender.send_replace(Some(result));
        });
        Joined::Leader(outcome)
    }
}

/// Waits for the result; `None` if the task panicked.
pub(crate) async fn result_of<T: Clone>(mut outcome: FlightResult<T>) -> Option<T> {
    let result = outcome.wait_for(Option::is_some).await.ok()?;
    result.clone()
}

/// In-flight guard: removes the task from the table, also when the task panics.
struct InFlightGuard<K: Eq + Hash, T> {
    flight_key: K,
    in_flight: Arc<FlightTable<K, T>>,
}

impl<K: Eq + Hash, T> Drop for InFlightGuard<K, T> {
    fn drop(&mut self) {
        self.in_flight.lock().remove(&self.flight_key);
    }
}

#[cfg(test)]
mod tests {
    use subcat_engine::ReleaseId;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::runtime::Control;

    fn release() -> ReleaseId {
        ReleaseId::parse("1").unwrap()
    }

    #[test]
    fn many_callers_share_one_task_which_outlives_them() {
        let control = Control::start().unwrap();
        let flight = SingleFlight::<ReleaseId, u32>::new();
        let permits = Arc::new(Semaphore::new(0));
        let join = |value| {
            let permits = Arc::clone(&permits);
            flight.join(
                &release(),
                &control.handle(),
                || None,
                || async move {
                    permits.acquire_owned().await.unwrap().forget();
                    value
                },
            )
        };
        let Joined::Leader(first) = join(1) else {
            panic!("no task was in flight")
        };
        drop(first);
        let others: Vec<_> = (0..100)
            .map(|_| match join(2) {
                Joined::Follower(outcome) => outcome,
                _ => panic!("the first task is in flight"),
            })
            .collect();
        assert_eq!(flight.count(), 1);
        permits.add_permits(1);
        for outcome in others {
            assert_eq!(control.block_on(result_of(outcome)), Some(1));
        }
        assert_eq!(flight.count(), 0);
    }

    #[test]
    fn a_known_result_starts_nothing() {
        let control = Control::start().unwrap();
        let flight = SingleFlight::<ReleaseId, u32>::new();
        let joined = flight.join(&release(), &control.handle(), || Some(7), || async { 8 });
        assert!(matches!(joined, Joined::Known(7)));
        assert_eq!(flight.count(), 0);
    }

    #[test]
    fn a_task_that_panics_is_removed_from_the_table() {
        let control = Control::start().unwrap();
        let flight = SingleFlight::<ReleaseId, u32>::new();
        let work = || async { panic!("on purpose") };
        let Joined::Leader(outcome) = flight.join(&release(), &control.handle(), || None, work)
        else {
            panic!("no task was in flight")
        };
        assert_eq!(control.block_on(result_of(outcome)), None);
        assert_eq!(flight.count(), 0);
    }
}
