//! Requests near the records of a catalog: found, nearly found, and not found.

use subcat_engine::{
    CatalogTerm, Filters, Flag, FlagFilter, HitOrder, PackFilter, Query, Record, SEARCH_YEAR_MIN,
    SearchText, VideoType, Year,
};

use crate::choices::Choices;
use crate::names::name_text;
use crate::records::{CATALOG_IDS, language, number, posted_at, record_id, year};
use crate::vocabulary::{description_text, part, release_tail, title_text, with_typos};

/// A valid request.
pub fn request(choices: &mut Choices<'_>, records: &[Record]) -> Query {
    let page_size = choices.pick(&[100, 1, 2, 3, 7, 200]);
    let mut query = Query::new(filters(choices), page_size);
    let criteria = match choices.below(8) {
        0..=2 => 0b0001,
        3 | 4 => 0b0010,
        5 => 0b0100,
        _ => 1 + choices.below(15),
    };
    let has = |bit: usize| criteria & bit != 0;
    if has(1) {
        let text = text(choices, records);
        query = query.with_query(SearchText::query(&text).unwrap_or(None));
    }
    if has(2) {
        let text = text(choices, records);
        query = query.with_title(SearchText::title(&text));
    }
    if has(4) {
        query = query.with_catalog_id(Some(CatalogTerm::parse(&catalog_text(choices))));
    }
    if has(8) {
        query = query.with_public_id(Some(record_id(choices)));
    }
    if !query.has_criterion() {
        query = query.with_title(SearchText::title("lost"));
    }
    // Drawn last, and nothing by default: stored regressions stay the cases that they were.
    if choices.one_in(5) {
        let name = release_name(choices, records);
        query = query.with_query(SearchText::query(&name).unwrap_or(None));
    }
    if choices.one_in(3) {
        let name = release_name(choices, records);
        query = query.with_release(SearchText::release(&name));
    }
    if choices.one_in(4) {
        query = query.with_order(HitOrder::Player);
    }
    let filters = more_filters(choices, query.filters().clone());
    query = query.with_filters(filters);
    if choices.one_in(4)
        && let Some(record) = some_record(choices, records)
    {
        let name = name_text(choices, record);
        query = if choices.one_in(6) {
            query.with_title(SearchText::title(&name))
        } else {
            query.with_query(SearchText::query(&name).unwrap_or(None))
        };
    }
    query
}

/// A request for a name of a record by itself, with few filters.
pub fn name_request(choices: &mut Choices<'_>, records: &[Record]) -> Query {
    let page_size = choices.pick(&[100, 1, 7]);
    let filters = match choices.below(4) {
        0 => filters(choices),
        _ => Filters::default(),
    };
    let query = Query::new(filters, page_size);
    let Some(record) = some_record(choices, records) else {
        return query.with_title(SearchText::title("lost"));
    };
    let name = name_text(choices, record);
    let named = match choices.below(8) {
        0 => query.with_title(SearchText::title(&name)),
        1 => query
            .with_query(SearchText::query(&name).unwrap_or(None))
            .with_catalog_id(Some(CatalogTerm::parse(&catalog_text(choices)))),
        _ => query.with_query(SearchText::query(&name).unwrap_or(None)),
    };
    if named.has_criterion() {
        named
    } else {
        named.with_title(SearchText::title("lost"))
    }
}

/// The name of a release: words of a title, perhaps a marker, words of a description, a group.
fn release_name(choices: &mut Choices<'_>, records: &[Record]) -> String {
    let Some(record) = some_record(choices, records) else {
        return release_tail(choices);
    };
    let mut name = match choices.below(4) {
        0 => part(choices, &record.title),
        1 => title_text(choices, 2),
        _ => record.title.clone(),
    };
    let season = record.season.unwrap_or_else(|| number(choices)).get();
    let episode = record.episode.unwrap_or_else(|| number(choices)).get();
    let known_year = record.year.unwrap_or_else(|| year(choices)).get();
    match choices.below(6) {
        0 => name.push_str(&format!(".s{season:02}e{episode:02}")),
        1 => name.push_str(&format!(".s{season:02}")),
        2 => name.push_str(&format!(".{known_year}")),
        3 => name.push_str(&format!(".{known_year}.s{season:02}e{episode:02}")),
        4 => name.push_str(&format!(".{known_year}.{}", year(choices).get())),
        _ => {}
    }
    let description = record.description.as_deref().unwrap_or("");
    for word in description.split_whitespace().take(choices.below(8)) {
        name.push('.');
        name.push_str(word);
    }
    name.push('.');
    name.push_str(&release_tail(choices));
    name
}

/// Words that very many records of a large catalog have, with and without typos and markers.
pub const COMMON_TEXTS: &[&str] = &[
    "lost",
    "los",
    "lost subs",
    "subs lost",
    "subs",
    "lost 2004",
    "lost s01e02",
    "s01 lost",
    "losst",
    "losst subs 2004",
    "lost sub",
    "l",
    "lo",
    "lost lost",
    "lost s01 unknown",
    "lost 2004 unknown 720p subs",
];

/// Names of releases whose words very many records of a large catalog have, or few, or none.
pub const COMMON_RELEASES: &[&str] = &[
    "Lost.S01E02.720p.WEBRip.x264-subs.srt",
    "lost subs 2004",
    "Last.720p-lost",
    "subs",
    "720p x264 webrip latino castellano s02 2049 temporada the of a breaking film sherlock lost x",
    "unknown",
];

/// A request for one of the [`COMMON_TEXTS`], with any filters, and often with a release.
pub fn common_request(choices: &mut Choices<'_>) -> Query {
    let page_size = choices.pick(&[100, 1, 7, 200]);
    let mut query = Query::new(filters(choices), page_size);
    if choices.one_in(2) {
        query = query.with_release(SearchText::release(choices.pick(COMMON_RELEASES)));
    }
    let text = choices.pick(COMMON_TEXTS);
    match choices.below(4) {
        0 => query.with_title(SearchText::title(text)),
        1 => query
            .with_title(SearchText::title(choices.pick(COMMON_TEXTS)))
            .with_query(SearchText::query(text).unwrap_or(None)),
        _ => query.with_query(SearchText::query(text).unwrap_or(None)),
    }
}

fn filters(choices: &mut Choices<'_>) -> Filters {
    let mut filters = Filters::default();
    if choices.one_in(2) {
        return filters;
    }
    if choices.one_in(3) {
        filters.year = Some(year(choices)).filter(|year| Year::get(*year) >= SEARCH_YEAR_MIN);
    }
    if choices.one_in(4) {
        filters.video_type = Some(choices.pick(&[VideoType::Episode, VideoType::Movie]));
    }
    if choices.one_in(6) {
        filters.season = Some(number(choices));
    }
    if choices.one_in(6) {
        filters.episode = Some(number(choices));
    }
    if choices.one_in(3) {
        filters.language = Some(language(choices));
    }
    filters
}

/// The same filters with some of flags, packs, source, time and variety.
fn more_filters(choices: &mut Choices<'_>, mut filters: Filters) -> Filters {
    if !choices.one_in(3) {
        return filters;
    }
    for flag in Flag::ALL {
        let (include, exclude, only) = (FlagFilter::Include, FlagFilter::Exclude, FlagFilter::Only);
        let filter = choices.pick(&[include, include, exclude, only]);
        filters = filters.with_flag(flag, filter);
    }
    filters.packs = choices.pick(&[PackFilter::Exclude, PackFilter::Include, PackFilter::Only]);
    filters.has_source = choices.one_in(3);
    if choices.one_in(3) {
        filters.since = Some(posted_at(choices));
    }
    if choices.one_in(3) {
        filters.variety = Some(language(choices));
    }
    filters
}

/// A `catalog_id` value: known, unknown, or none.
fn catalog_text(choices: &mut Choices<'_>) -> String {
    let id = choices.pick(CATALOG_IDS);
    match choices.below(6) {
        0 => id.to_uppercase(),
        1 => id[2..].to_string(),
        2 => choices
            .pick(&["tt999", "nm12345", "tt", "tt1234567890123", "-1"])
            .to_string(),
        _ => id.to_string(),
    }
}

/// A `query` or `title` value.
fn text(choices: &mut Choices<'_>, records: &[Record]) -> String {
    let Some(record) = some_record(choices, records) else {
        return title_text(choices, 4);
    };
    let mut text = match choices.below(10) {
        0 | 1 => title_text(choices, 4),
        2 | 3 => record.title.clone(),
        4 => part(choices, &record.title),
        5 => with_typos(choices, &record.title),
        6 => some_words(choices, record),
        7 => {
            let words = some_words(choices, record);
            with_typos(choices, &words)
        }
        8 => catalog_text(choices),
        _ => match choices.below(6) {
            0 => (0..choices.below(40))
                .map(|_| choices.character())
                .collect(),
            1 => description_text(choices, 14),
            2 => title_text(choices, 40),
            _ => title_text(choices, 1),
        },
    };
    if choices.one_in(16) {
        // The last word again: the prefix rule holds for its last occurrence only.
        let last = text.split_whitespace().next_back().unwrap_or_default();
        text = format!("{last} {text}");
    }
    if choices.one_in(3) {
        add_markers(choices, record, &mut text);
    }
    text
}

fn some_record<'r>(choices: &mut Choices<'_>, records: &'r [Record]) -> Option<&'r Record> {
    let indexable = records.len().min(1 << 16);
    if indexable == 0 {
        return None;
    }
    Some(&records[choices.below(indexable)])
}

/// Some words of title and description, the last one possibly shortened.
fn some_words(choices: &mut Choices<'_>, record: &Record) -> String {
    let mut words: Vec<&str> = Vec::new();
    let texts = [
        record.title.as_str(),
        record.description.as_deref().unwrap_or(""),
    ];
    for word in texts
        .iter()
        .flat_map(|text| text.split_whitespace())
        .take(20)
    {
        if !choices.one_in(3) {
            words.push(word);
        }
    }
    if choices.one_in(3) {
        words.reverse();
    }
    let text = words.join(" ");
    if !choices.one_in(3) {
        return text;
    }
    let letters_count = text.chars().count();
    let cut = choices.below(4);
    text.chars()
        .take(letters_count.saturating_sub(cut))
        .collect()
}

/// The record's season, episode and year, or others, before, after or inside the text.
fn add_markers(choices: &mut Choices<'_>, record: &Record, text: &mut String) {
    let season = record.season.unwrap_or_else(|| number(choices)).get();
    let episode = record.episode.unwrap_or_else(|| number(choices)).get();
    let known_year = record.year.unwrap_or_else(|| year(choices)).get();
    let other_year = year(choices).get();
    let marker = match choices.below(9) {
        0 | 1 => format!("s{season:02}e{episode:02}"),
        2 => format!("s{season}"),
        3 | 4 => known_year.to_string(),
        5 => format!("{season}x{episode:02} {known_year}"),
        6 => format!("{other_year}"),
        7 => format!("S{season} E{} {other_year}", episode.saturating_add(1)),
        _ => format!("s{}e{episode}", season.saturating_add(1)),
    };
    match choices.below(4) {
        0 => *text = format!("{marker} {text}"),
        1 => *text = text.replacen(' ', &format!(" {marker} "), 1),
        _ => *text = format!("{text} {marker}"),
    }
}
