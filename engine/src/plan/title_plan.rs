//! The `title` branch over one segment (SEARCH.md 4.3).
//!
//! Example: `title=lost`. The suffixes of all distinct titles are sorted, so the titles that
//! contain "lost" are one range of suffixes: "lost" (relevance 2), "lost girl" (3), "get lost" (4),
//! "lostprophets" (5). 60 titles match; they have 900 documents, a number that is known without
//! reading one of them. Without filters it is the total.

use std::ops::Range;

use crate::error::Result;
use crate::index::{RowTest, SegmentView, Side};
use crate::limits::INNER_TEXT_CHARS_MIN;
use crate::query::ParsedText;

use super::clause::Clause;
use super::cost::PlanContext;
use super::fit_rule::FitRule;
use super::marker_clauses::{episode_fits, episode_test};
use super::subject::Subject;
use super::title_match::{TitleMatch, TitleMatchBuilder};
use super::title_set::TitleSet;

/// Titles by which documents match.
pub(crate) struct TitlePlan<'a> {
    /// Matching titles, ascending.
    matches: Vec<(u32, TitleMatch)>,
    /// The match of every title of the segment, when many match; else empty.
    table: Vec<TitleMatch>,
    /// Titles of each match, and their documents.
    counts: [MatchCount; TitleMatch::COUNT],
    /// Test and clause of the documents that match by the text without its marker.
    pub(crate) marker: Option<(RowTest, Clause<'a>)>,
    /// Rule of fit 1.
    pub(crate) fit: FitRule<'a>,
}

/// Titles of one match.
#[derive(Debug, Clone, Copy, Default)]
struct MatchCount {
    titles: u64,
    docs: u64,
}

impl<'a> TitlePlan<'a> {
    /// Plans the branch.
    ///
    /// Cost: linear in the occurrences of the texts in distinct titles, a few nanoseconds each, and
    /// a byte for each title when these are many.
    pub(crate) fn new(context: &'a PlanContext<'a>, text: &ParsedText<'_>) -> Result<Self> {
        let view = &context.view;
        let texts = text.strings();
        let mut builder = TitleMatchBuilder::new(context);
        add_matches(view, &mut builder, &texts[0], TitleMatch::by_whole)?;
        let mut marker = None;
        if let Some(named) = text.markers().episode
            && let Some(test) = episode_test(&view.columns(), named)
        {
            // The second text is the first without its episode marker.
            add_matches(view, &mut builder, &texts[1], TitleMatch::by_unmarked)?;
            marker = Some((test, episode_fits(view, named)?));
        }
        let found = builder.finish();
        Ok(Self {
            counts: match_counts(view, &found.list),
            matches: found.list,
            table: found.table,
            marker,
            fit: FitRule::new(view, text)?,
        })
    }

    /// Matching titles, ascending.
    pub(crate) fn matches(&self) -> &[(u32, TitleMatch)] {
        &self.matches
    }

    /// Match of a title; the default, which gives no relevance, if the title does not match.
    #[inline]
    pub(crate) fn match_of(&self, title: u32) -> TitleMatch {
        if let Some(&title_match) = self.table.get(title as usize) {
            return title_match;
        }
        let found = self
            .matches
            .binary_search_by_key(&title, |(title, _)| *title);
        match found {
            Ok(idx) => self.matches[idx].1,
            Err(_) => TitleMatch::default(),
        }
    }

    /// Count of documents that have a title with a wanted match.
    pub(crate) fn docs_count(&self, is_wanted: impl Fn(TitleMatch) -> bool) -> u64 {
        self.counts(is_wanted).map(|count| count.docs).sum()
    }

    /// Count of titles with a wanted match.
    pub(crate) fn titles_count(&self, is_wanted: impl Fn(TitleMatch) -> bool) -> u64 {
        self.counts(is_wanted).map(|count| count.titles).sum()
    }

    fn counts(&self, is_wanted: impl Fn(TitleMatch) -> bool) -> impl Iterator<Item = &MatchCount> {
        let counted = TitleMatch::all().zip(&self.counts);
        let wanted = counted.filter(move |(title_match, _)| is_wanted(*title_match));
        wanted.map(|(_, count)| count)
    }

    /// Titles with a wanted match, as ascending runs of neighbours.
    pub(crate) fn title_runs(
        &self,
        is_wanted: impl Fn(TitleMatch) -> bool,
    ) -> impl Iterator<Item = Range<u32>> {
        // Neighbours in the order of titles often begin with the text: one read of offsets a run.
        let is_run = |a: &(u32, TitleMatch), b: &(u32, TitleMatch)| a.0 + 1 == b.0 && a.1 == b.1;
        let runs = self.matches.chunk_by(is_run);
        let wanted = runs.filter(move |run| is_wanted(run[0].1));
        wanted.map(|run| run[0].0..run[0].0 + run.len() as u32)
    }

    /// Documents of the titles with a wanted match, as a clause.
    pub(crate) fn clause(
        &self,
        context: &PlanContext<'a>,
        is_wanted: impl Fn(TitleMatch) -> bool,
    ) -> Clause<'a> {
        let docs_count = self.docs_count(&is_wanted);
        let mut titles = Vec::new();
        if docs_count > 0 {
            let matches = self.matches.iter();
            let wanted = matches.filter(|(_, title_match)| is_wanted(*title_match));
            titles.extend(wanted.map(|(title, _)| *title));
        }
        let titles = TitleSet::of_counted(context, titles, docs_count);
        Clause::of_sets(Subject::Title, Vec::new()).or_titles(titles)
    }
}

/// Titles and documents of each match. Cost: two reads for each run of neighbouring titles.
fn match_counts(
    view: &SegmentView<'_>,
    matches: &[(u32, TitleMatch)],
) -> [MatchCount; TitleMatch::COUNT] {
    let mut counts = [MatchCount::default(); TitleMatch::COUNT];
    // Neighbours in the order of titles often begin with the text: one run of one match.
    for run in matches.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
        let (first, title_match) = run[0];
        let titles = first..first + run.len() as u32;
        let count = &mut counts[title_match.idx()];
        count.titles += run.len() as u64;
        count.docs += view.titles_docs_count(titles);
    }
    counts
}

/// Adds the titles that contain a text; `title_match` makes a match of a relevance.
fn add_matches(
    view: &SegmentView<'_>,
    builder: &mut TitleMatchBuilder,
    text: &str,
    title_match: fn(u8) -> TitleMatch,
) -> Result<()> {
    if text.chars().count() < INNER_TEXT_CHARS_MIN {
        return add_word_prefixes(view, builder, text, title_match);
    }
    view.occurrences(text.as_bytes())?
        .for_each(|title, before, after| {
            // SEARCH.md 5.1: the neighbours of the occurrence decide.
            let relevance = match (before, after) {
                (Side::Title, Side::Title) => 2,
                (Side::Title, Side::Word) => 3,
                (Side::Word, Side::Title | Side::Word) => 4,
                _ => 5,
            };
            builder.add(title, title_match(relevance));
        });
    Ok(())
}

/// Adds the titles that contain a text of one or two characters, which is one word: SEARCH.md 4.3
/// finds it at the beginning of words only, and these are a range of the dictionary.
fn add_word_prefixes(
    view: &SegmentView<'_>,
    builder: &mut TitleMatchBuilder,
    text: &str,
    title_match: fn(u8) -> TitleMatch,
) -> Result<()> {
    let whole = view.term(text).filter(|term| term.is_title);
    for rank in view.prefix_ranks(text) {
        let is_whole = whole.is_some_and(|term| term.rank == rank);
        let title_match = title_match(if is_whole { 4 } else { 5 });
        view.term_titles(rank)?
            .for_each(|title| builder.add(title, title_match));
    }
    let (equal, going_on) = view.titles_of_text(text);
    equal
        .into_iter()
        .for_each(|title| builder.add(title, title_match(2)));
    going_on.for_each(|title| builder.add(title, title_match(3)));
    Ok(())
}
