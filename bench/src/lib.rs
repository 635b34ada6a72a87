//! Benchmarks, catalog generator, load program and comparisons.

pub mod error;
pub mod random;
pub mod catalog;
pub mod process;
pub mod load;
pub mod floor;
pub mod fetch;
pub mod child;
pub mod machine;
pub mod subcat;
pub mod queries;
pub mod compare;
pub mod figures;
pub mod search;
pub mod names;
pub mod past;
pub mod arguments;
#[cfg(feature = "peers")]
pub mod peers;
