//! Outcomes of a subcommand that is not done, and the exit status of each.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use subcat_engine::error_chain;

use super::printable::printable;

/// Reason why a subcommand ends before it is done.
///
/// It is not an [`Error`] itself, so that every error converts into it.
#[derive(Debug)]
pub(super) enum CommandError {
    /// The subcommand failed: status 1.
    Failed(Box<dyn Error + Send + Sync>),
    /// The subcommand failed, and its output says so: this status.
    Reported(u8),
    /// The arguments are not valid together: status 2.
    Usage(Box<dyn Error + Send + Sync>),
    /// The reader of the output has closed it, as `head` does: status 0.
    OutputClosed,
}

impl CommandError {
    /// Arguments that are not valid together.
    pub(super) fn usage(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Usage(Box::new(error))
    }

    /// Writes the error to stderr and returns the exit status.
    pub(super) fn report(self) -> ExitCode {
        match self {
            Self::Failed(error) => {
                say(&error_chain(&*error).replace('\n', "; "));
                ExitCode::from(1)
            }
            Self::Reported(status) => ExitCode::from(status),
            Self::Usage(error) => {
                say(&error_chain(&*error).replace('\n', "; "));
                ExitCode::from(2)
            }
            Self::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// A value of an argument that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{advice}")]
pub(super) struct ArgumentError {
    /// The form of a valid value.
    pub advice: &'static str,
}

impl ArgumentError {
    /// The value, or an error with this advice.
    pub(super) fn unless<T>(value: Option<T>, advice: &'static str) -> Result<T, Self> {
        value.ok_or(Self { advice })
    }
}

/// Writes a line to stderr.
pub(super) fn say(line: &str) {
    // Without a stderr the line is lost.
    let _ = writeln!(io::stderr(), "subcat: {}", printable(line));
}

/// A file, directory or address that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{subject}")]
pub(super) struct SubjectError {
    /// Name of the file, directory or address, or the step that failed.
    subject: String,
    /// The system's reason.
    source: io::Error,
}

impl SubjectError {
    pub(super) fn new(subject: impl Into<String>, source: io::Error) -> Self {
        Self {
            subject: subject.into(),
            source,
        }
    }
}
