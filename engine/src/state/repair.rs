//! Damaged rows of the state: found when the tables are read into memory, and repaired there.
//!
//! A row of little value by itself is dropped, a number that follows from others is derived anew,
//! and an account or a key that cannot be read is out of use. So none of them keeps the service
//! from starting.

use std::ops::ControlFlow;

use super::node_rows::only_node;
use super::tables::{
    ACCOUNTS, API_KEYS, APPLIED, AUDIT, AuditClass, EMAILS, LAST_ACCOUNT, LAST_API_KEY, LAST_AUDIT,
    LATEST_SECOND, META, NODE, SECOND_STEPS, audit_rows, number_of_audit_row,
};
use crate::codec::{StoredValue, decode_number, encode_number};
use crate::damage::{DamageLog, Treatment};
use crate::error::{Error, Result};
use crate::model::{ApiKey, AuditEntry, SecondStep};
use crate::store::{ScanOrder, Span, Store, Table, Transaction};

/// Visitor of rows: row key and value.
pub(super) type EachRow<'r> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'r;

/// A row with a damaged value.
pub(super) struct DamagedRow {
    pub(super) row_key: Vec<u8>,
    pub(super) error: Error,
}

/// Visits every row of a table; returns the damaged ones, and those that `each` finds damaged.
pub(super) fn each_readable(
    store: &Store,
    table: Table,
    each: &mut EachRow<'_>,
) -> Result<Vec<DamagedRow>> {
    let mut damaged = Vec::new();
    store.read(|rows| {
        rows.inspect(table, Span::ALL, &mut |row_key, value| {
            match value.and_then(|value| each(row_key, value)) {
                Err(error @ Error::Corrupt { .. }) => damaged.push(DamagedRow {
                    row_key: row_key.to_vec(),
                    error,
                }),
                visited => visited?,
            }
            Ok(ControlFlow::Continue(()))
        })
    })?;
    Ok(damaged)
}

/// Result of a step of the scrubber over the tables of the state.
pub(crate) struct ScrubbedRows {
    /// Row key from which to continue; `None` at the end of the table.
    pub(crate) next: Option<Vec<u8>>,
    /// Rows that are damaged.
    pub(crate) damaged_count: u64,
}

/// Reads some rows of a table, beginning at a row key.
pub(crate) fn scrub_rows(
    store: &Store,
    table: Table,
    from: &[u8],
    count_max: usize,
) -> Result<ScrubbedRows> {
    let mut scrubbed = ScrubbedRows {
        next: None,
        damaged_count: 0,
    };
    let mut count = 0;
    store.read(|rows| {
        rows.inspect(table, Span { from, ..Span::ALL }, &mut |row_key, value| {
            if count == count_max {
                scrubbed.next = Some(row_key.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            count += 1;
            scrubbed.damaged_count += u64::from(value.is_err());
            Ok(ControlFlow::Continue(()))
        })
    })?;
    Ok(scrubbed)
}

/// Removes damaged rows. Without space they stay, and are dropped at a later start.
pub(super) fn drop_rows(
    store: &Store,
    damage: &DamageLog,
    table: Table,
    damaged: &[DamagedRow],
) -> Result<()> {
    if damaged.is_empty() {
        return Ok(());
    }
    let dropped = store.write(|rows| {
        // Rows that other nodes have, too, are not dropped by what this disk says.
        if store.keeps_sum() {
            return Ok(());
        }
        for row in damaged {
            rows.remove(table, &row.row_key)?;
        }
        Ok(())
    });
    match dropped {
        Err(Error::Space { .. }) => {}
        dropped => dropped?,
    }
    for row in damaged {
        damage.note(&row.error, Treatment::Dropped);
    }
    Ok(())
}

/// Notes accounts or keys that are unusable from now on.
pub(super) fn note_disabled(damage: &DamageLog, damaged: &[DamagedRow]) {
    for row in damaged {
        damage.note(&row.error, Treatment::Disabled);
    }
}

/// Puts another value in the place of each damaged one of a table, or removes the row. Returns the
/// damaged rows.
fn replace_damaged<V>(
    store: &Store,
    table: Table,
    decode: fn(&[u8]) -> Result<V>,
    replacement: impl Fn(&Transaction<'_>, &[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Vec<DamagedRow>> {
    let damaged = each_readable(store, table, &mut |_, value| decode(value).map(drop))?;
    if damaged.is_empty() {
        return Ok(damaged);
    }
    store.write(|rows| {
        for DamagedRow { row_key, .. } in &damaged {
            match replacement(rows, row_key)? {
                Some(value) => rows.put(table, row_key, &value)?,
                None => drop(rows.remove(table, row_key)?),
            }
        }
        Ok(())
    })?;
    Ok(damaged)
}

/// Stores damaged account ids in the table of addresses anew. An address without an account is free
/// again.
pub(super) fn repair_emails(
    store: &Store,
    damage: &DamageLog,
    account_of: &dyn Fn(&str) -> Option<u64>,
) -> Result<()> {
    let damaged = replace_damaged(store, EMAILS, decode_number, |_, row_key| {
        let email = std::str::from_utf8(row_key).unwrap_or_default();
        Ok(account_of(email).map(encode_number))
    })?;
    note_derived(damage, &damaged);
    Ok(())
}

/// Replaces a damaged second step by one that no code passes: a sign-in without the step that its
/// owner set up would be worse than none. An operator can turn it off.
pub(super) fn repair_second_steps(store: &Store, damage: &DamageLog) -> Result<()> {
    let damaged = replace_damaged(store, SECOND_STEPS, SecondStep::decode, |_, _| {
        Ok(Some(SecondStep::unusable().encode()))
    })?;
    note_disabled(damage, &damaged);
    Ok(())
}

/// Derives the damaged numbers of the table `meta` anew.
pub(super) fn repair_numbers(store: &Store, damage: &DamageLog) -> Result<()> {
    let damaged = replace_damaged(store, META, decode_number, |rows, row_key| {
        Ok(derived_number(rows, row_key)?.map(encode_number))
    })?;
    note_derived(damage, &damaged);
    Ok(())
}

fn note_derived(damage: &DamageLog, damaged: &[DamagedRow]) {
    for row in damaged {
        damage.note(&row.error, Treatment::Derived);
    }
}

/// The last id assigned to an account, a key or an entry of the audit log. The stored one may be
/// lost, or older than the rows when a write of its page was lost: then the rows count, as an id
/// that is assigned twice would replace one of them.
pub(super) fn last_number(rows: &Transaction<'_>, name: &[u8]) -> Result<u64> {
    let stored = rows.get(META, name)?;
    let stored = stored.map(|stored| decode_number(&stored)).transpose()?;
    let Some(stored) = stored else {
        return Ok(derived_number(rows, name)?.unwrap_or(0));
    };
    let shown = match name {
        LAST_ACCOUNT => last_row(rows, ACCOUNTS)?,
        LAST_API_KEY => last_row(rows, API_KEYS)?,
        _ => last_audit_row(rows)?,
    };
    Ok(stored.max(shown))
}

/// A number that serves as well as the lost one; `None` if there is none.
fn derived_number(rows: &Transaction<'_>, name: &[u8]) -> Result<Option<u64>> {
    Ok(match name {
        // The last key is never removed: it has the last id. The ids of deleted accounts are in
        // their keys and in the audit log.
        LAST_ACCOUNT => Some(last_account(rows)?),
        LAST_API_KEY => Some(last_row(rows, API_KEYS)?),
        LAST_AUDIT => Some(last_audit_row(rows)?),
        // They are compared with what this process read here, and only from now on.
        APPLIED => Some(0),
        // Only the clock gives the time then.
        LATEST_SECOND => Some(0),
        // In a cluster its position has it, too.
        NODE => only_node(rows)?.map(|node| node.0),
        _ => None,
    })
}

/// The greatest id of any present or deleted account: another account must not get its keys.
fn last_account(rows: &Transaction<'_>) -> Result<u64> {
    let mut last = last_row(rows, ACCOUNTS)?;
    rows.inspect(API_KEYS, Span::ALL, &mut |_, value| {
        let owner = value
            .and_then(ApiKey::decode)
            .ok()
            .and_then(|key| key.account);
        last = last.max(owner.map_or(0, |id| id.0));
        Ok(ControlFlow::Continue(()))
    })?;
    rows.inspect(AUDIT, Span::ALL, &mut |_, value| {
        let concerned = value.and_then(AuditEntry::decode).ok();
        let account = concerned.and_then(|entry| entry.account);
        last = last.max(account.map_or(0, |id| id.0));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(last)
}

/// The greatest number that is a row key of a table; 0 without rows.
fn last_row(rows: &Transaction<'_>, table: Table) -> Result<u64> {
    let last = last_key(rows, table, Span::ALL)?;
    let number = last.and_then(|row_key| row_key.try_into().ok());
    Ok(number.map_or(0, u64::from_be_bytes))
}

/// The greatest number of an entry of the audit log, of any class; 0 without entries.
fn last_audit_row(rows: &Transaction<'_>) -> Result<u64> {
    let mut last = 0;
    for class in AuditClass::ALL {
        let (from, to) = audit_rows(class);
        let span = Span {
            from: &from,
            to: Some(&to),
            ..Span::ALL
        };
        let row_key = last_key(rows, AUDIT, span)?;
        let number = row_key.and_then(|row_key| number_of_audit_row(&row_key));
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

/// The greatest row key in a span.
fn last_key(rows: &Transaction<'_>, table: Table, span: Span<'_>) -> Result<Option<Vec<u8>>> {
    let mut last = None;
    let descending = Span {
        order: ScanOrder::Descending,
        ..span
    };
    rows.inspect(table, descending, &mut |row_key, _| {
        last = Some(row_key.to_vec());
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}
