//! Accounts: create, list, password, disable.

use serde::{Deserialize, Serialize};
use serde_json::json;
use subcat_engine::model::{Account, Email, Role};
use subcat_engine::{Change, NewAccount, Outcome};

use super::error::Failure;
use super::execute::{Operations, answer};
use super::operation::NewAccountOrder;

/// One account as `account list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountListed {
    /// Its number.
    pub id: u64,
    /// Its address.
    pub email: String,
    /// `user` or `admin`.
    pub role: String,
    /// When it was made.
    pub created_at: String,
    /// When it was disabled, or null.
    pub disabled_at: Option<String>,
    /// How many keys it has, of any state.
    pub keys: u64,
}

impl Operations<'_> {
    pub(super) fn create_account(&self, order: NewAccountOrder) -> Result<String, Failure> {
        let email = valid_email(&order.email)?;
        let role = Role::parse(&order.role)
            .ok_or_else(|| Failure::new(format!("{:?} is no role: user, admin", order.role)))?;
        let outcome = self.change(Change::CreateAccount(NewAccount {
            email,
            display_name: String::new(),
            role,
            password_hash: order.password_hash,
        }))?;
        let Outcome::Account(account) = outcome else {
            let sentence = format!("there is an account {} already", order.email);
            return Err(Failure::new(sentence));
        };
        answer(&self.account_listed(&account))
    }

    pub(super) fn list_accounts(&self) -> Result<String, Failure> {
        let accounts = self.engine.accounts().all();
        let listed: Vec<_> = accounts.iter().map(|a| self.account_listed(a)).collect();
        answer(&listed)
    }

    pub(super) fn set_password(&self, email: &str, hash: String) -> Result<String, Failure> {
        let account = self.known_account(email)?;
        self.change(Change::SetPassword(account.id, hash))?;
        Ok(json!({ "id": account.id.0, "email": account.email.as_str() }).to_string())
    }

    pub(super) fn disable_account(&self, email: &str) -> Result<String, Failure> {
        let account = self.known_account(email)?;
        self.change(Change::SetDisabled(account.id, true))?;
        let account = self.known_account(email)?;
        answer(&self.account_listed(&account))
    }

    fn known_account(&self, email: &str) -> Result<Account, Failure> {
        let found = self.engine.accounts().by_email(&valid_email(email)?);
        let sentence = || format!("no account {email} (subcat account list shows all)");
        found.ok_or_else(|| Failure::new(sentence()))
    }

    fn account_listed(&self, account: &Account) -> AccountListed {
        let api_keys = self.engine.accounts().api_keys();
        let own = api_keys
            .iter()
            .filter(|key| key.account == Some(account.id));
        AccountListed {
            id: account.id.0,
            email: account.email.as_str().to_owned(),
            role: account.role.as_str().to_owned(),
            created_at: account.created_at.to_string(),
            disabled_at: account.disabled_at.map(|at| at.to_string()),
            keys: own.count() as u64,
        }
    }
}

fn valid_email(text: &str) -> Result<Email, Failure> {
    let sentence = || format!("{text:?} is no e-mail address");
    Email::parse(text).ok_or_else(|| Failure::new(sentence()))
}
