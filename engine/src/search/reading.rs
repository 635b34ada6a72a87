//! Readings of the `query` and `title` values, over all segments: each is tried only when the
//! earlier ones match nothing in the whole catalog (SEARCH.md 4.5 to 4.17).
//!
//! ```text
//! query                words -> equal titles -> typos -> numbers -> name of a release
//! no branch matches    query: titles, films, words -> title: titles
//! ```

use crate::error::Result;
use crate::plan::Typos;
use crate::query::{LookupKinds, NameLookup, NameLookups, ParsedText, ReleaseTurn};

use super::branch::BranchResult;
use super::cutoff::{Needed, PageRanks};
use super::segment_search::{ParsedQuery, SegmentSearch};

/// Reading of the `query` or `title` value that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryReading {
    /// The exact words of the value.
    Words,
    /// Titles in another spelling (SEARCH.md 4.10).
    EqualTitle,
    /// With typos (SEARCH.md 4.6).
    Typos,
    /// A number of a name, by its index (SEARCH.md 4.13).
    Number(usize),
    /// The name of a release (SEARCH.md 4.8).
    ReleaseName,
    /// Another look-up of a name, by its index (SEARCH.md 4.14 to 4.16).
    Lookup(usize),
    /// A look-up of the `title` value, by its index (SEARCH.md 4.17).
    TitleLookup(usize),
    /// No reading matched, or there was no value.
    Nothing,
}

impl QueryReading {
    /// The look-up of a name that matched.
    pub(super) fn lookup<'p>(self, parsed: &'p ParsedQuery<'_>) -> Option<&'p NameLookup> {
        match self {
            Self::Number(idx) => parsed.query_names()?.numbers.get(idx),
            Self::Lookup(idx) => parsed.query_names()?.others().get(idx),
            Self::TitleLookup(idx) => parsed.title_names()?.others().get(idx),
            _ => None,
        }
    }

    /// True if a value was read as a name.
    pub(super) const fn is_of_name(self) -> bool {
        matches!(
            self,
            Self::Number(_) | Self::ReleaseName | Self::Lookup(_) | Self::TitleLookup(_)
        )
    }
}

/// Results of a branch, and the reading that gave them.
pub(super) struct TextFound {
    /// Result of each segment; empty if no segment has one.
    pub(super) results: Vec<Option<BranchResult>>,
    pub(super) reading: QueryReading,
}

impl TextFound {
    /// The results, if any record matches.
    fn of(results: Vec<Option<BranchResult>>, reading: QueryReading) -> Option<Self> {
        let matches = results.iter().flatten().any(|found| found.total > 0);
        matches.then_some(Self { results, reading })
    }
}

/// Segments of a snapshot, prepared for a request, each with its index.
type Parts<'p, 'a> = &'p [(usize, SegmentSearch<'a>)];

/// Runs the `query` branch: the readings that do not depend on other branches.
pub(super) fn search_query(parts: Parts<'_, '_>, parsed: &ParsedQuery<'_>) -> Result<TextFound> {
    let nothing = || TextFound {
        results: Vec::new(),
        reading: QueryReading::Nothing,
    };
    let Some(text) = &parsed.free_text else {
        return Ok(nothing());
    };
    let words = search_words(parts, parsed, Typos::Refused)?;
    if let Some(found) = TextFound::of(words, QueryReading::Words) {
        return Ok(found);
    }
    if let Some(found) = search_equal_titles(parts, parsed, text)? {
        return Ok(found);
    }
    let words = search_words(parts, parsed, Typos::Allowed)?;
    if let Some(found) = TextFound::of(words, QueryReading::Typos) {
        return Ok(found);
    }
    let numbers = parsed.query_names().map_or(&[][..], |names| &names.numbers);
    for (idx, lookup) in numbers.iter().enumerate() {
        let results = search_lookup(parts, parsed, lookup)?;
        if let Some(found) = TextFound::of(results, QueryReading::Number(idx)) {
            return Ok(found);
        }
    }
    let release = match parsed.release_turn() {
        ReleaseTurn::Second(kinds) => search_release(parts, parsed, kinds)?,
        ReleaseTurn::Never | ReleaseTurn::Last => None,
    };
    Ok(release.unwrap_or_else(nothing))
}

/// Runs one reading of the values, with or without matches.
pub(super) fn search_as(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
    reading: QueryReading,
) -> Result<TextFound> {
    let kinds = match parsed.release_turn() {
        ReleaseTurn::Second(kinds) => kinds,
        ReleaseTurn::Never | ReleaseTurn::Last => LookupKinds::Films,
    };
    let found = match (reading, &parsed.free_text) {
        (QueryReading::Words, _) => Some(search_words(parts, parsed, Typos::Refused)?),
        (QueryReading::Typos, _) => Some(search_words(parts, parsed, Typos::Allowed)?),
        (QueryReading::EqualTitle, Some(text)) => {
            search_equal_titles(parts, parsed, text)?.map(|found| found.results)
        }
        (QueryReading::ReleaseName, _) => {
            search_release(parts, parsed, kinds)?.map(|found| found.results)
        }
        _ => match reading.lookup(parsed) {
            Some(lookup) => Some(search_lookup(parts, parsed, lookup)?),
            None => None,
        },
    };
    Ok(TextFound {
        results: found.unwrap_or_default(),
        reading,
    })
}

/// Runs the readings that come last, when no branch has matched.
pub(super) fn search_last(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
) -> Result<Option<TextFound>> {
    let others = parsed.query_names().map_or(&[][..], NameLookups::others);
    for (idx, lookup) in others.iter().enumerate() {
        let results = search_lookup(parts, parsed, lookup)?;
        if let Some(found) = TextFound::of(results, QueryReading::Lookup(idx)) {
            return Ok(Some(found));
        }
    }
    if let Some(found) = search_last_release(parts, parsed)? {
        return Ok(Some(found));
    }
    let titles = parsed.title_names().map_or(&[][..], NameLookups::others);
    for (idx, lookup) in titles.iter().enumerate() {
        let results = search_lookup(parts, parsed, lookup)?;
        if let Some(found) = TextFound::of(results, QueryReading::TitleLookup(idx)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Runs the `query` branch, read as the name of a release where that comes last.
pub(super) fn search_last_release(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
) -> Result<Option<TextFound>> {
    match parsed.release_turn() {
        ReleaseTurn::Last => search_release(parts, parsed, LookupKinds::Films),
        ReleaseTurn::Never | ReleaseTurn::Second(_) => Ok(None),
    }
}

/// Runs the `query` branch in each segment, read as words.
fn search_words(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
    typos: Typos,
) -> Result<Vec<Option<BranchResult>>> {
    let mut ranks = PageRanks::new(parsed.page_size());
    let mut found = Vec::with_capacity(parts.len());
    for (idx, (_, part)) in parts.iter().enumerate() {
        let needed = if parsed.release.is_some() {
            Needed::ALL
        } else {
            ranks.needed(part.segment)?
        };
        let words = part.search_words(parsed, typos, needed)?;
        // Ranks are for the segments that follow.
        let is_last = idx + 1 == parts.len();
        if let Some(words) = &words
            && !is_last
        {
            ranks.add(part.segment, &words.best)?;
        }
        found.push(words);
    }
    Ok(found)
}

/// Runs the `query` branch in each segment, for titles in another spelling.
fn search_equal_titles(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
    text: &ParsedText<'_>,
) -> Result<Option<TextFound>> {
    let key = text.plain_title_key();
    let parts = parts.iter();
    let found = parts.map(|(_, part)| part.search_equal_title(parsed, &key));
    let results = found.collect::<Result<_>>()?;
    Ok(TextFound::of(results, QueryReading::EqualTitle))
}

/// Runs the `query` branch in each segment, read as the name of a release.
fn search_release(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
    kinds: LookupKinds,
) -> Result<Option<TextFound>> {
    let Some(name) = parsed.release_name() else {
        return Ok(None);
    };
    let parts = parts.iter();
    let found = parts.map(|(_, part)| part.search_release_name(parsed, &name, kinds));
    let results = found.collect::<Result<_>>()?;
    Ok(TextFound::of(results, QueryReading::ReleaseName))
}

/// Runs the `query` or `title` branch in each segment, by one look-up of a name.
fn search_lookup(
    parts: Parts<'_, '_>,
    parsed: &ParsedQuery<'_>,
    lookup: &NameLookup,
) -> Result<Vec<Option<BranchResult>>> {
    let parts = parts.iter();
    let found = parts.map(|(_, part)| part.search_lookup(parsed, lookup).map(Some));
    found.collect()
}
