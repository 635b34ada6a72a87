//! Engine and oracle answer the same requests.
//!
//! [`segments`] does it on segments in memory; [`large`] on enough records for every
//! shortcut; [`history`] on a whole engine that is imported into, changed, maintained and opened
//! again.

mod compare;
mod history;
mod large;
mod segments;

pub use history::history;
pub use large::large;
pub use segments::{agreed_answer, segments};
