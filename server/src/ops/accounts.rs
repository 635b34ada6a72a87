//! Operations on accounts: create, list, change the password or the role, disable.

use serde::{Deserialize, Serialize};
use subcat_engine::{Account, AccountId, Change, Email, NewAccount, Outcome, Role};

use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};
use crate::auth::SealingKey;
use crate::service::Actor;

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<CreateAccount>(),
    OperationEntry::of::<ListAccounts>(),
    OperationEntry::of::<SetAccountPassword>(),
    OperationEntry::of::<DisableAccount>(),
    OperationEntry::of::<DeleteAccount>(),
    OperationEntry::of::<TurnOffTotp>(),
    OperationEntry::of::<ListSecondSteps>(),
];

impl Operations<'_> {
    /// Creates an account. Errors: [`OperationRejection::EmailTaken`].
    pub async fn create_account(&self, account: NewAccount) -> Result<Account, OperationError> {
        let email = account.email.clone();
        match self.change(Change::CreateAccount(account)).await? {
            Outcome::Account(account) => Ok(account),
            _ => Err(OperationRejection::EmailTaken(email).into()),
        }
    }

    /// Changes the role of an account. Does nothing if there is no such account.
    ///
    /// Errors: [`OperationRejection::LastAdministrator`].
    pub async fn set_role(&self, id: AccountId, role: Role) -> Result<(), OperationError> {
        // Held until the change is made: otherwise two administrators could demote each other at
        // the same time, since each would find the other one in office.
        let _turn = self.credentials.administering().await;
        if role == Role::User {
            self.ensure_administrator_but(id)?;
        }
        self.change(Change::SetRole(id, role)).await?;
        Ok(())
    }

    /// Enables an account, or disables it: then its sessions end and its keys are rejected. Does
    /// nothing if there is no such account.
    ///
    /// Errors: [`OperationRejection::LastAdministrator`].
    pub async fn set_disabled(
        &self,
        id: AccountId,
        is_disabled: bool,
    ) -> Result<(), OperationError> {
        let _turn = self.credentials.administering().await;
        if is_disabled {
            self.ensure_administrator_but(id)?;
        }
        self.change(Change::SetDisabled(id, is_disabled)).await?;
        Ok(())
    }

    /// Deletes an account: its keys are revoked and its name is removed. Does nothing if there is
    /// no such account.
    ///
    /// Errors: [`OperationRejection::LastAdministrator`].
    pub async fn delete_account(&self, id: AccountId) -> Result<(), OperationError> {
        let _turn = self.credentials.administering().await;
        self.ensure_administrator_but(id)?;
        self.change(Change::DeleteAccount(id)).await?;
        Ok(())
    }

    /// Lets an account sign in with its password only. Does nothing if there is no such account.
    pub async fn turn_off_second_step(&self, id: AccountId) -> Result<(), OperationError> {
        self.change(Change::SetSecondStep(id, None)).await?;
        Ok(())
    }

    /// Opens registration to everybody, or restricts it to invited people.
    pub async fn set_registration(&self, is_open: bool) -> Result<(), OperationError> {
        self.change(Change::SetRegistration(is_open)).await?;
        Ok(())
    }

    /// Checks that an enabled administrator is left without this account, if it is one. The
    /// operator is exempt, because the operator can make another one at any time.
    fn ensure_administrator_but(&self, id: AccountId) -> Result<(), OperationRejection> {
        if self.actor == Actor::CommandLine {
            return Ok(());
        }
        let is_administrator =
            |account: &Account| account.role == Role::Admin && account.disabled_at.is_none();
        let concerned = self.engine.accounts().get(id);
        if !concerned.as_ref().is_some_and(is_administrator) {
            return Ok(());
        }
        let accounts = self.engine.accounts().all();
        let mut others = accounts.iter().filter(|account| account.id != id);
        if others.any(is_administrator) {
            Ok(())
        } else {
            Err(OperationRejection::LastAdministrator)
        }
    }

    fn known_account(&self, email: &str) -> Result<Account, OperationRejection> {
        let found = self.engine.accounts().by_email(&valid_email(email)?);
        found.ok_or_else(|| OperationRejection::UnknownAccount(email.to_owned()))
    }

    fn account_listed(&self, account: &Account) -> AccountListed {
        let api_keys = self.engine.accounts().api_keys();
        let own = api_keys
            .iter()
            .filter(|api_key| api_key.account == Some(account.id));
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

/// One account as `account list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountListed {
    /// Id of the account.
    pub id: u64,
    /// Email address of the account.
    pub email: String,
    /// `user` or `admin`.
    pub role: String,
    /// Time of its creation.
    pub created_at: String,
    /// Time of its disabling, or null.
    pub disabled_at: Option<String>,
    /// Keys of the account, in any state.
    pub keys: u64,
}

/// `account create EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateAccount {
    /// Email address of the account.
    pub email: String,
    /// `user` or `admin`.
    pub role: String,
    /// PHC string of its password: the password itself is not sent.
    pub password_hash: String,
}

impl Operation for CreateAccount {
    const NAME: &'static str = "account/create";
    type Answer = AccountListed;

    async fn execute(self, operations: &Operations<'_>) -> Result<AccountListed, OperationError> {
        let email = valid_email(&self.email)?;
        let Some(role) = Role::parse(&self.role) else {
            return Err(OperationRejection::InvalidRole(self.role).into());
        };
        let account = NewAccount {
            email,
            display_name: String::new(),
            role,
            password_hash: self.password_hash,
        };
        let account = operations.create_account(account).await?;
        Ok(operations.account_listed(&account))
    }
}

/// `account list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListAccounts {}

impl Operation for ListAccounts {
    const NAME: &'static str = "account/list";
    type Answer = Vec<AccountListed>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Self::Answer, OperationError> {
        let accounts = operations.engine.accounts().all();
        let listed = accounts
            .iter()
            .map(|account| operations.account_listed(account));
        Ok(listed.collect())
    }
}

/// `account password EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAccountPassword {
    /// The account's address.
    pub email: String,
    /// PHC string of the new password.
    pub password_hash: String,
}

/// Answer of [`SetAccountPassword`].
#[derive(Debug, Serialize, Deserialize)]
pub struct PasswordSet {
    /// The account's number.
    pub id: u64,
    /// The account's address.
    pub email: String,
}

impl Operation for SetAccountPassword {
    const NAME: &'static str = "account/password";
    type Answer = PasswordSet;

    async fn execute(self, operations: &Operations<'_>) -> Result<PasswordSet, OperationError> {
        let account = operations.known_account(&self.email)?;
        operations
            .change(Change::SetPassword(account.id, self.password_hash))
            .await?;
        Ok(PasswordSet {
            id: account.id.0,
            email: account.email.as_str().to_owned(),
        })
    }
}

/// `account disable EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisableAccount {
    /// The account's address.
    pub email: String,
}

impl Operation for DisableAccount {
    const NAME: &'static str = "account/disable";
    type Answer = AccountListed;

    async fn execute(self, operations: &Operations<'_>) -> Result<AccountListed, OperationError> {
        let account = operations.known_account(&self.email)?;
        operations.set_disabled(account.id, true).await?;
        let account = operations.known_account(&self.email)?;
        Ok(operations.account_listed(&account))
    }
}

/// `account delete EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteAccount {
    /// Email address of the account.
    pub email: String,
}

impl Operation for DeleteAccount {
    const NAME: &'static str = "account/delete";
    type Answer = AccountListed;

    async fn execute(self, operations: &Operations<'_>) -> Result<AccountListed, OperationError> {
        let account = operations.known_account(&self.email)?;
        let listed = operations.account_listed(&account);
        operations.delete_account(account.id).await?;
        Ok(listed)
    }
}

/// `account totp-off EMAIL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnOffTotp {
    /// The account's address.
    pub email: String,
}

impl Operation for TurnOffTotp {
    const NAME: &'static str = "account/totp-off";
    type Answer = AccountListed;

    async fn execute(self, operations: &Operations<'_>) -> Result<AccountListed, OperationError> {
        let account = operations.known_account(&self.email)?;
        operations.turn_off_second_step(account.id).await?;
        Ok(operations.account_listed(&account))
    }
}

/// `account second-steps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSecondSteps {}

/// One account as `account second-steps` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondStepListed {
    /// The account's number.
    pub id: u64,
    /// The account's address.
    pub email: String,
    /// True if the sealing key of this data directory opens its secret: otherwise codes of the app
    /// are refused, and the owner has to enrol again.
    pub opens: bool,
    /// Recovery codes that are left.
    pub recovery_codes: u64,
}

impl Operation for ListSecondSteps {
    const NAME: &'static str = "account/second-steps";
    type Answer = Vec<SecondStepListed>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Self::Answer, OperationError> {
        let accounts = operations.engine.accounts();
        let key = SealingKey::of(operations.engine)?;
        let listed = accounts
            .second_steps()
            .into_iter()
            .filter_map(|(id, second)| {
                let account = accounts.get(id)?;
                let opened = key.as_ref().and_then(|key| key.open(id, &second.secret));
                Some(SecondStepListed {
                    id: id.0,
                    email: account.email.as_str().to_owned(),
                    opens: opened.is_some(),
                    recovery_codes: second.recovery_digests.len() as u64,
                })
            });
        Ok(listed.collect())
    }
}

fn valid_email(text: &str) -> Result<Email, OperationRejection> {
    Email::parse(text).ok_or_else(|| OperationRejection::InvalidEmail(text.to_owned()))
}
