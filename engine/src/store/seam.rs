//! The seam between the engine and its row store.

use std::ops::ControlFlow;

use crate::error::Result;

/// A named table of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Table(pub(crate) &'static str);

/// Rows from `from`, included, to `to`, excluded; without `to`, to the last row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) from: &'a [u8],
    pub(crate) to: Option<&'a [u8]>,
    pub(crate) order: ScanOrder,
}

/// Order in which rows are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanOrder {
    /// Smallest row key first.
    Ascending,
    /// Largest row key first.
    Descending,
}

impl Span<'static> {
    /// All rows, ascending.
    pub(crate) const ALL: Self = Self {
        from: &[],
        to: None,
        order: ScanOrder::Ascending,
    };
}

/// Visitor of rows: gets row key and value; `Break` ends the visit.
pub(crate) type RowVisitor<'v> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'v;

/// The rows of one moment.
pub(crate) trait ReadRows {
    /// The value of a row.
    fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Visits the rows of a span in order.
    fn range(&self, table: Table, span: Span<'_>, each: &mut RowVisitor<'_>) -> Result<()>;

    /// Count of rows in a table.
    fn rows_count(&self, table: Table) -> Result<u64>;
}

/// The rows inside a transaction that changes them.
pub(crate) trait WriteRows: ReadRows {
    /// Sets a row.
    fn put(&mut self, table: Table, row_key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes a row; false when there is none.
    fn remove(&mut self, table: Table, row_key: &[u8]) -> Result<bool>;
}

/// An ordered byte map with named tables.
///
/// Readers see the rows of the last commit before they began and never wait for the writer. There
/// is one writer at a time; the others wait. Committed changes are durable.
pub(crate) trait StoreEngine: Send + Sync {
    /// Reads.
    fn read(&self, work: &mut dyn FnMut(&dyn ReadRows) -> Result<()>) -> Result<()>;

    /// Changes rows and commits, unless `work` fails: then nothing has changed. Nothing is written
    /// when `work` puts and removes no row.
    fn write(&self, work: &mut dyn FnMut(&mut dyn WriteRows) -> Result<()>) -> Result<()>;

    /// Size on disk, in bytes.
    fn size_bytes(&self) -> Result<u64>;

    /// Checks everything below the rows, such as the checksums of pages. Waits for readers and
    /// the writer, which waits for it.
    fn check(&self) -> Result<()>;

    /// Number of bytes without rows that [`StoreEngine::compact`] may free. Cost: a read of every
    /// page; the writer does not wait.
    fn reclaimable_bytes(&self) -> Result<u64>;

    /// Returns the space without rows to the file system. Waits for readers and the writer, which
    /// wait for it; interrupted, it leaves all rows unchanged.
    fn compact(&self) -> Result<()>;

    /// Makes the next opening quick. Nothing is read or written after it.
    fn close(&self) -> Result<()>;
}
