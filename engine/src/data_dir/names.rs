//! Names in a data directory and beside it.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, is_of_others};
use crate::error::{Error, Result};

/// Every name that may stand in a data directory.
const NAMES: [&str; 11] = [
    "format",
    "lock",
    "catalog.redb",
    "state.redb",
    "index",
    "blobs",
    "uploads",
    "counters",
    "tmp",
    "admin.sock",
    SEALING_KEY,
];

/// Folder in which the new files of the directory are built.
pub(crate) const STAGING: &str = "restoring";
/// Prefixes of its later names, and of the folder that keeps the old files.
pub(super) const OUT: &str = "restoring-out-";
pub(super) const IN: &str = "restoring-in-";
pub(super) const REPLACED: &str = "replaced-";

/// Name of the file of the sealing key.
pub(crate) const SEALING_KEY: &str = "sealing.key";

/// Between the name of a damaged file and the number of its copy.
const DAMAGED_ENDING: &str = ".damaged-";

/// Makes sure that `place` is free, for a directory that will be renamed; what a killed process
/// left there is removed. Errors: [`Error::Locked`] if another process works in it.
pub(crate) fn fresh_place(disk: &dyn Disk, place: &Path) -> Result<()> {
    if disk.list(place)?.is_some() {
        refuse_foreign(disk, place)?;
        drop(disk.lock(&place.join("lock"))?);
        disk.remove_dir(place)?;
    }
    Ok(())
}

/// Empties `place` but for the blobs, which an interrupted backup may have left there. Errors:
/// [`Error::Locked`] if another process works in it.
pub(crate) fn empty_but_for_blobs(disk: &dyn Disk, place: &Path) -> Result<()> {
    let Some(entries) = disk.list(place)? else {
        return Ok(());
    };
    refuse_foreign(disk, place)?;
    drop(disk.lock(&place.join("lock"))?);
    // First: from here on nothing takes it for a finished data directory.
    disk.remove(&place.join("format"))?;
    for entry in entries {
        let path = place.join(&entry.name);
        match entry.name.as_str() {
            "blobs" | "format" | "lock" => {}
            name if is_of_others(name) => {}
            _ if entry.is_dir => disk.remove_dir(&path)?,
            _ => disk.remove(&path).map(drop)?,
        }
    }
    Ok(())
}

/// A directory without `format` must be empty, or one that we did not finish making.
pub(crate) fn refuse_foreign(disk: &dyn Disk, root: &Path) -> Result<()> {
    let entries = disk.list(root)?.unwrap_or_default();
    if entries.iter().any(|entry| entry.name == "format") {
        return Ok(());
    }
    let foreign = entries.into_iter().find(|entry| !is_known(&entry.name));
    match foreign {
        None => Ok(()),
        Some(entry) => Err(Error::Foreign {
            path: root.to_path_buf(),
            entry: entry.name,
        }),
    }
}

/// Returns true if a name may stand in a data directory.
pub(crate) fn is_known(name: &str) -> bool {
    let is_of_replacement = name == STAGING
        || [OUT, IN, REPLACED]
            .iter()
            .any(|it| numbered(name, it).is_some());
    is_of_replacement || NAMES.contains(&name) || is_damaged_copy(name) || is_of_others(name)
}

/// Returns true for a folder that a restore has left: the old files, or those it was building.
pub(crate) fn is_left_by_restore(name: &str) -> bool {
    name == STAGING || numbered(name, REPLACED).is_some()
}

/// Returns true if a name moves with the data directory's files: not the lock, which is held, nor
/// the socket of a server.
pub(super) fn is_moved(name: &str) -> bool {
    let is_of_process = ["lock", "admin.sock"].contains(&name);
    (NAMES.contains(&name) && !is_of_process) || is_damaged_copy(name)
}

/// The number behind the beginning of a name.
pub(super) fn numbered(name: &str, beginning: &str) -> Option<u32> {
    name.strip_prefix(beginning)?.parse().ok()
}

/// The name under which a damaged file is kept when it is replaced.
pub(crate) fn damaged_name(file: &str, number: u32) -> String {
    format!("{file}{DAMAGED_ENDING}{number}")
}

/// Returns true for a file that was replaced because it was damaged.
pub(crate) fn is_damaged_copy(name: &str) -> bool {
    let Some((file, number)) = name.split_once(DAMAGED_ENDING) else {
        return false;
    };
    NAMES.contains(&file) && number.parse::<u32>().is_ok()
}

/// The path with an ending put to its name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The directory that a path lies in.
pub(crate) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
