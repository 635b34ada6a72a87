//! Reasons why a file could not be fetched, as far as the responses to clients differ.

/// Reason why a file could not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Upstream did not answer, or has no such file; answered with 502.
    #[error("upstream did not send the file")]
    Unavailable,
    /// Too many other files were being fetched; answered with 502. Says nothing about upstream.
    #[error("too many files are being fetched")]
    Busy,
    /// Upstream does not answer, or asked for a pause; answered with 502. Does not concern this
    /// file.
    #[error("upstream is not asked for now")]
    Suspended,
    /// The file is empty, too large or of no known kind; answered with 400.
    #[error("upstream's file is not a usable subtitle file")]
    Unusable,
    /// The file was fetched, but could not be stored; answered with 500.
    #[error("the fetched file could not be stored")]
    NotStored,
}
