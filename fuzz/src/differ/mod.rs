//! Engine and oracle answer the same requests.
//!
//! [`segments`] does it on segments that live in memory, many thousand requests a second.

mod compare;
mod large;
mod segments;

pub use large::large;
pub use segments::{agreed_answer, segments};
