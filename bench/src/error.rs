//! Error of the measuring programs.

use std::error::Error;
use std::fmt;

/// Failure of a measuring program: one clause that says what failed and where, and the cause.
///
/// One type for all of them is enough: their only caller is a person who reads the message.
#[derive(Debug)]
pub struct BenchError {
    what: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

/// The result of a measuring step.
pub type Result<T> = std::result::Result<T, BenchError>;

impl BenchError {
    /// Error without a deeper cause.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            cause: None,
        }
    }

    /// Conversion for `map_err`: adds the operation that failed.
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
