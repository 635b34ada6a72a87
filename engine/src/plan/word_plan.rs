//! The `query` branch over one segment (SEARCH.md 4.5, 4.6).
//!
//! Example: `query=breaking ba`. "breaking" is a posting list of 400 documents. "ba" is the last
//! word but shorter than three characters, so the prefix rule does not apply: it is the posting
//! list of "ba" itself. With `query=breaking bad`, "bad" is satisfied by its own posting list (900
//! documents) or by a title word that begins with it: the dictionary has these as a range of ranks
//! ("badge", "badlands"). Their titles are united into a set of 30 titles with 200 documents.

use std::ops::Range;

use crate::error::Result;
use crate::index::{Postings, SegmentView, Term};
use crate::limits::{ONE_TYPO_CHARS_MIN, PREFIX_CHARS_MIN, TWO_TYPOS_CHARS_MIN, TYPO_WORDS_MAX};
use crate::query::ParsedText;
use crate::text::has_number;

use super::clause::Clause;
use super::cost::PlanContext;
use super::fit_rule::FitRule;
use super::full_titles::FullTitles;
use super::marker_clauses::{episode_clause, term_docs, year_clause};
use super::subject::Subject;
use super::title_set::TitleSet;

/// First try with exact words, or second try with typos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typos {
    /// Exact words only.
    Refused,
    /// Title words close to a word satisfy it too.
    Allowed,
}

/// Clauses of a `query`, and the sets that determine the relevance of a match.
pub(crate) struct WordPlan<'a> {
    /// A clause for each distinct plain word and each marker.
    pub(crate) clauses: Vec<Clause<'a>>,
    /// Titles with all plain words.
    pub(crate) full_titles: FullTitles<'a>,
    /// Documents with exactly the last plain word, when the prefix rule adds others.
    pub(crate) last_word: Option<Postings<'a>>,
    /// Rule of fit 1.
    pub(crate) fit: FitRule<'a>,
    /// Try of this plan.
    pub(crate) typos: Typos,
}

impl<'a> WordPlan<'a> {
    /// Plans the branch; `None` when nothing can match or, with typos, when there is no second try.
    ///
    /// A word without documents ends the plan before later words, markers and full titles are
    /// planned.
    pub(crate) fn new(
        context: &'a PlanContext<'a>,
        text: &ParsedText<'_>,
        typos: Typos,
    ) -> Result<Option<Self>> {
        if typos == Typos::Allowed && !allows_typos(text) {
            return Ok(None);
        }
        let view = &context.view;
        // Usual in small segments: no dictionary is read.
        let allows_others =
            |word: &str| allowed_typos(word, typos) > 0 || allows_prefix(text, word);
        if (text.plain_words()).any(|word| !allows_others(word) && !view.may_have(word)) {
            return Ok(None);
        }
        let mut words: Vec<&str> = text.plain_words().collect();
        words.sort_unstable();
        words.dedup();
        let (mut terms, mut prefixed) = (Vec::with_capacity(words.len()), 0..0);
        for &word in &words {
            let term = if allows_prefix(text, word) {
                let (term, others) = view.term_and_prefixed(word);
                prefixed = others;
                term
            } else {
                view.term(word)
            };
            let allows_others = is_last(text, word) && !prefixed.is_empty();
            // No set is read, and no other word looked up.
            if term.is_none() && !allows_others && allowed_typos(word, typos) == 0 {
                return Ok(None);
            }
            terms.push(term);
        }
        let mut clauses = Vec::with_capacity(words.len() + 2);
        let mut last_word = None;
        for (idx, (&word, &term)) in words.iter().zip(&terms).enumerate() {
            let is_last = is_last(text, word);
            let clause = PlannedWord {
                idx,
                word,
                term,
                prefixed: if is_last { prefixed.clone() } else { 0..0 },
                typos_max: allowed_typos(word, typos),
            }
            .clause(context)?;
            if clause.size_max() == 0 {
                return Ok(None);
            }
            if is_last && clause.titles().is_some() {
                last_word = Some(term_docs(view, term)?);
            }
            clauses.push(clause);
        }
        clauses.extend(episode_clause(view, text)?);
        clauses.extend(year_clause(context, text)?);
        // With typos every match has relevance 8: titles do not matter.
        let full_titles = match typos {
            Typos::Refused => FullTitles::new(context, &terms, text)?,
            Typos::Allowed => FullTitles::default(),
        };
        Ok(Some(Self {
            clauses,
            full_titles,
            last_word,
            fit: FitRule::new(view, text)?,
            typos,
        }))
    }
}

/// True if the word is the last plain word, and only that.
///
/// "bad boys bad": the first "bad" must be a whole word, and a document that has it satisfies the
/// second one too. So a repeated last word allows no prefix.
fn is_last(text: &ParsedText<'_>, word: &str) -> bool {
    word == text.last_plain_word() && text.plain_words().filter(|it| *it == word).count() == 1
}

/// True if title words that begin with the word satisfy it (SEARCH.md 4.5).
pub(super) fn allows_prefix(text: &ParsedText<'_>, word: &str) -> bool {
    is_last(text, word) && PREFIX_CHARS_MIN <= word.chars().count()
}

fn allows_typos(text: &ParsedText<'_>) -> bool {
    let typo_words = text.plain_words().filter(|word| typos_max(word) > 0);
    (1..=TYPO_WORDS_MAX).contains(&typo_words.count())
}

/// Maximum number of typos in a plain word, in this try.
fn allowed_typos(word: &str, typos: Typos) -> u8 {
    match typos {
        Typos::Allowed => typos_max(word),
        Typos::Refused => 0,
    }
}

/// Maximum number of typos in a plain word, in the second try (SEARCH.md 4.6).
fn typos_max(word: &str) -> u8 {
    match word.chars().count() {
        _ if has_number(word) => 0,
        TWO_TYPOS_CHARS_MIN.. => 2,
        ONE_TYPO_CHARS_MIN.. => 1,
        _ => 0,
    }
}

/// A plain word, and the other words that satisfy it.
struct PlannedWord<'w> {
    /// Index among the distinct plain words.
    idx: usize,
    word: &'w str,
    term: Option<Term>,
    /// Ranks of the other title words that satisfy it by the prefix rule.
    prefixed: Range<u32>,
    /// Maximum number of typos with which title words satisfy it.
    typos_max: u8,
}

impl PlannedWord<'_> {
    /// Documents that satisfy the word: those of its own term, and those of other titles.
    fn clause<'a>(&self, context: &PlanContext<'a>) -> Result<Clause<'a>> {
        let view = &context.view;
        let own_docs = term_docs(view, self.term)?;
        let clause = Clause::of_sets(Subject::Word(self.idx), Vec::new()).or_set(own_docs);
        let ranks = self.other_ranks(view);
        if ranks.is_empty() {
            return Ok(clause);
        }
        // Titles, not documents: a title word usually has few titles, and these many documents.
        let sets = ranks.into_iter().map(|rank| view.term_titles(rank));
        Ok(clause.or_titles(TitleSet::union(context, sets)?))
    }

    /// Ranks of the other title words that satisfy it, each once.
    fn other_ranks(&self, view: &SegmentView<'_>) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.prefixed.clone().collect();
        if self.typos_max > 0 {
            view.close_terms(self.word, self.typos_max, &mut ranks);
            ranks.sort_unstable();
            ranks.dedup();
        }
        ranks
    }
}
