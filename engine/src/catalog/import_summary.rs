//! Result of an import.

use super::event::CatalogOutcome;

/// Result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSummary {
    /// Records that were new.
    pub inserted: u64,
    /// Records that replaced another one.
    pub updated: u64,
    /// Records equal to the stored ones.
    pub unchanged: u64,
}

impl ImportSummary {
    pub(crate) fn count(&mut self, outcomes: impl IntoIterator<Item = CatalogOutcome>) {
        for outcome in outcomes {
            match outcome {
                CatalogOutcome::Inserted => self.inserted += 1,
                CatalogOutcome::Changed => self.updated += 1,
                CatalogOutcome::Unchanged => self.unchanged += 1,
                CatalogOutcome::Unknown => {}
            }
        }
    }

    /// Records in all.
    pub(crate) fn records(&self) -> u64 {
        self.inserted + self.updated + self.unchanged
    }
}
