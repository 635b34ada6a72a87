//! What is wrong with a configuration, in sentences that say what to do.

use std::fmt;

use super::load::Origin;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The file cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// The file is no TOML.
    Syntax {
        /// Its path.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What the parser expected.
        reason: String,
    },
    /// There is no such setting.
    Unknown {
        /// The name as it was given: a setting's path, or a variable.
        given: String,
        /// Where it was given.
        origin: Origin,
        /// The known name that resembles it most.
        nearest: String,
    },
    /// The value is not allowed.
    Value {
        /// The setting.
        name: &'static str,
        /// The value as it was given.
        value: String,
        /// Where it was given.
        origin: Origin,
        /// What would be allowed.
        allowed: &'static str,
    },
    /// Two settings contradict each other.
    Conflict(&'static str),
}

impl Fault {
    /// Whether the command line is at fault (exit status 2).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Unknown { origin, .. } | Self::Value { origin, .. } => {
                matches!(origin, Origin::CommandLine(_))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, reason } => {
                write!(f, "could not read the configuration file {path}: {reason}")
            }
            Self::Syntax { path, line, reason } => {
                write!(f, "{path} line {line} is no TOML: {reason}")
            }
            Self::Unknown {
                given,
                origin,
                nearest,
            } => write!(
                f,
                "unknown setting {given} ({origin}): did you mean {nearest}?"
            ),
            Self::Value {
                name,
                value,
                origin,
                allowed,
            } => write!(f, "{name} is {value:?} ({origin}): allowed is {allowed}"),
            Self::Conflict(sentence) => f.write_str(sentence),
        }
    }
}

/// Everything that is wrong, one sentence a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, fault) in self.0.iter().enumerate() {
            let line_end = if idx == 0 { "" } else { "\n" };
            write!(f, "{line_end}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
