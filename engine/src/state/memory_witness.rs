//! The tables in memory as a witness: a cross-check of the rows stored last.
//!
//! A lost write leaves a page with its earlier content. While the process runs, memory has the
//! later one: a row that differs is stored again, before a start trusts it.

use std::ops::ControlFlow;

use super::store::{RowsOfTable, State};
use super::tables::{ACCOUNTS, API_KEYS, SECOND_STEPS, SESSIONS};
use crate::codec::StoredValue;
use crate::damage::Treatment;
use crate::error::{Error, Result};
use crate::model::{Account, ApiKey, SecondStep, Session};
use crate::store::{Span, Table};

/// Tables that decide permissions; their readable rows are all kept in memory.
const KEPT_TABLES: [Table; 4] = [ACCOUNTS, API_KEYS, SECOND_STEPS, SESSIONS];

/// A row that differs from the one stored last.
struct Differing {
    row_key: Vec<u8>,
    /// Value of the row in memory; `None` if the row was removed.
    value: Option<Vec<u8>>,
}

impl State {
    /// Compares rows with memory, and stores differing ones again. Returns their count.
    ///
    /// Cost: a read of these tables, during which no change is made.
    pub(crate) fn store_again_what_differs(&self) -> Result<u64> {
        self.with_writer_locked(|| self.store_kept_tables_again())
    }

    /// The same, for a caller that has the lock of the writer.
    pub(super) fn store_kept_tables_again(&self) -> Result<u64> {
        let mut count = 0;
        for table in KEPT_TABLES {
            count += self.store_table_again(table)?;
        }
        Ok(count)
    }

    fn store_table_again(&self, table: Table) -> Result<u64> {
        let mut missing = self.rows_in_memory(table);
        let mut differing = Vec::new();
        self.store.read(|rows| {
            rows.inspect(table, Span::ALL, &mut |row_key, value| {
                let kept = missing.remove(row_key);
                let stored = match value.and_then(|value| encoded_now(table, value)) {
                    // A row that was unreadable when the tables were read is out of use, and was
                    // not removed, even if it can be read now.
                    _ if kept.is_none() && self.is_unreadable(table, row_key) => None,
                    Err(Error::Corrupt { .. }) if kept.is_none() => None,
                    Err(Error::Corrupt { .. }) => Some(Vec::new()),
                    stored => Some(stored?),
                };
                if stored != kept {
                    differing.push(Differing {
                        row_key: row_key.to_vec(),
                        value: kept,
                    });
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        differing.extend(missing_rows(missing));
        if differing.is_empty() {
            return Ok(0);
        }
        // Of rows that other nodes have, too, they are the better witnesses.
        let is_shared = self.store.keeps_sum();
        let stored_again = if is_shared { &[] } else { &differing[..] };
        self.store.write(|rows| {
            for Differing { row_key, value } in stored_again {
                match value {
                    Some(value) => rows.put(table, row_key, value)?,
                    None => drop(rows.remove(table, row_key)?),
                }
            }
            Ok(())
        })?;
        for Differing { row_key, .. } in &differing {
            let row: String = row_key.iter().map(|byte| format!("{byte:02x}")).collect();
            let place = format!("state.redb, table {}, row {row}", table.0);
            let error = Error::corrupt(place, 0, "the row as it was stored last");
            let treatment = if is_shared {
                Treatment::Unverified
            } else {
                Treatment::StoredAgain
            };
            self.damage.note(&error, treatment);
        }
        Ok(differing.len() as u64)
    }
}

fn missing_rows(missing: RowsOfTable) -> impl Iterator<Item = Differing> {
    missing.into_iter().map(|(row_key, value)| Differing {
        row_key,
        value: Some(value),
    })
}

/// A stored value in the form of this version: an older form of the same value does not differ.
fn encoded_now(table: Table, value: &[u8]) -> Result<Vec<u8>> {
    if table == ACCOUNTS {
        Account::decode(value).map(|it| it.encode())
    } else if table == API_KEYS {
        ApiKey::decode(value).map(|it| it.encode())
    } else if table == SECOND_STEPS {
        SecondStep::decode(value).map(|it| it.encode())
    } else {
        Session::decode(value).map(|it| it.encode())
    }
}
