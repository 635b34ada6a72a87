//! The web interface: pages rendered on the server, in Spanish and English.
//!
//! [`handle`] answers a request outside `/api`; [`Site`] is the state that all of them share.

mod answer;
mod assets;
mod chart;
mod device;
mod error;
mod error_page;
mod form_tokens;
mod frame;
mod group_commit;
mod handle;
mod hashing;
mod language;
mod notice;
mod one_time_links;
mod openapi;
mod origin;
mod pages;
mod params;
mod password;
mod pending_sign_in;
mod second_step;
mod secret;
mod session;
mod setup;
mod site;
mod spark;
mod throttle;
mod user_agent;
mod viewer;
mod web_request;

pub use answer::PageBody;
pub use handle::{handle, refuse};
pub use password::{Password, PasswordRejection};
pub use site::Site;
