//! Verification: every file against its checksums, and against the others.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::orphans::remove_orphans;
use crate::blob::BlobFinding;
use crate::catalog::{CATALOG_TABLES, IndexFinding, RECORDS};
use crate::damage::{DamageEntry, ReportedFault};
use crate::data_dir::{is_damaged_copy, is_known, is_left_by_restore};
use crate::database::{Database, SUM_OF_ROWS};
use crate::error::{Error, Result, error_chain};
use crate::state::{ContentWalk, STATE_TABLES};
use crate::store::{Span, Store, Table};

/// A fault that verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// File (or table) below the data directory.
    pub file: String,
    /// Offset in bytes, if known.
    pub offset: Option<u64>,
    /// One clause: the fault.
    pub problem: String,
    /// True if it was repaired.
    pub is_repaired: bool,
    /// True for a note that is not damage: nothing is lost, and nothing needs to be done.
    #[serde(default)]
    pub is_note: bool,
}

impl Finding {
    pub(super) fn of(error: &Error, is_repaired: bool) -> Self {
        let ReportedFault {
            place,
            offset,
            problem,
        } = ReportedFault::of(error);
        Self {
            file: place,
            offset,
            problem,
            is_repaired,
            is_note: false,
        }
    }

    pub(super) fn at(file: String, problem: &str, is_repaired: bool) -> Self {
        Self {
            file,
            offset: None,
            problem: problem.to_owned(),
            is_repaired,
            is_note: false,
        }
    }

    /// Finding for a damaged record, with the remedy.
    fn of_record(error: &Error) -> Self {
        let mut finding = Self::of(error, false);
        finding
            .problem
            .push_str(": import the record again, or delete it (subcat record delete)");
        finding
    }

    /// Finding for damage contained earlier, with its treatment.
    fn of_contained(entry: DamageEntry) -> Self {
        Self {
            file: entry.place,
            offset: entry.offset,
            problem: format!("{}: {}", entry.problem, entry.outcome),
            is_repaired: true,
            is_note: false,
        }
    }
}

/// Checks every file of the data directory; repairs derived files if `is_repairing`.
pub(crate) fn verify(database: &Database, is_repairing: bool) -> Result<Vec<Finding>> {
    let Database { catalog, state, .. } = database;
    let mut findings = Vec::new();
    verify_store(state.store(), "state.redb", STATE_TABLES, &mut findings);
    let (store, tables) = (catalog.store(), CATALOG_TABLES);
    if !verify_store(store, "catalog.redb", tables, &mut findings) {
        // Records older than the index says are among the damaged records below.
        catalog.contain_all_contradicted()?;
    }
    for (store, file) in database.stores() {
        if !store.has_its_sum()? {
            let advice = "run `subcat cluster join` with an empty data directory";
            let problem = format!("{SUM_OF_ROWS} were expected: {advice}");
            findings.push(Finding::at(file.to_owned(), &problem, false));
        }
    }
    let damaged_records = catalog.check_records()?;
    findings.extend(damaged_records.iter().map(Finding::of_record));
    for finding in catalog.check_index(is_repairing)? {
        findings.push(match finding {
            IndexFinding::Damaged(error) => Finding::of(&error, is_repairing),
            IndexFinding::Unnamed(file) => {
                Finding::at(file, "the manifest does not name it", is_repairing)
            }
        });
    }
    if let Err(error) = database.ensure_blobs_present() {
        if is_repairing {
            database.blobs.mark_present(false);
        }
        findings.push(Finding::of(&error, is_repairing));
    }
    findings.extend(verify_blobs(database, is_repairing)?);
    for (file, offset) in database.counters.torn_entries()? {
        let expected = "an entry that matches its checksum";
        findings.push(Finding::of(&Error::corrupt(file, offset, expected), false));
    }
    verify_names(database, &mut findings)?;
    // Last, as the checks above meet some of it. The checks have found all that still exists.
    let contained = database.damage.take_for_report().into_iter();
    let repaired = contained.filter(|entry| entry.is_repaired);
    findings.extend(repaired.map(Finding::of_contained));
    Ok(findings)
}

/// Checks cached files and everything else among them.
fn verify_blobs(database: &Database, is_repairing: bool) -> Result<Vec<Finding>> {
    let Database {
        blobs, second_home, ..
    } = database;
    let state = &database.state;
    let mut walk = ContentWalk::new(state.store(), state);
    let mut findings = Vec::new();
    while let Some(files) = walk.next_page()? {
        for file in files {
            if let Err(error) = blobs.check_content(&file)
                && !second_home.is_elsewhere(&file.content, blobs)?
            {
                findings.push(Finding::of(&error, false));
            }
        }
    }
    let mut orphans = Vec::new();
    for finding in blobs.verify_names(&|content| state.has_content(*content), is_repairing)? {
        findings.push(match finding {
            BlobFinding::DamagedVariant(file) => Finding::at(
                file,
                "a variant that matches its checksum was expected",
                is_repairing,
            ),
            BlobFinding::Orphan(orphan) => {
                let name = orphan.name.clone();
                orphans.push(orphan);
                Finding {
                    is_note: true,
                    ..Finding::at(name, "no cached file refers to it", is_repairing)
                }
            }
            BlobFinding::Foreign(file) => {
                Finding::at(file, "it is not a cached file", is_repairing)
            }
        });
    }
    if is_repairing {
        remove_orphans(database, &orphans)?;
    }
    Ok(findings)
}

/// Reports names in the data directory that are not part of its format.
fn verify_names(database: &Database, findings: &mut Vec<Finding>) -> Result<()> {
    let data_dir = database.data_dir();
    for entry in data_dir.disk().list(data_dir.root())?.unwrap_or_default() {
        if !is_known(&entry.name) {
            findings.push(Finding::at(entry.name, "it is not a subcat file", false));
        } else if is_damaged_copy(&entry.name) || is_left_by_restore(&entry.name) {
            let problem = "something else has replaced it: remove it when it is not needed";
            findings.push(Finding {
                is_note: true,
                ..Finding::at(entry.name, problem, false)
            });
        }
    }
    Ok(())
}

/// Checks the pages of a store, then every value. Returns false if a page differs.
fn verify_store(store: &Store, file: &str, tables: &[Table], findings: &mut Vec<Finding>) -> bool {
    let checked = store.check();
    if let Err(error) = &checked {
        findings.push(Finding::at(file.to_owned(), &error_chain(error), false));
    }
    // Records are decoded one by one elsewhere, where their ids are known.
    for table in tables.iter().filter(|table| **table != RECORDS) {
        let inspected = store.read(|rows| {
            rows.inspect(*table, Span::ALL, &mut |_, value| {
                if let Err(error) = value {
                    findings.push(Finding::of(&error, false));
                }
                Ok(ControlFlow::Continue(()))
            })
        });
        if let Err(error) = inspected {
            let place = format!("{file}, table {}", table.0);
            findings.push(Finding::at(place, &error_chain(&error), false));
        }
    }
    checked.is_ok()
}
