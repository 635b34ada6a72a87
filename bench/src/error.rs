//! Why a measuring program stopped.

use std::error::Error;
use std::fmt;

/// A measuring program cannot go on: one clause that says what and where, and the cause.
///
/// These programs have one caller, who reads the sentence: there is nothing to tell apart.
#[derive(Debug)]
pub struct BenchError {
    what: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

/// The result of a measuring step.
pub type Result<T> = std::result::Result<T, BenchError>;

impl BenchError {
    /// A failure without a deeper cause.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            cause: None,
        }
    }

    /// For `map_err`: what was being done when `cause` came up.
    pub fn on<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let what = what.into();
        move |cause| Self {
            what,
            cause: Some(cause.into()),
        }
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(f, "{}: {cause}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl Error for BenchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause: &(dyn Error + 'static) = self.cause.as_deref()?;
        Some(cause)
    }
}
