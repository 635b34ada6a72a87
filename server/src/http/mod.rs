//! Dispatch of requests: HTTP's own rules, then the API or the pages.

mod web_bridge;
mod router;
mod server;

pub use server::{Server, serve};
