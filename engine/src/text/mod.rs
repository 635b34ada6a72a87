//! `&str` to folded text, words and markers (SEARCH.md 1, 2 and 6): pure functions, no index.
//!
//! [`fold`] makes two spellings of a title equal. [`Markers`] are the words of a request that name
//! an episode or a year. [`spanish_region`] distinguishes the Spanish of Spain and Latin America;
//! [`described_flags`] and [`named_flags`] give the purpose of subtitles.

mod character;
mod episode_word;
mod flags;
mod fold;
mod marker;
mod spanish;
mod title_key;

pub(crate) use character::fold_character;
pub use character::{has_number, without_accents};
pub use episode_word::EpisodeWord;
pub use flags::{described_flags, named_flags, without_ending};
pub use fold::{FOLDING_FINGERPRINT, UNICODE_VERSION, fold, fold_into, words};
pub(crate) use marker::parse_year;
pub use marker::{EpisodeMarker, Markers, YearMarker};
#[cfg(feature = "testing")]
pub use spanish::SpanishRegion;
pub use spanish::spanish_region;
pub use title_key::title_key;
pub(crate) use title_key::{compare_title_key, folded_title_key, is_elided};
