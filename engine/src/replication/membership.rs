//! Entry of a data directory into a cluster, and its exit.

use super::node_status::unheard_row;
use crate::catalog::SHARED_CATALOG_TABLES;
use crate::error::Result;
use crate::log_rows::{
    LogPosition, LogProgress, forget_intended, forget_log, last_beats, put_position, put_progress,
    sum_over,
};
use crate::state::{OWN_STATE_ROWS, SHARED_STATE_TABLES, forget_others};
use crate::store::{RowSum, Store};

/// Sum of the rows of `catalog.redb` that nodes share.
pub(crate) const CATALOG_SUM: RowSum = sum_over(SHARED_CATALOG_TABLES, &[]);
/// Sum of the rows of `state.redb` that nodes share.
pub(crate) const STATE_SUM: RowSum = sum_over(SHARED_STATE_TABLES, OWN_STATE_ROWS);

/// Lets both files follow a log from `position` on.
///
/// The state comes last, in one transaction: without its position a data directory is in no
/// cluster, and with that of the log before, the intended log is still to be entered.
pub(crate) fn enter(catalog: &Store, state: &Store, position: &LogPosition) -> Result<()> {
    // In an empty log no node has given a beat yet, whatever the one before held.
    let mut beats = Vec::new();
    if position.seq == 0 {
        for (node, stored) in state.read(last_beats)? {
            beats.push(unheard_row(node, &stored)?);
        }
    }
    let progress = LogProgress {
        position: *position,
        beats,
    };
    catalog.write(|rows| {
        rows.start_sum(CATALOG_SUM)?;
        put_position(rows, position)
    })?;
    state.write(|rows| {
        rows.start_sum(STATE_SUM)?;
        forget_intended(rows)?;
        put_progress(rows, &progress)
    })
}

/// Takes a data directory out of its cluster, with all its data. The state comes first.
pub(crate) fn leave(catalog: &Store, state: &Store, position: &LogPosition) -> Result<()> {
    state.write(|rows| {
        forget_others(rows, position.node)?;
        forget_log(rows)
    })?;
    catalog.write(forget_log)
}
