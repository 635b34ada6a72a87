//! Settings: command line over environment over file over defaults.
//!
//! One file holds every setting: its default, and its table entry with its name, its allowed
//! values, and the functions that read and show it. Layers of text are applied over the defaults,
//! and each value keeps its origin.

mod change;
mod cluster_settings;
mod error;
mod listen_address;
mod load;
mod origin;
mod parse;
mod public_url;
mod reached_at;
mod s3_settings;
mod secret;
mod sections;
mod settings;
mod shown;
mod trace_settings;

pub use change::SettingChange;
pub use cluster_settings::ClusterSettings;
pub use error::{ConfigError, SettingError};
pub use listen_address::{ListenAddress, ListenAddressError};
pub use load::{ConfigEntry, Effective, SettingFlag, Sources};
pub use origin::{Origin, Origins};
pub use s3_settings::S3Settings;
pub use secret::{Secrets, scheme_and_host};
pub use sections::{
    AccessLog, Accounts, Compat, Connections, ExpiredStatus, Io, LogSettings, RateLimits,
    Registration, UpstreamSettings,
};
pub use settings::{Applies, Config};
pub use shown::SettingShown;
pub use trace_settings::TraceSettings;
