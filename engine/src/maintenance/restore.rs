//! Putting a backup in the place of a data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::verify::verify;
use crate::data_dir::{
    DataDir, SEALING_KEY, STAGING, beside, fresh_place, has_format, parent_of, refuse_foreign,
    replace_inside,
};
use crate::database::{Database, StoreParameters};
use crate::disk::{DirLock, Disk, publish_file, read_file};
use crate::error::{Error, Result};
use crate::model::NodeId;

/// Bytes copied at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Files that are copied; the others are derived, or belong to a process.
const FILES: [&str; 2] = ["catalog.redb", "state.redb"];
const FOLDERS: [&str; 2] = ["blobs", "counters"];
/// A folder that exists only if blobs have a second home.
const UPLOADS: &str = "uploads";

/// Result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Records, active or not.
    pub records: u64,
    /// Count of blobs.
    pub files: u64,
    /// Path of the replaced data directory now; `None` if there was none.
    pub replaced: Option<PathBuf>,
}

/// Puts a copy of `source` (a backup, or the data directory of a stopped server) in the place of
/// the data directory `data`.
///
/// The copy is made beside it, opened, checked like [`crate::Engine::verify`] does, made durable,
/// and exchanged for it in one step. What was there is kept under another name. Killed before
/// that step, everything is unchanged. The sealing key stays: a backup has none. Of a backup the
/// copy becomes the node `node`, a random number.
///
/// A directory that cannot be renamed (a mount point, or one whose parent cannot be written) keeps
/// its name: the copy is made in it, and what was there goes into a folder `replaced-N` in it. Once
/// that has begun, the next to open the directory finishes it.
///
/// Errors: [`Error::Locked`] when `data` is in use, [`Error::Unfinished`], [`Error::Damaged`].
pub fn restore(disk: &Arc<dyn Disk>, source: &Path, data: &Path, node: NodeId) -> Result<Restored> {
    if !has_format(disk.as_ref(), source)? {
        let path = source.to_path_buf();
        return Err(Error::Unfinished { path });
    }
    // Held until the copy is made: files of a directory in use would be of different moments.
    let source_lock = lock_source(disk.as_ref(), source)?;
    let parent = parent_of(data);
    let has_old = disk.list(data)?.is_some();
    if !has_old {
        disk.create_dir(&parent)?;
    }
    // Held until the exchange is done: no server starts on a directory that is being replaced.
    let mut lock = None;
    if has_old {
        refuse_foreign(disk.as_ref(), data)?;
        lock = Some(disk.lock(&data.join("lock"))?);
    }
    let is_fixed = has_old && is_fixed(disk.as_ref(), data)?;
    let staging = if is_fixed {
        data.join(STAGING)
    } else {
        beside(data, ".restoring")
    };
    fresh_place(disk.as_ref(), &staging)?;
    let mut restored = match build(disk, source, &staging, node) {
        Ok(restored) => restored,
        Err(error) => {
            // The error is reported; the next restore removes what is left.
            let _ = disk.remove_dir(&staging);
            return Err(error);
        }
    };
    drop(source_lock);
    carry_sealing_key(disk.as_ref(), &[source, data], &staging)?;
    if is_fixed {
        restored.replaced = replace_inside(disk.as_ref(), data)?;
        return Ok(restored);
    }
    if has_old {
        let replaced = free_name(disk.as_ref(), data)?;
        put_in_place(disk.as_ref(), &staging, data, &replaced)?;
        restored.replaced = Some(replaced);
    } else {
        disk.rename(&staging, data)?;
    }
    disk.sync_dir(&parent)?;
    drop(lock);
    Ok(restored)
}

/// Returns true if a directory cannot be renamed: it is a mount point, or nothing can be made
/// beside it.
fn is_fixed(disk: &dyn Disk, data: &Path) -> Result<bool> {
    if disk.is_mount_point(data)? {
        return Ok(true);
    }
    let place = beside(data, ".restoring");
    Ok(disk.list(&place)?.is_none() && disk.create_dir(&place).is_err())
}

/// Locks the copied directory, if possible: a backup may be on a read-only file system.
fn lock_source(disk: &dyn Disk, source: &Path) -> Result<Option<DirLock>> {
    match disk.lock(&source.join("lock")) {
        Err(Error::Io { .. }) => Ok(None),
        locked => locked.map(Some),
    }
}

/// Gives the copy the name of the data directory, and renames that one to `replaced`: in one step
/// if the file system can, else in two. After an error the data directory has its name.
fn put_in_place(disk: &dyn Disk, staging: &Path, data: &Path, replaced: &Path) -> Result<()> {
    disk.rename(staging, replaced)?;
    let Err(error) = disk.exchange(replaced, data) else {
        return Ok(());
    };
    disk.rename(replaced, staging)?;
    if !is_not_supported(&error) {
        // The error is reported; the next restore removes what is left.
        let _ = disk.remove_dir(staging);
        return Err(error);
    }
    disk.rename(data, replaced)?;
    disk.rename(staging, data).inspect_err(|_| {
        // There is no other remedy: both directories are intact under their present names.
        let _ = disk.rename(replaced, data);
    })
}

/// Returns true if the file system does not support the call.
fn is_not_supported(error: &Error) -> bool {
    use std::io::ErrorKind::{InvalidInput, Unsupported};
    let Error::Io { source, .. } = error else {
        return false;
    };
    [InvalidInput, Unsupported].contains(&source.kind())
}

/// Gives the copy the sealing key of the first directory that has one: a backup has none, and a
/// restored directory is opened with the key of the replaced one.
fn carry_sealing_key(disk: &dyn Disk, from: &[&Path], staging: &Path) -> Result<()> {
    for directory in from {
        let Some(key) = read_file(disk, &directory.join(SEALING_KEY))? else {
            continue;
        };
        let to = staging.join(SEALING_KEY);
        return publish_file(
            disk,
            &staging.join("tmp").join(SEALING_KEY),
            &to,
            &mut |out| out.write_all(&key).map_err(Error::io("write", &to)),
        );
    }
    Ok(())
}

/// Copies, opens and checks.
fn build(disk: &Arc<dyn Disk>, source: &Path, staging: &Path, node: NodeId) -> Result<Restored> {
    let copy = DataDir::open(Arc::clone(disk), staging)?;
    for name in FILES {
        copy_file(&copy, &source.join(name), &staging.join(name))?;
    }
    for folder in FOLDERS {
        copy_folder(&copy, &source.join(folder), &staging.join(folder))?;
    }
    if disk.list(&source.join(UPLOADS))?.is_some() {
        copy_folder(&copy, &source.join(UPLOADS), &staging.join(UPLOADS))?;
    }
    copy.finish()?;
    drop(copy);
    let database = Database::open(staging, Arc::clone(disk), StoreParameters::KEPT, 0, node)?;
    let mut findings = verify(&database, true)?;
    findings.retain(|finding| !finding.is_repaired);
    if let Some(first) = findings.first() {
        return Err(Error::Damaged {
            path: source.to_path_buf(),
            count: findings.len(),
            file: first.file.clone(),
            problem: first.problem.clone(),
        });
    }
    let restored = Restored {
        records: database.catalog.counts()?.0,
        files: database.state.contents_count(),
        replaced: None,
    };
    database.close()?;
    Ok(restored)
}

fn copy_folder(copy: &DataDir, from: &Path, to: &Path) -> Result<()> {
    copy.disk().create_dir(to)?;
    for entry in copy.disk().list(from)?.unwrap_or_default() {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        if entry.is_dir {
            copy_folder(copy, &from, &to)?;
        } else {
            copy_file(copy, &from, &to)?;
        }
    }
    copy.disk().sync_dir(to)
}

/// Copies a file durably.
fn copy_file(copy: &DataDir, from: &Path, to: &Path) -> Result<()> {
    let disk = copy.disk().as_ref();
    let missing = || Error::corrupt(from.display().to_string(), 0, "the file");
    let file = disk.open(from)?.ok_or_else(missing)?;
    let size_bytes = file.size_bytes().map_err(Error::io("read", from))?;
    publish_file(disk, &copy.temporary("copy"), to, &mut |out| {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut offset = 0;
        while offset < size_bytes {
            let left = usize::try_from(size_bytes - offset).unwrap_or(usize::MAX);
            let piece = &mut chunk[..left.min(CHUNK_BYTES)];
            file.read_at(piece, offset)
                .map_err(Error::io("read", from))?;
            out.write_all(piece).map_err(Error::io("write", to))?;
            offset += piece.len() as u64;
        }
        Ok(())
    })
}

/// A free name beside the data directory.
fn free_name(disk: &dyn Disk, data: &Path) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let name = beside(data, &format!(".replaced-{number}"));
        if disk.list(&name)?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}
