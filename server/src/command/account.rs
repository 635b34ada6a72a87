//! `subcat account`: accounts of the web interface.

use std::io::{self, BufRead};

use clap::{Args, Subcommand, ValueEnum};
use subcat_engine::model::Email;

use super::access::{Missing, perform_once};
use super::context::{Context, Stop};
use super::table::{or_dash, table};
use crate::ops::{AccountListed, Failure, NewAccountOrder, Operation};
use crate::web::Password;

/// Create, list and disable accounts of the web interface
#[derive(Debug, Args)]
pub(super) struct Account {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an account; its password is asked for
    Create {
        /// Its e-mail address
        #[arg(value_parser = email)]
        email: String,
        /// What it may do
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
        /// Its e-mail address
        #[arg(value_parser = email)]
        email: String,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// Disable an account: its sessions end and its keys are refused
    Disable {
        /// Its e-mail address
        #[arg(value_parser = email)]
        email: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    /// Its own keys and the catalog
    User,
    /// Everything
    Admin,
}

fn email(text: &str) -> Result<String, String> {
    let parsed = Email::parse(text).map(|email| email.as_str().to_owned());
    parsed.ok_or_else(|| "write an e-mail address, such as ana@example.org".into())
}

impl Account {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        match self.action {
            Action::Create {
                email,
                role,
                password_stdin,
            } => {
                let role = match role {
                    RoleName::User => "user",
                    RoleName::Admin => "admin",
                };
                let order = NewAccountOrder {
                    password_hash: ask_password(&email, password_stdin)?.hash(),
                    email,
                    role: role.to_owned(),
                };
                let operation = Operation::AccountCreate(order);
                let answer = perform_once(config, Missing::Create, operation)?;
                context.show(&answer, |account: &AccountListed| {
                    format!("account {} ({})\n", account.email, account.role)
                })
            }
            Action::List => {
                let answer = perform_once(config, Missing::Refuse, Operation::AccountList {})?;
                context.show(&answer, |accounts: &Vec<AccountListed>| listed(accounts))
            }
            Action::Password {
                email,
                password_stdin,
            } => {
                let operation = Operation::AccountPassword {
                    email: email.clone(),
                    password_hash: ask_password(&email, password_stdin)?.hash(),
                };
                let answer = perform_once(config, Missing::Refuse, operation)?;
                context.show(&answer, |_: &serde_json::Value| {
                    format!("the password of {email} is changed, its sessions are ended\n")
                })
            }
            Action::Disable { email } => {
                let operation = Operation::AccountDisable { email };
                let answer = perform_once(config, Missing::Refuse, operation)?;
                context.show(&answer, |account: &AccountListed| {
                    format!("{} is disabled, its keys are refused\n", account.email)
                })
            }
        }
    }
}

fn listed(accounts: &[AccountListed]) -> String {
    let row = |account: &AccountListed| {
        vec![
            account.id.to_string(),
            account.email.clone(),
            account.role.clone(),
            account.created_at.clone(),
            or_dash(account.disabled_at.as_ref()),
            account.keys.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = accounts.iter().map(row).collect();
    table(
        &["ID", "EMAIL", "ROLE", "CREATED", "DISABLED", "KEYS"],
        &rows,
    )
}

/// The password from stdin, or typed twice on the terminal.
fn ask_password(email: &str, is_from_stdin: bool) -> Result<Password, Stop> {
    let could_not = |error: io::Error| Failure::io("could not read the password", &error);
    let text = if is_from_stdin {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map_err(could_not)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    } else {
        let ask = |prompt: String| rpassword::prompt_password(prompt).map_err(could_not);
        let first = ask(format!("Password for {email}: "))?;
        if first != ask("Again: ".to_owned())? {
            return Err(Failure::new("the two passwords differ: nothing was changed").into());
        }
        first
    };
    let password = Password::parse(&text);
    Ok(password.map_err(|fault| Failure::new(format!("{fault}: nothing was changed")))?)
}
