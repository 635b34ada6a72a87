//! One work at a time per subject, however many want its result.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::runtime::ControlHandle;
use crate::runtime::sync::watch;

type Outcome<T> = watch::Receiver<Option<T>>;
type Table<K, T> = Mutex<HashMap<K, Outcome<T>, foldhash::quality::RandomState>>;

/// Works under way, by their subject.
pub(crate) struct Flights<K, T> {
    under_way: Arc<Table<K, T>>,
}

/// What a caller gets.
pub(crate) enum Joined<T> {
    /// The result was known.
    Known(T),
    /// The result of a work that another caller started.
    Other(Outcome<T>),
    /// The result of a work that was started for this call.
    Own(Outcome<T>),
}

impl<K, T> Flights<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(crate) fn new() -> Self {
        Self {
            under_way: Arc::default(),
        }
    }

    /// How many works are under way.
    pub(crate) fn count(&self) -> usize {
        self.under_way.lock().len()
    }

    /// Joins the work for `subject`, or asks `known` and, without an answer, spawns `work`, which
    /// goes on whoever leaves. `known` is asked when no work is under way, so whatever a work
    /// leaves behind for it must be there before that work ends.
    pub(crate) fn join<F: Future<Output = T> + Send + 'static>(
        &self,
        subject: &K,
        control: &ControlHandle,
        known: impl FnOnce() -> Option<T>,
        work: impl FnOnce() -> F,
    ) -> Joined<T> {
        let mut under_way = self.under_way.lock();
        if let Some(outcome) = under_way.get(subject) {
            return Joined::Other(outcome.clone());
        }
        if let Some(result) = known() {
            return Joined::Known(result);
        }
        let (sender, outcome) = watch::channel(None);
        under_way.insert(subject.clone(), outcome.clone());
        drop(under_way);
        let landing = Landing {
            subject: subject.clone(),
            under_way: Arc::clone(&self.under_way),
        };
        let work = work();
        control.spawn(async move {
            let result = work.await;
            drop(landing);
            sender.send_replace(Some(result));
        });
        Joined::Own(outcome)
    }
}

/// Waits for the result; `None` when the work panicked.
pub(crate) async fn result_of<T: Clone>(mut outcome: Outcome<T>) -> Option<T> {
    let result = outcome.wait_for(Option::is_some).await.ok()?;
    result.clone()
}

/// Takes the work off the table, also when it panics.
struct Landing<K: Eq + Hash, T> {
    subject: K,
    under_way: Arc<Table<K, T>>,
}

impl<K: Eq + Hash, T> Drop for Landing<K, T> {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.subject);
    }
}

#[cfg(test)]
mod tests {
    use subcat_engine::model::ReleaseId;

    use super::*;
    use crate::runtime::Control;
    use crate::runtime::sync::Semaphore;

    fn release() -> ReleaseId {
        ReleaseId::parse("1").unwrap()
    }

    #[test]
    fn many_callers_share_one_work_which_outlives_them() {
        let control = Control::start().unwrap();
        let flights = Flights::<ReleaseId, u32>::new();
        let gate = Arc::new(Semaphore::new(0));
        let join = |value| {
            let gate = Arc::clone(&gate);
            flights.join(
                &release(),
                &control.handle(),
                || None,
                || async move {
                    gate.acquire_owned().await.unwrap().forget();
                    value
                },
            )
        };
        let Joined::Own(first) = join(1) else {
            panic!("no work was under way")
        };
        drop(first);
        let others: Vec<_> = (0..100)
            .map(|_| match join(2) {
                Joined::Other(outcome) => outcome,
                _ => panic!("the first work is under way"),
            })
            .collect();
        assert_eq!(flights.count(), 1);
        gate.add_permits(1);
        for outcome in others {
            assert_eq!(control.block_on(result_of(outcome)), Some(1));
        }
        assert_eq!(flights.count(), 0);
    }

    #[test]
    fn a_known_result_starts_nothing() {
        let control = Control::start().unwrap();
        let flights = Flights::<ReleaseId, u32>::new();
        let joined = flights.join(&release(), &control.handle(), || Some(7), || async { 8 });
        assert!(matches!(joined, Joined::Known(7)));
        assert_eq!(flights.count(), 0);
    }

    #[test]
    fn a_work_that_panics_is_taken_off_the_table() {
        let control = Control::start().unwrap();
        let flights = Flights::<ReleaseId, u32>::new();
        let work = || async { panic!("on purpose") };
        let Joined::Own(outcome) = flights.join(&release(), &control.handle(), || None, work)
        else {
            panic!("no work was under way")
        };
        assert_eq!(control.block_on(result_of(outcome)), None);
        assert_eq!(flights.count(), 0);
    }
}
