//! Settings: command line over environment over file over defaults.
//!
//! One table names every setting, says what it allows, and reads and shows its value; layers of
//! text are laid over the defaults, and every value remembers where it came from.

mod fault;
mod load;
mod settings;
mod values;

pub use fault::{Fault, Faults};
pub use load::{Effective, Entry, Origin, Sources};
pub use values::{
    Compat, Config, Connections, ExpiredStatus, Io, LogSettings, RateLimits, Registration,
    UpstreamSettings,
};
