//! The program as an operator runs it: every subcommand, with a server on the data directory and
//! without one.
//!
//! These tests live beside the program because cargo builds it and tells its path only here.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod account;
mod care;
mod demo;
mod harness;
mod import;
mod key;
mod record;
mod serve;
mod usage;
