//! Errors of a configuration, in sentences that say what to do.

use std::fmt;
use std::path::PathBuf;

use super::origin::Origin;

/// One thing that is wrong with a setting, or with the file of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The file cannot be read.
    #[error("could not read the configuration file {}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is not valid TOML.
    #[error("{} line {line} is not valid TOML: {reason}", path.display())]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The parser's message, in one line.
        reason: String,
    },
    /// No setting has this name.
    #[error("unknown setting {given} ({origin}): did you mean {nearest}?")]
    Unknown {
        /// The given name: a setting's path, or a variable.
        given: String,
        /// The place where it was given.
        origin: Origin,
        /// The known name that resembles it most.
        nearest: String,
    },
    /// The value is not allowed.
    #[error("{name} is {value:?} ({origin}): expected {allowed}")]
    Value {
        /// The setting.
        name: &'static str,
        /// The given value, without a password.
        value: String,
        /// The place where it was given.
        origin: Origin,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The value is not allowed, and not shown: it is a secret.
    #[error("{name} is not valid ({origin}): expected {allowed}")]
    Secret {
        /// The setting.
        name: &'static str,
        /// The place where it was given.
        origin: Origin,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The file of a value cannot be read.
    #[error("could not read {name} from {} ({origin})", path.display())]
    SecretUnreadable {
        /// The setting.
        name: &'static str,
        /// The file's path.
        path: PathBuf,
        /// The place that names the file.
        origin: Origin,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The public and the admin address are the same.
    #[error("listen and admin are the same address: give one of them another port")]
    SameAddress,
    /// Traces cannot be sent.
    #[error(
        "traces.url has no effect, as this program was built without the feature otlp: build it \
         with --features subcat-server/otlp, or leave traces.url out"
    )]
    NoExporter,
    /// Files cannot be kept in object storage.
    #[error(
        "files.s3.endpoint has no effect, as this program was built without the feature s3: build \
         it with --features subcat-server/s3, or leave files.s3 out"
    )]
    NoObjectStorage,
    /// Nodes share no files.
    #[error(
        "cluster.log is set and files.s3.endpoint is not: the nodes of a cluster share their files \
         there"
    )]
    NoSharedFiles,
    /// Nothing is kept that a cluster could share.
    #[error("cluster.log is set and store is memory: a node keeps its data directory")]
    ClusterInMemory,
    /// Only a part of what object storage needs is set.
    #[error("{given} is set and {missing} is not: set both, or neither")]
    Half {
        /// The setting that has a value.
        given: &'static str,
        /// The one that has none.
        missing: &'static str,
    },
    /// A whole fetch has less time than its connection.
    #[error(
        "upstream.timeout_seconds is below upstream.connect_seconds: it includes the time to \
         connect, so make it longer"
    )]
    TimeoutTooShort,
}

impl SettingError {
    /// Returns true if the command line is at fault (exit status 2).
    fn is_usage(&self) -> bool {
        match self {
            Self::Unknown { origin, .. }
            | Self::Value { origin, .. }
            | Self::Secret { origin, .. } => {
                matches!(origin, Origin::CommandLine(_))
            }
            _ => false,
        }
    }
}

/// A configuration that is not valid: everything that is wrong with it, one sentence a line.
#[derive(Debug)]
pub struct ConfigError(pub Vec<SettingError>);

impl ConfigError {
    /// Returns true if only the command line is at fault (exit status 2).
    pub fn is_usage(&self) -> bool {
        self.0.iter().all(SettingError::is_usage)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, error) in self.0.iter().enumerate() {
            let line_end = if idx == 0 { "" } else { "\n" };
            write!(f, "{line_end}{}", subcat_engine::error_chain(error))?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
