//! What the caller asks, already valid.
//!
//! A [`Query`] is parsed once: its texts are folded, its ids are numbers. [`ParsedText`] tells the
//! words of a text from its markers, [`LanguageTerm`] when two language tags agree. [`oracle`] is
//! the judge of the engine: the search rules, executed naively.

mod language;
pub mod oracle;
mod request;
mod text;

pub use language::LanguageTerm;
pub use request::{CatalogTerm, Filters, Query};
pub use text::{ParsedText, SearchText, TooManyWords};
