//! Laid out, not yet furnished.

pub mod demo;
