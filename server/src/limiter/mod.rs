//! Rate limits: fixed windows, exact, and without a lock for clients with a key.
//!
//! A key's window is one atomic word that belongs to the key's entry; windows of addresses live in
//! a table of fixed size.

mod address;
mod window;
mod word;

#[cfg(test)]
mod contention;

use std::sync::atomic;

pub use address::AddressLimiter;
pub use window::{SharedLimit, TakenQuota, Window};
pub use word::{AddedRequests, OpenWindow, Quota, TICKS_PER_SECOND, tick};
