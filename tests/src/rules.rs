//! Small catalogs, requests and verdicts, written the way a rule's example is.

use subcat_engine::{
    CatalogId, CatalogTerm, Filters, Flag, FlagFilter, HitOrder, Language, Number, PackFilter,
    Query, Record, RecordId, ReleaseId, SearchText, Timestamp, VideoType, Year,
    internals::oracle::OracleAnswer,
};
use subcat_fuzz::differ::agreed_answer;

/// A film that is told from others by its number; without year, ids and description.
pub fn film(number: u8, title: &str) -> Record {
    Record {
        posted_at: posted(0),
        ..Record::new(id(number), title)
    }
}

/// An episode.
pub fn episode(number: u8, title: &str, season: u16, episode: u16) -> Record {
    Record {
        episode: Number::new(episode),
        ..pack(number, title, season)
    }
}

/// A season pack.
pub fn pack(number: u8, title: &str, season: u16) -> Record {
    Record {
        video_type: VideoType::Episode,
        season: Number::new(season),
        ..film(number, title)
    }
}

/// Changes of a record, to be chained.
pub trait With: Sized {
    /// With this year.
    fn year(self, year: u16) -> Self;
    /// With this description.
    fn described(self, description: &str) -> Self;
    /// With this catalog id.
    fn catalog_id(self, id: &str) -> Self;
    /// With this catalog id of its series.
    fn parent(self, id: &str) -> Self;
    /// With this language.
    fn language(self, tag: &str) -> Self;
    /// Posted this number of seconds later than others.
    fn later(self, seconds: i64) -> Self;
    /// With this flag true or false.
    fn flag(self, flag: Flag, value: bool) -> Self;
    /// With a release id.
    fn source(self) -> Self;
    /// Not active.
    fn inactive(self) -> Self;
}

impl With for Record {
    fn year(self, year: u16) -> Self {
        let year = Year::new(year);
        Self { year, ..self }
    }

    fn described(self, description: &str) -> Self {
        let description = Some(description.to_string());
        Self {
            description,
            ..self
        }
    }

    fn catalog_id(self, id: &str) -> Self {
        let catalog_id = CatalogId::parse(id);
        Self { catalog_id, ..self }
    }

    fn parent(self, id: &str) -> Self {
        let parent_catalog_id = CatalogId::parse(id);
        Self {
            parent_catalog_id,
            ..self
        }
    }

    fn language(self, tag: &str) -> Self {
        let language = Language::parse(tag).expect("the tag of a test is well formed");
        Self { language, ..self }
    }

    fn later(self, seconds: i64) -> Self {
        let posted_at = posted(seconds);
        Self { posted_at, ..self }
    }

    fn flag(self, flag: Flag, value: bool) -> Self {
        let flags = self.flags.with(flag, Some(value));
        Self { flags, ..self }
    }

    fn source(self) -> Self {
        let source_release_id = ReleaseId::parse("r1");
        Self {
            source_release_id,
            ..self
        }
    }

    fn inactive(self) -> Self {
        let is_active = false;
        Self { is_active, ..self }
    }
}

/// The id of the record with this number.
pub fn id(number: u8) -> RecordId {
    let mut bytes = [0; 16];
    bytes[0] = number;
    RecordId::from_bytes(bytes)
}

fn posted(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds).expect("the seconds of a test are few")
}

/// A request as in a URL, nothing encoded: `query=lost&year=2004`.
///
/// What only addresses ask for is written as `packs`, `source`, `variety` and `order`.
///
/// Panics when a parameter is unknown or its value is not valid.
pub fn request(parameters: &str) -> Query {
    let mut filters = Filters::default();
    let mut order = HitOrder::Search;
    let mut page_size = 100;
    let mut criteria = Vec::new();
    for parameter in parameters.split('&') {
        let (name, value) = parameter.split_once('=').expect("a parameter has a value");
        let number = || Some(value.parse().expect("the value is a number"));
        match name {
            "year" => filters.year = number().and_then(Year::new),
            "video_type" => filters.video_type = VideoType::parse(value),
            "season" => filters.season = number().and_then(Number::new),
            "episode" => filters.episode = number().and_then(Number::new),
            "language" => filters.language = Language::parse(value),
            "since" => filters.since = Timestamp::parse(value),
            "packs" => filters.packs = packs(value),
            "source" => filters.has_source = true,
            "variety" => filters.variety = Language::parse(value),
            "order" => order = HitOrder::Player,
            "limit" => page_size = value.parse().expect("the limit is a number"),
            _ => match Flag::ALL.into_iter().find(|flag| flag.as_str() == name) {
                Some(flag) => {
                    let filter = FlagFilter::parse(value).expect("a filter of flags");
                    filters = filters.with_flag(flag, filter);
                }
                None => criteria.push((name, value)),
            },
        }
    }
    let mut query = Query::new(filters, page_size).with_order(order);
    for (name, value) in criteria {
        query = match name {
            "query" => query.with_query(SearchText::query(value).expect("at most 32 words")),
            "title" => query.with_title(SearchText::title(value)),
            "catalog_id" => query.with_catalog_id(Some(CatalogTerm::parse(value))),
            "release" => query.with_release(SearchText::release(value)),
            "public_id" => query.with_public_id(value.parse().ok().map(id)),
            _ => panic!("no parameter is called {name}"),
        };
    }
    query
}

fn packs(value: &str) -> PackFilter {
    match value {
        "include" => PackFilter::Include,
        "only" => PackFilter::Only,
        _ => panic!("packs are never {value}"),
    }
}

/// Answer of oracle and engine; panics if they differ.
pub fn answer(records: &[Record], parameters: &str) -> OracleAnswer {
    agreed_answer(records, &request(parameters))
}

/// Asserts that the request finds exactly these records, in this order.
pub fn finds(records: &[Record], parameters: &str, expected: &[u8]) {
    let hits = answer(records, parameters).hits;
    let found: Vec<u8> = hits.iter().map(|hit| number_of(hit.id)).collect();
    assert_eq!(found, expected, "{parameters}");
}

/// Asserts that the request finds exactly these records, in this order, each with this relevance
/// and fit.
pub fn ranks(records: &[Record], parameters: &str, expected: &[(u8, u8, u8)]) {
    let hits = answer(records, parameters).hits;
    let mut found = Vec::new();
    for hit in hits {
        found.push((number_of(hit.id), hit.relevance, hit.fit));
    }
    assert_eq!(found, expected, "{parameters}");
}

/// Asserts that the request finds exactly these records, in this order, each with this relevance,
/// fit and missing weight.
pub fn weighs(records: &[Record], parameters: &str, expected: &[(u8, u8, u8, u8)]) {
    let hits = answer(records, parameters).hits;
    let mut found = Vec::new();
    for hit in hits {
        found.push((number_of(hit.id), hit.relevance, hit.fit, hit.missing));
    }
    assert_eq!(found, expected, "{parameters}");
}

fn number_of(id: RecordId) -> u8 {
    id.as_bytes()[0]
}
