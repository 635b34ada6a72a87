//! [`Engine`], the entry point of the library.

mod open;

#[cfg(test)]
mod audit_test;
#[cfg(test)]
mod backup_test;
#[cfg(test)]
mod database_test;

pub use open::{Engine, Options, StoreKind};
