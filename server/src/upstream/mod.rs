//! Files that are not cached yet: the only module that dials out.
//!
//! One fetch at a time per release, which goes on when everyone who asked has left; failures are
//! remembered for a while; what came is recognised before it is stored.

mod counts;
mod failures;
mod fetch;
mod fetch_error;
mod health;
mod source;
#[cfg(test)]
mod test_server;

pub use counts::{FetchCounts, FetchOutcome};
pub use fetch::Upstream;
pub use fetch_error::FetchError;
pub use health::{AttemptError, HealthReport, UpstreamState};
