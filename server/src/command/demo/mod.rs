//! Data of `subcat demo`: a catalog, and a file for every release in it.
//!
//! `catalog.jsonl` holds import records (API.md, import record): titles, years and catalog ids are
//! facts; descriptions, uploaders, dates and counts are invented. `scenes.jsonl` holds dialogue
//! written for this project, from no film; `releases.jsonl` maps each release to its file. So every
//! file is a real subtitle file without borrowed text.

mod files;
mod formats;
mod local_upstream;
mod run;
mod script;

pub use files::{CATALOG, DemoFile, file};
pub use local_upstream::LocalUpstream;
pub(super) use run::DemoArguments;
