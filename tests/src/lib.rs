//! Tests that judge the service from outside.

pub mod io_backend;
pub mod portal;
pub mod raw;
pub mod rules;
pub mod server;
pub mod tidy;
pub mod upstream;
pub mod webdriver;
