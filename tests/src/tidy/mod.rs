//! Rules of the source tree (ARCHITECTURE.md, Rules), checked by reading the source.
//!
//! Each rule is a function from the parsed tree to its violations; a violation says file, line and
//! what to do. `tests/tests/tidy` runs them and shows for each that it catches what it should;
//! `scripts/structure` counts with them.

pub mod attributes;
pub mod changes;
pub mod control;
pub mod dependencies;
pub mod figures;
pub mod file_graph;
pub mod imports;
pub mod pages;
pub mod paths;
pub mod prose;
pub mod shape;
pub mod source_tree;
pub mod surface;
pub mod types;
pub mod words;
