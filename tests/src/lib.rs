//! Support for tests of the service from outside: servers, clients, upstreams, and rules of the
//! source tree.

pub mod campaign;
pub mod clocks;
pub mod described;
pub mod filled;
pub mod io_backend;
pub mod large;
pub mod lived_in;
#[expect(
    clippy::unwrap_used,
    reason = "a service that does not start fails its test"
)]
pub mod log_services;
pub mod log_suite;
pub mod lying_disk;
pub mod nodes;
pub mod pausing_disk;
pub mod portal;
pub mod raw;
pub mod rules;
pub mod server;
pub mod tidy;
pub mod upstream;
pub mod webdriver;
pub mod zip;
