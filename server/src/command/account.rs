//! `subcat account`: accounts of the web interface.

use std::io::{self, BufRead};

use clap::{Args, ValueEnum};
use subcat_engine::{Email, Role};

use super::access::{Missing, execute_once, run_operation};
use super::context::Context;
use super::error::{ArgumentError, CommandError};
use super::subcommand::Subcommand;
use super::table::{or_dash, table};
use crate::ops::{
    AccountListed, CreateAccount, DeleteAccount, DisableAccount, LinkListed, ListAccounts,
    ListLinks, ListSecondSteps, SecondStepListed, SetAccountPassword, TurnOffTotp, WithdrawLink,
};
use crate::web::{Password, PasswordRejection};

/// Create, list and disable accounts of the web interface
#[derive(Debug, Args)]
pub(super) struct AccountArguments {
    #[command(subcommand)]
    action: AccountAction,
}

#[derive(Debug, clap::Subcommand)]
enum AccountAction {
    /// Create an account; its password is read from the terminal
    Create {
        /// Email address of the account
        #[arg(value_parser = email)]
        email: String,
        /// Role of the account
        #[arg(long, value_enum, default_value_t = RoleName::User)]
        role: RoleName,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// List all accounts
    List,
    /// Change the password of an account and end its sessions
    Password {
        /// Email address of the account
        #[arg(value_parser = email)]
        email: String,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// Disable an account: its sessions end and its keys are rejected
    Disable {
        /// Email address of the account
        #[arg(value_parser = email)]
        email: String,
    },
    /// Delete an account: its keys are revoked, and the audit log names it by its number
    Delete {
        /// Email address of the account
        #[arg(value_parser = email)]
        email: String,
    },
    /// List the one-time links that are valid, or withdraw one
    Links {
        #[command(subcommand)]
        action: Option<LinkAction>,
    },
    /// List the accounts with a second step, and those that must enrol again: their secret was
    /// sealed with another sealing.key
    SecondSteps,
    /// Let an account sign in by its password alone, after the authenticator app was lost
    TotpOff {
        /// Email address of the account
        #[arg(value_parser = email)]
        email: String,
    },
}

#[derive(Debug, clap::Subcommand)]
enum LinkAction {
    /// End a link: it can no longer be used
    Withdraw {
        /// Id of the link in the list
        id: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    /// Own keys and the catalog
    User,
    /// Everything
    Admin,
}

fn email(text: &str) -> Result<String, ArgumentError> {
    let email = Email::parse(text).map(|email| email.as_str().to_owned());
    ArgumentError::unless(email, "write an email address, such as ana@example.org")
}

impl Subcommand for AccountArguments {
    const NAME: &'static str = "account";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        match self.action {
            AccountAction::Create {
                email,
                role,
                password_stdin,
            } => {
                let config = context.effective_of_existing()?;
                let role = match role {
                    RoleName::User => Role::User,
                    RoleName::Admin => Role::Admin,
                };
                let create = CreateAccount {
                    password_hash: ask_password(&email, password_stdin)?.hash(),
                    email,
                    role: role.as_str().to_owned(),
                };
                let reply = execute_once(config, Missing::Create, create)?;
                context.show(&reply, |account| {
                    format!("account {} ({})\n", account.email, account.role)
                })
            }
            AccountAction::List => run_operation(context, ListAccounts {}, |it| listed(it)),
            AccountAction::Password {
                email,
                password_stdin,
            } => {
                let config = context.effective_of_existing()?;
                let set = SetAccountPassword {
                    email: email.clone(),
                    password_hash: ask_password(&email, password_stdin)?.hash(),
                };
                let reply = execute_once(config, Missing::Refuse, set)?;
                context.show(&reply, |_| {
                    format!("the password of {email} is changed and its sessions are closed\n")
                })
            }
            AccountAction::Disable { email } => {
                run_operation(context, DisableAccount { email }, |account| {
                    format!("{} is disabled and its keys are rejected\n", account.email)
                })
            }
            AccountAction::Delete { email } => {
                run_operation(context, DeleteAccount { email }, |account| {
                    format!("{} is deleted and its keys are revoked\n", account.email)
                })
            }
            AccountAction::Links { action: None } => {
                run_operation(context, ListLinks {}, |links| links_shown(links))
            }
            AccountAction::Links {
                action: Some(LinkAction::Withdraw { id }),
            } => run_operation(context, WithdrawLink { id }, |link| {
                format!("link {} opens nothing any more\n", link.id)
            }),
            AccountAction::SecondSteps => run_operation(context, ListSecondSteps {}, |steps| {
                second_steps_shown(steps)
            }),
            AccountAction::TotpOff { email } => {
                run_operation(context, TurnOffTotp { email }, |account| {
                    format!("{} signs in by its password alone\n", account.email)
                })
            }
        }
    }
}

fn links_shown(links: &[LinkListed]) -> String {
    table(
        links,
        &[
            ("ID", |link| link.id.clone()),
            ("PURPOSE", |link| link.purpose.clone()),
            ("FOR", |link| {
                or_dash(link.role.as_ref().or(link.account.as_ref()))
            }),
            ("MADE BY", |link| or_dash(link.maker.as_ref())),
            ("ENDS", |link| link.expires_at.clone()),
        ],
    )
}

fn second_steps_shown(second_steps: &[SecondStepListed]) -> String {
    table(
        second_steps,
        &[
            ("ID", |step| step.id.to_string()),
            ("EMAIL", |step| step.email.clone()),
            ("APP", |step| {
                let state = if step.opens {
                    "works"
                } else {
                    "must enrol again"
                };
                state.to_owned()
            }),
            ("RECOVERY CODES", |step| step.recovery_codes.to_string()),
        ],
    )
}

fn listed(accounts: &[AccountListed]) -> String {
    table(
        accounts,
        &[
            ("ID", |account| account.id.to_string()),
            ("EMAIL", |account| account.email.clone()),
            ("ROLE", |account| account.role.clone()),
            ("CREATED", |account| account.created_at.clone()),
            ("DISABLED", |account| or_dash(account.disabled_at.as_ref())),
            ("KEYS", |account| account.keys.to_string()),
        ],
    )
}

/// A password that was not given, or cannot be one.
#[derive(Debug, thiserror::Error)]
enum NewPasswordError {
    #[error("could not read the password: without a terminal, pass it with --password-stdin")]
    Unreadable(#[from] io::Error),
    #[error("the two passwords differ: nothing was changed")]
    Different,
    #[error("{0}: nothing was changed")]
    Invalid(PasswordRejection),
}

/// The password from stdin, or typed twice on the terminal.
fn ask_password(email: &str, is_from_stdin: bool) -> Result<Password, NewPasswordError> {
    let text = if is_from_stdin {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    } else {
        let first = rpassword::prompt_password(format!("Password for {email}: "))?;
        if first != rpassword::prompt_password("Again: ")? {
            return Err(NewPasswordError::Different);
        }
        first
    };
    Password::parse_for(&text, email).map_err(NewPasswordError::Invalid)
}
