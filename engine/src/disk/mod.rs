//! The one trait through which the engine opens, reads, maps, appends, syncs, renames, removes,
//! lists and locks files, and asks for free space.
//!
//! [`Real`] is the operating system. With the feature `testing` there are two simulated disks:
//! `Faulty` fails at chosen operations, `PowerCut` loses unsynced changes.

mod bus_error;
mod disk_file;
#[cfg(feature = "testing")]
mod durable_tree;
#[cfg(feature = "testing")]
mod faulty;
mod map;
mod others;
#[cfg(feature = "testing")]
mod power_cut;
mod publish;
mod real;

pub use disk_file::{DirEntry, DirLock, DiskFile, OsFile, WholeSync};
#[cfg(feature = "testing")]
pub use faulty::{Fault, Faulty};
pub use map::{Mapping, TruncationFlag, WritableMapping};
pub(crate) use others::is_of_others;
#[cfg(feature = "testing")]
pub use power_cut::{IgnoredSyncs, PowerCut};
pub(crate) use publish::{FileWriter, publish_file, read_file};
pub(crate) use real::is_out_of_descriptors;
pub use real::{Disk, Real};
