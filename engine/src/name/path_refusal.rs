//! Reasons to refuse the path of a file.

use std::fmt;

/// A reason to refuse a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathRefusal {
    /// A part of the path is hidden.
    Hidden,
    /// The file is a trailer, a sample or the like.
    Extra,
    /// Name and folders give nothing.
    TellsNothing,
    /// A number, a part or the like may be that of an episode.
    MayBeEpisode,
    /// The folder of a season holds a name without a number.
    NoEpisodeNumber,
    /// The name gives another season than its folder.
    OtherSeason,
    /// Neither name nor folder has a title.
    NoTitle,
    /// Words that may be a language or none.
    Language(String),
}

impl fmt::Display for PathRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hidden => "hidden",
            Self::Extra => "extra",
            Self::TellsNothing => "neither year nor episode nor id, in name or folder",
            Self::MayBeEpisode => "a number that may be an episode",
            Self::NoEpisodeNumber => "no episode number in the folder of a season",
            Self::OtherSeason => "season of the name and of its folder differ",
            Self::NoTitle => "no title",
            Self::Language(words) => return write!(f, "language: {words}"),
        })
    }
}
