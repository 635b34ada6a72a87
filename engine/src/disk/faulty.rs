//! A disk that fails at chosen operations.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Disk, DiskFile, Mapping, OsFile, Real, WholeSync, WritableMapping};
use crate::error::{Error, Result};

/// The changing operations of a [`Faulty`] disk that fail, counted from 0: creating, writing,
/// resizing, syncing, renaming and removing files, and syncing directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The first operation that fails.
    pub first: u64,
    /// Count of operations that fail in a row.
    pub count: u64,
    /// The system's error number: `EIO` is 5, `EMFILE` 24, `ENOSPC` 28.
    pub errno: i32,
}

impl Fault {
    /// Input/output error.
    pub const EIO: i32 = 5;
    /// Invalid argument: the file system does not support the call.
    pub const EINVAL: i32 = 22;
    /// Too many open files.
    pub const EMFILE: i32 = 24;
    /// No space left on device.
    pub const ENOSPC: i32 = 28;
    /// Nothing fails.
    pub const NONE: Self = Self {
        first: u64::MAX,
        count: 0,
        errno: Self::EIO,
    };

    /// One operation fails with an input/output error.
    pub const fn at(op_idx: u64) -> Self {
        Self {
            first: op_idx,
            count: 1,
            errno: Self::EIO,
        }
    }

    fn hits(&self, op_idx: u64) -> bool {
        self.first <= op_idx && op_idx - self.first < self.count
    }
}

/// The real disk, with a fault. For tests.
#[derive(Debug)]
pub struct Faulty {
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct Plan {
    fault: parking_lot::Mutex<Fault>,
    ops_count: AtomicU64,
    read_fault: parking_lot::Mutex<Fault>,
    reads_count: AtomicU64,
    free_bytes_max: AtomicU64,
    mounted: parking_lot::Mutex<Option<PathBuf>>,
}

impl Plan {
    fn step(&self) -> io::Result<()> {
        let op_idx = self.ops_count.fetch_add(1, Ordering::SeqCst);
        let fault = *self.fault.lock();
        if fault.hits(op_idx) {
            return Err(io::Error::from_raw_os_error(fault.errno));
        }
        Ok(())
    }

    fn step_of_read(&self) -> io::Result<()> {
        let read_idx = self.reads_count.fetch_add(1, Ordering::SeqCst);
        let fault = *self.read_fault.lock();
        if fault.hits(read_idx) {
            return Err(io::Error::from_raw_os_error(fault.errno));
        }
        Ok(())
    }
}

impl Faulty {
    /// A disk with this fault.
    pub fn new(fault: Fault) -> Self {
        let plan = Plan {
            fault: parking_lot::Mutex::new(fault),
            ops_count: AtomicU64::new(0),
            read_fault: parking_lot::Mutex::new(Fault::NONE),
            reads_count: AtomicU64::new(0),
            free_bytes_max: AtomicU64::new(u64::MAX),
            mounted: parking_lot::Mutex::default(),
        };
        Self {
            plan: Arc::new(plan),
        }
    }

    /// Count of changing operations up to now.
    pub fn ops_count(&self) -> u64 {
        self.plan.ops_count.load(Ordering::SeqCst)
    }

    /// Sets another fault from now on; operations are still counted from the beginning.
    pub fn set_fault(&self, fault: Fault) {
        *self.plan.fault.lock() = fault;
    }

    /// Count of reads and mappings up to now.
    pub fn reads_count(&self) -> u64 {
        self.plan.reads_count.load(Ordering::SeqCst)
    }

    /// Sets the reads and mappings that fail from now on, counted from the first of all.
    pub fn set_read_fault(&self, fault: Fault) {
        *self.plan.read_fault.lock() = fault;
    }

    /// Reports from now on that no more than this is free; writes succeed all the same.
    pub fn set_free_bytes(&self, free_bytes_max: u64) {
        let plan = &self.plan;
        plan.free_bytes_max.store(free_bytes_max, Ordering::SeqCst);
    }

    /// Reports from now on that a directory is a mount point.
    pub fn set_mounted(&self, path: &Path) {
        *self.plan.mounted.lock() = Some(path.to_path_buf());
    }

    fn step(&self, action: &'static str, path: &Path) -> Result<()> {
        self.plan.step().map_err(Error::io(action, path))
    }

    fn wrap(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        let plan = Arc::clone(&self.plan);
        Box::new(FaultyFile { file, plan })
    }
}

impl Disk for Faulty {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(Real.open(path)?.map(|file| self.wrap(file)))
    }

    fn open_writable(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Ok(Real.open_writable(path)?.map(|file| self.wrap(file)))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.step("create", path)?;
        Ok(self.wrap(Real.create(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.step("rename to", to)?;
        Real.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.step("link to", to)?;
        Real.link(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<()> {
        self.step("exchange", other)?;
        Real.exchange(one, other)
    }

    fn is_mount_point(&self, path: &Path) -> Result<bool> {
        let mounted = self.plan.mounted.lock();
        Ok(mounted.as_deref() == Some(path))
    }

    fn remove(&self, path: &Path) -> Result<bool> {
        self.step("remove", path)?;
        Real.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.step("sync", path)?;
        Real.sync_dir(path)
    }

    fn whole_sync(&self, _: &Path) -> Result<Option<Box<dyn WholeSync>>> {
        // Not the real one: what else is written to the file system of a test is not waited for.
        let plan = Arc::clone(&self.plan);
        Ok(Some(Box::new(FaultyWholeSync(plan))))
    }

    fn free_bytes(&self, path: &Path) -> Result<u64> {
        let free_bytes_max = self.plan.free_bytes_max.load(Ordering::SeqCst);
        Ok(Real.free_bytes(path)?.min(free_bytes_max))
    }
}

struct FaultyWholeSync(Arc<Plan>);

impl WholeSync for FaultyWholeSync {
    fn sync(&self) -> io::Result<()> {
        self.0.step()
    }
}

struct FaultyFile {
    file: Box<dyn DiskFile>,
    plan: Arc<Plan>,
}

impl DiskFile for FaultyFile {
    fn size_bytes(&self) -> io::Result<u64> {
        self.file.size_bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.plan.step_of_read()?;
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(fault) = self.plan.step() {
            // A failing write may have written a part.
            self.file.write_at(&bytes[..bytes.len() / 2], offset)?;
            return Err(fault);
        }
        self.file.write_at(bytes, offset)
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        self.plan.step()?;
        self.file.set_size(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.plan.step()?;
        self.file.sync()
    }

    fn map(&self) -> io::Result<Mapping> {
        self.plan.step_of_read()?;
        self.file.map()
    }

    /// Reserves no space: every write is one that can fail.
    fn reserve(&self, _: u64) -> io::Result<Option<WritableMapping>> {
        Ok(None)
    }

    fn into_os_file(self: Box<Self>) -> OsFile {
        self.file.into_os_file()
    }
}
