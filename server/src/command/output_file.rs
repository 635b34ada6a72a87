//! A file that a command writes.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::limits::OUTPUT_LINKS_MAX;

/// The output of a command that names a file.
///
/// A regular file, or a name that does not exist, appears whole or not at all: it is written beside
/// its place and renamed, with the mode and owner of the file that it replaces. Symbolic links are
/// followed. Devices, pipes and descriptors such as `/dev/stdout` are written to directly: a rename
/// would replace the device itself.
pub(super) struct OutputFile {
    file: File,
    replacement: Option<Replacement>,
}

struct Replacement {
    partial: PathBuf,
    target: PathBuf,
    /// The file that is replaced.
    previous: Option<Metadata>,
}

impl OutputFile {
    /// Begins to write to `path`.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let Target {
            path: target,
            is_descriptor,
        } = Target::of(path)?;
        let previous = match fs::metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let is_replaced = previous.as_ref().is_none_or(Metadata::is_file);
        if is_descriptor || !is_replaced {
            // The shell decides with `>` and `>>` where a descriptor's file is written.
            let file = OpenOptions::new().append(true).open(path)?;
            return Ok(Self {
                file,
                replacement: None,
            });
        }
        let mut partial = OsString::from(&target);
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        if previous.is_some() {
            // It gets the mode of the old file at the end, and is readable by its owner alone until
            // then: the new content must not be readable by more users than the old.
            options.mode(0o600);
        }
        let file = options.open(&partial)?;
        let replacement = Some(Replacement {
            partial,
            target,
            previous,
        });
        Ok(Self { file, replacement })
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Makes the content durable and gives it its name.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let Some(replacement) = self.replacement.take() else {
            return Ok(());
        };
        let finished = replacement.put_in_place(&self.file);
        if finished.is_err() {
            replacement.discard();
        }
        finished
    }
}

impl Drop for OutputFile {
    /// Removes the file, unless it was finished.
    fn drop(&mut self) {
        if let Some(replacement) = &self.replacement {
            replacement.discard();
        }
    }
}

impl Replacement {
    fn put_in_place(&self, file: &File) -> io::Result<()> {
        if let Some(previous) = &self.previous {
            let made = file.metadata()?;
            let (uid, gid) = (previous.uid(), previous.gid());
            if (made.uid(), made.gid()) != (uid, gid) {
                fchown(file, Some(uid), Some(gid))?;
            }
            file.set_permissions(Permissions::from_mode(previous.mode() & 0o7777))?;
        }
        file.sync_all()?;
        fs::rename(&self.partial, &self.target)
    }

    fn discard(&self) {
        // The failure that led here is the one to report.
        let _ = fs::remove_file(&self.partial);
    }
}

/// The end of a chain of symbolic links.
struct Target {
    path: PathBuf,
    /// True if the chain passed `/proc/PID/fd`: then it is an open descriptor, whatever it is of.
    is_descriptor: bool,
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_path_buf();
        let mut is_descriptor = false;
        for _ in 0..OUTPUT_LINKS_MAX {
            let linked = match fs::read_link(&path) {
                Ok(linked) => linked,
                // Not a link, or nothing there yet.
                Err(_) => {
                    return Ok(Self {
                        path,
                        is_descriptor,
                    });
                }
            };
            let dir = path.parent().unwrap_or(Path::new("/"));
            is_descriptor |= fs::canonicalize(dir).is_ok_and(|dir| dir.starts_with("/proc"));
            path = dir.join(linked);
        }
        Err(io::Error::other("too many symbolic links"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, content: &str) -> io::Result<()> {
        let output = OutputFile::create(path)?;
        output.file().write_all(content.as_bytes())?;
        output.finish()
    }

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let output = OutputFile::create(&path).unwrap();
        output.file().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["out"]);
    }

    #[test]
    fn what_is_not_finished_leaves_the_old_file_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        let output = OutputFile::create(&path).unwrap();
        output.file().write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(dir.path()), ["out"]);
    }

    #[test]
    fn links_are_followed_and_stay_links() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        symlink("target", &link).unwrap();
        for content in ["to a name that does not exist", "to a file"] {
            write(&link, content).unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(&target).unwrap(), content);
        }
        assert_eq!(names(dir.path()), ["link", "target"]);
        let round = dir.path().join("round");
        symlink("round", &round).unwrap();
        assert!(write(&round, "to itself").is_err());
    }

    #[test]
    fn devices_are_written_to_and_stay_devices() {
        let before = fs::metadata("/dev/null").unwrap();
        write(Path::new("/dev/null"), "gone").unwrap();
        let after = fs::metadata("/dev/null").unwrap();
        assert_eq!(before.ino(), after.ino());
        assert_eq!(before.rdev(), after.rdev());
        assert!(!Path::new("/dev/null.partial").exists());
    }

    #[test]
    fn descriptors_are_written_to_where_they_are() {
        use std::os::fd::AsRawFd;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("redirected");
        fs::write(&path, "before ").unwrap();
        let open = OpenOptions::new().append(true).open(&path).unwrap();
        let descriptor = format!("/proc/self/fd/{}", open.as_raw_fd());
        let inode = open.metadata().unwrap().ino();
        write(Path::new(&descriptor), "after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before after");
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    }

    #[test]
    fn a_directory_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(write(dir.path(), "content").is_err());
        assert!(names(dir.path()).is_empty());
    }
}
