//! The real disk, which waits where a test wants it to.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use subcat_engine::{Disk, DiskFile, Real, Result};

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
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.wait(path);
        Real.create(path)
    }
}
