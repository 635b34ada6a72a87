//! The real disk, which waits where a test wants it to.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use subcat_engine::{DirEntry, DirLock, Disk, DiskFile, Real, Result};

/// The real disk. It can be made to wait in the next creation of a file.
#[derive(Default)]
pub struct PausingDisk {
    planned: Mutex<Option<Plan>>,
}

struct Plan {
    suffix: &'static str,
    reached: Sender<()>,
    go_on: Receiver<()>,
}

/// A creation that waits: whoever creates the file goes on when this is dropped.
pub struct Pause {
    reached: Receiver<()>,
    _go_on: Sender<()>,
}

impl Pause {
    /// Waits until somebody has begun to create the file.
    pub fn wait_until_reached(&self) {
        self.reached.recv().expect("the plan is kept until then");
    }
}

impl PausingDisk {
    /// Makes the next creation of a file whose name ends with `suffix` wait.
    pub fn pause_at(&self, suffix: &'static str) -> Pause {
        let (reached_sender, reached) = channel();
        let (go_on_sender, go_on) = channel();
        let plan = Plan {
            suffix,
            reached: reached_sender,
            go_on,
        };
        *self.planned.lock().expect("no test panicked here") = Some(plan);
        Pause {
            reached,
            _go_on: go_on_sender,
        }
    }

    fn wait(&self, path: &Path) {
        let name = path.to_string_lossy().into_owned();
        let mut planned = self.planned.lock().expect("no test panicked here");
        let due = planned.take_if(|plan| name.ends_with(plan.suffix));
        drop(planned);
        if let Some(plan) = due {
            plan.reached.send(()).expect("the test waits for it");
            // An error is the sign: the test has dropped its end.
            let _ = plan.go_on.recv();
        }
    }
}

impl Disk for PausingDisk {
    fn create_dir(&self, path: &Path) -> Result<()> {
        Real.create_dir(path)
    }

    fn make_private(&self, path: &Path) -> Result<()> {
        Real.make_private(path)
    }

    fn create_temp_dir(&self) -> Result<PathBuf> {
        Real.create_temp_dir()
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        Real.remove_dir(path)
    }

    fn list(&self, path: &Path) -> Result<Option<Vec<DirEntry>>> {
        Real.list(path)
    }

    fn size_bytes(&self, path: &Path) -> Result<Option<u64>> {
        Real.size_bytes(path)
    }

    fn set_modified(&self, path: &Path, seconds: i64) -> Result<()> {
        Real.set_modified(path, seconds)
    }

    fn open(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Real.open(path)
    }

    fn open_writable(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        Real.open_writable(path)
    }

    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.wait(path);
        Real.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        Real.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        Real.link(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<()> {
        Real.exchange(one, other)
    }

    fn remove(&self, path: &Path) -> Result<bool> {
        Real.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        Real.sync_dir(path)
    }

    fn free_bytes(&self, path: &Path) -> Result<u64> {
        Real.free_bytes(path)
    }

    fn lock(&self, path: &Path) -> Result<DirLock> {
        Real.lock(path)
    }
}
