//! Dated backups in one folder; the newest are kept.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backup::{BackupPlace, BackupSummary, backup_to};
use crate::database::Database;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::model::Timestamp;

/// A backup in a folder of dated ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatedBackup {
    /// Directory of the backup.
    pub path: PathBuf,
    /// Summary of the backup.
    pub summary: BackupSummary,
}

/// Makes a backup named after the time in `folder`. Blobs that the newest one there has are linked,
/// not copied.
pub(crate) fn back_up_dated(
    database: &Database,
    folder: &Path,
    now: Timestamp,
) -> Result<DatedBackup> {
    let disk = database.data_dir().disk().as_ref();
    if disk.size_bytes(&folder.join("format"))?.is_some() {
        // In a data directory or a backup, dated ones would look like damage.
        let path = folder.to_path_buf();
        return Err(Error::Exists { path });
    }
    let name = free_name(disk, folder, now)?;
    let earlier = newest_backup(disk, folder)?;
    let place = BackupPlace::in_series(folder, &name, earlier);
    let summary = backup_to(database, &place)?;
    let path = folder.join(name);
    Ok(DatedBackup { path, summary })
}

/// The newest finished backup among the dated ones of a folder.
pub fn newest_backup(disk: &dyn Disk, folder: &Path) -> Result<Option<PathBuf>> {
    for path in dated(disk, folder)?.into_iter().rev() {
        if disk.size_bytes(&path.join("format"))?.is_some() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Removes the oldest dated backups of a folder, all but `kept_count`; one in use stays for the
/// next time. Returns the removed ones.
pub(crate) fn remove_older(
    disk: &dyn Disk,
    folder: &Path,
    kept_count: usize,
) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    let dated = dated(disk, folder)?;
    let surplus_count = dated.len().saturating_sub(kept_count);
    for path in dated.into_iter().take(surplus_count) {
        match disk.lock(&path.join("lock")) {
            Ok(_lock) => remove(disk, &path)?,
            Err(Error::Locked { .. }) => continue,
            Err(error) => return Err(error),
        }
        removed.push(path);
    }
    Ok(removed)
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<()> {
    // First and durably: the rest of an interrupted removal is not a finished backup.
    disk.remove(&path.join("format"))?;
    disk.sync_dir(path)?;
    disk.remove_dir(path)
}

/// Dated directories of a folder, oldest first.
fn dated(disk: &dyn Disk, folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = disk.list(folder)?.unwrap_or_default();
    let dated = entries
        .iter()
        .filter(|entry| entry.is_dir && is_dated(&entry.name));
    Ok(dated.map(|entry| folder.join(&entry.name)).collect())
}

/// Name for a backup made at this time; takes the next free second on a clash.
fn free_name(disk: &dyn Disk, folder: &Path, now: Timestamp) -> Result<String> {
    let names: HashSet<String> = disk
        .list(folder)?
        .unwrap_or_default()
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    let mut time = now;
    while names.contains(&name_of(time)) {
        let next = Timestamp::from_seconds(time.seconds() + 1);
        // The last second of all: the backup is refused, as its name is taken.
        let Some(next) = next else { break };
        time = next;
    }
    Ok(name_of(time))
}

/// The name of a backup of this time: `2026-11-23T165801Z`. Without colons, which `scp` and `rsync`
/// take for the end of a host's name.
fn name_of(time: Timestamp) -> String {
    time.to_string().replace(':', "")
}

/// Returns true for the names that [`name_of`] gives, and for no others: directories with these
/// names are removed.
fn is_dated(name: &str) -> bool {
    let Some((hours, rest)) = name.split_at_checked(13) else {
        return false;
    };
    let Some((minutes, seconds)) = rest.split_at_checked(2) else {
        return false;
    };
    let time = Timestamp::parse(&format!("{hours}:{minutes}:{seconds}"));
    time.is_some_and(|time| name_of(time) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_others() {
        let time = Timestamp::from_seconds(1_795_453_081).unwrap();
        let name = name_of(time);
        assert_eq!(name, "2026-11-23T165801Z");
        assert!(is_dated(&name));
        for other in [
            "",
            "2026-11-23",
            "2026-11-23T16:58:01Z",
            "2026-11-23T165801",
            "2026-11-23T165801Z.old",
            "2026-13-23T165801Z",
            "2026-11-23T165801+",
            "éééééééééééééé",
            "backup.partial",
        ] {
            assert!(!is_dated(other), "{other}");
        }
    }
}
