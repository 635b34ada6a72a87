//! Output of subcommands: lines on stderr, answers on stdout.

use std::io::{self, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{CommandError, SubjectError};
use super::printable::printable;
use crate::ops::to_json;

/// Answer of an operation, in JSON as it came.
pub(super) struct Reply<A> {
    json: String,
    answer: PhantomData<A>,
}

/// An answer that this program cannot read.
#[derive(Debug, thiserror::Error)]
#[error("the server's answer is of another version: {0}: restart it, or use --json")]
pub(super) struct ReplyVersionError(serde_json::Error);

impl<A: DeserializeOwned> Reply<A> {
    /// The answer of an operation.
    pub(super) fn from_json(json: String) -> Self {
        Self {
            json,
            answer: PhantomData,
        }
    }

    /// The answer as a value. Errors: a server of another version made it.
    pub(super) fn read(&self) -> Result<A, ReplyVersionError> {
        serde_json::from_str(&self.json).map_err(ReplyVersionError)
    }

    /// The answer in JSON, as it came.
    pub(super) fn json(&self) -> &str {
        &self.json
    }
}

impl<A: DeserializeOwned + Serialize> Reply<A> {
    /// The answer of work that this process has done.
    pub(super) fn of(answer: &A) -> Self {
        Self::from_json(to_json(answer))
    }
}

/// Writes to stdout, without control characters.
pub(super) fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(printable(text).as_bytes())
        .and_then(|()| stdout.flush());
    written.map_err(|error| output_error("the output", error))
}

/// An output that takes no more. A reader that leaves early, such as `head`, is not an error.
pub(super) fn output_error(name: &str, error: io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CommandError::OutputClosed;
    }
    SubjectError::new(format!("could not write {name}"), error).into()
}
