//! Titles with all plain words of a `query`: relevance 2, 3 and 4 (SEARCH.md 5.1).
//!
//! Example: `query=lost girl 2010`. The texts are "lost girl 2010" and, without the year marker,
//! "lost girl". The titles with both words are three: "lost girl" is one of the texts (relevance
//! 2), "lost girl returns" begins with one (3), "the girl lost" has the words (4).

use std::ops::Range;

use crate::error::Result;
use crate::index::{Postings, SegmentView, Term};
use crate::query::ParsedText;

use super::cost::PlanContext;
use super::lazy_lookup::LazyLookup;
use super::title_set::TitleSet;

/// Titles with all plain words, and those of them that equal or begin with one of the texts.
#[derive(Default)]
pub(crate) struct FullTitles<'a> {
    members: Members<'a>,
    /// Titles equal to one of the texts.
    pub(crate) equal: Vec<u32>,
    /// Titles that begin with one of the texts and a space.
    pub(crate) prefixed: Vec<Range<u32>>,
}

#[derive(Default)]
enum Members<'a> {
    #[default]
    None,
    /// The stored titles of a single plain word: "the" has a third of all titles, and decoding them
    /// would cost more than the whole search.
    OfOneWord(LazyLookup<'a>),
    Set(TitleSet),
}

impl<'a> FullTitles<'a> {
    /// Titles with all of these terms, which are the plain words of the text.
    pub(super) fn new(
        context: &PlanContext<'a>,
        terms: &[Option<Term>],
        text: &ParsedText<'_>,
    ) -> Result<Self> {
        let view = &context.view;
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
        let compared_max = context.costs.compared_titles_max;
        if others.is_empty() && first.count() as usize > compared_max {
            let members = Members::OfOneWord(LazyLookup::new(*first));
            return Ok(Self::located(view, members, text));
        }
        // Smallest first: the list never grows.
        let mut titles = Vec::new();
        first.decode(&mut titles);
        others.iter().for_each(|set| set.retain(&mut titles));
        if titles.len() > compared_max {
            let members = Members::Set(TitleSet::of_sorted(context, titles));
            return Ok(Self::located(view, members, text));
        }
        Ok(Self::compared(context, titles, text))
    }

    /// Looks the texts up among all titles, which are sorted. Cost: a binary search a text.
    fn located(view: &SegmentView<'a>, members: Members<'a>, text: &ParsedText<'_>) -> Self {
        let (mut equal, mut prefixed) = (Vec::new(), Vec::new());
        for text in text.strings() {
            let (title, going_on) = view.titles_of_text(&text);
            equal.extend(title);
            prefixed.push(going_on);
        }
        Self {
            members,
            equal,
            prefixed,
        }
    }

    /// Compares each of a few titles with the texts: cheaper than looking the texts up.
    fn compared(context: &PlanContext<'a>, titles: Vec<u32>, text: &ParsedText<'_>) -> Self {
        let (mut equal, mut prefixed) = (Vec::new(), Vec::new());
        if !titles.is_empty() {
            let texts = text.strings();
            for &title in &titles {
                for text in &texts {
                    match context.view.title(title).strip_prefix(text.as_bytes()) {
                        Some([]) => equal.push(title),
                        Some([b' ', ..]) => prefixed.push(title..title + 1),
                        _ => {}
                    }
                }
            }
        }
        Self {
            members: Members::Set(TitleSet::of_sorted(context, titles)),
            equal,
            prefixed,
        }
    }

    /// Relevance 2, 3 or 4 of a title with all plain words.
    #[inline]
    pub(crate) fn relevance(&self, title: u32) -> Option<u8> {
        let is_member = match &self.members {
            Members::None => false,
            Members::OfOneWord(titles) => titles.contains(title),
            Members::Set(titles) => titles.contains(title),
        };
        if is_member {
            Some(self.member_relevance(title))
        } else {
            None
        }
    }

    /// Relevance of a title that is known to be a member.
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

    /// Best relevance that any title gives; `None` without titles.
    pub(crate) fn best_relevance(&self) -> Option<u8> {
        if self.len() == 0 {
            None
        } else if !self.equal.is_empty() {
            Some(2)
        } else if self.prefixed.iter().any(|range| !range.is_empty()) {
            Some(3)
        } else {
            Some(4)
        }
    }

    /// Count of titles.
    pub(crate) fn len(&self) -> usize {
        match &self.members {
            Members::None => 0,
            Members::OfOneWord(titles) => titles.set().count() as usize,
            Members::Set(titles) => titles.titles().len(),
        }
    }

    /// Calls `each` with every title, ascending.
    pub(crate) fn for_each(&self, each: impl FnMut(u32)) {
        match &self.members {
            Members::None => {}
            Members::OfOneWord(titles) => titles.set().for_each(each),
            Members::Set(titles) => titles.titles().iter().copied().for_each(each),
        }
    }
}
