//! Settings: command line over environment over file over defaults.
//!
//! One table names every setting, says what it allows, and reads and shows its value; layers of
//! text are laid over the defaults, and every value remembers where it came from.

mod error;
mod load;
mod origin;
mod settings;
mod values;

pub use error::{ConfigError, ConfigErrors};
pub use load::{ConfigEntry, Effective, Sources};
pub use origin::Origin;
pub use values::{
    Compat, Config, Connections, ExpiredStatus, Io, LogSettings, RateLimits, Registration,
    UpstreamSettings,
};
