//! Parts of a request, with their names in `explain`.

/// Part of a request that a clause stands for; `explain` names clauses by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A plain word, by its index among the distinct plain words.
    Word(usize),
    /// The titles that contain the `title` value.
    Title,
    /// The episode marker.
    EpisodeMarker,
    /// The year marker.
    YearMarker,
    /// The titles with every word of a release's name.
    ReleaseName,
    /// The years among the marks of a release's name.
    ReleaseYears,
    /// Films, or films and packs, for a name with a number that was not found.
    Kinds,
    /// A word of the title of a name.
    NameWord,
    /// The filter parameter of this name.
    Filter(&'static str),
}
