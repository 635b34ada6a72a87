//! The four endpoints, one file each; the order of checks stands in one place, `checks`.

mod checks;
mod desk;
mod download;
mod health;
mod library;
mod record;
mod search;

pub use desk::{ApiWorker, Caller, Visitor};
pub use library::{Library, stored_file};
