//! Errors of the engine: situations that a caller can distinguish.

use std::path::{Path, PathBuf};

/// The result of everything in the engine that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error and its causes in one line, for logs: `could not open index/3: permission denied`.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A failure of the outside world. Absence is `Option`; a programmer's mistake is an assertion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call to the file system failed.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The action that failed, as a verb: `open`, `sync`, `rename`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Stored bytes break an invariant of their format.
    #[error("{file} is damaged at byte {offset}: {expected} was expected")]
    Corrupt {
        /// The file, or the table of a store, as a path below the data directory.
        file: String,
        /// Offset of the broken invariant in that file (or value), in bytes.
        offset: u64,
        /// The invariant, stated positively.
        expected: &'static str,
    },
    /// A part of the index is damaged and not built again yet: what it has cannot be found.
    #[error("a part of the index is being built again: try again in a moment")]
    Rebuilding,
    /// The data directory was written by another version of the format.
    #[error(
        "{} has format {found}, this program reads format {supported}: {advice}",
        path.display()
    )]
    Format {
        /// The data directory.
        path: PathBuf,
        /// Version found there.
        found: u32,
        /// Version that this program reads and writes.
        supported: u32,
        /// Advice to the operator.
        advice: &'static str,
    },
    /// A value was stored by a newer version of the program.
    #[error(
        "{place} has a value of version {found}, this program reads versions up to {supported}: \
         run the version of subcat that wrote it, or a newer one"
    )]
    NewerValue {
        /// The file and the table.
        place: &'static str,
        /// Version found there.
        found: u8,
        /// Version that this program reads and writes.
        supported: u8,
    },
    /// Another process holds the data directory.
    #[error(
        "{} is in use by process {pid}: stop it, or name another data directory",
        path.display()
    )]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// The process that holds it; 0 if unknown.
        pid: u32,
    },
    /// The directory holds something that no data directory holds.
    #[error(
        "{} holds {entry:?}, which is not a subcat file: name a data directory or an empty one",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The unknown name.
        entry: String,
    },
    /// The directory to be created exists.
    #[error("{} exists already: name a directory that does not exist", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is not a data directory, or its creation was never finished.
    #[error(
        "{} is not a finished backup: name one, or a data directory whose server was stopped",
        path.display()
    )]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// The backup to be restored is damaged.
    #[error(
        "{} is damaged in {count} places, first {file}: {problem}; nothing was replaced",
        path.display()
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// Count of faults.
        count: usize,
        /// The first file, as a path below the directory.
        file: String,
        /// The first fault.
        problem: String,
    },
    /// The transactional store failed.
    #[error("the store {file} failed to {action}")]
    Store {
        /// Name of the file, one of two.
        file: &'static str,
        /// The action that failed, as a verb.
        action: &'static str,
        /// The store's reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The second home of cached files cannot be reached, or refuses.
    #[error("could not {action} object storage")]
    Source {
        /// The action that failed, as a verb with its object.
        action: &'static str,
        /// Its reason.
        source: std::io::Error,
    },
    /// The log of the cluster cannot be reached, or refuses: nothing was changed.
    #[error("the log of the cluster is not available, nothing was changed: {reason}")]
    LogUnavailable {
        /// Its reason.
        reason: String,
    },
    /// The log of the cluster has not answered: the change may be made, or be made later.
    #[error("the log of the cluster has not answered, the change may be made or not: {reason}")]
    LogUnanswered {
        /// Its reason.
        reason: String,
    },
    /// The data directory does not belong to the log of the cluster.
    #[error("{problem}")]
    Cluster {
        /// The problem, and its solution.
        problem: String,
    },
    /// There is too little free space to write safely.
    #[error(
        "{} has {free_bytes} bytes free, {needed_bytes} are needed: make room and try again",
        path.display()
    )]
    Space {
        /// The data directory.
        path: PathBuf,
        /// Bytes free there.
        free_bytes: u64,
        /// Bytes needed.
        needed_bytes: u64,
    },
}

impl Error {
    /// A closure for `map_err`: names the action and the path of a failed system call.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// An [`Error::Corrupt`] for `file` at `offset`.
    pub(crate) fn corrupt(file: impl Into<String>, offset: u64, expected: &'static str) -> Self {
        Self::Corrupt {
            file: file.into(),
            offset,
            expected,
        }
    }
}

/// A transaction that was not seen to become durable.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// True if it may have become durable all the same.
    pub(crate) is_open: bool,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            error,
            is_open: false,
        }
    }
}
