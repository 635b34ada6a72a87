//! Fuzz bodies, run by libfuzzer and by plain tests.
//!
//! A body takes bytes and panics when a promise is broken. `fuzz_targets/` hands libfuzzer's bytes
//! to them; the tests hand them the regression corpus and seeded bytes. Generated catalogs and
//! requests take their decisions from [`choices::Choices`], which reads either.

pub mod bodies;
pub mod choices;
pub mod differ;
mod names;
pub mod records;
#[cfg(test)]
mod regressions_test;
pub mod replay;
pub mod requests;
mod vocabulary;
