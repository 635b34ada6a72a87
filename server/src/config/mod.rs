//! Settings: command line over environment over file over defaults.
//!
//! One file holds every setting: its default, and an entry of a table that names it, says what is
//! allowed, and reads and shows its value. Layers of text are applied over the defaults, and each
//! value keeps its origin.

mod change;
mod error;
mod load;
mod origin;
mod parse;
mod settings;
mod trace_settings;

pub use change::SettingChange;
pub use error::{ConfigError, SettingError};
pub use load::{ConfigEntry, Effective, SettingFlag, Sources};
pub use origin::{Origin, Origins};
pub use settings::{
    AccessLog, Accounts, Applies, Compat, Config, Connections, ExpiredStatus, Io, LogSettings,
    RateLimits, Registration, SettingShown, UpstreamSettings,
};
pub use trace_settings::TraceSettings;
