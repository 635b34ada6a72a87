//! Rows in memory: nothing is stored.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::seam::{ReadRows, RowVisitor, ScanOrder, Span, StoreEngine, Table, WriteRows};
use crate::error::Result;

type Bounds<'s> = (Bound<&'s [u8]>, Bound<&'s [u8]>);
type RowMap = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<Table, Arc<RowMap>>;

/// A store with rows that live as long as the process.
///
/// A transaction works on copies of the changed tables while a reader still holds the committed
/// ones, and on the tables themselves otherwise.
#[derive(Default)]
pub(crate) struct MemoryEngine {
    committed: RwLock<Tables>,
    writer: Mutex<()>,
}

impl StoreEngine for MemoryEngine {
    fn read(&self, work: &mut dyn FnMut(&dyn ReadRows) -> Result<()>) -> Result<()> {
        // Copies pointers, not rows: later commits get tables of their own.
        let tables = self.committed.read().clone();
        work(&MemoryRows { tables })
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn WriteRows) -> Result<()>) -> Result<()> {
        // Its own lock: readers are not kept waiting while `work` runs.
        let _writer = self.writer.lock();
        let tables = self.committed.read().clone();
        let mut transaction = MemoryTransaction {
            base: MemoryRows { tables },
            changes: BTreeMap::new(),
        };
        work(&mut transaction)?;
        let MemoryTransaction { base, changes } = transaction;
        // Before the changes: a table still held by the transaction would be copied whole.
        drop(base);
        let mut committed = self.committed.write();
        for (table, rows) in changes {
            let target = Arc::make_mut(committed.entry(table).or_default());
            for (row_key, value) in rows {
                match value {
                    Some(value) => target.insert(row_key, value),
                    None => target.remove(&row_key),
                };
            }
        }
        Ok(())
    }

    fn size_bytes(&self) -> Result<u64> {
        Ok(0)
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn reclaimable_bytes(&self) -> Result<u64> {
        Ok(0)
    }

    fn compact(&self) -> Result<()> {
        Ok(())
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

struct MemoryRows {
    tables: Tables,
}

impl ReadRows for MemoryRows {
    fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
        let rows = self.tables.get(&table);
        Ok(rows.and_then(|rows| rows.get(row_key).cloned()))
    }

    fn range(&self, table: Table, span: Span<'_>, each: &mut RowVisitor<'_>) -> Result<()> {
        let Some(rows) = self.tables.get(&table) else {
            return Ok(());
        };
        let Some(bounds) = bounds(span) else {
            return Ok(());
        };
        let mut range = rows.range::<[u8], _>(bounds);
        while let Some((row_key, value)) = match span.order {
            ScanOrder::Ascending => range.next(),
            ScanOrder::Descending => range.next_back(),
        } {
            if each(row_key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn rows_count(&self, table: Table) -> Result<u64> {
        Ok(self.tables.get(&table).map_or(0, |rows| rows.len() as u64))
    }
}

struct MemoryTransaction {
    base: MemoryRows,
    changes: BTreeMap<Table, BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
}

impl ReadRows for MemoryTransaction {
    fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
        let change = self.changes.get(&table).and_then(|rows| rows.get(row_key));
        match change {
            Some(value) => Ok(value.clone()),
            None => self.base.get(table, row_key),
        }
    }

    fn range(&self, table: Table, span: Span<'_>, each: &mut RowVisitor<'_>) -> Result<()> {
        let Some(bounds) = bounds(span) else {
            return Ok(());
        };
        // Two cursors: a copy of the span would be a copy of the table for each commit that looks
        // for its last row.
        let base = self.base.tables.get(&table).into_iter();
        let base = base.flat_map(|rows| rows.range::<[u8], _>(bounds));
        let changes = self.changes.get(&table).into_iter();
        let changes = changes.flat_map(|rows| rows.range::<[u8], _>(bounds));
        match span.order {
            ScanOrder::Ascending => visit_merged(base, changes, Ordering::Less, each),
            ScanOrder::Descending => {
                visit_merged(base.rev(), changes.rev(), Ordering::Greater, each)
            }
        }
    }

    fn rows_count(&self, table: Table) -> Result<u64> {
        let mut rows_count = self.base.rows_count(table)?;
        for (row_key, value) in self.changes.get(&table).into_iter().flatten() {
            let was_there = self.base.get(table, row_key)?.is_some();
            match (was_there, value.is_some()) {
                (false, true) => rows_count += 1,
                (true, false) => rows_count -= 1,
                _ => {}
            }
        }
        Ok(rows_count)
    }
}

impl WriteRows for MemoryTransaction {
    fn put(&mut self, table: Table, row_key: &[u8], value: &[u8]) -> Result<()> {
        let rows = self.changes.entry(table).or_default();
        rows.insert(row_key.to_vec(), Some(value.to_vec()));
        Ok(())
    }

    fn remove(&mut self, table: Table, row_key: &[u8]) -> Result<bool> {
        let was_there = self.get(table, row_key)?.is_some();
        let rows = self.changes.entry(table).or_default();
        // Kept as `None`, not removed: the row may be in the committed table.
        rows.insert(row_key.to_vec(), None);
        Ok(was_there)
    }
}

/// Visits the rows of `base` with `changes` applied; `None` is a removed row. `first` is the order
/// of a row key relative to those that come after it.
fn visit_merged<'r>(
    base: impl Iterator<Item = (&'r Vec<u8>, &'r Vec<u8>)>,
    changes: impl Iterator<Item = (&'r Vec<u8>, &'r Option<Vec<u8>>)>,
    first: Ordering,
    each: &mut RowVisitor<'_>,
) -> Result<()> {
    let (mut base, mut changes) = (base.peekable(), changes.peekable());
    loop {
        let order = match (base.peek(), changes.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => first,
            (None, Some(_)) => first.reverse(),
            (Some((row_key, _)), Some((changed, _))) => row_key.cmp(changed),
        };
        let old = base.next_if(|_| order == first || order == Ordering::Equal);
        let changed = changes.next_if(|_| order != first);
        // The change counts for a row in both.
        let row = match changed {
            Some((row_key, value)) => value.as_ref().map(|value| (row_key, value)),
            None => old,
        };
        if let Some((row_key, value)) = row
            && each(row_key, value)?.is_break()
        {
            return Ok(());
        }
    }
}

/// The bounds of a span; `None` when it is empty.
fn bounds(span: Span<'_>) -> Option<Bounds<'_>> {
    let to = match span.to {
        Some(to) if to <= span.from => return None,
        Some(to) => Bound::Excluded(to),
        None => Bound::Unbounded,
    };
    Some((Bound::Included(span.from), to))
}
