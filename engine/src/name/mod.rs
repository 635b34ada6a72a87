//! Names of files, releases and queries as people write them: title, episode, year (NAMES.md).
//!
//! One reader serves all. [`QueryName`] is what a search looks up when its rules find nothing;
//! [`ParsedRelease`] holds the facts in the name of a release; [`PathName`] is the record that a
//! file in a folder is. All are pure and read no clock: the last number that is a year comes in as
//! a parameter. Uncertain parts stay empty or are doubted; which of several ways to read a query is
//! right, a search asks of the catalog.

mod clean;
mod episode_number;
mod folder;
mod folders;
mod language;
mod language_words;
mod left_out;
mod marks;
mod name_words;
mod named;
mod parsed_name;
mod parsed_release;
mod path_doubt;
mod path_language;
mod path_name;
mod path_refusal;
mod path_title;
mod path_words;
mod query_name;
mod query_numbers;
mod query_tail;
mod query_titles;

mod release_facts;
mod tags;
mod title;
mod told_language;
mod tokens;
mod word_class;
mod years;

pub use language::language_of;
pub use marks::{FolderSeason, NameDate};
pub use named::Named;
pub use parsed_release::{ParsedRelease, ReleaseKind};
pub use path_name::{CorrectedPath, PathName};
pub use path_refusal::PathRefusal;
pub use query_name::QueryName;
pub(crate) use query_name::tells_date;
pub use query_numbers::NumberLookup;
pub use release_facts::{ReleaseFacts, is_file_ending};
pub(crate) use told_language::without_site;
pub use told_language::{ToldLanguage, language_of_folder};
