//! Dispatch of requests: HTTP's own rules, then the API or the pages.

mod web_bridge;
mod reload;
mod router;
mod server;

pub use reload::Reloader;
pub use server::{Server, serve, serve_on};
