//! Bytes to values and back, checksummed and versioned.

mod answer;

pub use answer::{fragment_id, fragment_time, write_fragment};
