//! Context of a subcommand: the arguments that all of them take, and the settings in effect.

use std::path::PathBuf;

use clap::{Args, Command};
use serde::de::DeserializeOwned;
use subcat_engine::{StoreKind, Timestamp};

use super::error::{ArgumentError, CommandError, say};
use super::output::{Reply, print};
use crate::config::{Config, ConfigError, Effective, SettingFlag, Sources};
use crate::runtime::{Clock, SystemClock};

/// Arguments of every subcommand.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Common {
    /// Read settings from this file [default: /etc/subcat/subcat.toml if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data directory [default: ./subcat-data, of demo ./subcat-demo]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// Set any setting, such as --set upstream.timeout_seconds=10 (see subcat check)
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub json: bool,
}

fn setting(text: &str) -> Result<(String, String), ArgumentError> {
    let pair = text.split_once('=');
    // A name with anything else in it holds a part of the value, which may be a secret.
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        name.trim().chars().all(is_plain)
    };
    let pair = pair.filter(|(name, _)| is_name(name));
    let (name, value) = ArgumentError::unless(pair, "write NAME=VALUE, such as workers=2")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The arguments that every subcommand takes, and the settings that follow from them.
pub(super) struct Context {
    common: Common,
    program: Command,
}

impl Context {
    pub(super) fn new(common: Common, program: Command) -> Self {
        Self { common, program }
    }

    /// Returns true if the answer is to be in JSON.
    pub(super) fn is_json(&self) -> bool {
        self.common.json
    }

    /// The data directory, if the command line names it.
    pub(super) fn data(&self) -> Option<&str> {
        self.common.data.as_deref()
    }

    /// Returns true if `--set` names this setting.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.common.set.iter().any(|(set, _)| set == name)
    }

    /// The definition of the whole program, for the manual and the completions.
    #[cfg_attr(
        not(feature = "packaging"),
        expect(dead_code, reason = "they are left out")
    )]
    pub(super) fn program(&self) -> &Command {
        &self.program
    }

    /// The settings in effect; `flags` are those of the subcommand: setting, value. Variables that
    /// are ignored are named on stderr.
    pub(super) fn effective(
        &self,
        flags: &[(&str, Option<String>)],
    ) -> Result<Effective, CommandError> {
        let effective = self.load(flags).map_err(|errors| {
            if errors.is_usage() {
                CommandError::usage(errors)
            } else {
                CommandError::from(errors)
            }
        })?;
        warn_of_variables(&effective);
        Ok(effective)
    }

    /// The settings of a subcommand that does not create the default data directory: if it is
    /// missing, the subcommand runs in the wrong place or without the service's settings.
    ///
    /// Errors: no data directory is named, and the default one does not exist.
    pub(super) fn effective_of_existing(&self) -> Result<Config, CommandError> {
        let effective = self.effective(&[])?;
        let is_named = effective.is_given("data");
        if is_named || effective.config.data.exists() || effective.config.store == StoreKind::Memory
        {
            return Ok(effective.config);
        }
        Err(NoDataNamedError(effective.config.data).into())
    }

    /// The settings in effect, or everything that is wrong with them.
    pub(super) fn load(&self, flags: &[(&str, Option<String>)]) -> Result<Effective, ConfigError> {
        let mut given = Vec::new();
        for (name, value) in &self.common.set {
            given.push(SettingFlag {
                name: name.clone(),
                value: value.clone(),
                flag: format!("--set {name}"),
            });
        }
        let data = [("data", self.common.data.clone())];
        for (name, value) in data.iter().chain(flags) {
            if let Some(value) = value {
                given.push(SettingFlag {
                    name: (*name).to_owned(),
                    value: value.clone(),
                    flag: format!("--{name}"),
                });
            }
        }
        let sources = Sources {
            file: self.common.config.clone(),
            variables: std::env::vars_os().collect(),
            flags: given,
        };
        sources.load()
    }

    /// Prints the answer of an operation: unchanged JSON with `--json`, else the text that `show`
    /// makes.
    pub(super) fn show<A: DeserializeOwned>(
        &self,
        reply: &Reply<A>,
        show: impl FnOnce(&A) -> String,
    ) -> Result<(), CommandError> {
        if self.is_json() {
            return print(&format!("{}\n", reply.json()));
        }
        print(&show(&reply.read()?))
    }
}

/// A default data directory that does not exist.
#[derive(Debug, thiserror::Error)]
#[error(
    "no data directory is named, and there is no {}: name it with --data DIR, SUBCAT_DATA=DIR or \
     data = \"DIR\" in /etc/subcat/subcat.toml",
    .0.display()
)]
struct NoDataNamedError(PathBuf);

/// Names the variables that look like settings and are none.
pub(super) fn warn_of_variables(effective: &Effective) {
    if !effective.ignored_variables.is_empty() {
        let names = effective.ignored_variables.join(", ");
        say(&format!(
            "warning: ignored {names}: not the name of a setting (subcat check lists all)"
        ));
    }
}

/// The current second.
pub(super) fn now() -> Timestamp {
    SystemClock::new().now().timestamp()
}
