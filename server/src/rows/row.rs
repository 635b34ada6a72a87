//! One row of a file: a draft, or its rejection.

use std::borrow::Cow;
use std::fmt;

use subcat_engine::{FieldError, RecordDraft};

/// A line or row that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Line number, counted from 1; of a CSV row that spans lines, the first.
    pub line: u64,
    /// Fields of the row, not yet validated.
    pub draft: RecordDraft<'a>,
    /// Names of its fields that no record has.
    pub ignored: Vec<Cow<'a, str>>,
}

/// Reason why a line is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRejection {
    /// The line, counted from 1.
    pub line: u64,
    /// The field that is not valid, if it is one.
    pub field: Option<&'static str>,
    /// One clause.
    pub reason: String,
}

impl RowRejection {
    /// The rejection of a whole line.
    pub fn of_line(line: u64, reason: String) -> Self {
        Self {
            line,
            field: None,
            reason,
        }
    }

    /// The engine's rejection of the draft on this line.
    pub fn of_field(line: u64, error: FieldError) -> Self {
        Self {
            line,
            field: Some(error.field),
            reason: error.reason,
        }
    }
}

impl fmt::Display for RowRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if let Some(field) = self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for RowRejection {}

/// Receiver of every row, or of its rejection.
pub type RowReceiver<'a, E> = dyn FnMut(Result<Row<'_>, RowRejection>) -> Result<(), E> + 'a;
