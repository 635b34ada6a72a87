//! Where operations are performed.

use serde::Serialize;
use subcat_engine::Engine;
use subcat_engine::model::{ApiKeyId, Timestamp};
use subcat_engine::{Change, Outcome};

use super::error::Failure;
use super::operation::Operation;
use crate::config::Config;
use crate::service::{Actor, Credentials};

/// An open engine and what operations need beside it.
pub struct Operations<'a> {
    /// The catalog.
    pub engine: &'a Engine,
    /// The settings in effect.
    pub config: &'a Config,
    /// The current second.
    pub now: Timestamp,
    /// The moment by which expiry is judged.
    pub judged_at: Timestamp,
    /// Its accounts and keys, and what changes them.
    pub credentials: &'a Credentials,
    /// Whether the engine belongs to a running server.
    pub is_running: bool,
}

impl Operations<'_> {
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
            Operation::Backup { destination } => self.backup(destination),
        }
    }

    /// Changes accounts or keys, with the line of it in the audit log, and returns the outcome.
    pub(super) fn change(&self, change: Change) -> Result<Outcome, Failure> {
        let changed = self
            .credentials
            .change(change, Actor::CommandLine, self.now);
        Ok(changed?)
    }
}

/// An answer as JSON, with its fields in the order of their declaration.
pub(super) fn answer(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::new(error.to_string()))
}
