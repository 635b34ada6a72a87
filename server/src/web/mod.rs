//! The web interface: pages made on the server, in Spanish and English.
//!
//! A request outside `/api` comes in at [`handle`]; [`Site`] is what requests share.

mod handle;
mod password;
mod secret;
mod setup;
mod site;

pub use handle::{PageBody, handle};
pub use password::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, Password, PasswordFault, verify};
pub use site::Site;
