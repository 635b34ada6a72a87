//! The node that a data directory is, and rows that are numbered per node.

use super::tables::{LAST_USAGE, META, NODE, OFFSETS, last_usage_row, node_of_offset, offset_row};
use crate::codec::{decode_number, encode_number};
use crate::error::{Error, Result};
use crate::limits::COUNTER_FILE_BYTES_MAX;
use crate::model::NodeId;
use crate::store::{Store, Transaction};

/// The node that a data directory is. One without an identity becomes `offered`.
pub(crate) fn identify(store: &Store, offered: NodeId) -> Result<NodeId> {
    if let Some(stored) = store.read(|rows| rows.get(META, NODE))? {
        return decode_number(&stored).map(NodeId);
    }
    store.write(|rows| {
        name_rows(rows, offered)?;
        rows.put(META, NODE, &encode_number(offered.0))
    })?;
    Ok(offered)
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
