//! Everything that the name of a query can name.

use super::marks::NameDate;

/// The last year of a query.
pub(super) const YEAR_LAST: u32 = 2100;

/// Everything that a name of a query names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// Neither an episode nor a season nor a date.
    Nothing,
    /// A season and the first episode of a range.
    Episode {
        /// The season, from 1 on.
        season: u32,
        /// The episode, from 1 on.
        episode: u32,
    },
    /// A season, from 1 on.
    Season(u32),
    /// Several seasons, or a season that the number after it rules out.
    Seasons,
    /// The day of an episode.
    Date(NameDate),
    /// An episode without season: `EP12`.
    Number(u32),
    /// Season or episode 0: no record has one.
    Special,
    /// A season that contradicts its number: `Temporada 1 Cap.305`.
    Contradiction,
}
