//! Fetches files that are not cached yet. With `cluster` and the exporter of `traces` the only
//! module that connects to other servers.
//!
//! A release has up to one fetch in flight, which continues when every waiting client has left.
//! Failures are remembered for a while. Content is stored only if its kind is recognised.
//! `ObjectStorage` keeps files of several machines, or more than one machine has room for.
//! [`RemoteFile`] is a file of records that an operator names, for imports.

mod breaker;
mod client;
mod counts;
mod fetch;
mod fetch_error;
mod health;
mod http_client;
#[cfg(feature = "s3")]
mod object_storage;
mod remote_file;
#[cfg(test)]
mod test_server;

pub use counts::{FetchCounts, FetchOutcome};
pub use fetch::Upstream;
pub use fetch_error::FetchError;
pub use health::{AttemptError, HealthReport, UpstreamState};
#[cfg(feature = "otlp")]
pub(crate) use http_client::client_builder;
#[cfg(any(feature = "nats", feature = "postgres"))]
pub(crate) use http_client::install_tls;
#[cfg(feature = "s3")]
pub use object_storage::{BucketContent, BucketPage, ObjectStorage};
pub use remote_file::{RemoteContent, RemoteFile, RemoteFileError, Validators};
