//! What the caller asks, already valid.

mod request;

pub use request::{CatalogTerm, Filters, Query, SearchText, TooManyWords};
