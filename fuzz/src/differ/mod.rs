//! Engine and oracle answer the same requests.
//!
//! [`segments`] does it on segments that live in memory; [`large`] on so many records that every
//! shortcut is taken; [`history`] on a whole engine that is imported into, changed, maintained and
//! opened again.

mod compare;
mod history;
mod large;
mod segments;

pub use history::history;
pub use large::large;
pub use segments::{agreed_answer, segments};
