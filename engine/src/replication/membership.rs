//! A data directory enters a cluster, and leaves it.

use crate::catalog::SHARED_CATALOG_TABLES;
use crate::error::Result;
use crate::log_rows::{LogPosition, forget_log, put_position, sum_over};
use crate::state::{SHARED_STATE_TABLES, give_rows_to, take_rows_of};
use crate::store::Store;

/// Lets both files follow a log from `position` on. What a data directory alone has numbered is
/// this node's from then on.
///
/// The state comes last, in one transaction: without its position a data directory is in no
/// cluster, and nothing in it is numbered for one.
pub(crate) fn enter(catalog: &Store, state: &Store, position: &LogPosition) -> Result<()> {
    catalog.write(|rows| {
        rows.start_sum(sum_over(SHARED_CATALOG_TABLES))?;
        put_position(rows, position)
    })?;
    state.write(|rows| {
        give_rows_to(rows, position.node)?;
        rows.start_sum(sum_over(SHARED_STATE_TABLES))?;
        put_position(rows, position)
    })
}

/// Makes a data directory one alone again, with everything that it has. The state comes first.
pub(crate) fn leave(catalog: &Store, state: &Store, position: &LogPosition) -> Result<()> {
    state.write(|rows| {
        take_rows_of(rows, position.node)?;
        forget_log(rows)
    })?;
    catalog.write(forget_log)
}
