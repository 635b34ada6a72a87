//! Search requests, already valid.
//!
//! A [`Query`] is parsed once: its texts are folded, its ids are numbers. [`ParsedText`] separates
//! the plain words of a text from its markers, [`LanguageTerm`] decides if two language tags match.
//! `oracle`, with the feature `testing`, is the reference that tests compare the engine with: the
//! search rules, executed naively.

mod language;
mod name_lookup;
#[cfg(feature = "testing")]
pub mod oracle;
#[cfg(feature = "testing")]
mod oracle_entry;
#[cfg(feature = "testing")]
mod oracle_names;
#[cfg(feature = "testing")]
mod oracle_release;
mod release;
mod release_words;
mod request;
mod text;

pub use language::LanguageTerm;
pub(crate) use name_lookup::{
    LookupEpisode, LookupKinds, LookupSubject, LookupTitleFit, LookupYear, NameLookup, NameLookups,
    NameStep, NamedEpisode, ReleaseTurn,
};
pub(crate) use release::ReleaseName;
pub use release_words::release_word_weight;
pub(crate) use release_words::{
    RELATIVE_WEIGHT, ReleaseWord, known_release_words, release_group, release_words,
};
pub use request::{CatalogTerm, Filters, FlagFilter, HitOrder, PackFilter, Query};
pub use text::{ParsedText, SearchText, TooManyWords};
