//! The real disk, which says that a write went well and has not done it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use subcat_engine::{Disk, DiskFile, Mapping, OsFile, Real, Result, WholeSync, WritableMapping};

/// Bytes that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A deed of the disk in place of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Nothing is written.
    Lost,
    /// The bytes are written at this offset of the file instead.
    Elsewhere(u64),
    /// Only the first sector is written.
    FirstSector,
}

/// A write that is reported as done.
#[derive(Debug, Clone)]
pub struct Lie {
    /// The file, below the root.
    pub path: String,
    /// Number of the write to it, from 0.
    pub write_idx: u64,
    /// Its place is taken by this.
    pub deed: Deed,
}

/// A disk that lies once, or never.
pub struct LyingDisk {
    plan: Arc<Plan>,
}

struct Plan {
    root: PathBuf,
    lie: Option<Lie>,
    /// Size that is claimed of every file of the truth.
    size_claimed: Option<u64>,
    writes: Mutex<BTreeMap<String, u64>>,
    has_lied: Mutex<bool>,
}

impl LyingDisk {
    /// A disk below `root`.
    pub fn new(root: &Path, lie: Option<Lie>, size_claimed: Option<u64>) -> Self {
        let plan = Plan {
            root: root.to_path_buf(),
            lie,
            size_claimed,
            writes: Mutex::default(),
            has_lied: Mutex::default(),
        };
        Self {
            plan: Arc::new(plan),
        }
    }

    /// Number of writes to each file so far, by path below the root.
    pub fn writes(&self) -> BTreeMap<String, u64> {
        locked(&self.plan.writes).clone()
    }

    /// True once the write has come about which it lies.
    pub fn has_lied(&self) -> bool {
        *locked(&self.plan.has_lied)
    }

    fn wrap(&self, path: &Path, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(LyingFile {
            file,
            path: path.to_path_buf(),
            plan: Arc::clone(&self.plan),
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panicked here")
}

impl Plan {
    /// Counts a write; the deed in its place if it is the one.
    fn deed(&self, path: &Path) -> Option<Deed> {
        let below = path.strip_prefix(&self.root).ok()?;
        let below = below.to_string_lossy().into_owned();
        let mut writes = locked(&self.writes);
        let count = writes.entry(below.clone()).or_default();
        let write_idx = *count;
        *count += 1;
        let lie = self.lie.as_ref()?;
        if lie.path != below || lie.write_idx != write_idx {
            return None;
        }
        *locked(&self.has_lied) = true;
        Some(lie.deed)
    }
}

impl Disk for LyingDisk {
    fn size_bytes(&self, path: &Path) -> Result<Option<u64>> {
        let size_bytes = Real.size_bytes(path)?;
        let is_truth = path.extension().is_some_and(|name| name == "redb");
        Ok(match self.plan.size_claimed {
            Some(claimed) if is_truth => size_bytes.map(|_| claimed),
            _ => size_bytes,
        })
    }

    fn open(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(Real.open(path)?.map(|file| self.wrap(path, file)))
    }

    fn open_writable(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(Real.open_writable(path)?.map(|file| self.wrap(path, file)))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        Ok(self.wrap(path, Real.create(path)?))
    }

    /// Files are synced one by one: nothing else of the file system is waited for.
    fn whole_sync(&self, _: &Path) -> Result<Option<Box<dyn WholeSync>>> {
        Ok(None)
    }
}

struct LyingFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    plan: Arc<Plan>,
}

impl DiskFile for LyingFile {
    fn size_bytes(&self) -> io::Result<u64> {
        self.file.size_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        // A file is as long as it was told to become, whatever was written.
        let end = offset + bytes.len() as u64;
        match self.plan.deed(&self.path) {
            None => return self.file.write_at(bytes, offset),
            Some(Deed::Lost) => {}
            Some(Deed::Elsewhere(offset)) => self.file.write_at(bytes, offset)?,
            Some(Deed::FirstSector) => {
                let sector = &bytes[..bytes.len().min(SECTOR_BYTES)];
                self.file.write_at(sector, offset)?;
            }
        }
        if self.file.size_bytes()? < end {
            self.file.set_size(end)?;
        }
        Ok(())
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        self.file.set_size(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn map(&self) -> io::Result<Mapping> {
        self.file.map()
    }

    /// Sets no space aside: every write is one that can be lied about.
    fn reserve(&self, _: u64) -> io::Result<Option<WritableMapping>> {
        Ok(None)
    }

    fn into_os_file(self: Box<Self>) -> OsFile {
        self.file.into_os_file()
    }
}
