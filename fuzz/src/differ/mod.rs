//! Engine and oracle answer the same requests.
//!
//! [`segments`] does it on segments that live in memory, many thousand requests a second.

mod compare;
mod segments;

pub use segments::segments;
