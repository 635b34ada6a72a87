//! Comparison of the service with nginx and the floor: the same bytes, the same cores, in turns.

mod works;
mod outcome;
mod table;
mod picture;
mod stage;
mod nginx;
mod rounds;
mod syscalls;
mod conduct;

pub use conduct::{Settings, conduct};
pub use outcome::{Outcome, median};
pub use picture::picture;
pub use rounds::{Rig, ServerWork};
pub use table::table;
