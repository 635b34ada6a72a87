//! Reasons why an archive, or a file in it, cannot be read.

/// Reason why an archive, or a file in it, cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// A header is missing, damaged or not understood.
    #[error("the headers of the archive cannot be read")]
    Headers,
    /// Headers or the chosen file are encrypted.
    #[error("the archive is encrypted")]
    Encrypted,
    /// The archive continues in another file.
    #[error("the archive is one volume of several")]
    Volume,
    /// More entries than are read.
    #[error("the archive has too many entries")]
    TooManyEntries,
    /// A compression method that is not supported.
    #[error("the compression method is not supported")]
    Method,
    /// The unpacked content has another size or checksum than its header says, or ends early.
    #[error("the content of the file is damaged")]
    Content,
    /// The file is not a text.
    #[error("the file is not a text")]
    NotText,
    /// Unpacking takes too many bytes, too much memory or too much time.
    #[error("unpacking takes too much memory or time")]
    OverBudget,
}
