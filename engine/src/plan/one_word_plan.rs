//! A `query` that is one plain word, without filters, typos and other branches, over one segment.
//!
//! Its matches are the documents with the word and those that the prefix rule adds (SEARCH.md 4.5).
//! Their count is stored, and the page rarely needs more than the documents with the word: so the
//! titles of the words that begin with it are united only on demand.

use std::cell::OnceCell;
use std::ops::Range;

use crate::error::Result;
use crate::index::Term;
use crate::query::ParsedText;

use super::cost::PlanContext;
use super::full_titles::FullTitles;
use super::lazy_lookup::LazyLookup;
use super::marker_clauses::term_docs;
use super::title_set::TitleSet;
use super::word_plan::allows_prefix;

/// The sets of a single word.
pub(crate) struct OneWordPlan<'a> {
    /// The segment.
    pub(crate) context: &'a PlanContext<'a>,
    /// The word, if the segment has it.
    pub(crate) term: Option<Term>,
    /// Documents with the word.
    pub(crate) docs: LazyLookup<'a>,
    /// Titles with the word.
    pub(crate) full_titles: FullTitles<'a>,
    /// Ranks of the title words that satisfy it by the prefix rule; empty if they add no document.
    prefixed: Range<u32>,
    /// Count of documents that the prefix rule adds, where it is stored.
    pub(crate) prefix_count: Option<u64>,
    prefixed_titles: OnceCell<TitleSet>,
}

impl<'a> OneWordPlan<'a> {
    /// Plans the search for the only word of a text; `None` when nothing can match.
    pub(crate) fn new(
        context: &'a PlanContext<'a>,
        text: &ParsedText<'_>,
        word: &str,
    ) -> Result<Option<Self>> {
        let view = &context.view;
        let (term, mut prefixed) = if allows_prefix(text, word) {
            view.term_and_prefixed(word)
        } else {
            (view.term(word), 0..0)
        };
        if term.is_none() && prefixed.is_empty() {
            return Ok(None);
        }
        // Counted when the segment was written: the total needs no union.
        let prefix_count = term.map(|term| view.prefix_count(term.rank));
        if prefix_count == Some(0) {
            prefixed = 0..0;
        }
        Ok(Some(Self {
            context,
            term,
            docs: LazyLookup::new(term_docs(view, term)?),
            full_titles: FullTitles::new(context, &[term], text)?,
            prefixed,
            prefix_count,
            prefixed_titles: OnceCell::new(),
        }))
    }

    /// True if the prefix rule may add documents.
    pub(crate) fn has_prefixed(&self) -> bool {
        !self.prefixed.is_empty()
    }

    /// Titles that satisfy the word by the prefix rule. Cost: the first time a union of their sets.
    pub(crate) fn prefixed_titles(&self) -> Result<&TitleSet> {
        if let Some(titles) = self.prefixed_titles.get() {
            return Ok(titles);
        }
        let ranks = self.prefixed.clone();
        let sets = ranks.map(|rank| self.context.view.term_titles(rank));
        let titles = TitleSet::union(self.context, sets)?;
        Ok(self.prefixed_titles.get_or_init(|| titles))
    }
}
