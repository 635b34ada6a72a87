//! Engine and oracle answer the same requests.
//!
//! [`segments`] compares them on segments in memory, [`large`] on enough records for every strategy
//! of the planner, and [`history`] on a whole engine through imports, changes, maintenance and
//! restarts.

mod compare;
mod history;
mod large;
mod segments;

pub use history::history;
pub use large::large;
pub use segments::{agreed_answer, names, segments};
