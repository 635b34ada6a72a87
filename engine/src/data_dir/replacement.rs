//! Replacing what is in a data directory that cannot be renamed itself, such as the mount point of
//! a volume.
//!
//! The replacement is built in a folder in it. The name of that folder then records the progress:
//!
//! ```text
//! restoring ──────> restoring-out-N ───────────────> restoring-in-N ─────────────> (gone)
//!   built in full     old names go to replaced-N       new names come, one by one
//! ```
//!
//! Each step can be repeated, and the next process that opens the directory continues with it:
//! killed before the first arrow nothing is replaced, and after it everything is.

use std::path::{Path, PathBuf};

use super::names::{IN, OUT, REPLACED, STAGING, is_moved, numbered};
use crate::disk::Disk;
use crate::error::Result;

/// Puts the files in [`STAGING`] in the place of those in `root`. The caller holds the lock of
/// `root`. Returns the folder that keeps the old names; `None` if there were none.
pub(crate) fn replace_inside(disk: &dyn Disk, root: &Path) -> Result<Option<PathBuf>> {
    let entries = disk.list(root)?.unwrap_or_default();
    let last = entries
        .iter()
        .filter_map(|entry| numbered(&entry.name, REPLACED));
    let number = last.max().unwrap_or(0) + 1;
    let has_old = entries.iter().any(|entry| is_moved(&entry.name));
    disk.rename(&root.join(STAGING), &root.join(format!("{OUT}{number}")))?;
    disk.sync_dir(root)?;
    finish_replacement(disk, root)?;
    Ok(has_old.then(|| root.join(format!("{REPLACED}{number}"))))
}

/// Continues a replacement that was begun and not finished. The caller holds the lock.
pub(crate) fn finish_replacement(disk: &dyn Disk, root: &Path) -> Result<()> {
    let entries = disk.list(root)?.unwrap_or_default();
    let find = |beginning| {
        let mut numbers = entries.iter().filter_map(|e| numbered(&e.name, beginning));
        numbers.next()
    };
    if let Some(number) = find(OUT) {
        move_out(disk, root, number)?;
        return move_in(disk, root, number);
    }
    match find(IN) {
        Some(number) => move_in(disk, root, number),
        None => Ok(()),
    }
}

fn move_out(disk: &dyn Disk, root: &Path, number: u32) -> Result<()> {
    let replaced = root.join(format!("{REPLACED}{number}"));
    let mut names = names_in(disk, root)?;
    if !names.is_empty() {
        disk.create_dir(&replaced)?;
    }
    // Last: without it what is left is not a data directory to other programs.
    names.sort_by_key(|name| name == "format");
    for name in names {
        disk.rename(&root.join(&name), &replaced.join(&name))?;
    }
    if disk.list(&replaced)?.is_some() {
        disk.sync_dir(&replaced)?;
    }
    disk.sync_dir(root)?;
    let (from, to) = (format!("{OUT}{number}"), format!("{IN}{number}"));
    disk.rename(&root.join(from), &root.join(to))?;
    disk.sync_dir(root)
}

fn move_in(disk: &dyn Disk, root: &Path, number: u32) -> Result<()> {
    let staging = root.join(format!("{IN}{number}"));
    let mut names = names_in(disk, &staging)?;
    names.sort_by_key(|name| name != "format");
    for name in names {
        disk.rename(&staging.join(&name), &root.join(&name))?;
    }
    disk.sync_dir(&staging)?;
    disk.sync_dir(root)?;
    disk.remove_dir(&staging)?;
    disk.sync_dir(root)
}

/// Names that a replacement moves.
fn names_in(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>> {
    let entries = disk.list(dir)?.unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.name);
    Ok(names.filter(|name| is_moved(name)).collect())
}
