//! Why a command failed, as the one line that its operator reads.

use std::error::Error as _;
use std::fmt;

/// A sentence that says what failed, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// With this sentence; line ends become spaces.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into().replace('\n', " "))
    }

    /// An error of the system about a file or an address.
    pub fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<subcat_engine::Error> for Failure {
    fn from(error: subcat_engine::Error) -> Self {
        let mut sentence = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            sentence.push_str(": ");
            sentence.push_str(&inner.to_string());
            cause = inner.source();
        }
        Self::new(sentence)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}
