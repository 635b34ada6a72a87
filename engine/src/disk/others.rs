//! Names that file systems, storage servers and desktops put into any directory.

/// Names that are neither ours nor in the way.
const NAMES: [&str; 8] = [
    "lost+found",
    ".snapshot",
    ".snapshots",
    ".zfs",
    "@eaDir",
    "#recycle",
    ".DS_Store",
    ".Trash-1000",
];

/// Returns true for a name that other programs put into any directory.
pub(crate) fn is_of_others(name: &str) -> bool {
    NAMES.contains(&name)
}
