//! Checking every block of every segment file, and the manifest against the folder.

use super::catalog_store::Catalog;
use super::segment_files::file_name;
use super::tables::ManifestEntry;
use crate::error::{Error, Result};

/// A fault of the index that a check found.
#[derive(Debug)]
pub(crate) enum IndexFinding {
    /// A segment file is missing or damaged. Repaired if the check repairs.
    Damaged(Error),
    /// A file that the manifest does not name. Removed if the check repairs.
    Unnamed(String),
}

impl Catalog {
    /// Checks the index. If `is_repairing`, damaged segments get successors, and files that the
    /// manifest does not name are removed.
    ///
    /// Cost: reads every segment file. The writer is locked before and after, not during the reads.
    pub(crate) fn check_index(&self, is_repairing: bool) -> Result<Vec<IndexFinding>> {
        let mut findings = Vec::new();
        let entries = {
            let mut writer = self.writer.lock();
            self.ensure_recovered(&mut writer)?;
            self.store.read(ManifestEntry::read_all)?
        };
        let mut damaged = self.damaged_segments(&entries);
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        // A merge may have replaced damaged segments by now: they no longer matter.
        let entries = self.store.read(ManifestEntry::read_all)?;
        damaged.retain(|(number, _)| entries.iter().any(|entry| entry.number == *number));
        for (number, damage) in damaged {
            findings.push(IndexFinding::Damaged(damage));
            if is_repairing {
                let file = format!("index/{}", file_name(number));
                let expected = "blocks that match their checksums";
                writer.take_out(number, Error::corrupt(file, 0, expected));
            }
        }
        if writer.is_partial() && is_repairing {
            self.publish(&mut writer);
            drop(writer);
            while self.build_successors()? {}
            writer = self.writer.lock();
        }
        if writer.is_writing_files() {
            // A file that the manifest does not name may be still being written.
            return Ok(findings);
        }
        let numbers = writer.segment_numbers();
        let unnamed = self.files.others(&numbers)?.into_iter();
        findings.extend(unnamed.map(|name| IndexFinding::Unnamed(format!("index/{name}"))));
        if is_repairing {
            self.files.remove_others(&numbers)?;
        }
        Ok(findings)
    }

    /// Segments of the manifest that are missing or damaged, by number.
    fn damaged_segments(&self, entries: &[ManifestEntry]) -> Vec<(u64, Error)> {
        let mut damaged = Vec::new();
        for entry in entries {
            // Opened anew, by name: the mapping in use would not show that the file was removed or
            // replaced.
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
        damaged
    }
}
