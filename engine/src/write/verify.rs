//! The scrub: every file against its checksums, and against the others.

use super::database::Database;
use crate::blob::BlobFinding;
use crate::catalog::Catalog;
use crate::catalog::file_name;
use crate::catalog::{CATALOG_TABLES, ManifestEntry, RECORDS, record_id_of};
use crate::codec::decode_record;
use crate::error::{Error, Result};
use crate::state::STATE_TABLES;
use crate::store::{Store, Table};

/// What a scrub found wrong in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// File (or table) below the data directory.
    pub file: String,
    /// Byte, where it can be told.
    pub offset: Option<u64>,
    /// What is wrong.
    pub problem: String,
    /// Whether repairing has mended it.
    pub is_repaired: bool,
}

impl Finding {
    pub(super) fn of(error: &Error, is_repaired: bool) -> Self {
        match error {
            Error::Corrupt {
                file,
                offset,
                expected,
            } => Self {
                file: file.clone(),
                offset: Some(*offset),
                problem: format!("{expected} was expected"),
                is_repaired,
            },
            other => Self {
                file: String::new(),
                offset: None,
                problem: other.to_string(),
                is_repaired,
            },
        }
    }

    fn at(file: String, problem: &str, is_repaired: bool) -> Self {
        Self {
            file,
            offset: None,
            problem: problem.to_owned(),
            is_repaired,
        }
    }
}

impl Database {
    /// Checks everything; mends derived files when `is_repairing`.
    pub(crate) fn verify(&self, is_repairing: bool) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        verify_store(
            self.state.store(),
            "state.redb",
            STATE_TABLES,
            &mut findings,
        )?;
        let catalog = &self.catalog.store;
        verify_store(catalog, "catalog.redb", CATALOG_TABLES, &mut findings)?;
        self.catalog.verify_records(&mut findings)?;
        self.catalog.verify_index(is_repairing, &mut findings)?;
        self.verify_blobs(is_repairing, &mut findings)?;
        for (file, offset) in self.counters.torn_entries()? {
            findings.push(Finding {
                file,
                offset: Some(offset),
                problem: "an entry that matches its checksum was expected".to_owned(),
                is_repaired: false,
            });
        }
        self.verify_names(&mut findings)?;
        Ok(findings)
    }

    fn verify_blobs(&self, is_repairing: bool, findings: &mut Vec<Finding>) -> Result<()> {
        for finding in self.blobs.verify(&self.contents(), is_repairing)? {
            findings.push(match finding {
                BlobFinding::Damaged(error) => Finding::of(&error, false),
                BlobFinding::DamagedVariant(file) => Finding::at(
                    file,
                    "a variant that matches its checksum was expected",
                    is_repairing,
                ),
                BlobFinding::Unreferenced(file) => {
                    Finding::at(file, "no cached file refers to it", is_repairing)
                }
            });
        }
        Ok(())
    }

    /// Names in the data directory that nobody knows.
    fn verify_names(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let entries = self.data_dir().disk().list(self.data_dir().root())?;
        for entry in entries.unwrap_or_default() {
            if !crate::data_dir::is_known(&entry.name) {
                findings.push(Finding::at(entry.name, "it is no file of subcat", false));
            }
        }
        Ok(())
    }
}

/// Checks the pages of a store, then every value.
fn verify_store(
    store: &Store,
    file: &str,
    tables: &[Table],
    findings: &mut Vec<Finding>,
) -> Result<()> {
    if let Err(error) = store.check() {
        let problem = format!("{error}{}", cause(&error));
        findings.push(Finding::at(file.to_owned(), &problem, false));
    }
    for table in tables {
        let inspected = store.read(|rows| {
            rows.inspect(*table, &mut |_, value| {
                if let Err(error) = value {
                    findings.push(Finding::of(&error, false));
                }
            })
        });
        if let Err(error) = inspected {
            let problem = format!("{error}{}", cause(&error));
            let place = format!("{file}, table {}", table.0);
            findings.push(Finding::at(place, &problem, false));
        }
    }
    Ok(())
}

fn cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!(": {cause}"),
        None => String::new(),
    }
}

impl Catalog {
    /// Decodes every record.
    fn verify_records(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let inspected = self.store.read(|rows| {
            rows.inspect(RECORDS, &mut |row_key, value| {
                let Ok(value) = value else { return };
                let decoded = record_id_of(row_key).and_then(|id| decode_record(id, value));
                if let Err(error) = decoded {
                    findings.push(Finding::of(&error, false));
                }
            })
        });
        match inspected {
            // The check of the store has told it.
            Err(Error::Corrupt { .. } | Error::Store { .. }) => Ok(()),
            other => other,
        }
    }

    /// Checks every block of every segment, and the manifest against the folder. A damaged
    /// segment is mended by building all of them anew.
    fn verify_index(&self, is_repairing: bool, findings: &mut Vec<Finding>) -> Result<()> {
        let entries = {
            let mut writer = self.writer.lock();
            self.make_sure(&mut writer)?;
            for error in std::mem::take(&mut writer.mended) {
                findings.push(Finding::of(&error, true));
            }
            self.store.read(ManifestEntry::read_all)?
        };
        // Nobody waits while files are read.
        let mut damaged = Vec::new();
        for entry in &entries {
            let checked = match self.files.open(entry.number) {
                Ok(Some(segment)) => segment.verify_all(),
                Ok(None) => {
                    let file = format!("index/{}", file_name(entry.number));
                    Err(Error::corrupt(file, 0, "the file"))
                }
                Err(error) => Err(error),
            };
            damaged.extend(checked.err().map(|error| (entry.number, error)));
        }
        let mut writer = self.writer.lock();
        self.make_sure(&mut writer)?;
        // What a merge has replaced meanwhile does not matter any more.
        let entries = self.store.read(ManifestEntry::read_all)?;
        damaged.retain(|(number, _)| entries.iter().any(|entry| entry.number == *number));
        if !damaged.is_empty() && is_repairing {
            self.rebuild(&mut writer)?;
            self.publish(&mut writer);
        }
        let told = damaged.iter();
        findings.extend(told.map(|(_, error)| Finding::of(error, is_repairing)));
        let is_busy = !writer.building.is_empty() || writer.merging.is_some();
        if is_busy {
            return Ok(());
        }
        let numbers: Vec<u64> = writer.segments.iter().map(|live| live.number).collect();
        for name in self.files.others(&numbers)? {
            let problem = "the manifest does not name it";
            findings.push(Finding::at(format!("index/{name}"), problem, is_repairing));
        }
        if is_repairing {
            self.files.remove_others(&numbers)?;
        }
        Ok(())
    }
}
