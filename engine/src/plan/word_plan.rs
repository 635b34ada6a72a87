//! The `query` branch over one segment (SEARCH.md 4.5, 4.6).

use std::ops::Range;

use crate::error::Result;
use crate::index::{ColumnValue, Postings, Probe, Term, View};
use crate::query::ParsedText;
use crate::text::{EpisodeMarker, YearMarker, has_number};

use super::clause::{Clause, Subject};
use super::filter::Filter;
use super::title_set::TitleSet;

/// Characters of the last plain word from which on it may be the beginning of a title word.
const PREFIX_CHARS_MIN: usize = 3;
/// Characters of a plain word from which on it is searched with typos, and with two of them.
const ONE_TYPO_CHARS_MIN: usize = 5;
const TWO_TYPOS_CHARS_MIN: usize = 9;
/// Words with typos, at most: with more the branch is not tried again.
const TYPO_WORDS_MAX: usize = 8;
/// Titles up to which each is compared with the texts of relevance 2 and 3.
const COMPARED_TITLES_MAX: usize = 8;

/// Whether this is the second try, with typos allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typos {
    /// Words as they are.
    Refused,
    /// Title words close to a word satisfy it too.
    Allowed,
}

/// What every match satisfies, and what tells the ways of matching apart.
pub(crate) struct WordPlan<'a> {
    /// A clause for each distinct plain word and each marker.
    pub(crate) clauses: Vec<Clause<'a>>,
    /// Titles with all plain words.
    pub(crate) full_titles: FullTitles<'a>,
    /// Documents with the last plain word as it is, when the prefix rule adds others.
    pub(crate) last_word: Option<Postings<'a>>,
    /// How many documents the prefix rule adds to a single word, where that is stored.
    pub(crate) prefix_count: Option<u64>,
    /// What gives fit 1.
    pub(crate) fit: FitRule<'a>,
    /// Whether every match is found only with typos allowed.
    pub(crate) typos: Typos,
}

impl<'a> WordPlan<'a> {
    /// The plan, or `None` when nothing can match or, with typos, when no second try is made.
    pub(crate) fn new(
        view: &View<'a>,
        text: &ParsedText<'_>,
        typos: Typos,
    ) -> Result<Option<Self>> {
        if typos == Typos::Allowed && !allows_typos(text) {
            return Ok(None);
        }
        let mut words: Vec<&str> = text.plain_words().collect();
        words.sort_unstable();
        words.dedup();
        // Where the last word stands twice, its other place allows no prefix.
        let last = text.last_plain_word();
        let is_repeated = text.plain_words().filter(|word| *word == last).count() > 1;
        let terms: Vec<Option<Term>> = words.iter().map(|word| view.term(word)).collect();
        let mut clauses = Vec::with_capacity(words.len() + 2);
        let (mut last_word, mut prefix_count) = (None, None);
        for (idx, (word, term)) in words.iter().zip(&terms).enumerate() {
            let is_last = *word == last && !is_repeated;
            let satisfied_by = SatisfiedBy {
                prefixes: is_last && word.chars().count() >= PREFIX_CHARS_MIN,
                typos_max: if typos == Typos::Allowed {
                    typos_max(word)
                } else {
                    0
                },
            };
            let clause = word_clause(view, (idx, word), *term, satisfied_by)?;
            if clause.size_max() == 0 {
                return Ok(None);
            }
            if is_last && clause.titles().is_some() {
                last_word = Some(term_docs(view, *term)?);
                prefix_count = term.map(|term| view.prefix_count(term.rank)).transpose()?;
            }
            clauses.push(clause);
        }
        let fit = FitRule::new(view, text)?;
        clauses.extend(episode_clause(view, text)?);
        clauses.extend(year_clause(view, text)?);
        let full_titles = match typos {
            Typos::Refused => FullTitles::new(view, &terms, text)?,
            Typos::Allowed => FullTitles::default(),
        };
        Ok(Some(Self {
            clauses,
            full_titles,
            last_word,
            prefix_count,
            fit,
            typos,
        }))
    }
}

fn allows_typos(text: &ParsedText<'_>) -> bool {
    let words_count = text
        .plain_words()
        .filter(|word| typos_max(word) > 0)
        .count();
    (1..=TYPO_WORDS_MAX).contains(&words_count)
}

/// How many typos a plain word may have.
fn typos_max(word: &str) -> u8 {
    match word.chars().count() {
        _ if has_number(word) => 0,
        TWO_TYPOS_CHARS_MIN.. => 2,
        ONE_TYPO_CHARS_MIN.. => 1,
        _ => 0,
    }
}

fn term_docs<'a>(view: &View<'a>, term: Option<Term>) -> Result<Postings<'a>> {
    match term {
        Some(term) => view.term_docs(term.rank),
        None => Ok(Postings::EMPTY),
    }
}

/// What satisfies a plain word besides an equal word.
#[derive(Debug, Clone, Copy)]
struct SatisfiedBy {
    /// Title words that begin with it.
    prefixes: bool,
    /// Title words with so many typos.
    typos_max: u8,
}

fn word_clause<'a>(
    view: &View<'a>,
    (idx, word): (usize, &str),
    term: Option<Term>,
    satisfied_by: SatisfiedBy,
) -> Result<Clause<'a>> {
    let subject = Subject::Word(idx);
    let clause = Clause::of_sets(subject, Vec::new()).or_set(term_docs(view, term)?);
    let mut ranks = Vec::new();
    if satisfied_by.prefixes {
        ranks.extend(view.prefix_ranks(word));
    }
    if satisfied_by.typos_max > 0 {
        view.close_terms(word, satisfied_by.typos_max, &mut ranks);
    }
    // Documents with the word itself are in its own set already.
    ranks.retain(|&rank| Some(rank) != term.map(|term| term.rank));
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.is_empty() {
        return Ok(clause);
    }
    let sets = ranks.into_iter().map(|rank| view.term_titles(rank));
    Ok(clause.or_titles(TitleSet::union(view, sets)?))
}

fn episode_clause<'a>(view: &View<'a>, text: &ParsedText<'_>) -> Result<Option<Clause<'a>>> {
    let (Some(marker), Some(word)) = (text.markers().episode, text.episode_word()) else {
        return Ok(None);
    };
    let fits = episode_fits(view, marker)?;
    Ok(Some(fits.or_set(term_docs(view, view.term(word))?)))
}

/// The documents that fit an episode marker (SEARCH.md 2).
pub(super) fn episode_fits<'a>(view: &View<'a>, marker: EpisodeMarker) -> Result<Clause<'a>> {
    let season = marker.season.get();
    let sets = match marker.episode {
        Some(episode) => vec![
            view.value_docs(ColumnValue::SeasonEpisode(season, episode.get()))?,
            view.value_docs(ColumnValue::SeasonEpisode(season, 0))?,
        ],
        None => view.season_docs(season)?,
    };
    let clause = Clause::of_sets(Subject::EpisodeMarker, sets);
    Ok(match view.columns.fit_test(marker.season, marker.episode) {
        Some(test) => clause.tested_by(test),
        None => clause,
    })
}

fn year_clause<'a>(view: &View<'a>, text: &ParsedText<'_>) -> Result<Option<Clause<'a>>> {
    let (Some(marker), Some(word)) = (text.markers().year, text.year_word()) else {
        return Ok(None);
    };
    let sets = vec![
        view.value_docs(ColumnValue::Year(Some(marker.year)))?,
        view.value_docs(ColumnValue::Year(None))?,
    ];
    let mut clause = Clause::of_sets(Subject::YearMarker, sets);
    if let Some(test) = view.columns.test(None, Some(marker.year), None, None) {
        clause = clause.tested_by(test);
    }
    Ok(Some(clause.or_stored_titles(titles_with(view, word)?)))
}

/// The titles with a word.
fn titles_with<'a>(view: &View<'a>, word: &str) -> Result<Postings<'a>> {
    match view.term(word).filter(|term| term.is_title) {
        Some(term) => view.term_titles(term.rank),
        None => Ok(Postings::EMPTY),
    }
}

/// The titles with all plain words: relevance 2, 3 and 4 (SEARCH.md 5.1).
#[derive(Default)]
pub(crate) struct FullTitles<'a> {
    members: Members<'a>,
    /// Titles that are one of the texts.
    pub(crate) equal: Vec<u32>,
    /// Titles that begin with one of the texts and a space.
    pub(crate) prefixed: Vec<Range<u32>>,
}

#[derive(Default)]
enum Members<'a> {
    #[default]
    None,
    /// The titles of a single plain word, left as they are stored.
    OfOneWord(Postings<'a>, Probe<'a>),
    Set(TitleSet),
}

impl<'a> FullTitles<'a> {
    fn new(view: &View<'a>, terms: &[Option<Term>], text: &ParsedText<'_>) -> Result<Self> {
        let is_title = |term: &Option<Term>| term.is_some_and(|term| term.is_title);
        if !terms.iter().all(is_title) {
            return Ok(Self::default());
        }
        let mut sets = terms
            .iter()
            .flatten()
            .map(|term| view.term_titles(term.rank))
            .collect::<Result<Vec<_>>>()?;
        sets.sort_unstable_by_key(Postings::count);
        let (first, others) = sets.split_first().expect("there is a plain word");
        if others.is_empty() && first.count() as usize > COMPARED_TITLES_MAX {
            let members = Members::OfOneWord(*first, first.probe());
            return Ok(Self::located(view, members, text));
        }
        let mut titles = Vec::new();
        first.decode(&mut titles);
        others.iter().for_each(|set| set.retain(&mut titles));
        if titles.len() > COMPARED_TITLES_MAX {
            let members = Members::Set(TitleSet::of_sorted(view, titles));
            return Ok(Self::located(view, members, text));
        }
        Ok(Self::compared(view, titles, text))
    }

    /// Looks the texts up among all titles.
    fn located(view: &View<'a>, members: Members<'a>, text: &ParsedText<'_>) -> Self {
        let (mut equal, mut prefixed) = (Vec::new(), Vec::new());
        for mut text in text.strings() {
            let at = view.titles_before(text.as_bytes());
            if at < view.titles_count() && view.title(at) == text.as_bytes() {
                equal.push(at);
            }
            text.push(' ');
            prefixed.push(view.titles_with_prefix(text.as_bytes()));
        }
        Self {
            members,
            equal,
            prefixed,
        }
    }

    /// Compares each of a few titles with the texts.
    fn compared(view: &View<'a>, titles: Vec<u32>, text: &ParsedText<'_>) -> Self {
        let (mut equal, mut prefixed) = (Vec::new(), Vec::new());
        if !titles.is_empty() {
            let texts = text.strings();
            for &title in &titles {
                for text in &texts {
                    match view.title(title).strip_prefix(text.as_bytes()) {
                        Some([]) => equal.push(title),
                        Some([b' ', ..]) => prefixed.push(title..title + 1),
                        _ => {}
                    }
                }
            }
        }
        Self {
            members: Members::Set(TitleSet::of_sorted(view, titles)),
            equal,
            prefixed,
        }
    }

    /// Relevance 2, 3 or 4 of a title with all plain words.
    #[inline]
    pub(crate) fn relevance(&self, title: u32) -> Option<u8> {
        let is_member = match &self.members {
            Members::None => false,
            Members::OfOneWord(_, probe) => probe.contains(title),
            Members::Set(titles) => titles.contains(title),
        };
        is_member.then(|| self.member_relevance(title))
    }

    /// The relevance of a title that is one of them.
    #[inline]
    pub(crate) fn member_relevance(&self, title: u32) -> u8 {
        if self.equal.contains(&title) {
            2
        } else if self.prefixed.iter().any(|range| range.contains(&title)) {
            3
        } else {
            4
        }
    }

    /// How many titles.
    pub(crate) fn len(&self) -> usize {
        match &self.members {
            Members::None => 0,
            Members::OfOneWord(set, _) => set.count() as usize,
            Members::Set(titles) => titles.titles().len(),
        }
    }

    /// Calls `each` with every title, ascending.
    pub(crate) fn for_each(&self, mut each: impl FnMut(u32)) {
        match &self.members {
            Members::None => {}
            Members::OfOneWord(set, _) => set.for_each_while(|title| {
                each(title);
                true
            }),
            Members::Set(titles) => titles.titles().iter().copied().for_each(each),
        }
    }
}

/// What gives a match of a branch fit 1 (SEARCH.md 5.3).
pub(crate) struct FitRule<'a> {
    view: View<'a>,
    episode: Option<(EpisodeMarker, Probe<'a>)>,
    year: Option<(YearMarker, Probe<'a>)>,
}

impl<'a> FitRule<'a> {
    /// The rule for a value.
    pub(crate) fn new(view: &View<'a>, text: &ParsedText<'_>) -> Result<Self> {
        let titles = |word| Ok(titles_with(view, word)?.probe());
        let markers = text.markers();
        let episode_titles = text.episode_word().map(titles).transpose()?;
        let year_titles = text.year_word().map(titles).transpose()?;
        Ok(Self {
            view: *view,
            episode: markers.episode.zip(episode_titles),
            year: markers.year.zip(year_titles),
        })
    }

    /// Whether it gives every document fit 0 unless its year is guessed.
    pub(crate) fn is_trivial(&self) -> bool {
        self.episode.is_none() && self.year.is_none()
    }

    /// The fit of a document.
    #[inline]
    pub(crate) fn fit(&self, doc: u32, filter: &Filter<'_>) -> u8 {
        if filter.is_year_guessed(doc) {
            return 1;
        }
        if self.is_trivial() {
            return 0;
        }
        let row = self.view.columns.get(doc);
        let has_word = |titles: &Probe<'_>| titles.contains(self.view.title_of(doc));
        let misses_episode = self.episode.as_ref().is_some_and(|(marker, titles)| {
            let is_season = row.season == marker.season.get();
            let is_episode = marker
                .episode
                .is_none_or(|wanted| row.episode == wanted.get());
            let is_exact = is_season && is_episode;
            !is_exact && !has_word(titles)
        });
        let misses_year = self
            .year
            .as_ref()
            .is_some_and(|(marker, titles)| row.year != marker.year.get() && !has_word(titles));
        u8::from(misses_episode || misses_year)
    }
}
