//! Origins of values.

use std::fmt;
use std::path::PathBuf;

/// The source of a value of a setting, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The value is the default.
    Default,
    /// A line of the file, counted from 1.
    File(PathBuf, usize),
    /// An environment variable.
    Variable(String),
    /// A flag.
    CommandLine(String),
    /// A file that holds nothing but the value, and the origin of its path.
    SecretFile(PathBuf, Box<Self>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{} line {line}", path.display()),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::CommandLine(flag) => write!(f, "command line {flag}"),
            Self::SecretFile(path, by) => write!(f, "{} ({by})", path.display()),
        }
    }
}
