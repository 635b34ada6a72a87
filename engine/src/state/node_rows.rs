//! Rows that are numbered per node: those of a data directory alone have no node in their keys.

use std::ops::ControlFlow;

use super::tables::{LAST_USAGE, META, OFFSETS, last_usage_row, offset_row};
use crate::error::Result;
use crate::model::NodeId;
use crate::store::{Span, Transaction};

/// Gives the rows of a data directory alone to a node, which it becomes.
pub(crate) fn give_rows_to(rows: &mut Transaction<'_>, node: NodeId) -> Result<()> {
    move_rows(rows, &|name| {
        // One of a node has a slash.
        let is_alone = !name.contains('/');
        is_alone.then(|| offset_row(Some(node), name))
    })?;
    move_number(rows, LAST_USAGE, &last_usage_row(Some(node)))
}

/// Takes the rows of a node back to a data directory alone; forgets those of others.
pub(crate) fn take_rows_of(rows: &mut Transaction<'_>, node: NodeId) -> Result<()> {
    let prefix = offset_row(Some(node), "");
    move_rows(rows, &|name| name.strip_prefix(&prefix).map(str::to_owned))?;
    for row_key in rows.row_keys(OFFSETS)? {
        if row_key.contains(&b'/') {
            rows.remove(OFFSETS, &row_key)?;
        }
    }
    move_number(rows, &last_usage_row(Some(node)), LAST_USAGE)?;
    for row_key in rows.row_keys(META)? {
        if row_key.starts_with(LAST_USAGE) && row_key != LAST_USAGE {
            rows.remove(META, &row_key)?;
        }
    }
    Ok(())
}

/// Gives offsets of counter files the names that `renamed` returns.
fn move_rows(rows: &mut Transaction<'_>, renamed: &dyn Fn(&str) -> Option<String>) -> Result<()> {
    let mut moved = Vec::new();
    rows.inspect(OFFSETS, Span::ALL, &mut |row_key, value| {
        let name = std::str::from_utf8(row_key).ok().and_then(renamed);
        if let Some(name) = name {
            moved.push((row_key.to_vec(), name, value?.to_vec()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    for (row_key, name, value) in moved {
        rows.remove(OFFSETS, &row_key)?;
        rows.put(OFFSETS, name.as_bytes(), &value)?;
    }
    Ok(())
}

fn move_number(rows: &mut Transaction<'_>, from: &[u8], to: &[u8]) -> Result<()> {
    if let Some(number) = rows.get(META, from)? {
        rows.remove(META, from)?;
        rows.put(META, to, &number)?;
    }
    Ok(())
}
