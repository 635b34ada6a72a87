//! A search request as typed values.

use crate::model::{Language, Number, RecordId, VideoType, Year};

/// A `query` or `title` value: folded, with at least one word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SearchText {
    folded: String,
}

/// A `query` of more words than [`crate::limits::QUERY_WORDS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWords;

impl SearchText {
    /// Folds a `query` value. `None` when it has no words (it counts as not supplied).
    pub fn query(_value: &str) -> Result<Option<Self>, TooManyWords> {
        todo!()
    }

    /// Folds a `title` value. `None` when it has no words (it counts as not supplied).
    pub fn title(_value: &str) -> Option<Self> {
        todo!()
    }

    /// The folded text: words joined by single spaces.
    pub fn folded(&self) -> &str {
        &self.folded
    }
}

/// A `catalog_id` value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CatalogTerm {
    /// `tt` or nothing, then 1 to 12 digits: their number.
    Number(u64),
    /// Anything else: a criterion that matches nothing.
    Nothing,
}

impl CatalogTerm {
    /// Reads a trimmed, non-empty value.
    pub fn parse(_value: &str) -> Self {
        todo!()
    }
}

/// What applies to every branch (SEARCH.md, filters).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filters {
    /// The record's year is equal or null.
    pub year: Option<Year>,
    /// Equal.
    pub video_type: Option<VideoType>,
    /// Equal.
    pub season: Option<Number>,
    /// Equal.
    pub episode: Option<Number>,
    /// First subtag equal after mapping; region equal when both have one.
    pub language: Option<Language>,
}

/// A valid search request: at least one criterion, filters, a page size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    query: Option<SearchText>,
    title: Option<SearchText>,
    catalog_id: Option<CatalogTerm>,
    public_id: Option<RecordId>,
    filters: Filters,
    page_size: u16,
}

impl Query {
    /// A request without criteria. It is not valid until [`Query::has_criterion`].
    pub fn new(filters: Filters, page_size: u16) -> Self {
        Self {
            query: None,
            title: None,
            catalog_id: None,
            public_id: None,
            filters,
            page_size,
        }
    }

    /// With the `query` criterion.
    #[must_use]
    pub fn with_query(mut self, text: Option<SearchText>) -> Self {
        self.query = text;
        self
    }

    /// With the `title` criterion.
    #[must_use]
    pub fn with_title(mut self, text: Option<SearchText>) -> Self {
        self.title = text;
        self
    }

    /// With the `catalog_id` criterion.
    #[must_use]
    pub fn with_catalog_id(mut self, term: Option<CatalogTerm>) -> Self {
        self.catalog_id = term;
        self
    }

    /// With the `public_id` criterion.
    #[must_use]
    pub fn with_public_id(mut self, id: Option<RecordId>) -> Self {
        self.public_id = id;
        self
    }

    /// Whether at least one criterion is there.
    pub fn has_criterion(&self) -> bool {
        self.query.is_some()
            || self.title.is_some()
            || self.catalog_id.is_some()
            || self.public_id.is_some()
    }

    /// The free text, if supplied.
    pub fn query(&self) -> Option<&SearchText> {
        self.query.as_ref()
    }

    /// The title, if supplied.
    pub fn title(&self) -> Option<&SearchText> {
        self.title.as_ref()
    }

    /// The catalog id, if supplied.
    pub fn catalog_id(&self) -> Option<CatalogTerm> {
        self.catalog_id
    }

    /// The record id, if supplied.
    pub fn public_id(&self) -> Option<RecordId> {
        self.public_id
    }

    /// What applies to every branch.
    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// How many items at most.
    pub fn page_size(&self) -> u16 {
        self.page_size
    }

    /// Whether the `query` parameter is used (it enqueues a reindex job).
    pub fn uses_free_text(&self) -> bool {
        self.query.is_some()
    }

    /// The canonical form: equal bytes exactly for requests with equal answers by form. Appended
    /// to `out`; the search cache puts `search:v3:` before it.
    pub fn write_canonical(&self, _out: &mut Vec<u8>) {
        todo!()
    }
}
