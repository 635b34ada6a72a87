//! Explanation of names: the parsed value and its look-ups.

use std::fmt::Write as _;

use crate::name::Named;
use crate::query::{NameLookup, NameLookups, NameStep, ParsedText, ReleaseName};

use super::explain_release::weighted;
use super::reading::QueryReading;
use super::segment_search::ParsedQuery;

/// The parsed name, if there is one, the tried look-ups, and the successful one.
pub(super) fn describe_names(parsed: &ParsedQuery<'_>, reading: QueryReading) -> Vec<String> {
    let mut lines = Vec::new();
    let release = parsed.release_name();
    let tried = |lookups: &[NameLookup], found: Option<usize>| -> Vec<String> {
        let count = found.map_or(lookups.len(), |idx| idx + 1);
        let described = lookups.iter().take(count).map(describe_lookup);
        described.collect()
    };
    match reading {
        QueryReading::Words | QueryReading::EqualTitle | QueryReading::Typos => return lines,
        QueryReading::ReleaseName => {
            lines.extend(release.map(|name| describe_release_name(parsed, &name)));
        }
        _ => {}
    }
    if let Some(names) = parsed.query_names() {
        lines.push(format!("query as a name: {}", describe_name(names)));
        let mut lookups = tried(&names.numbers, number_idx(reading));
        if !matches!(reading, QueryReading::Number(_) | QueryReading::ReleaseName) {
            lookups.extend(tried(names.others(), other_idx(reading)));
        }
        lines.extend(listed(&lookups));
    }
    if let Some(names) = parsed.title_names()
        && matches!(
            reading,
            QueryReading::TitleLookup(_) | QueryReading::Nothing
        )
    {
        lines.push(format!("title as a name: {}", describe_name(names)));
        lines.extend(listed(&tried(names.others(), title_idx(reading))));
    }
    lines
}

const fn number_idx(reading: QueryReading) -> Option<usize> {
    match reading {
        QueryReading::Number(idx) => Some(idx),
        _ => None,
    }
}

const fn other_idx(reading: QueryReading) -> Option<usize> {
    match reading {
        QueryReading::Lookup(idx) => Some(idx),
        _ => None,
    }
}

const fn title_idx(reading: QueryReading) -> Option<usize> {
    match reading {
        QueryReading::TitleLookup(idx) => Some(idx),
        _ => None,
    }
}

fn listed(lookups: &[String]) -> Option<String> {
    if lookups.is_empty() {
        return None;
    }
    Some(format!("  looked up: {}", lookups.join("; ")))
}

/// One look-up of a name.
pub(super) fn describe_lookup(lookup: &NameLookup) -> String {
    let step = match lookup.step {
        NameStep::Number => "number",
        NameStep::Title => "title",
        NameStep::OtherYear => "film of the year before or after",
        NameStep::Film => "film",
        NameStep::Words => "words",
    };
    let mut text = format!("{step} [{}]", lookup.title);
    if lookup.step == NameStep::Number
        && let Some((season, episode)) = lookup.episode.slot()
    {
        let season = season.map_or("season 1 or none".to_string(), |number| {
            format!("season {number}")
        });
        let _ = write!(text, " {season}, episode {episode}");
    }
    text
}

fn describe_name(names: &NameLookups) -> String {
    let name = &names.name;
    let mut text = format!("title [{}]", name.title());
    if let Some(year) = name.year {
        let _ = write!(text, ", year {year}");
    }
    let named = match name.named {
        Named::Nothing => String::new(),
        Named::Episode { season, episode } => format!(", season {season}, episode {episode}"),
        Named::Season(season) => format!(", season {season}"),
        Named::Seasons => ", several seasons".to_string(),
        Named::Date(date) => format!(", {}-{:02}-{:02}", date.year, date.month, date.day),
        Named::Number(number) => format!(", episode {number}"),
        Named::Special => ", a special".to_string(),
        Named::Contradiction => ", a season that contradicts its number".to_string(),
    };
    let _ = write!(text, "{named}, tail [{}]", name.tail().join(" "));
    text
}

/// The parsed name of a release, and the weights of its tail.
fn describe_release_name(parsed: &ParsedQuery<'_>, name: &ReleaseName<'_>) -> String {
    let mut text = format!(
        "query as the name of a release: name [{}]",
        name.name().join(" ")
    );
    let episode_word = parsed.free_text.as_ref().and_then(ParsedText::episode_word);
    if let Some(word) = episode_word {
        let _ = write!(text, ", episode marker {word}");
    }
    if !name.years().is_empty() {
        let years: Vec<String> = name.years().iter().map(|y| y.get().to_string()).collect();
        let _ = write!(text, ", years [{}]", years.join(" "));
    }
    let tail = parsed.weighed_tail(name.tail());
    let _ = write!(text, ", tail [{}]", weighted(&tail));
    text
}
