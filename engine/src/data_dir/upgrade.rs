//! Making a data directory of an older format one of the current format.
//!
//! ```text
//! found: older ─copy→ DATA.format-N-K ─mark→ tmp/upgrading ─step, format─┐→ found: current
//!                                                          └──────────────┘ for each step
//! ```
//! Killed anywhere, the next start goes on: a copy without its name, or without the mark, is made
//! anew, the mark says that the copy is whole, and a step that was begun is run again from its
//! beginning.

use std::path::{Path, PathBuf};

use super::format::{Formats, publish_format, read_format_of};
use super::names::{SEALING_KEY, beside, fresh_place, parent_of};
use crate::disk::{Disk, publish_file};
use crate::error::{Error, Result};
use crate::limits::FREE_BYTES_MIN;

/// Present in `tmp/` while the directory is upgraded, once it was copied.
const MARK: &str = "tmp/upgrading";
/// Names that are not copied: derived, never changed by a step, or of a process.
const NOT_COPIED: [&str; 6] = ["index", "blobs", "tmp", "lock", "admin.sock", SEALING_KEY];
/// Bytes copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Makes a locked data directory one of the current format. Returns false if it has no format file.
///
/// What the steps may change is copied first, to `DATA.format-N-K` beside it: N is the format, K
/// the first number that is free.
///
/// Errors: [`Error::Format`], [`Error::Space`] if there is no space for the copy.
pub(super) fn upgrade(disk: &dyn Disk, root: &Path, formats: &Formats) -> Result<bool> {
    let Some(found) = read_format_of(disk, root, formats)? else {
        return Ok(false);
    };
    let steps = formats.steps_from(found, root)?;
    if !steps.is_empty() && disk.size_bytes(&root.join(MARK))?.is_none() {
        disk.create_dir(&root.join("tmp"))?;
        keep_copy(disk, root, found)?;
        mark_copied(disk, root)?;
    }
    for (format, step) in (found + 1..).zip(steps) {
        step(disk, root)?;
        publish_format(disk, root, format)?;
    }
    Ok(true)
}

/// Says that there is a copy of the directory as it is: the upgrade needs none.
pub(super) fn mark_copied(disk: &dyn Disk, root: &Path) -> Result<()> {
    publish_file(
        disk,
        &root.join("tmp/upgrading.new"),
        &root.join(MARK),
        &mut |_| Ok(()),
    )
}

/// Copies what a step may change. The copy gets its name when it is whole and durable.
fn keep_copy(disk: &dyn Disk, root: &Path, found: u32) -> Result<()> {
    let parent = parent_of(root);
    let mut needed_bytes = FREE_BYTES_MIN;
    let entries = disk.list(root)?.unwrap_or_default();
    let copied = || {
        let is_copied = |name: &str| !NOT_COPIED.contains(&name);
        entries.iter().filter(move |entry| is_copied(&entry.name))
    };
    for entry in copied() {
        needed_bytes += entry.size_bytes;
        if entry.is_dir {
            let inner = disk.list(&root.join(&entry.name))?.unwrap_or_default();
            needed_bytes += inner.iter().map(|entry| entry.size_bytes).sum::<u64>();
        }
    }
    let free_bytes = disk.free_bytes(&parent)?;
    if free_bytes < needed_bytes {
        let path = parent;
        return Err(Error::Space {
            path,
            free_bytes,
            needed_bytes,
        });
    }
    let partial = beside(root, &format!(".format-{found}.partial"));
    fresh_place(disk, &partial)?;
    disk.create_dir(&partial)?;
    // First: it tells the next try that this directory is one of ours.
    copy_file(disk, &root.join("format"), &partial.join("format"))?;
    for entry in copied() {
        let (from, to) = (root.join(&entry.name), partial.join(&entry.name));
        if entry.is_dir {
            disk.create_dir(&to)?;
            for inner in disk.list(&from)?.unwrap_or_default() {
                copy_file(disk, &from.join(&inner.name), &to.join(&inner.name))?;
            }
            disk.sync_dir(&to)?;
        } else {
            copy_file(disk, &from, &to)?;
        }
    }
    disk.sync_dir(&partial)?;
    disk.rename(&partial, &free_name(disk, root, found)?)?;
    disk.sync_dir(&parent)
}

/// Copies a file; its name is durable with the next sync of the directory.
fn copy_file(disk: &dyn Disk, from: &Path, to: &Path) -> Result<()> {
    let missing = || Error::corrupt(from.display().to_string(), 0, "the file");
    let source = disk.open(from)?.ok_or_else(missing)?;
    let size_bytes = source.size_bytes().map_err(Error::io("read", from))?;
    let copy = disk.create(to)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut offset = 0;
    while offset < size_bytes {
        let left = usize::try_from(size_bytes - offset).unwrap_or(usize::MAX);
        let piece = &mut chunk[..left.min(CHUNK_BYTES)];
        let read = source.read_at(piece, offset);
        read.map_err(Error::io("read", from))?;
        copy.write_at(piece, offset)
            .map_err(Error::io("write", to))?;
        offset += piece.len() as u64;
    }
    copy.sync().map_err(Error::io("sync", to))
}

/// A name for the copy that nothing has.
fn free_name(disk: &dyn Disk, root: &Path, found: u32) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let name = beside(root, &format!(".format-{found}-{number}"));
        if disk.list(&name)?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::data_dir::DataDir;
    use crate::disk::{Fault, Faulty, PowerCut, Real, read_file};

    /// A made-up past: format 7 called `state.redb` by another name, format 8 began every file with
    /// other letters.
    const FORMATS: Formats = Formats {
        current: 9,
        steps: &[rename_accounts, change_letters],
    };
    /// The same program before it knew format 9, and one that has forgotten format 7.
    const BEFORE: Formats = Formats {
        current: 8,
        steps: &[rename_accounts],
    };
    const FORGETFUL: Formats = Formats {
        current: 9,
        steps: &[change_letters],
    };

    fn rename_accounts(disk: &dyn Disk, root: &Path) -> Result<()> {
        let from = root.join("accounts.redb");
        if disk.size_bytes(&from)?.is_some() {
            disk.rename(&from, &root.join("state.redb"))?;
        }
        disk.sync_dir(root)
    }

    fn change_letters(disk: &dyn Disk, root: &Path) -> Result<()> {
        for name in ["catalog.redb", "state.redb", "counters/1.count"] {
            let path = root.join(name);
            let old = read_file(disk, &path)?.expect("the file is there");
            let new = String::from_utf8(old).unwrap().replace("eight", "nine");
            publish_file(disk, &root.join("tmp/letters"), &path, &mut |out| {
                out.write_all(new.as_bytes())
                    .map_err(Error::io("write", &path))
            })?;
        }
        Ok(())
    }

    fn prepare(root: &Path) {
        for folder in ["counters", "blobs", "index", "tmp"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (name, content) in [
            ("accounts.redb", "eight accounts"),
            ("catalog.redb", "eight records"),
            ("counters/1.count", "eight downloads"),
            ("blobs/mark", ""),
            ("index/1.seg", "a segment"),
        ] {
            fs::write(root.join(name), content).unwrap();
        }
        publish_format(&Real, root, 7).unwrap();
    }

    fn content(root: &Path, name: &str) -> String {
        fs::read_to_string(root.join(name)).unwrap()
    }

    fn ensure_upgraded(root: &Path) {
        for (name, expected) in [
            ("state.redb", "nine accounts"),
            ("catalog.redb", "nine records"),
            ("counters/1.count", "nine downloads"),
        ] {
            assert_eq!(content(root, name), expected);
        }
        assert!(!root.join("accounts.redb").exists());
        assert!(!root.join(MARK).exists());
        let copy = beside(root, ".format-7-1");
        for (name, expected) in [
            ("accounts.redb", "eight accounts"),
            ("catalog.redb", "eight records"),
            ("counters/1.count", "eight downloads"),
        ] {
            assert_eq!(content(&copy, name), expected);
        }
        assert_eq!(read_format_of(&Real, &copy, &FORMATS).unwrap(), Some(7));
        assert!(!copy.join("index").exists());
        // Of an upgrade that failed between the copy and its mark there is another one.
        let names = fs::read_dir(root.parent().unwrap()).unwrap().count();
        assert!((2..=3).contains(&names), "the directory and its copy");
    }

    #[test]
    fn an_older_directory_is_upgraded_after_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data");
        prepare(&root);
        for _ in 0..2 {
            let opened = DataDir::open_as(Arc::new(Real), &root, &FORMATS).unwrap();
            assert!(!opened.is_new());
            ensure_upgraded(&root);
        }
    }

    #[test]
    fn an_upgrade_that_fails_at_any_operation_goes_on() {
        for op_idx in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("data");
            prepare(&root);
            let faulty = Arc::new(Faulty::new(Fault::at(op_idx)));
            let open = || DataDir::open_as(Arc::clone(&faulty) as _, &root, &FORMATS);
            let is_reached = open().is_err();
            faulty.set_fault(Fault::NONE);
            drop(open().unwrap());
            ensure_upgraded(&root);
            if !is_reached {
                assert!(30 < op_idx, "only {op_idx} operations");
                return;
            }
        }
    }

    /// The next start goes on with all that a power cut can leave.
    #[test]
    fn an_upgrade_survives_a_power_cut_at_any_operation() {
        for cut_at in 0.. {
            let dir = tempfile::tempdir().unwrap();
            prepare(&dir.path().join("data"));
            let cut = Arc::new(PowerCut::new(dir.path(), cut_at, None).unwrap());
            let disk = Arc::clone(&cut) as Arc<dyn Disk>;
            let opened = DataDir::open_as(disk, &dir.path().join("data"), &FORMATS);
            if cut.ops_count() <= cut_at {
                drop(opened.unwrap());
                assert!(30 < cut_at, "only {cut_at} operations");
                return;
            }
            drop(opened);
            for seed in 0..8 {
                let left = tempfile::tempdir().unwrap();
                cut.write_survivors(left.path(), seed).unwrap();
                let root = left.path().join("data");
                drop(DataDir::open_as(Arc::new(Real), &root, &FORMATS).unwrap());
                ensure_upgraded(&root);
            }
        }
    }

    #[test]
    fn a_copy_is_not_put_in_the_place_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data");
        prepare(&root);
        let other = beside(&root, ".format-7-1");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("mine"), "x").unwrap();
        drop(DataDir::open_as(Arc::new(Real), &root, &FORMATS).unwrap());
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
        assert!(beside(&root, ".format-7-2/format").exists());
    }

    #[test]
    fn without_space_for_a_copy_nothing_is_changed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data");
        prepare(&root);
        let faulty = Arc::new(Faulty::new(Fault::NONE));
        faulty.set_free_bytes(FREE_BYTES_MIN);
        let refused = DataDir::open_as(Arc::clone(&faulty) as _, &root, &FORMATS);
        assert!(matches!(refused.err(), Some(Error::Space { .. })));
        assert_eq!(content(&root, "accounts.redb"), "eight accounts");
        assert_eq!(faulty.ops_count(), 0);
    }

    #[test]
    fn a_program_refuses_what_is_newer_and_what_it_has_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data");
        prepare(&root);
        let refusal = |formats| {
            let refused = DataDir::open_as(Arc::new(Real), &root, formats);
            refused.err().expect("it is refused").to_string()
        };
        let text = refusal(&FORGETFUL);
        assert!(text.contains("has format 7"), "{text}");
        assert!(text.contains("subcat export"), "{text}");
        drop(DataDir::open_as(Arc::new(Real), &root, &FORMATS).unwrap());
        let text = refusal(&BEFORE);
        assert!(text.contains("has format 9"), "{text}");
        assert!(text.contains("or a newer one"), "{text}");
        ensure_upgraded(&root);
    }

    /// As a restore makes it.
    #[test]
    fn a_copy_of_an_older_directory_is_upgraded_without_another_copy() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data");
        let copy = DataDir::open_as(Arc::new(Real), &root, &FORMATS).unwrap();
        for name in ["accounts.redb", "catalog.redb", "counters/1.count"] {
            fs::write(root.join(name), "eight").unwrap();
        }
        copy.finish_as(7).unwrap();
        drop(copy);
        drop(DataDir::open_as(Arc::new(Real), &root, &FORMATS).unwrap());
        assert_eq!(content(&root, "state.redb"), "nine");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
