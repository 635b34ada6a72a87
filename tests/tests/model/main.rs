//! Engine against oracle, and both against the rules of SEARCH.md.

mod engine;
mod generators;
mod names;
mod releases;
mod rules;
mod typos;
