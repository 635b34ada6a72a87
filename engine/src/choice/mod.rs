//! The text of an archive that a request means: seasons and episodes in paths, and the choice.
//!
//! Pure: paths and sizes in, an index out. Source: SEARCH.md 7.

mod path_words;
mod number_words;
mod path_numbers;
mod part_marks;
mod path_flags;
mod path_language;
mod chosen;

pub use chosen::{ChoiceRecord, TextCandidate, TextRequest, choose_text, listed_numbers};
pub use path_numbers::ListedNumbers;
