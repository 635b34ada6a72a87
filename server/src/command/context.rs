//! What every subcommand needs: settings, output, outcome.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::de::DeserializeOwned;
use subcat_engine::model::Timestamp;

use super::arguments::Common;
use crate::config::{Effective, Faults, Sources};
use crate::ops::Failure;
use crate::runtime::{Clock, SystemClock};

/// Why a subcommand ends without having done it all.
#[derive(Debug)]
pub(super) enum Stop {
    /// It failed: status 1.
    Failed(Failure),
    /// It failed with this status and has said so in its output.
    Said(u8),
    /// The arguments make no sense together: status 2.
    Usage(String),
    /// Whoever read the output has left; nothing is wrong.
    Unread,
}

impl Stop {
    /// Says what is wrong on stderr and gives the exit status.
    pub(super) fn report(self) -> ExitCode {
        match self {
            Self::Failed(failure) => {
                say(&failure.to_string());
                ExitCode::from(1)
            }
            Self::Said(status) => ExitCode::from(status),
            Self::Usage(sentence) => {
                say(&sentence);
                ExitCode::from(2)
            }
            Self::Unread => ExitCode::SUCCESS,
        }
    }
}

/// Writes a line to stderr; without a stderr there is nobody to tell.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "subcat: {line}");
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<subcat_engine::Error> for Stop {
    fn from(error: subcat_engine::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Faults> for Stop {
    fn from(faults: Faults) -> Self {
        let sentence = faults.to_string().replace('\n', "; ");
        if faults.0.iter().all(crate::config::Fault::is_usage) {
            Self::Usage(sentence)
        } else {
            Self::Failed(Failure::new(sentence))
        }
    }
}

/// The arguments that every subcommand takes, and what follows from them.
pub(super) struct Context {
    common: Common,
}

impl Context {
    pub(super) fn new(common: Common) -> Self {
        Self { common }
    }

    /// Whether to answer in JSON.
    pub(super) fn is_json(&self) -> bool {
        self.common.json
    }

    /// The data directory, when the command line names it.
    pub(super) fn data(&self) -> Option<&str> {
        self.common.data.as_deref()
    }

    /// The settings in effect; `flags` are those of the subcommand: setting, value.
    pub(super) fn effective(&self, flags: &[(&str, Option<String>)]) -> Result<Effective, Faults> {
        let mut given = Vec::new();
        for (name, value) in &self.common.set {
            given.push((name.clone(), value.clone(), format!("--set {name}")));
        }
        let data = [("data", self.common.data.clone())];
        for (name, value) in data.iter().chain(flags) {
            if let Some(value) = value {
                given.push(((*name).to_owned(), value.clone(), format!("--{name}")));
            }
        }
        let sources = Sources {
            file: self.common.config.clone(),
            variables: std::env::vars_os().collect(),
            flags: given,
        };
        sources.load()
    }

    /// Prints the answer of an operation: as it is with `--json`, else as `show` words it.
    pub(super) fn show<T: DeserializeOwned>(
        &self,
        answer: &str,
        show: impl FnOnce(&T) -> String,
    ) -> Result<(), Stop> {
        if self.is_json() {
            return print(&format!("{answer}\n"));
        }
        let value: T = serde_json::from_str(answer).map_err(|error| {
            let reason = "the server's answer is of another version";
            Failure::new(format!("{reason}: {error}: restart it, or use --json"))
        })?;
        print(&show(&value))
    }
}

/// The current second.
pub(super) fn now() -> Timestamp {
    SystemClock::new().now().timestamp()
}

/// Writes to stdout.
pub(super) fn print(text: &str) -> Result<(), Stop> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    written.map_err(|error| output_stop("the output", &error))
}

/// A reader that leaves early, such as `head`, is no failure.
pub(super) fn output_stop(what: &str, error: &io::Error) -> Stop {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Stop::Unread;
    }
    Stop::Failed(Failure::io(&format!("could not write {what}"), error))
}
