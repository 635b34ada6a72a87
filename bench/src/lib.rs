//! Benchmarks, catalog generator, load program and comparisons.

pub mod failure;
pub mod random;
pub mod process;
pub mod load;
pub mod floor;
pub mod catalog;
