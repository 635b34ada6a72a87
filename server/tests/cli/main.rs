//! The program as an operator runs it: every subcommand, with a server on the data directory and
//! without one.
//!
//! These tests live beside the program because cargo builds it and tells its path only here.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(test)]
mod account;
#[cfg(test)]
mod addresses;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod care;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod export;
mod fakes;
mod file;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod full_disk;
mod harness;
#[cfg(test)]
mod import;
#[cfg(test)]
mod key;
#[cfg(test)]
mod object_storage;
#[cfg(test)]
mod record;
mod reload;
mod secrets;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod snippets;
mod start;
mod supervised;
#[cfg(all(test, feature = "otlp"))]
mod traces;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod volumes;
#[cfg(test)]
mod watch;
