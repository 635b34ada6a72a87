//! The store of everything that is not derived: an ordered byte map with named tables and
//! transactions.
//!
//! [`StoreEngine`] is the seam: [`RedbEngine`] keeps its rows in one redb file, [`MemoryEngine`] in
//! memory. [`Store`] wraps them and adds a checksum to every value, so that the results of an
//! engine need not be trusted. Values are opaque here.

mod memory;
mod redb_engine;
mod checksummed;
mod seam;
mod row_batch;
#[cfg(test)]
mod suite;

pub(crate) use checksummed::{Inspector, RowSum, Rows, SpaceGuard, Store, Transaction};
pub(crate) use memory::MemoryEngine;
pub use redb_engine::is_panic_contained;
pub(crate) use redb_engine::{RedbEngine, RedbPlace};
pub(crate) use row_batch::RowBatch;
pub(crate) use seam::{ScanOrder, Span, StoreEngine, Table};
