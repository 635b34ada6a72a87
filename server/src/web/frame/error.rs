//! Reasons why a page is not shown.

use std::sync::Arc;

use http::header::InvalidHeaderValue;

use super::hashing_share::HashingQueueError;
use super::throttle::AttemptsRejection;
use crate::api::PageFileRejection;
use crate::limits::PAGE_BYTES_MAX;
use crate::ops::{OperationError, OperationRejection};
use crate::request::HeadRejection;

/// Reason why a page is not shown: a rejected request, or a failure of the server.
///
/// `error_page` has the texts for the client; the messages here are for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// No such page, or one that must stay hidden from this account: the two look alike.
    #[error("no such page")]
    NotFound,
    /// The path has no handler for this method; the value of the header `Allow`.
    #[error("method not allowed: use {0}")]
    MethodNotAllowed(&'static str),
    /// The request breaks HTTP's own rules.
    #[error("the request is refused: {0:?}")]
    Refused(HeadRejection),
    /// The form was not sent from a page of this site.
    #[error("the form was sent from another site")]
    ForeignForm,
    /// The posted body is not a form, or not one that this page has.
    #[error("the posted body is not a form of this page")]
    InvalidForm,
    /// The request has no session.
    #[error("not signed in")]
    NotSignedIn,
    /// Only for administrators.
    #[error("only administrators may see this page")]
    Forbidden,
    /// Only for administrators with a second step, by the setting `accounts.admin_totp`.
    #[error("the administrator has no second step")]
    StepMissing,
    /// Too many attempts.
    #[error(transparent)]
    TooManyAttempts(#[from] AttemptsRejection),
    /// Too many pages of the catalog.
    #[error("too many pages of the catalog: {0}")]
    TooManyPages(AttemptsRejection),
    /// Too many passwords wait to be hashed.
    #[error(transparent)]
    HashingQueueError(#[from] HashingQueueError),
    /// There is no file to send or to show; what failed here is in the log already.
    #[error("there is no file: {0:?}")]
    File(PageFileRejection),
    /// The engine failed. Shared, because a failed commit fails every sign-in in it.
    #[error(transparent)]
    Engine(Arc<subcat_engine::Error>),
    /// A part of the index is being built again that may have what the page shows.
    #[error("a part of the index is being built again")]
    Rebuilding,
    /// The log of the cluster cannot be reached: nothing was changed.
    #[error("the log of the cluster is not available")]
    LogAway,
    /// The log of the cluster has not answered: the change may be made.
    #[error("the log of the cluster has not answered")]
    LogUnanswered,
    /// The template could not be rendered.
    #[error("the template could not be rendered")]
    Render(#[from] askama::Error),
    /// The page is larger than any may be.
    #[error("the page has {0} bytes, more than {PAGE_BYTES_MAX}")]
    TooLarge(usize),
    /// A name could not be written into a header.
    #[error("the header could not be written")]
    InvalidHeader(#[from] InvalidHeaderValue),
    /// The task that made the page panicked, or was cancelled.
    #[error("the task that made the page ended early")]
    Task(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The commit that held this sign-in panicked.
    #[error("the sign-in was not stored")]
    SignInLost,
    /// The operation was rejected for a reason that the form of the page has no text for.
    #[error(transparent)]
    Rejected(OperationRejection),
    /// The operation could not be executed.
    #[error(transparent)]
    Operation(OperationError),
}

impl PageError {
    /// True if the server failed in a way that is logged here and answered with 500.
    pub(crate) const fn is_internal(&self) -> bool {
        matches!(
            self,
            Self::Engine(_)
                | Self::Render(_)
                | Self::TooLarge(_)
                | Self::InvalidHeader(_)
                | Self::Task(_)
                | Self::SignInLost
                | Self::Rejected(_)
                | Self::Operation(_)
        )
    }
}

impl From<OperationError> for PageError {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Engine(error) => error.into(),
            // Only a race leads here: pages do not offer to change the own account.
            OperationError::Rejected(OperationRejection::LastAdministrator) => Self::Forbidden,
            OperationError::Rejected(rejection) => Self::Rejected(rejection),
            other => Self::Operation(other),
        }
    }
}

impl From<subcat_engine::Error> for PageError {
    fn from(error: subcat_engine::Error) -> Self {
        Arc::new(error).into()
    }
}

impl From<Arc<subcat_engine::Error>> for PageError {
    fn from(error: Arc<subcat_engine::Error>) -> Self {
        match *error {
            // A node that cannot follow changes nothing either.
            subcat_engine::Error::LogUnavailable { .. } | subcat_engine::Error::Cluster { .. } => {
                Self::LogAway
            }
            subcat_engine::Error::LogUnanswered { .. } => Self::LogUnanswered,
            subcat_engine::Error::Rebuilding => Self::Rebuilding,
            _ => Self::Engine(error),
        }
    }
}
