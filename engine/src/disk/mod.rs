//! The one trait through which the engine opens, reads, maps, appends, syncs, renames, removes,
//! lists and locks files, and asks for free space.
//!
//! [`Real`] is the operating system; [`Faulty`] fails at chosen operations; [`PowerCut`] loses
//! unsynced changes.

mod bus_error;
mod disk_file;
mod durable_tree;
mod faulty;
mod map;
mod others;
mod power_cut;
mod publish;
mod real;

pub use disk_file::{DirEntry, DirLock, DiskFile, OsFile, WholeSync};
pub use faulty::{Fault, Faulty};
pub use map::{Mapping, TruncationFlag, WritableMapping};
pub(crate) use others::is_of_others;
pub use power_cut::{IgnoredSyncs, PowerCut};
pub(crate) use publish::{FileWriter, publish_file, read_file};
pub(crate) use real::is_out_of_descriptors;
pub use real::{Disk, Real};
