//! Errors of operations, as the one line that an operator reads.

use std::fmt;
use std::path::PathBuf;

use subcat_engine::{
    ApiKeyId, Email, ExpiryPassed, ROLL_DAYS_MAX, RecordId, ReleaseId, Timestamp, error_chain,
};

use crate::cluster::SnapshotPlaceError;
use crate::config::ConfigError;
use crate::limits::KEYS_MAX;
use crate::request::SearchRejection;

/// An operation that was not executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] subcat_engine::Error),
    /// The operation cannot be executed on this catalog with these arguments.
    #[error(transparent)]
    Rejected(#[from] OperationRejection),
    /// No operation has this name.
    #[error("there is no operation {0}: is this program newer than the server?")]
    UnknownOperation(String),
    /// The arguments are not those of the operation.
    #[error("the arguments of {name} are not valid")]
    InvalidArguments {
        /// The operation's name.
        name: &'static str,
        /// The first thing that is wrong with them.
        source: serde_json::Error,
    },
}

impl OperationError {
    /// True if the sender is at fault, not the catalog: the message itself is not valid.
    pub const fn is_malformed(&self) -> bool {
        matches!(
            self,
            Self::UnknownOperation(_) | Self::InvalidArguments { .. }
        )
    }
}

/// Everything that is wrong with settings, in one line.
fn one_line(errors: &ConfigError) -> String {
    errors.to_string().replace('\n', "; ")
}

/// Reason why an operation cannot be executed on this catalog with these arguments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationRejection {
    /// The operation is one of a running server.
    #[error("no server runs on this data directory: its settings are read when it starts")]
    NotRunning,
    /// The operation asks a running server for its counters.
    #[error("no server runs on this data directory: there is nothing to watch")]
    NoServer,
    /// Settings that were read again are not valid.
    #[error("nothing was changed: {}", one_line(.0))]
    InvalidSettings(ConfigError),
    /// The name of a new key is not valid.
    #[error("a key's name has 1 to 100 characters and no control characters")]
    InvalidKeyName,
    /// Not a list of scopes.
    #[error(
        "{0:?} is not a list of scopes: the scopes are search, read and download; address stands \
         alone"
    )]
    InvalidScopes(String),
    /// Not a rate limit.
    #[error("{0:?} is not a limit: write REQUESTS/SECONDS, such as 60/60")]
    InvalidLimit(String),
    /// Not a time.
    #[error("{0} is not a valid time")]
    InvalidTime(String),
    /// A new key would never be valid.
    #[error("{0} is in the past: no key was created")]
    ExpiryPassed(Timestamp),
    /// A new key would be allowed to do nothing.
    #[error("a key needs at least one scope")]
    NoScopes,
    /// The owner of a new key has as many active keys as an account may have.
    #[error("the account has {0} active keys, which is the maximum: revoke one first")]
    TooManyActiveKeys(usize),
    /// The owner of a new key has as many keys, in any state, as an account may have.
    #[error("an account has at most {KEYS_MAX} keys, revoked ones included")]
    TooManyKeys,
    /// The owner of a new key does not exist.
    #[error("no account {0}: create it with subcat account create")]
    UnknownOwner(String),
    /// The owner of a new key is disabled.
    #[error("the account {0} is disabled: no key was created")]
    OwnerDisabled(String),
    /// The owner of a new key disappeared before the key was created.
    #[error("the account no longer exists: no key was created")]
    OwnerLost,
    /// No key has this number.
    #[error("no key {} (subcat key list shows all)", .0.0)]
    UnknownKey(ApiKeyId),
    /// The key to roll has ended, or will.
    #[error("key {} is revoked or was rolled before: create a new one", .0.0)]
    KeyRevoked(ApiKeyId),
    /// The old key would live for too long.
    #[error("a rolled key goes on working for at most {ROLL_DAYS_MAX} days")]
    GraceTooLong,
    /// The change would leave no administrator.
    #[error("this is the last administrator: make another account an administrator first")]
    LastAdministrator,
    /// A backup inside its own data directory.
    #[error(
        "a backup in {} would be lost with it: name a place outside, best on another disk",
        .0.display()
    )]
    BackupInside(PathBuf),
    /// Not the name of a file at upstream.
    #[error("{0:?} is not a release: it has 1 to 200 of A-Z a-z 0-9 . _ -")]
    InvalidRelease(String),
    /// No file of this release is stored.
    #[error("no file of release {0} is stored")]
    UnknownFile(ReleaseId),
    /// The file of this release was brought by an import.
    #[error(
        "the file of {0} was brought by an import and no upstream has it: forget it with --force"
    )]
    BroughtFile(ReleaseId),
    /// No bucket is set.
    #[error("files.s3 names no bucket")]
    NoBucket,
    /// The bucket is not the one that this data directory keeps its files in.
    #[error(
        "files.s3 names {0}, where no file of this data directory has ever been put: what nothing \
         here refers to there may be another service's, and stays"
    )]
    ForeignBucket(String),
    /// The bucket does not answer, or refuses.
    #[error("files.s3: {0}")]
    Bucket(String),
    /// Other nodes may know files that this one does not.
    #[error("this node does not follow the log now, and may not know every file: start its server")]
    NotFollowing,
    /// Not an address.
    #[error("{0:?} is not an email address")]
    InvalidEmail(String),
    /// Not a role.
    #[error("{0:?} is not a role: the roles are user and admin")]
    InvalidRole(String),
    /// Another account has this address.
    #[error("an account {} already exists", .0.as_str())]
    EmailTaken(Email),
    /// No account has this address.
    #[error("no account {0} (subcat account list shows all)")]
    UnknownAccount(String),
    /// No one-time link has this id.
    #[error("no link {0} (subcat account links shows all): it was used, withdrawn, or has ended")]
    UnknownLink(String),
    /// Not the id of a record.
    #[error("{0} is not a UUID")]
    InvalidRecordId(String),
    /// No such records.
    #[error("no record {0} in the catalog: nothing was changed")]
    UnknownRecords(RecordIds),
    /// Records that something else deleted first.
    #[error("already deleted by something else: {0}; all others are deleted")]
    LostRecords(RecordIds),
    /// The files to repair are open in a running server.
    #[error("a server is running on this data directory: stop it to repair")]
    RepairWhileRunning,
    /// The data directory is in no cluster.
    #[error("this data directory is in no cluster: begin one with subcat cluster init")]
    NotInCluster,
    /// No node of the cluster has this name or number.
    #[error("no node {0} (subcat cluster status shows all)")]
    UnknownNode(String),
    /// Several nodes have this name.
    #[error("several nodes have the name {0}: give a number (subcat cluster status shows them)")]
    AmbiguousNode(String),
    /// The node to forget is this one.
    #[error("this is the node itself: stop its server, and take it out with subcat cluster leave")]
    OwnNode,
    /// The node to forget is alive.
    #[error(
        "node {0} was heard just now: stop its server, and take it out with subcat cluster leave"
    )]
    NodeHeard(String),
    /// The setting of the log is not usable.
    #[error("cluster.log: {0}")]
    LogNotOpened(String),
    /// A snapshot of the cluster cannot be written.
    #[error("{}", error_chain(.0))]
    Snapshot(#[from] SnapshotPlaceError),
    /// The log of the cluster cannot be truncated.
    #[error("the snapshot is written, and the log was not truncated: {0}")]
    NotTruncated(String),
    /// Not the parameters of a search.
    #[error("{}", InSearchOptions(.0))]
    InvalidSearch(SearchRejection),
}

impl From<ExpiryPassed> for OperationRejection {
    fn from(ExpiryPassed(at): ExpiryPassed) -> Self {
        Self::ExpiryPassed(at)
    }
}

/// Ids of records, displayed with commas between them.
#[derive(Debug)]
pub struct RecordIds(pub Vec<RecordId>);

impl fmt::Display for RecordIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, id) in self.0.iter().enumerate() {
            let separator = if idx == 0 { "" } else { ", " };
            write!(f, "{separator}{id}")?;
        }
        Ok(())
    }
}

/// The rejection of a search in terms of the options of `subcat explain`.
struct InSearchOptions<'a>(&'a SearchRejection);

impl fmt::Display for InSearchOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SearchRejection::Parameters(rejections) => {
                for (idx, rejection) in rejections.iter().enumerate() {
                    let separator = if idx == 0 { "" } else { "; " };
                    let option = rejection.parameter.replace('_', "-");
                    write!(f, "{separator}--{option}: {}", rejection.message)?;
                }
                Ok(())
            }
            SearchRejection::NoCriterion => f.write_str(
                "nothing to search for: give --query, --title, --catalog-id or --public-id",
            ),
            SearchRejection::SeasonWithoutEpisodes => {
                f.write_str("--season and --episode need --video-type episode")
            }
        }
    }
}
