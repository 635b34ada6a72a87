//! Figures of the whole service with a catalog: import, start, memory, answers to one client.

mod pieces;
mod report;
mod take;

pub use report::{Bar, Figure, Figures};
pub use take::{Settings, take};
