//! Where does a request go? The one door: HTTP's own rules, then the API or the pages.

mod pages;
mod porter;
mod server;

pub use server::{Server, serve};
