//! The user that a data directory belongs to.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::Access as Permission;
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::say;
use crate::admin::SOCKET_NAME;

/// Names in a data directory that a process must be able to open.
const NAMES: [&str; 4] = ["lock", "catalog.redb", "state.redb", SOCKET_NAME];

/// A data directory of another user.
#[derive(Debug, thiserror::Error)]
pub(super) enum OwnershipError {
    #[error(
        "{} belongs to uid {owner} (mode {mode:o}), this process is uid {uid}: chown it, or run as \
         its owner (sudo -u, or --user {owner}:{group} of a container)",
        path.display()
    )]
    NotOurs {
        path: PathBuf,
        owner: u32,
        group: u32,
        mode: u32,
        uid: u32,
    },
    #[error(
        "{} belongs to {user}, who could not open what root would leave there: run this as its \
         owner (sudo -u {user}, or --user {owner}:{group} of a container)",
        path.display()
    )]
    NotOfRoot {
        path: PathBuf,
        user: String,
        owner: u32,
        group: u32,
    },
}

/// Errors: the data directory, or a file in it, belongs to another user and may not be used by this
/// one. Missing files and other failures are left to the code that opens them.
pub(super) fn ensure_ours(data: &Path) -> Result<(), OwnershipError> {
    for path in owned(data) {
        let mut needed = Permission::READ_OK | Permission::WRITE_OK;
        if path == data {
            needed |= Permission::EXEC_OK;
        }
        let Err(Errno::ACCESS | Errno::PERM) = rustix::fs::access(&path, needed) else {
            continue;
        };
        // Where the directory may not even be looked into, it has been named already.
        let Ok(found) = path.metadata() else { continue };
        return Err(OwnershipError::NotOurs {
            path,
            owner: found.uid(),
            group: found.gid(),
            mode: found.mode() & 0o777,
            uid: geteuid().as_raw(),
        });
    }
    Ok(())
}

/// Errors: this process is root, which may open everything, and the data directory or a file in it
/// belongs to another user. What root makes there has mode 0600: the next process of that user,
/// such as the service, would be refused by [`ensure_ours`].
pub(super) fn ensure_not_of_others(data: &Path) -> Result<(), OwnershipError> {
    if !geteuid().is_root() {
        return Ok(());
    }
    for path in owned(data) {
        let Ok(found) = path.metadata() else { continue };
        if found.uid() != 0 {
            return Err(OwnershipError::NotOfRoot {
                path,
                user: user_name(found.uid()),
                owner: found.uid(),
                group: found.gid(),
            });
        }
    }
    Ok(())
}

/// The data directory, and files in it.
fn owned(data: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(data.to_path_buf()).chain(NAMES.map(|name| data.join(name)))
}

/// Name of a user as `sudo -u` takes it: from `/etc/passwd`, or else the id.
fn user_name(uid: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let uid = uid.to_string();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(&uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("'#{uid}'"))
}

/// Gives a data directory that this process has put in the place of another one to the owner of
/// that one. If there was none, says that the service may need it.
pub(super) fn keep_owner(data: &Path, old: Option<&Metadata>) -> io::Result<()> {
    match old {
        // Only root can give files away, and has made them as root.
        Some(old) if geteuid().is_root() => give_to(data, old),
        Some(_) => Ok(()),
        None => {
            say(&format!(
                "{} was not there before and belongs to whoever runs this: see that the service \
                 may write there (chown)",
                data.display()
            ));
            Ok(())
        }
    }
}

/// Gives a directory and all that is in it to the owner of another one.
fn give_to(path: &Path, owner: &Metadata) -> io::Result<()> {
    let own = path.symlink_metadata()?;
    if own.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            // Of the file system, in a volume.
            if entry.file_name() != "lost+found" {
                give_to(&entry.path(), owner)?;
            }
        }
    }
    if (own.uid(), own.gid()) != (owner.uid(), owner.gid()) {
        lchown(path, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}
