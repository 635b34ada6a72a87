//! [`Engine`], the entry point of the library.

mod open;

#[cfg(test)]
mod audit_test;
#[cfg(test)]
mod backup_test;
#[cfg(test)]
mod accounts_test;
#[cfg(test)]
mod counters_test;
#[cfg(test)]
mod database_test;
#[cfg(test)]
mod test_support;

pub use open::{Engine, Options, StoreKind};
