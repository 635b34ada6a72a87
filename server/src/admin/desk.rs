//! Where operations are performed.

use serde::Serialize;
use subcat_engine::Engine;
use subcat_engine::event::{Outcome, StateEvent};
use subcat_engine::model::{AccountId, ApiKeyId, AuditEntry, Timestamp};

use super::failure::Failure;
use super::operation::Operation;
use crate::config::Config;

/// An open engine and what operations need beside it.
pub struct Desk<'a> {
    /// The catalog.
    pub engine: &'a Engine,
    /// The settings in effect.
    pub config: &'a Config,
    /// The current second.
    pub now: Timestamp,
    /// Called after every change of a key or an account, before it is acknowledged.
    pub keys_changed: &'a dyn Fn(),
    /// Whether the engine belongs to a running server.
    pub is_running: bool,
}

impl Desk<'_> {
    /// Performs one operation and returns its answer: the JSON that the subcommand's
    /// `--json` shows.
    ///
    /// Errors: a sentence for the operator.
    pub fn perform(&self, operation: Operation) -> Result<String, Failure> {
        match operation {
            Operation::RecordSet { id, is_active } => self.set_record(&id, is_active),
            Operation::RecordShow { id } => self.show_record(&id),
            Operation::RecordDelete { ids } => self.delete_records(&ids),
            Operation::KeyCreate(order) => self.create_key(&order),
            Operation::KeyList {} => self.list_keys(),
            Operation::KeyShow { id } => self.show_key(ApiKeyId(id)),
            Operation::KeyRevoke { id } => self.revoke_key(ApiKeyId(id)),
            Operation::AccountCreate(order) => self.create_account(order),
            Operation::AccountList {} => self.list_accounts(),
            Operation::AccountPassword {
                email,
                password_hash,
            } => self.set_password(&email, password_hash),
            Operation::AccountDisable { email } => self.disable_account(&email),
            Operation::Explain { query_string } => self.explain(&query_string),
            Operation::Stats {} => self.stats(),
            Operation::Verify { is_repairing } => self.verify(is_repairing),
        }
    }

    /// Applies one event and returns its outcome.
    pub(super) fn apply(&self, event: StateEvent) -> Result<Outcome, Failure> {
        let outcomes = self.engine.apply(vec![event])?;
        let outcome = outcomes.into_iter().next();
        outcome.ok_or_else(|| Failure::new("the engine gave no outcome: report this"))
    }

    /// Writes a line into the audit log.
    pub(super) fn audit(
        &self,
        action: &str,
        account: Option<AccountId>,
        api_key: Option<ApiKeyId>,
        detail: &str,
    ) -> Result<(), Failure> {
        let entry = AuditEntry {
            at: self.now,
            actor: "command line".into(),
            action: action.into(),
            account,
            api_key,
            detail: detail.into(),
        };
        self.apply(StateEvent::Audit(entry)).map(|_| ())
    }
}

/// An answer as JSON, with its fields in the order of their declaration.
pub(super) fn answer(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::new(error.to_string()))
}
