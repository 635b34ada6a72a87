//! Damage that was met and contained, for the server's log and for `verify`.
//!
//! The engine writes no log. A part that meets damage and continues without the damaged thing notes
//! it here; the owner of the engine asks for new entries.

use parking_lot::Mutex;

use crate::error::{Error, error_chain};
use crate::limits::DAMAGE_ENTRIES_MAX;

/// A damaged part that was met, and its treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamageEntry {
    /// File, table or record below the data directory; empty if unknown.
    pub place: String,
    /// Offset in bytes, if known.
    pub offset: Option<u64>,
    /// One clause: the fault found there.
    pub problem: String,
    /// One clause: the treatment, and what an operator can do.
    pub outcome: &'static str,
    /// True if nothing is left to do.
    pub is_repaired: bool,
}

/// An error as a report names it.
pub(crate) struct ReportedFault {
    /// Its file; empty if unknown.
    pub(crate) place: String,
    pub(crate) offset: Option<u64>,
    /// One clause.
    pub(crate) problem: String,
}

impl ReportedFault {
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::Corrupt {
                file,
                offset,
                expected,
            } => Self {
                place: file.clone(),
                offset: Some(*offset),
                problem: format!("{expected} was expected"),
            },
            other => Self {
                place: String::new(),
                offset: None,
                problem: error_chain(other),
            },
        }
    }
}

/// Treatment of something damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Derived: it is made anew.
    Rebuilt,
    /// A number that follows from other rows.
    Derived,
    /// A stored change that cannot be shown yet.
    ShownLater,
    /// A record: neither found nor served.
    RecordLeftOut,
    /// A row of little value by itself: it was removed.
    Dropped,
    /// A cached file: the next download fetches it.
    Forgotten,
    /// A cached file that object storage has, too: the next download fetches it from there.
    BroughtBack,
    /// A sum: it is counted from zero again.
    CountedAnew,
    /// An account or a key that cannot be used.
    Disabled,
    /// An account or a key that is out of use by the audit log: it is disabled or revoked again.
    RevokedAgain,
    /// A row that differs from the one stored last: it is stored again.
    StoredAgain,
    /// A store file with a page that differs from the one written last, found at a start.
    Copied,
    /// The same, which is in use all the same.
    Unverified,
}

impl Treatment {
    const fn outcome(self) -> &'static str {
        match self {
            Self::Rebuilt => "rebuilt from the records",
            Self::Derived => "derived anew from other rows",
            Self::ShownLater => "what was stored is shown when this is repaired",
            Self::RecordLeftOut => {
                "the record is left out: import it again, or delete it (subcat record delete)"
            }
            Self::Dropped => "dropped",
            Self::Forgotten => "forgotten: the next download fetches it",
            Self::BroughtBack => "removed: the next download gets it from object storage",
            Self::CountedAnew => "counted from zero again",
            Self::Disabled => "left out: restore a backup, or make a new one",
            Self::RevokedAgain => "out of use again, as the audit log says",
            Self::StoredAgain => "stored again from memory",
            Self::Copied => {
                "all rows were copied into a new file, though some may be older than they were: \
                 compare with a backup (the damaged file is kept beside it)"
            }
            Self::Unverified => {
                "in use, though a part may be older than it was: stop the server and run subcat \
                 verify --repair, or restore a backup (subcat restore)"
            }
        }
    }

    /// Returns true if a row of the truth is lost, or is not what was stored last. The nodes of a
    /// cluster share these rows.
    const fn is_of_truth(self) -> bool {
        !matches!(
            self,
            Self::Rebuilt | Self::ShownLater | Self::Forgotten | Self::BroughtBack
        )
    }

    /// Returns true if the damaged bytes are gone.
    const fn is_repair(self) -> bool {
        matches!(
            self,
            Self::Rebuilt
                | Self::Derived
                | Self::Dropped
                | Self::Forgotten
                | Self::BroughtBack
                | Self::CountedAnew
                | Self::RevokedAgain
                | Self::StoredAgain
                | Self::Copied
        )
    }
}

/// Log of the damage met since the data directory was opened.
#[derive(Default)]
pub(crate) struct DamageLog {
    noted: Mutex<Noted>,
    /// The first damage of the truth itself.
    doubt: Mutex<Option<String>>,
}

#[derive(Default)]
struct Noted {
    entries: Vec<DamageEntry>,
    /// Count of entries handed over for the log.
    logged_count: usize,
    /// Count of entries handed over for a report.
    reported_count: usize,
}

impl DamageLog {
    /// Notes damage. Only the first [`DAMAGE_ENTRIES_MAX`] entries are kept: `verify` finds all.
    pub(crate) fn note(&self, error: &Error, treatment: Treatment) {
        let ReportedFault {
            place,
            offset,
            problem,
        } = ReportedFault::of(error);
        let entry = DamageEntry {
            place,
            offset,
            problem,
            outcome: treatment.outcome(),
            is_repaired: treatment.is_repair(),
        };
        if treatment.is_of_truth() {
            self.doubt.lock().get_or_insert_with(|| error_chain(error));
        }
        let mut noted = self.noted.lock();
        if noted.entries.len() < DAMAGE_ENTRIES_MAX {
            noted.entries.push(entry);
        }
    }

    /// The first damage after which the rows of the truth may not be those that were stored last.
    pub(crate) fn doubt(&self) -> Option<String> {
        self.doubt.lock().clone()
    }

    /// The entries since the last call, for the log.
    pub(crate) fn take_for_log(&self) -> Vec<DamageEntry> {
        let mut noted = self.noted.lock();
        let fresh = noted.entries[noted.logged_count..].to_vec();
        noted.logged_count = noted.entries.len();
        fresh
    }

    /// The entries since the last call, for a report.
    pub(crate) fn take_for_report(&self) -> Vec<DamageEntry> {
        let mut noted = self.noted.lock();
        let fresh = noted.entries[noted.reported_count..].to_vec();
        noted.reported_count = noted.entries.len();
        fresh
    }
}
