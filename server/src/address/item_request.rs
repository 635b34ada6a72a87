//! The facts of a search below an address that its items show.

/// The facts of a request that its items show.
pub(super) struct ItemRequest<'a> {
    /// URL of a download before the id of its record. It has nothing that JSON escapes.
    pub(super) base: &'a str,
    /// The title in the request.
    pub(super) query: Option<AskedTitle<'a>>,
    /// True if the search was by `imdb_id`.
    pub(super) is_by_id: bool,
    pub(super) language: Option<&'a str>,
    pub(super) year: Option<u32>,
    pub(super) season: Option<u32>,
    pub(super) episode: Option<u32>,
}

/// The title in a request.
#[derive(Clone, Copy)]
pub(super) struct AskedTitle<'a> {
    /// As it was sent, trimmed.
    pub(super) text: &'a str,
    /// Its folding.
    pub(super) folded: &'a str,
}
