//! The node that a data directory is, and rows that are numbered per node.

use super::tables::{LAST_USAGE, META, NODE, OFFSETS, last_usage_row, node_of_offset, offset_row};
use crate::codec::{decode_number, encode_number};
use crate::error::{Error, Result};
use crate::limits::COUNTER_FILE_BYTES_MAX;
use crate::model::NodeId;
use crate::store::{Store, Transaction};

/// The node that a data directory is. One without an identity becomes `offered`, unless its rows
/// tell which it was: under another one their downloads would be counted a second time.
pub(crate) fn identify(store: &Store, offered: NodeId) -> Result<NodeId> {
    if let Some(stored) = store.read(|rows| rows.get(META, NODE))? {
        return decode_number(&stored).map(NodeId);
    }
    store.write(|rows| {
        let node = only_node(rows)?.unwrap_or(offered);
        name_rows(rows, node)?;
        rows.put(META, NODE, &encode_number(node.0))?;
        Ok(node)
    })
}

/// Gives a node the rows that a data directory numbered before it had an identity.
fn name_rows(rows: &mut Transaction<'_>, node: NodeId) -> Result<()> {
    for row_key in rows.row_keys(OFFSETS)? {
        if node_of_offset(&row_key).is_some() {
            continue;
        }
        let name = String::from_utf8_lossy(&row_key);
        let offset = match rows.get(OFFSETS, &row_key) {
            // As for `State::offsets`: nothing is counted twice.
            Err(Error::Corrupt { .. }) => COUNTER_FILE_BYTES_MAX,
            offset => offset?.map_or(Ok(0), |value| decode_number(&value))?,
        };
        rows.put(
            OFFSETS,
            offset_row(node, &name).as_bytes(),
            &encode_number(offset),
        )?;
        rows.remove(OFFSETS, &row_key)?;
    }
    if let Some(number) = rows.get(META, LAST_USAGE)? {
        rows.put(META, &last_usage_row(node), &number)?;
        rows.remove(META, LAST_USAGE)?;
    }
    Ok(())
}

/// Forgets what the other nodes of a cluster have numbered.
pub(crate) fn forget_others(rows: &mut Transaction<'_>, node: NodeId) -> Result<()> {
    for row_key in rows.row_keys(OFFSETS)? {
        if node_of_offset(&row_key) != Some(node) {
            rows.remove(OFFSETS, &row_key)?;
        }
    }
    for row_key in rows.row_keys(META)? {
        if row_key.starts_with(LAST_USAGE) && row_key != last_usage_row(node) {
            rows.remove(META, &row_key)?;
        }
    }
    Ok(())
}

/// Marks counter files without an offset as aggregated: up to ten seconds of downloads are lost
/// then, while all of them would count twice from their beginning.
pub(crate) fn mark_aggregated(rows: &mut Transaction<'_>, files: &[String]) -> Result<()> {
    let stored = rows.get(META, NODE).ok().flatten();
    let node = match stored.and_then(|value| decode_number(&value).ok()) {
        Some(number) => Some(NodeId(number)),
        None => only_node(rows)?,
    };
    for name in files {
        // Without a node the row has none until the directory gets an identity.
        let row_key = node.map_or_else(|| name.clone(), |node| offset_row(node, name));
        if matches!(rows.get(OFFSETS, row_key.as_bytes()), Ok(None)) {
            let aggregated = encode_number(COUNTER_FILE_BYTES_MAX);
            rows.put(OFFSETS, row_key.as_bytes(), &aggregated)?;
        }
    }
    Ok(())
}

/// The node that has offsets, if there is only one.
pub(super) fn only_node(rows: &Transaction<'_>) -> Result<Option<NodeId>> {
    let row_keys = rows.row_keys(OFFSETS)?;
    let mut nodes: Vec<NodeId> = row_keys
        .iter()
        .filter_map(|it| node_of_offset(it))
        .collect();
    nodes.dedup();
    Ok(match nodes[..] {
        [node] => Some(node),
        _ => None,
    })
}
