//! The one trait through which the engine opens, reads, maps, appends, syncs, renames, removes,
//! lists and locks files, and asks for free space.
//!
//! [`Real`] is the operating system; [`Faulty`] fails at chosen operations; [`PowerCut`] loses
//! unsynced changes.

mod bus_error;
mod durable_tree;
mod faulty;
mod file_system;
mod map;
mod others;
mod power_cut;
mod publish;
mod real;

pub use faulty::{Fault, Faulty};
pub use file_system::{DirEntry, DirLock, Disk, DiskFile, OsFile, WholeSync};
pub use map::{Mapping, TruncationFlag, WritableMapping};
pub(crate) use others::is_of_others;
pub use power_cut::{IgnoredSyncs, PowerCut};
pub(crate) use publish::{FileWriter, publish_file, read_file};
pub use real::Real;
pub(crate) use real::is_out_of_descriptors;
