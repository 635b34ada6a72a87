//! A search request as typed values.

use crate::model::{CatalogId, Flag, Language, Number, RecordId, Timestamp, VideoType, Year};

use super::{LanguageTerm, ParsedText, SearchText, release_group};

/// A `catalog_id` value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CatalogTerm {
    /// `tt` or nothing, then 1 to 12 digits: their number.
    Number(u64),
    /// Anything else: a criterion that matches nothing, not an error (SEARCH.md 4.2).
    Nothing,
}

impl CatalogTerm {
    /// Reads a trimmed, non-empty value.
    ///
    /// Source: SEARCH.md 4.2.
    ///
    /// ```
    /// use subcat_engine::CatalogTerm;
    /// assert_eq!(CatalogTerm::parse("TT0012345"), CatalogTerm::Number(12345));
    /// assert_eq!(CatalogTerm::parse("12345"), CatalogTerm::Number(12345));
    /// assert_eq!(CatalogTerm::parse("nm12345"), CatalogTerm::Nothing);
    /// ```
    pub fn parse(value: &str) -> Self {
        let digits = match value.as_bytes() {
            [b't' | b'T', b't' | b'T', ..] => &value[2..],
            _ => value,
        };
        match CatalogId::from_digits(digits) {
            Some(id) => Self::Number(id.number()),
            None => Self::Nothing,
        }
    }
}

/// A filter on a flag of the subtitles (SEARCH.md 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum FlagFilter {
    /// Every record passes.
    #[default]
    Include,
    /// Records pass unless the flag is true.
    Exclude,
    /// Records pass if the flag is true.
    Only,
}

impl FlagFilter {
    /// Reads `include`, `exclude` or `only`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "include" => Some(Self::Include),
            "exclude" => Some(Self::Exclude),
            "only" => Some(Self::Only),
            _ => None,
        }
    }

    /// Required value of a record's flag; `None` if any value passes.
    pub fn wanted(self) -> Option<bool> {
        match self {
            Self::Include => None,
            Self::Exclude => Some(false),
            Self::Only => Some(true),
        }
    }
}

/// Season packs under a filter on an episode (SEARCH.md 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum PackFilter {
    /// A pack is not the episode.
    #[default]
    Exclude,
    /// A pack passes like the episode.
    Include,
    /// Only packs pass: the episode does not.
    Only,
}

/// Filters, which apply to every branch (SEARCH.md 3 and 8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filters {
    /// The record's year is equal or null.
    pub year: Option<Year>,
    /// The record's type is equal.
    pub video_type: Option<VideoType>,
    /// The record's season is equal.
    pub season: Option<Number>,
    /// The record's episode is equal; a season pack has none.
    pub episode: Option<Number>,
    /// First subtag equal after mapping; region equal when both have one.
    pub language: Option<Language>,
    /// Records in the language of this tag's first subtag must match the tag; others pass.
    pub variety: Option<Language>,
    /// Season packs, when `episode` is given.
    pub packs: PackFilter,
    /// The record has a release id.
    pub has_source: bool,
    /// One filter for each of [`Flag::ALL`].
    pub flags: [FlagFilter; Flag::ALL.len()],
    /// The record was not posted before it.
    pub since: Option<Timestamp>,
}

/// Order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum HitOrder {
    /// The order of SEARCH.md 5.
    #[default]
    Search,
    /// The order of SEARCH.md 8.4, for programs that take the first playable hit.
    Player,
}

impl HitOrder {
    /// Fit of a match by the id of the series, when no episode is named (SEARCH.md 5.3, 8.4).
    pub(crate) const fn series_fit(self) -> u8 {
        match self {
            Self::Search => 1,
            Self::Player => 0,
        }
    }
}

/// A valid search request: one or more criteria, filters, a page size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    query: Option<SearchText>,
    title: Option<SearchText>,
    catalog_id: Option<CatalogTerm>,
    public_id: Option<RecordId>,
    release: Option<SearchText>,
    filters: Filters,
    order: HitOrder,
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
            release: None,
            filters,
            order: HitOrder::Search,
            page_size,
        }
    }

    /// With another bound of its hits.
    pub fn with_page_size(mut self, page_size: u16) -> Self {
        self.page_size = page_size;
        self
    }

    /// With the `query` criterion.
    ///
    /// ```
    /// use subcat_engine::{Filters, Query, SearchText, Year};
    /// let filters = Filters { year: Year::new(2004), ..Filters::default() };
    /// let query = Query::new(filters, 100).with_query(SearchText::query("Lost S01").unwrap());
    /// assert!(query.has_criterion());
    /// assert_eq!(query.query().unwrap().folded(), "lost s01");
    /// ```
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

    /// Sets the `release`: its records come first among equals; not a criterion (SEARCH.md 5.5).
    #[must_use]
    pub fn with_release(mut self, text: Option<SearchText>) -> Self {
        self.release = text;
        self
    }

    /// With another order of the hits.
    #[must_use]
    pub fn with_order(mut self, order: HitOrder) -> Self {
        self.order = order;
        self
    }

    /// With other filters.
    #[must_use]
    pub fn with_filters(mut self, filters: Filters) -> Self {
        self.filters = filters;
        self
    }

    /// True if a criterion is given.
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

    /// The release to order equals by, if supplied.
    pub fn release(&self) -> Option<&SearchText> {
        self.release.as_ref()
    }

    /// Filters, which apply to every branch.
    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// Order of the hits.
    pub fn order(&self) -> HitOrder {
        self.order
    }

    /// Maximum number of hits on a page.
    pub fn page_size(&self) -> u16 {
        self.page_size
    }

    /// True if the `query` parameter is used (it enqueues a reindex job).
    pub fn uses_free_text(&self) -> bool {
        self.query.is_some()
    }

    /// The words and markers of the `query` criterion. Its year marker depends on the `year` filter
    /// (SEARCH.md 2.2), so a text can only be parsed with its request.
    ///
    /// Source: SEARCH.md 2.
    pub fn parsed_query(&self) -> Option<ParsedText<'_>> {
        let text = self.query.as_ref()?;
        Some(ParsedText::of_query(text, self.filters.year))
    }

    /// The words and markers of the `title` criterion.
    ///
    /// Source: SEARCH.md 2.
    pub fn parsed_title(&self) -> Option<ParsedText<'_>> {
        self.title.as_ref().map(ParsedText::of_title)
    }

    /// Appends the canonical form to `out`: equal bytes for requests with equal parsed values,
    /// which have the same answer. The search cache puts `search:v3:` before it.
    ///
    /// Shape: for each given part, in a fixed order, a letter and a value of fixed or stated
    /// length, least significant byte first.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        // A letter before each part, and a length before each text: no request can spell the bytes
        // of another one, so that the cache never answers with a different search.
        out.push(b'k');
        out.extend(self.page_size.to_le_bytes());
        write_name(b'q', self.query.as_ref(), out);
        write_name(b't', self.title.as_ref(), out);
        match self.catalog_id {
            Some(CatalogTerm::Number(number)) => {
                out.push(b'c');
                out.extend(number.to_le_bytes());
            }
            // All values that match nothing share one cached answer.
            Some(CatalogTerm::Nothing) => out.push(b'n'),
            None => {}
        }
        if let Some(id) = self.public_id {
            out.push(b'p');
            out.extend(id.as_bytes());
        }
        if let Some(release) = &self.release {
            write_text(b'r', release.folded(), out);
            let group = release_group(release.written()).unwrap_or_default();
            write_text(b'g', &group, out);
        }
        if self.order == HitOrder::Player {
            out.push(b'z');
        }
        self.filters.write_canonical(out);
    }
}

impl Filters {
    fn write_canonical(&self, out: &mut Vec<u8>) {
        write_number(b'y', self.year.map(Year::get), out);
        match self.video_type {
            Some(VideoType::Movie) => out.push(b'm'),
            Some(VideoType::Episode) => out.push(b'v'),
            None => {}
        }
        write_number(b's', self.season.map(Number::get), out);
        write_number(b'e', self.episode.map(Number::get), out);
        if let Some(language) = &self.language {
            out.push(b'l');
            out.extend(LanguageTerm::of(language).to_bytes());
        }
        if let Some(language) = &self.variety {
            out.push(b'a');
            out.extend(LanguageTerm::of(language).to_bytes());
        }
        out.extend(match self.packs {
            PackFilter::Exclude => None,
            PackFilter::Include => Some(b'i'),
            PackFilter::Only => Some(b'o'),
        });
        if self.has_source {
            out.push(b'u');
        }
        for (filter, [exclude, only]) in self.flags.iter().zip(FLAG_LETTERS) {
            out.extend(match filter {
                FlagFilter::Include => None,
                FlagFilter::Exclude => Some(exclude),
                FlagFilter::Only => Some(only),
            });
        }
        if let Some(since) = self.since {
            out.push(b'w');
            out.extend(since.seconds().to_le_bytes());
        }
    }

    /// The filter on a flag.
    pub fn flag(&self, flag: Flag) -> FlagFilter {
        self.flags[flag.idx()]
    }

    /// With a filter on a flag.
    #[must_use]
    pub fn with_flag(mut self, flag: Flag, filter: FlagFilter) -> Self {
        self.flags[flag.idx()] = filter;
        self
    }
}

/// Letters of the canonical form for each flag: excluded, and only.
const FLAG_LETTERS: [[u8; 2]; Flag::ALL.len()] = [*b"hH", *b"fF", *b"xX"];

/// Writes a text, and its written form if that says more: names are read from it.
fn write_name(letter: u8, text: Option<&SearchText>, out: &mut Vec<u8>) {
    if let Some(text) = text {
        write_text(letter, text.folded(), out);
        if text.written() != text.folded() {
            write_text(b'j', text.written(), out);
        }
    }
}

fn write_text(letter: u8, text: &str, out: &mut Vec<u8>) {
    out.push(letter);
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn write_number(letter: u8, number: Option<u16>, out: &mut Vec<u8>) {
    if let Some(number) = number {
        out.push(letter);
        out.extend(number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expected: Option<u64>) {
        let term = expected.map_or(CatalogTerm::Nothing, CatalogTerm::Number);
        assert_eq!(CatalogTerm::parse(value), term, "{value}");
    }

    #[test]
    fn search_rule_4_2_catalog_ids_are_numbers_with_or_without_tt() {
        check("tt0012345", Some(12345));
        check("TT12345", Some(12345));
        check("tT12345", Some(12345));
        check("12345", Some(12345));
        check("0", Some(0));
        check("tt000000000001", Some(1));
        check("123456789012", Some(123_456_789_012));
        check("1234567890123", None);
        check("tt", None);
        check("ttt1", None);
        check("t1", None);
        check("tt 1", None);
        check("tt-1", None);
        check("+1", None);
        check("tt１", None);
        check("ｔｔ1", None);
        check("ñ", None);
    }

    fn canonical(query: &Query) -> Vec<u8> {
        let mut bytes = Vec::new();
        query.write_canonical(&mut bytes);
        bytes
    }

    fn by_query(value: &str) -> Query {
        Query::new(Filters::default(), 100).with_query(SearchText::query(value).unwrap())
    }

    fn by_catalog_id(value: &str) -> Query {
        Query::new(Filters::default(), 100).with_catalog_id(Some(CatalogTerm::parse(value)))
    }

    fn by_language(tag: &str) -> Query {
        let language = Language::parse(tag);
        let filters = Filters {
            language,
            ..Filters::default()
        };
        Query::new(filters, 100).with_title(SearchText::title("x"))
    }

    #[test]
    fn requests_that_mean_the_same_have_one_canonical_form() {
        assert_eq!(
            canonical(&by_query("Lost  Girl")),
            canonical(&by_query("lost  girl"))
        );
        assert_eq!(
            canonical(&by_catalog_id("tt007")),
            canonical(&by_catalog_id("7"))
        );
        assert_eq!(
            canonical(&by_query("lost").with_release(SearchText::release("Lost.1x02.720p-GRP"))),
            canonical(&by_query("lost").with_release(SearchText::release("lost s01e02 720p grp")))
        );
        assert_eq!(
            canonical(&by_catalog_id("a")),
            canonical(&by_catalog_id("b"))
        );
        assert_eq!(
            canonical(&by_language("spa_mx")),
            canonical(&by_language("es-MX"))
        );
    }

    #[test]
    fn requests_that_differ_have_different_canonical_forms() {
        let title = Query::new(Filters::default(), 100).with_title(SearchText::title("lost"));
        let number = Number::new(1);
        let year = Filters {
            year: Year::new(1999),
            ..Filters::default()
        };
        let season = Filters {
            season: number,
            ..Filters::default()
        };
        let episode = Filters {
            episode: number,
            ..Filters::default()
        };
        let with = |change: fn(&mut Filters)| {
            let mut filters = Filters::default();
            change(&mut filters);
            Query::new(filters, 100).with_title(SearchText::title("lost"))
        };
        let of_type = |video_type| Filters {
            video_type: Some(video_type),
            ..Filters::default()
        };
        let queries = [
            by_query("lost"),
            by_query("lost s01"),
            by_query("lost - s01"),
            title.clone(),
            by_query("lost").with_title(SearchText::title("lost")),
            by_query("lost").with_release(SearchText::release("lost")),
            by_query("lost").with_release(SearchText::release("lost 720p")),
            by_query("lost").with_release(SearchText::release("lost-720p[tgx]")),
            by_query("lost").with_release(SearchText::release("lost 720p tgx")),
            by_catalog_id("7"),
            by_catalog_id("x"),
            by_query("lost").with_catalog_id(Some(CatalogTerm::Number(7))),
            by_language("es"),
            by_language("es-419"),
            Query::new(Filters::default(), 99).with_title(SearchText::title("lost")),
            Query::new(year, 100).with_title(SearchText::title("lost")),
            Query::new(season, 100).with_title(SearchText::title("lost")),
            Query::new(episode, 100).with_title(SearchText::title("lost")),
            Query::new(of_type(VideoType::Movie), 100).with_title(SearchText::title("lost")),
            Query::new(of_type(VideoType::Episode), 100).with_title(SearchText::title("lost")),
            with(|it| it.variety = Language::parse("es-419")),
            with(|it| it.packs = PackFilter::Include),
            with(|it| it.packs = PackFilter::Only),
            with(|it| it.has_source = true),
            with(|it| it.flags[0] = FlagFilter::Exclude),
            with(|it| it.flags[0] = FlagFilter::Only),
            with(|it| it.flags[1] = FlagFilter::Exclude),
            with(|it| it.flags[1] = FlagFilter::Only),
            with(|it| it.flags[2] = FlagFilter::Exclude),
            with(|it| it.flags[2] = FlagFilter::Only),
            with(|it| it.since = Timestamp::parse("2026-01-01")),
            title.clone().with_order(HitOrder::Player),
            title.with_public_id(Some(RecordId::from_bytes([0; 16]))),
        ];
        let mut forms: Vec<Vec<u8>> = queries.iter().map(canonical).collect();
        forms.sort();
        forms.dedup();
        assert_eq!(forms.len(), queries.len());
    }

    #[test]
    fn search_rule_2_2_the_year_filter_decides_the_year_marker() {
        let year = Filters {
            year: Year::new(2049),
            ..Filters::default()
        };
        let text = SearchText::query("blade runner 2049 2017").unwrap();
        let given = Query::new(year, 100).with_query(text.clone());
        assert_eq!(given.parsed_query().unwrap().year_word(), Some("2049"));
        let open = Query::new(Filters::default(), 100).with_query(text);
        assert_eq!(open.parsed_query().unwrap().year_word(), Some("2017"));
    }
}
