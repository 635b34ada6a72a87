//! An operation: its arguments, its execution, its answer.

use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use subcat_engine::{Change, Engine, Outcome, Timestamp};

use super::error::OperationError;
use crate::config::Config;
use crate::service::{Actor, Credentials, Service};

/// An administrative operation: a value that holds its arguments.
///
/// A subcommand sends it to the running server as `POST /NAME` with the arguments as a JSON object,
/// or executes it on the catalog that it has opened itself. Both give the same answer, and its JSON
/// is what `--json` prints.
pub trait Operation: Serialize + DeserializeOwned + Send {
    /// Name of the operation, such as `key/create`.
    const NAME: &'static str;
    /// The answer.
    type Answer: Serialize + DeserializeOwned;

    /// Executes it. Blocks the thread that polls while it reads and works; waits for other machines
    /// as a task.
    ///
    /// Errors: nothing was changed, unless the error says otherwise.
    fn execute(
        self,
        operations: &Operations<'_>,
    ) -> impl Future<Output = Result<Self::Answer, OperationError>> + Send;
}

/// An open catalog and everything else that operations need.
pub struct Operations<'a> {
    /// The catalog.
    pub engine: &'a Engine,
    /// Accounts and API keys of the catalog. Only this changes them.
    pub credentials: &'a Credentials,
    /// Settings in effect.
    pub config: Arc<Config>,
    /// The running server, if the engine belongs to one.
    pub service: Option<&'a Service>,
    /// Author of the changes.
    pub actor: Actor<'a>,
    /// The current second.
    pub now: Timestamp,
    /// The second that decides about expiry.
    pub effective_now: Timestamp,
}

impl<'a> Operations<'a> {
    /// The operations of a running service, for one `actor`.
    pub fn of_service(service: &'a Service, actor: Actor<'a>) -> Self {
        let now = service.now();
        Self {
            engine: &service.engine,
            credentials: service.credentials(),
            config: Arc::clone(&service.config()),
            service: Some(service),
            actor,
            now,
            effective_now: service.effective_now(now),
        }
    }

    /// Returns true if the engine belongs to a running server.
    pub fn is_running(&self) -> bool {
        self.service.is_some()
    }

    /// Changes accounts or keys, and records that in the audit log.
    pub(super) async fn change(&self, change: Change) -> subcat_engine::Result<Outcome> {
        let changed = self.credentials.change(change, self.actor, self.now);
        changed.await
    }
}

/// An operation in the list of its file, for executing it by name.
pub(super) struct OperationEntry {
    pub(super) name: &'static str,
    /// Executes the operation with these arguments, in JSON, and returns its answer, in JSON.
    pub(super) execute: ExecuteFn,
}

/// Executes an operation with its arguments.
type ExecuteFn = for<'o> fn(&'o Operations<'_>, &'o [u8]) -> ExecutedJson<'o>;

/// The answer of an operation in JSON, once it is executed.
type ExecutedJson<'o> = Pin<Box<dyn Future<Output = Result<String, OperationError>> + Send + 'o>>;

impl OperationEntry {
    /// The entry of one type of operations.
    pub(super) const fn of<O: Operation + 'static>() -> Self {
        Self {
            name: O::NAME,
            execute: |operations, arguments| Box::pin(execute_json::<O>(operations, arguments)),
        }
    }
}

async fn execute_json<O: Operation>(
    operations: &Operations<'_>,
    arguments: &[u8],
) -> Result<String, OperationError> {
    let operation: O =
        serde_json::from_slice(arguments).map_err(|source| OperationError::InvalidArguments {
            name: O::NAME,
            source,
        })?;
    let answer = operation.execute(operations).await?;
    Ok(to_json(&answer))
}

/// The answer as JSON, its fields in the order of their declaration.
pub(crate) fn to_json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("texts and numbers always serialise")
}
