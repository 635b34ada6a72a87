//! Random changes to an engine, and what each may leave behind.

use std::path::Path;

use subcat_tests::campaign::Random;

/// One change.
#[derive(Debug, Clone)]
pub enum Step {
    /// Records get this generation of their title.
    Import {
        records: std::ops::Range<u64>,
        generation: u64,
    },
    /// Records go.
    Delete(Vec<u64>),
    /// A record is hidden or shown.
    SetActive(u64, bool),
    /// A key is made.
    CreateKey(u64),
    /// The newest key is revoked.
    RevokeKey,
    /// The file of a release is stored.
    StoreFile(u64),
    /// Downloads of a record are counted, not synced.
    Count(u64, u64),
    /// Counts are made durable.
    SyncCounters,
    /// Counts move into the state.
    Aggregate,
    /// The delta becomes a segment, and segments are merged.
    Maintain,
    /// A backup is made.
    Backup(u64),
}

impl Step {
    /// Name for statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Import { .. } => "import",
            Self::Delete(_) => "delete",
            Self::SetActive(..) => "set active",
            Self::CreateKey(_) => "create a key",
            Self::RevokeKey => "revoke a key",
            Self::StoreFile(_) => "store a file",
            Self::Count(..) => "count",
            Self::SyncCounters => "sync counters",
            Self::Aggregate => "aggregate",
            Self::Maintain => "maintain",
            Self::Backup(_) => "backup",
        }
    }

    /// The next step of a history.
    pub fn choose(random: &mut Random, number: u64) -> Self {
        let record = random.below(60);
        match random.below(40) {
            0..=11 => Self::Import {
                records: record..record + 1 + random.below(12),
                generation: number,
            },
            12 | 13 => Self::Delete(vec![record, record + 3]),
            14 | 15 => Self::SetActive(record, random.below(2) == 0),
            16..=19 => Self::CreateKey(number),
            20..=22 => Self::RevokeKey,
            23..=26 => Self::StoreFile(number),
            27..=30 => Self::Count(record, 1 + random.below(5)),
            31 | 32 => Self::SyncCounters,
            33..=35 => Self::Aggregate,
            36..=38 => Self::Maintain,
            _ => Self::Backup(number),
        }
    }
}

/// Name of the backup with this number.
pub fn backup_dir(root: &Path, number: u64) -> std::path::PathBuf {
    root.join(format!("backup-{number}"))
}
