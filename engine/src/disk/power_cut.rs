//! A disk that loses power at a chosen operation.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::durable_tree::{Choices, DurableTree, Location, NodeIdx};
use super::{Disk, DiskFile, Mapping, OsFile, Real, WholeSync, WritableMapping};
use crate::error::{Error, Result};

/// Syncs that a [`PowerCut`] disk acknowledges without doing them: a disk that lies, or a program
/// that forgot a sync. Called with the path, below the root, of a file or of a directory.
pub type IgnoredSyncs = fn(&str) -> bool;

/// A disk in a real directory that also records what a power cut would leave of it. For tests.
///
/// Changing operations are counted from 0: creating, writing, resizing, reserving, syncing,
/// renaming, exchanging and removing, and syncing directories. With operation `cut_at` the power
/// fails: it and all later ones are errors, and [`PowerCut::write_survivors`] writes what is left.
pub struct PowerCut {
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    cut_at: u64,
    ignored: Option<IgnoredSyncs>,
    state: Mutex<PowerState>,
}

struct PowerState {
    tree: DurableTree,
    ops_count: u64,
    /// Path of the operation during which the power failed.
    cut_path: Option<PathBuf>,
    ignored_count: u64,
}

impl PowerCut {
    /// A disk below `root`, a directory with durable files. The power fails with the operation
    /// `cut_at`; `u64::MAX` for never.
    pub fn new(root: &Path, cut_at: u64, ignored: Option<IgnoredSyncs>) -> io::Result<Self> {
        let state = PowerState {
            tree: DurableTree::read(root)?,
            ops_count: 0,
            cut_path: None,
            ignored_count: 0,
        };
        let shared = Arc::new(Shared {
            root: root.to_path_buf(),
            cut_at,
            ignored,
            state: Mutex::new(state),
        });
        Ok(Self { shared })
    }

    /// Count of changing operations up to now.
    pub fn ops_count(&self) -> u64 {
        self.shared.state.lock().ops_count
    }

    /// Count of syncs that were ignored.
    pub fn ignored_count(&self) -> u64 {
        self.shared.state.lock().ignored_count
    }

    /// True once the power has failed: operations reported as done since then were not.
    pub fn is_off(&self) -> bool {
        self.shared.cut_at < self.ops_count()
    }

    /// Path, below the root, of the operation during which the power failed; empty for the root
    /// itself.
    pub fn cut_path(&self) -> Option<String> {
        let state = self.shared.state.lock();
        let path = self.shared.below_root(state.cut_path.as_deref()?)?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Writes what survives a power cut at this moment into an empty directory. Equal seeds give
    /// equal survivors.
    pub fn write_survivors(&self, into: &Path, seed: u64) -> io::Result<()> {
        let state = self.shared.state.lock();
        state.tree.write_survivors(into, &mut Choices::new(seed))
    }

    fn wrap(&self, path: &Path, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        let node = self.shared.find(path);
        Box::new(PowerCutFile {
            file,
            node,
            path: path.to_path_buf(),
            shared: Arc::clone(&self.shared),
        })
    }
}

impl Shared {
    /// Counts an operation. Errors when the power is off, or fails during it.
    fn step(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.ops_count += 1;
        if self.cut_at < state.ops_count {
            state.cut_path.get_or_insert_with(|| path.to_path_buf());
            return Err(io::Error::other("the power is off"));
        }
        Ok(())
    }

    /// True between the operation during which the power failed and the next one.
    fn is_at_cut(&self) -> bool {
        self.state.lock().ops_count.checked_sub(1) == Some(self.cut_at)
    }

    fn step_on(&self, action: &'static str, path: &Path) -> Result<()> {
        self.step(path).map_err(Error::io(action, path))
    }

    fn below_root<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.root).ok()
    }

    fn locate(&self, path: &Path) -> Option<Location> {
        self.state.lock().tree.locate(self.below_root(path)?)
    }

    fn find(&self, path: &Path) -> Option<NodeIdx> {
        self.state.lock().tree.find(self.below_root(path)?)
    }

    /// True if the sync of this path is acknowledged without being done; counts it.
    fn ignores(&self, path: &Path) -> bool {
        let (Some(ignored), Some(path)) = (self.ignored, self.below_root(path)) else {
            return false;
        };
        let is_ignored = ignored(&path.to_string_lossy());
        if is_ignored {
            self.state.lock().ignored_count += 1;
        }
        is_ignored
    }

    /// Applies a change to the model; paths outside the root are ignored.
    fn change(&self, change: impl FnOnce(&mut DurableTree)) {
        change(&mut self.state.lock().tree);
    }
}

impl Disk for PowerCut {
    fn create_dir(&self, path: &Path) -> Result<()> {
        self.shared.step_on("create", path)?;
        Real.create_dir(path)?;
        let Some(below_root) = self.shared.below_root(path) else {
            return Ok(());
        };
        let mut made = PathBuf::new();
        for part in below_root.components() {
            made.push(part);
            self.shared.change(|tree| {
                if let Some(at) = tree.locate(&made) {
                    tree.add_dir(at);
                }
            });
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.shared.step_on("remove", path)?;
        Real.remove_dir(path)?;
        if let Some(at) = self.shared.locate(path) {
            self.shared.change(|tree| tree.remove(at));
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(Real.open(path)?.map(|file| self.wrap(path, file)))
    }

    fn open_writable(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(Real.open_writable(path)?.map(|file| self.wrap(path, file)))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.shared.step_on("create", path)?;
        let file = Real.create(path)?;
        if let Some(at) = self.shared.locate(path) {
            self.shared.change(|tree| {
                tree.create(at);
            });
        }
        Ok(self.wrap(path, file))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.shared.step_on("rename to", to)?;
        Real.rename(from, to)?;
        if let (Some(from), Some(to)) = (self.shared.locate(from), self.shared.locate(to)) {
            self.shared.change(|tree| tree.rename(from, to));
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.shared.step_on("link to", to)?;
        Real.link(from, to)?;
        if let (Some(node), Some(at)) = (self.shared.find(from), self.shared.locate(to)) {
            self.shared.change(|tree| tree.link(node, at));
        }
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<()> {
        self.shared.step_on("exchange", other)?;
        Real.exchange(one, other)?;
        if let (Some(one), Some(other)) = (self.shared.locate(one), self.shared.locate(other)) {
            self.shared.change(|tree| tree.exchange(one, other));
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<bool> {
        self.shared.step_on("remove", path)?;
        let is_removed = Real.remove(path)?;
        if let Some(at) = self.shared.locate(path) {
            self.shared.change(|tree| tree.remove(at));
        }
        Ok(is_removed)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.shared.step_on("sync", path)?;
        if self.shared.ignores(path) {
            return Ok(());
        }
        if let Some(dir) = self.shared.find(path) {
            self.shared.change(|tree| tree.sync_dir(dir));
        }
        Ok(())
    }

    fn whole_sync(&self, path: &Path) -> Result<Option<Box<dyn WholeSync>>> {
        Ok(Some(Box::new(PowerCutWholeSync {
            path: path.to_path_buf(),
            shared: Arc::clone(&self.shared),
        })))
    }
}

struct PowerCutWholeSync {
    path: PathBuf,
    shared: Arc<Shared>,
}

impl WholeSync for PowerCutWholeSync {
    fn sync(&self) -> io::Result<()> {
        self.shared.step(&self.path)?;
        if self.shared.ignores(&self.path) {
            return Ok(());
        }
        self.shared.state.lock().tree.sync_all()
    }
}

struct PowerCutFile {
    file: Box<dyn DiskFile>,
    node: Option<NodeIdx>,
    path: PathBuf,
    shared: Arc<Shared>,
}

impl PowerCutFile {
    fn change(&self, change: impl FnOnce(&mut DurableTree, NodeIdx)) {
        if let Some(node) = self.node {
            self.shared.change(|tree| change(tree, node));
        }
    }
}

impl DiskFile for PowerCutFile {
    fn size_bytes(&self) -> io::Result<u64> {
        self.file.size_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let stepped = self.shared.step(&self.path);
        // The write with which the power fails may still have reached the disk, in part or whole.
        let is_last = self.shared.is_at_cut();
        if stepped.is_ok() || is_last {
            self.change(|tree, node| tree.write(node, offset, bytes));
        }
        stepped?;
        self.file.write_at(bytes, offset)
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        self.shared.step(&self.path)?;
        self.change(|tree, node| tree.set_size(node, size_bytes));
        self.file.set_size(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.shared.step(&self.path)?;
        if self.shared.ignores(&self.path) {
            return Ok(());
        }
        match self.node {
            Some(node) => self.shared.state.lock().tree.sync(node),
            None => Ok(()),
        }
    }

    fn map(&self) -> io::Result<Mapping> {
        self.file.map()
    }

    fn reserve(&self, size_bytes: u64) -> io::Result<Option<WritableMapping>> {
        self.shared.step(&self.path)?;
        let mapping = self.file.reserve(size_bytes)?;
        let opened = Real.open(&self.path).ok().flatten();
        if let (Some(_), Some(real)) = (&mapping, opened) {
            self.change(|tree, node| tree.map(node, real));
        }
        Ok(mapping)
    }

    fn into_os_file(self: Box<Self>) -> OsFile {
        self.file.into_os_file()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::publish_file;

    const SEEDS: std::ops::Range<u64> = 0..200;

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn content(dir: &Path, name: &str) -> Option<Vec<u8>> {
        fs::read(dir.join(name)).ok()
    }

    /// Does `work` on a disk that holds `kept`, cuts the power afterwards, and returns what `name`
    /// holds after each seed.
    fn outcomes(name: &str, work: impl Fn(&PowerCut, &Path)) -> Vec<Option<Vec<u8>>> {
        let root = dir();
        fs::write(root.path().join("kept"), b"kept").unwrap();
        let disk = PowerCut::new(root.path(), u64::MAX, None).unwrap();
        work(&disk, root.path());
        let after = |seed| {
            let left = dir();
            disk.write_survivors(left.path(), seed).unwrap();
            assert_eq!(content(left.path(), "kept").unwrap(), b"kept");
            content(left.path(), name)
        };
        SEEDS.map(after).collect()
    }

    #[test]
    fn a_file_is_lost_without_a_sync_of_its_directory() {
        let left = outcomes("new", |disk, root| {
            let file = disk.create(&root.join("new")).unwrap();
            file.write_at(b"content", 0).unwrap();
            file.sync().unwrap();
        });
        assert!(left.contains(&None), "the name is always kept");
        let is_whole = |content: &Option<Vec<u8>>| content.as_deref() != Some(b"");
        assert!(left.iter().all(is_whole), "what was synced has its content");
    }

    #[test]
    fn content_is_torn_without_a_sync_of_the_file() {
        let left = outcomes("new", |disk, root| {
            let file = disk.create(&root.join("new")).unwrap();
            disk.sync_dir(root).unwrap();
            file.write_at(&[7; 2000], 100).unwrap();
        });
        assert!(left.iter().all(Option::is_some), "the name is synced");
        let sevens = |content: &Option<Vec<u8>>| {
            let bytes = content.as_deref().unwrap_or_default();
            bytes.iter().filter(|byte| **byte == 7).count()
        };
        let counts: Vec<usize> = left.iter().map(sevens).collect();
        assert!(counts.contains(&0), "a write may be lost");
        assert!(counts.contains(&2000), "a write may be kept");
        let is_torn = |count: &usize| 0 < *count && *count < 2000;
        assert!(counts.iter().any(is_torn), "a write may be torn");
    }

    #[test]
    fn a_published_file_is_always_there() {
        let left = outcomes("new", |disk, root| {
            let (temporary, path) = (root.join("new.tmp"), root.join("new"));
            publish_file(disk, &temporary, &path, &mut |out| {
                out.write_all(b"whole").map_err(Error::io("write", &path))
            })
            .unwrap();
        });
        let whole = Some(b"whole".to_vec());
        assert!(left.iter().all(|content| *content == whole));
    }

    #[test]
    fn a_second_name_has_the_content_and_is_lost_without_a_sync_of_its_directory() {
        for is_synced in [false, true] {
            let left = outcomes("second", |disk, root| {
                let (temporary, path) = (root.join("first.tmp"), root.join("first"));
                publish_file(disk, &temporary, &path, &mut |out| {
                    out.write_all(b"whole").map_err(Error::io("write", &path))
                })
                .unwrap();
                disk.link(&path, &root.join("second")).unwrap();
                if is_synced {
                    disk.sync_dir(root).unwrap();
                }
            });
            let whole = Some(b"whole".to_vec());
            assert!(left.iter().all(|found| *found == whole || found.is_none()));
            assert_eq!(left.contains(&None), !is_synced);
        }
    }

    #[test]
    fn writes_through_a_mapping_count_as_unsynced() {
        let left = outcomes("new", |disk, root| {
            let file = disk.create(&root.join("new")).unwrap();
            disk.sync_dir(root).unwrap();
            let mut mapping = file.reserve(4096).unwrap().unwrap();
            file.sync().unwrap();
            assert!(mapping.write_at(&[1], 8));
        });
        let is_set = |content: &Option<Vec<u8>>| content.as_deref().unwrap_or_default()[8] != 0;
        assert!(left.iter().any(is_set), "the mapping's bytes may be kept");
        assert!(!left.iter().all(is_set), "the mapping's bytes may be lost");
    }

    #[test]
    fn nothing_is_done_after_the_cut() {
        let root = dir();
        let disk = PowerCut::new(root.path(), 1, None).unwrap();
        let file = disk.create(&root.path().join("a")).unwrap();
        assert!(!disk.is_off());
        assert!(file.write_at(b"x", 0).is_err());
        assert!(disk.is_off());
        assert_eq!(disk.cut_path().unwrap(), "a");
        assert!(file.sync().is_err());
        assert!(disk.sync_dir(root.path()).is_err());
    }

    #[test]
    fn equal_seeds_give_equal_survivors() {
        let root = dir();
        let disk = PowerCut::new(root.path(), u64::MAX, None).unwrap();
        for number in 0..20 {
            let file = disk.create(&root.path().join(number.to_string())).unwrap();
            file.write_at(&[number; 3000], 0).unwrap();
        }
        let survivors = |seed| {
            let left = dir();
            disk.write_survivors(left.path(), seed).unwrap();
            let read = |number: u8| content(left.path(), &number.to_string());
            (0..20).map(read).collect::<Vec<_>>()
        };
        assert_eq!(survivors(5), survivors(5));
        assert!(SEEDS.map(survivors).any(|left| left != survivors(5)));
    }
}
