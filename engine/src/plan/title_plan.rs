//! The `title` branch over one segment (SEARCH.md 4.3).

use crate::error::Result;
use crate::index::{RowTest, Side, View};
use crate::query::ParsedText;

use super::clause::{Clause, Subject};
use super::title_set::TitleSet;
use super::word_plan::{FitRule, episode_fits};

/// Characters from which on a text is found anywhere, also inside words.
const INNER_CHARS_MIN: usize = 3;
/// MatchList up to which they are a sorted list; more are gathered in a byte for every title. (Tests
/// have small segments, and take both matches.)
const LIST_MAX: usize = if cfg!(test) { 4 } else { 512 };

/// How a title contains the text, and the text without its marker.
///
/// Shape: 6 less the relevance (2 to 5) by the whole text in the lower half, by the text without
/// its marker in the upper half; 0 is not at all. The greater half is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TitleMatch(u8);

impl TitleMatch {
    const WHOLE: u8 = 0x0f;

    fn by_whole(relevance: u8) -> Self {
        Self(6 - relevance)
    }

    fn by_unmarked(relevance: u8) -> Self {
        Self((6 - relevance) << 4)
    }

    /// How many different matches there are, none at all counted.
    const COUNT: usize = 0x44 + 1;

    /// Whether the title contains the whole text.
    pub(crate) fn is_whole(self) -> bool {
        self.0 & Self::WHOLE != 0
    }

    /// Whether it contains the text without its marker.
    pub(crate) fn is_unmarked(self) -> bool {
        self.0 & !Self::WHOLE != 0
    }

    /// The best of both.
    #[inline]
    fn or(self, other: Self) -> Self {
        let whole = (self.0 & Self::WHOLE).max(other.0 & Self::WHOLE);
        let unmarked = (self.0 & !Self::WHOLE).max(other.0 & !Self::WHOLE);
        Self(whole | unmarked)
    }

    /// Whether a document with this title may have this relevance.
    #[inline]
    pub(crate) fn may_give(self, relevance: u8) -> bool {
        self.0 & Self::WHOLE == 6 - relevance || self.0 >> 4 == 6 - relevance
    }

    /// The best relevance of a document with this title, which fits the marker or not.
    #[inline]
    pub(crate) fn relevance(self, fits: bool) -> Option<u8> {
        let unmarked = if fits { self.0 >> 4 } else { 0 };
        let best = unmarked.max(self.0 & Self::WHOLE);
        (best > 0).then(|| 6 - best)
    }
}

/// Titles by which documents match.
pub(crate) struct TitlePlan<'a> {
    matches: Vec<(u32, TitleMatch)>,
    /// The title_match of every title, when there are many.
    table: Vec<TitleMatch>,
    /// How many documents bear titles of each title_match.
    docs_counts: [u64; TitleMatch::COUNT],
    /// What a document must pass to match without the marker, and the documents that do.
    pub(crate) marker: Option<(RowTest, Clause<'a>)>,
    /// What gives fit 1.
    pub(crate) fit: FitRule<'a>,
}

impl<'a> TitlePlan<'a> {
    /// The plan. Cost: linear in the occurrences of the texts in distinct titles, a few nanoseconds
    /// each, and a byte for each title when these are many.
    pub(crate) fn new(view: &View<'a>, text: &ParsedText<'_>) -> Result<Self> {
        let texts = text.strings();
        let mut matches = MatchList::new(view);
        matches.mark(&texts[0], TitleMatch::by_whole)?;
        let mut marker = None;
        if let Some(named) = text.markers().episode
            && let Some(test) = view.columns.fit_test(named.season, named.episode)
        {
            matches.mark(&texts[1], TitleMatch::by_unmarked)?;
            marker = Some((test, episode_fits(view, named)?));
        }
        let (matches, table) = matches.finish();
        Ok(Self {
            docs_counts: docs_counts(view, &matches),
            matches,
            table,
            marker,
            fit: FitRule::new(view, text)?,
        })
    }

    /// The titles, ascending, each with its title_match.
    pub(crate) fn matches(&self) -> &[(u32, TitleMatch)] {
        &self.matches
    }

    /// The title_match of a title: none at all for a title that is not among them.
    #[inline]
    pub(crate) fn match_of(&self, title: u32) -> TitleMatch {
        if let Some(&title_match) = self.table.get(title as usize) {
            return title_match;
        }
        let at = self
            .matches
            .binary_search_by_key(&title, |(title, _)| *title);
        at.map_or(TitleMatch::default(), |at| self.matches[at].1)
    }

    /// How many documents bear titles whose title_match is wanted.
    pub(crate) fn docs_count(&self, is_wanted: impl Fn(TitleMatch) -> bool) -> u64 {
        let matches = (0..).map(TitleMatch).zip(&self.docs_counts);
        let wanted = matches.filter(|(title_match, _)| is_wanted(*title_match));
        wanted.map(|(_, count)| count).sum()
    }

    /// The documents of those titles whose title_match is wanted.
    pub(crate) fn clause(
        &self,
        view: &View<'a>,
        is_wanted: impl Fn(TitleMatch) -> bool,
    ) -> Clause<'a> {
        let docs_count = self.docs_count(&is_wanted);
        let mut titles = Vec::new();
        if docs_count > 0 {
            let matches = self
                .matches
                .iter()
                .filter(|(_, title_match)| is_wanted(*title_match));
            titles.extend(matches.map(|(title, _)| *title));
        }
        let titles = TitleSet::of_counted(view, titles, docs_count);
        Clause::of_sets(Subject::Title, Vec::new()).or_titles(titles)
    }
}

/// How many documents bear titles of each title_match. Cost: two reads for each run of neighbours.
fn docs_counts(view: &View<'_>, matches: &[(u32, TitleMatch)]) -> [u64; TitleMatch::COUNT] {
    let mut counts = [0; TitleMatch::COUNT];
    for run in matches.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
        let (first, title_match) = run[0];
        let titles = first..first + run.len() as u32;
        counts[usize::from(title_match.0)] += view.titles_docs_count(titles);
    }
    counts
}

/// MatchList while they are gathered: few as a list, many as a byte for every title.
struct MatchList<'v, 'a> {
    view: &'v View<'a>,
    list: Vec<(u32, TitleMatch)>,
    table: Vec<TitleMatch>,
}

impl<'v, 'a> MatchList<'v, 'a> {
    fn new(view: &'v View<'a>) -> Self {
        Self {
            view,
            list: Vec::new(),
            table: Vec::new(),
        }
    }

    /// Adds the titles that contain a text, `title_match` tells how for each relevance.
    fn mark(&mut self, text: &str, title_match: fn(u8) -> TitleMatch) -> Result<()> {
        let view = self.view;
        if text.chars().count() < INNER_CHARS_MIN {
            return self.mark_word_prefixes(text, title_match);
        }
        view.occurrences(text.as_bytes())?
            .for_each(|title, before, behind| {
                let relevance = match (before, behind) {
                    (Side::Title, Side::Title) => 2,
                    (Side::Title, Side::Word) => 3,
                    (Side::Word, Side::Title | Side::Word) => 4,
                    _ => 5,
                };
                self.add(title, title_match(relevance));
            });
        Ok(())
    }

    /// A text of one or two characters is one word: the titles are those of the terms it begins.
    fn mark_word_prefixes(&mut self, text: &str, title_match: fn(u8) -> TitleMatch) -> Result<()> {
        let view = self.view;
        let whole = view.term(text).filter(|term| term.is_title);
        for rank in view.prefix_ranks(text) {
            let is_whole = whole.is_some_and(|term| term.rank == rank);
            let title_match = title_match(if is_whole { 4 } else { 5 });
            view.term_titles(rank)?.for_each_while(|title| {
                self.add(title, title_match);
                true
            });
        }
        let equal = view.titles_before(text.as_bytes());
        if equal < view.titles_count() && view.title(equal) == text.as_bytes() {
            self.add(equal, title_match(2));
        }
        for title in view.titles_with_prefix(format!("{text} ").as_bytes()) {
            self.add(title, title_match(3));
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, title: u32, title_match: TitleMatch) {
        if let Some(known) = self.table.get_mut(title as usize) {
            *known = known.or(title_match);
            return;
        }
        self.list.push((title, title_match));
        if self.list.len() > LIST_MAX {
            self.table = vec![TitleMatch::default(); self.view.titles_count() as usize];
            for (title, title_match) in self.list.drain(..) {
                let known = &mut self.table[title as usize];
                *known = known.or(title_match);
            }
        }
    }

    /// The matches, ascending by title, and the table when there is one.
    fn finish(mut self) -> (Vec<(u32, TitleMatch)>, Vec<TitleMatch>) {
        if self.table.is_empty() {
            self.list.sort_unstable_by_key(|(title, _)| *title);
            self.list.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                if is_same {
                    kept.1 = kept.1.or(next.1);
                }
                is_same
            });
            return (self.list, self.table);
        }
        for (block_idx, block) in self.table.chunks(16).enumerate() {
            // Most blocks hold none: they are skipped as a whole.
            if block
                .iter()
                .all(|title_match| *title_match == TitleMatch::default())
            {
                continue;
            }
            for (idx, title_match) in block.iter().enumerate() {
                if *title_match != TitleMatch::default() {
                    self.list
                        .push(((block_idx * 16 + idx) as u32, *title_match));
                }
            }
        }
        (self.list, self.table)
    }
}
