//! `&str` to folded text, words and markers (SEARCH.md 1, 2 and 6): pure functions, no index.
//!
//! [`fold`] is what makes two spellings of a title equal. [`Markers`] tells the words of a request
//! that name an episode or a year. [`spanish_region`] tells Spain's Spanish from Latin America's.

mod character;
mod episode_word;
mod fold;
mod marker;
mod spanish;

pub use character::has_number;
pub use episode_word::EpisodeWord;
pub use fold::{FOLDING_FINGERPRINT, UNICODE_VERSION, fold, fold_into, words};
pub use marker::{EpisodeMarker, Markers, YearMarker};
pub use spanish::{SpanishRegion, spanish_region};
