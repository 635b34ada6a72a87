//! The web interface: pages made on the server, in Spanish and English.
//!
//! A request outside `/api` comes in at [`handle`]; [`Site`] is what requests share.

mod answer;
mod assets;
mod chart;
mod error;
mod error_page;
mod frame;
mod group_commit;
mod handle;
mod hashing;
mod language;
mod openapi;
mod origin;
mod pages;
mod params;
mod password;
mod secret;
mod session;
mod setup;
mod site;
mod throttle;
mod viewer;
mod web_request;

pub use answer::PageBody;
pub use handle::handle;
pub use password::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, Password, PasswordFault};
pub use site::Site;
