//! The parameters of a search.

use std::borrow::Cow;

use subcat_engine::{
    CatalogTerm, Filters, Flag, FlagFilter, Language, Number, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX,
    Query, RecordId, SEARCH_TEXT_CHARS_MAX, SEARCH_YEAR_MIN, SearchText, Timestamp, VideoType,
    YEAR_MAX, Year,
};

use super::query_string::parameters;

/// A valid search request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// The query for the engine.
    pub query: Query,
    /// True if the request named `imdb_id`, so that the items do, too.
    pub echoes_imdb_id: bool,
    /// True if the request named a flag, so that the items show theirs.
    pub shows_flags: bool,
}

/// A parameter with an invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterRejection {
    /// The parameter's name, as the request had it.
    pub parameter: &'static str,
    /// Message for people.
    pub message: &'static str,
    /// Kind of the error, for programs.
    pub kind: &'static str,
}

/// Reason why a search is rejected, in the order of the checks (API.md, order of checks).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchRejection {
    /// 422: every parameter that is not valid, in the order of [`search_request`]'s checks.
    Parameters(Vec<ParameterRejection>),
    /// 400: no criterion.
    NoCriterion,
    /// 422: `season` or `episode` without `video_type=episode`.
    SeasonWithoutEpisodes,
}

const INT_PARSING: ValueRejection = ValueRejection(
    "Input should be a valid integer, unable to parse string as an integer",
    "int_parsing",
);
const LITERAL: ValueRejection =
    ValueRejection("Input should be 'movie' or 'episode'", "literal_error");
const UUID: ValueRejection = ValueRejection("Input should be a valid UUID", "uuid_parsing");
const LANGUAGE: ValueRejection =
    ValueRejection("Input should be a language tag", "string_pattern_mismatch");
const TIME: ValueRejection =
    ValueRejection("Input should be a valid date and time", "datetime_parsing");
const FLAG: ValueRejection = ValueRejection(
    "Input should be 'include', 'exclude' or 'only'",
    "literal_error",
);
const TOO_LONG: ValueRejection = ValueRejection(
    "Input should have at most 512 characters",
    "string_too_long",
);
const TOO_MANY_WORDS: ValueRejection =
    ValueRejection("Input should have at most 32 words", "too_many_words");
const BELOW_1: ValueRejection = ValueRejection(
    "Input should be greater than or equal to 1",
    "greater_than_equal",
);
const BELOW_1900: ValueRejection = ValueRejection(
    "Input should be greater than or equal to 1900",
    "greater_than_equal",
);
const ABOVE_200: ValueRejection = ValueRejection(
    "Input should be less than or equal to 200",
    "less_than_equal",
);
const ABOVE_2100: ValueRejection = ValueRejection(
    "Input should be less than or equal to 2100",
    "less_than_equal",
);
const ABOVE_65535: ValueRejection = ValueRejection(
    "Input should be less than or equal to 65535",
    "less_than_equal",
);

const _: () = assert!(SEARCH_TEXT_CHARS_MAX == 512);
const _: () = assert!(subcat_engine::QUERY_WORDS_MAX == 32);
const _: () = assert!(PAGE_SIZE_MAX == 200);
const _: () = assert!(SEARCH_YEAR_MIN == 1900);
const _: () = assert!(YEAR_MAX == 2100);

/// Message and kind of a rejected value.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueRejection(pub(super) &'static str, pub(super) &'static str);

/// The bounds of an integer parameter, and the rejections of values beyond them.
pub(super) struct IntegerBounds {
    min: u16,
    max: u16,
    below: ValueRejection,
    above: ValueRejection,
}

const YEARS: IntegerBounds = IntegerBounds {
    min: SEARCH_YEAR_MIN,
    max: YEAR_MAX,
    below: BELOW_1900,
    above: ABOVE_2100,
};
const PAGE_SIZES: IntegerBounds = IntegerBounds {
    min: 1,
    max: PAGE_SIZE_MAX,
    below: BELOW_1,
    above: ABOVE_200,
};
pub(super) const NUMBERS: IntegerBounds = IntegerBounds {
    min: 1,
    max: u16::MAX,
    below: BELOW_1,
    above: ABOVE_65535,
};

/// The parameters of a search, as the documentation lists them (API.md 5).
pub const SEARCH_PARAMETERS: [&str; 16] = [
    "query",
    "title",
    "catalog_id",
    "imdb_id",
    "public_id",
    "year",
    "video_type",
    "language",
    "limit",
    "season",
    "episode",
    "release",
    "since",
    "hearing_impaired",
    "forced",
    "machine_translated",
];

/// The known parameters, decoded; the last value of a repeated one.
#[derive(Default)]
struct RawParameters<'a> {
    query: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
    catalog_id: Option<Cow<'a, str>>,
    imdb_id: Option<Cow<'a, str>>,
    public_id: Option<Cow<'a, str>>,
    year: Option<Cow<'a, str>>,
    video_type: Option<Cow<'a, str>>,
    language: Option<Cow<'a, str>>,
    limit: Option<Cow<'a, str>>,
    season: Option<Cow<'a, str>>,
    episode: Option<Cow<'a, str>>,
    release: Option<Cow<'a, str>>,
    since: Option<Cow<'a, str>>,
    /// One for each of [`Flag::ALL`].
    flags: [Option<Cow<'a, str>>; Flag::ALL.len()],
}

impl<'a> RawParameters<'a> {
    fn read(query_string: &'a str, has_imdb_id: bool) -> Self {
        let mut raw = Self::default();
        for (name, value) in parameters(query_string) {
            let place = match &*name {
                "query" => &mut raw.query,
                "title" => &mut raw.title,
                "catalog_id" => &mut raw.catalog_id,
                "imdb_id" if has_imdb_id => &mut raw.imdb_id,
                "public_id" => &mut raw.public_id,
                "year" => &mut raw.year,
                "video_type" => &mut raw.video_type,
                "language" => &mut raw.language,
                "limit" => &mut raw.limit,
                "season" => &mut raw.season,
                "episode" => &mut raw.episode,
                "release" => &mut raw.release,
                "since" => &mut raw.since,
                "hearing_impaired" => &mut raw.flags[0],
                "forced" => &mut raw.flags[1],
                "machine_translated" => &mut raw.flags[2],
                _ => continue,
            };
            *place = Some(value);
        }
        raw
    }
}

/// Rejected parameters so far.
#[derive(Default)]
pub(super) struct ParameterRejections {
    pub(super) rejections: Vec<ParameterRejection>,
}

impl ParameterRejections {
    /// The value; if it is rejected, notes that and returns `None`.
    pub(super) fn keep<T>(
        &mut self,
        parameter: &'static str,
        value: Result<T, ValueRejection>,
    ) -> Option<T> {
        let rejection = |ValueRejection(message, kind)| ParameterRejection {
            parameter,
            message,
            kind,
        };
        value
            .map_err(|problem| self.rejections.push(rejection(problem)))
            .ok()
    }
}

/// Parses the query string of a search.
///
/// `has_imdb_id` is true if `imdb_id` is an alias of `catalog_id` (setting
/// `compat.imdb_id_alias`). Errors: all parameters that are not valid; else no criterion; else the
/// season rule.
pub fn search_request(
    query_string: &str,
    has_imdb_id: bool,
) -> Result<SearchRequest, SearchRejection> {
    let raw = RawParameters::read(query_string, has_imdb_id);
    let mut rejected = ParameterRejections::default();
    let query = rejected.keep("query", free_text(supplied(raw.query.as_ref())));
    let title = rejected.keep("title", short(supplied(raw.title.as_ref())));
    let catalog_id = rejected.keep("catalog_id", short(supplied(raw.catalog_id.as_ref())));
    let imdb_id = rejected.keep("imdb_id", short(supplied(raw.imdb_id.as_ref())));
    let public_id = rejected.keep("public_id", record_id(supplied(raw.public_id.as_ref())));
    // An empty year is rejected, unlike any other empty value.
    let year = raw.year.as_ref().map(|value| value.trim());
    let year = rejected.keep("year", integer(year, &YEARS));
    let video_type = rejected.keep("video_type", video(supplied(raw.video_type.as_ref())));
    let language = rejected.keep("language", tag(supplied(raw.language.as_ref())));
    let page_size = rejected.keep("limit", integer(supplied(raw.limit.as_ref()), &PAGE_SIZES));
    let season = rejected.keep("season", integer(supplied(raw.season.as_ref()), &NUMBERS));
    let episode = rejected.keep("episode", integer(supplied(raw.episode.as_ref()), &NUMBERS));
    let release = rejected.keep("release", short(supplied(raw.release.as_ref())));
    let since = rejected.keep("since", time(supplied(raw.since.as_ref())));
    let given_flags = raw.flags.each_ref().map(|value| supplied(value.as_ref()));
    let mut flags = [FlagFilter::Include; Flag::ALL.len()];
    for ((flag, value), filter) in Flag::ALL.into_iter().zip(given_flags).zip(&mut flags) {
        *filter = rejected
            .keep(flag.as_str(), flag_filter(value))
            .unwrap_or_default();
    }
    if !rejected.rejections.is_empty() {
        return Err(SearchRejection::Parameters(rejected.rejections));
    }
    let filters = Filters {
        year: year.flatten().and_then(Year::new),
        video_type: video_type.flatten(),
        season: season.flatten().and_then(Number::new),
        episode: episode.flatten().and_then(Number::new),
        language: language.flatten(),
        since: since.flatten(),
        flags,
        ..Filters::default()
    };
    let is_season_allowed = filters.video_type == Some(VideoType::Episode)
        || (filters.season.is_none() && filters.episode.is_none());
    let (catalog_id, imdb_id) = (catalog_id.flatten(), imdb_id.flatten());
    let page_size = page_size.flatten().unwrap_or(PAGE_SIZE_DEFAULT);
    let query = Query::new(filters, page_size)
        .with_query(query.flatten())
        .with_title(title.flatten().and_then(SearchText::title))
        .with_catalog_id(catalog_id.or(imdb_id).map(CatalogTerm::parse))
        .with_public_id(public_id.flatten())
        .with_release(release.flatten().and_then(SearchText::release));
    if !query.has_criterion() {
        return Err(SearchRejection::NoCriterion);
    }
    if !is_season_allowed {
        return Err(SearchRejection::SeasonWithoutEpisodes);
    }
    Ok(SearchRequest {
        query,
        echoes_imdb_id: catalog_id.is_none() && imdb_id.is_some(),
        shows_flags: given_flags.iter().any(Option::is_some),
    })
}

/// The trimmed value; an empty one counts as not supplied.
pub(super) fn supplied<'a>(value: Option<&'a Cow<'_, str>>) -> Option<&'a str> {
    value
        .map(|value| value.trim())
        .filter(|value| !value.is_empty())
}

pub(super) fn short(value: Option<&str>) -> Result<Option<&str>, ValueRejection> {
    let is_long = |value: &str| {
        // There are at most as many characters as bytes: the length decides for most values.
        SEARCH_TEXT_CHARS_MAX < value.len() && SEARCH_TEXT_CHARS_MAX < value.chars().count()
    };
    if value.is_some_and(is_long) {
        return Err(TOO_LONG);
    }
    Ok(value)
}

fn free_text(value: Option<&str>) -> Result<Option<SearchText>, ValueRejection> {
    match short(value)? {
        Some(value) => SearchText::query(value).map_err(|_| TOO_MANY_WORDS),
        None => Ok(None),
    }
}

fn record_id(value: Option<&str>) -> Result<Option<RecordId>, ValueRejection> {
    let parse = |value| RecordId::parse(value).ok_or(UUID);
    value.map(parse).transpose()
}

fn video(value: Option<&str>) -> Result<Option<VideoType>, ValueRejection> {
    let parse = |value| VideoType::parse(value).ok_or(LITERAL);
    value.map(parse).transpose()
}

fn tag(value: Option<&str>) -> Result<Option<Language>, ValueRejection> {
    let parse = |value| Language::parse(value).ok_or(LANGUAGE);
    value.map(parse).transpose()
}

fn time(value: Option<&str>) -> Result<Option<Timestamp>, ValueRejection> {
    let parse = |value| Timestamp::parse(value).ok_or(TIME);
    value.map(parse).transpose()
}

fn flag_filter(value: Option<&str>) -> Result<FlagFilter, ValueRejection> {
    match value {
        Some(value) => FlagFilter::parse(value).ok_or(FLAG),
        None => Ok(FlagFilter::Include),
    }
}

/// Parses decimal digits, any number of them, with an optional `+`, and checks the bounds.
pub(super) fn integer(
    value: Option<&str>,
    bounds: &IntegerBounds,
) -> Result<Option<u16>, ValueRejection> {
    let Some(value) = value else {
        return Ok(None);
    };
    let digits = value.strip_prefix('+').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(INT_PARSING);
    }
    // It has only digits, so a number that does not fit is too large.
    let Ok(number) = digits.parse::<u16>() else {
        return Err(bounds.above);
    };
    if number < bounds.min {
        return Err(bounds.below);
    }
    if bounds.max < number {
        return Err(bounds.above);
    }
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejections(query_string: &str) -> Vec<(&'static str, &'static str)> {
        match search_request(query_string, true) {
            Err(SearchRejection::Parameters(rejections)) => rejections
                .into_iter()
                .map(|rejection| (rejection.parameter, rejection.kind))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn check(query_string: &str, expected: &[(&str, &str)]) {
        assert_eq!(rejections(query_string), expected, "{query_string}");
    }

    const ID: &str = "public_id=0b0e7c4a9b1f4c638d4e0123456789ab";

    #[test]
    fn integers_are_digits_with_an_optional_plus() {
        let limit = |value: &str| {
            let request = search_request(&format!("{ID}&limit={value}"), true);
            request.map(|request| request.query.page_size()).ok()
        };
        assert_eq!(limit("1"), Some(1));
        assert_eq!(limit("200"), Some(200));
        assert_eq!(limit("%2B7"), Some(7));
        assert_eq!(limit("+7"), Some(7));
        assert_eq!(limit("0007"), Some(7));
        assert_eq!(limit(""), Some(100));
        check("limit=0", &[("limit", "greater_than_equal")]);
        check("limit=201", &[("limit", "less_than_equal")]);
        let huge = "limit=99999999999999999999999999";
        check(huge, &[("limit", "less_than_equal")]);
        for value in ["-1", "1.0", "1e2", "x", "%2B", "1_0", "٣", "0x1", "1 0"] {
            check(&format!("limit={value}"), &[("limit", "int_parsing")]);
        }
    }

    #[test]
    fn a_year_must_not_be_empty() {
        check("year=", &[("year", "int_parsing")]);
        check("year", &[("year", "int_parsing")]);
        check("year=+", &[("year", "int_parsing")]);
        check("year=1899", &[("year", "greater_than_equal")]);
        check("year=2101", &[("year", "less_than_equal")]);
        check(&format!("{ID}&year=&year=1900"), &[]);
        check(&format!("{ID}&year=2100"), &[]);
    }

    #[test]
    fn all_faults_come_at_once_in_the_order_of_the_table() {
        let mess = "episode=0&season=70000&limit=x&language=e&video_type=film&year=&public_id=1";
        let flags = "machine_translated=no&forced=si&hearing_impaired=&since=ayer";
        let mess = format!("{flags}&release={}&{mess}", "x".repeat(513));
        check(
            &mess,
            &[
                ("public_id", "uuid_parsing"),
                ("year", "int_parsing"),
                ("video_type", "literal_error"),
                ("language", "string_pattern_mismatch"),
                ("limit", "int_parsing"),
                ("season", "less_than_equal"),
                ("episode", "greater_than_equal"),
                ("release", "string_too_long"),
                ("since", "datetime_parsing"),
                ("forced", "literal_error"),
                ("machine_translated", "literal_error"),
            ],
        );
    }

    #[test]
    fn a_release_is_not_a_criterion_and_without_words_not_supplied() {
        let refusal = search_request("release=lost.720p", true).err();
        assert_eq!(refusal, Some(SearchRejection::NoCriterion));
        let release = |value: &str| {
            let request = search_request(&format!("{ID}&release={value}"), true).unwrap();
            request.query.release().map(|text| text.folded().to_owned())
        };
        assert_eq!(
            release("++Lost.1x02-GRP.srt+"),
            Some("lost s01e02 grp srt".into())
        );
        assert_eq!(release(""), None);
        assert_eq!(release("..."), None);
        let longest = "x".repeat(SEARCH_TEXT_CHARS_MAX);
        assert_eq!(release(&format!("++{longest}+")), Some(longest));
    }

    #[test]
    fn flags_are_filters_and_shown_when_one_is_supplied() {
        let parse = |text: &str| search_request(&format!("{ID}&{text}"), true).unwrap();
        let only = parse("forced=only&hearing_impaired=exclude");
        let flags = only.query.filters().flags;
        let expected = [FlagFilter::Exclude, FlagFilter::Only, FlagFilter::Include];
        assert_eq!(flags, expected);
        assert!(only.shows_flags);
        assert!(parse("machine_translated=include").shows_flags);
        assert!(!parse("machine_translated=+&since=2026-01-01").shows_flags);
        let since = parse("since=2026-01-01T02:00:00.5%2B02:00")
            .query
            .filters()
            .since;
        assert_eq!(since, Timestamp::parse("2026-01-01"));
    }

    #[test]
    fn the_last_of_a_repeated_parameter_counts() {
        check(
            "limit=x&limit=5&public_id=1",
            &[("public_id", "uuid_parsing")],
        );
        check(&format!("public_id=1&{ID}"), &[]);
        let emptied = search_request(&format!("{ID}&public_id="), true);
        assert_eq!(emptied, Err(SearchRejection::NoCriterion));
    }

    #[test]
    fn criteria_are_needed_before_the_season_rule() {
        let refusal = |query_string: &str| search_request(query_string, true).err();
        assert_eq!(refusal(""), Some(SearchRejection::NoCriterion));
        assert_eq!(refusal("season=1"), Some(SearchRejection::NoCriterion));
        assert_eq!(refusal("tmdb_id=5"), Some(SearchRejection::NoCriterion));
        let rule = Some(SearchRejection::SeasonWithoutEpisodes);
        assert_eq!(refusal(&format!("{ID}&season=1")), rule);
        assert_eq!(refusal(&format!("{ID}&episode=1&video_type=movie")), rule);
        assert_eq!(refusal(&format!("{ID}&episode=1&video_type=episode")), None);
    }

    #[test]
    fn messages_are_those_of_the_interface() {
        let message = |query_string: &str| match search_request(query_string, true) {
            Err(SearchRejection::Parameters(rejections)) => rejections[0].message,
            _ => "",
        };
        let integer = "Input should be a valid integer, unable to parse string as an integer";
        assert_eq!(message("limit=x"), integer);
        let above = "Input should be less than or equal to 65535";
        assert_eq!(message("season=65536"), above);
        let video_type = "Input should be 'movie' or 'episode'";
        assert_eq!(message("video_type=Movie"), video_type);
    }
}
