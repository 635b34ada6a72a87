//! A request over one segment of a snapshot: its branches, united.

use crate::error::Result;
use crate::index::{Segment, Tombstones, View};
use crate::model::RecordId;
use crate::plan::{Clause, Filter, TitlePlan, Typos, WordPlan};
use crate::query::{CatalogTerm, ParsedText, Query, SearchText};
use crate::text::EpisodeMarker;

use super::catalog_branch::{search_catalog, search_id};
use super::doc_set::DocSet;
use super::title_branch::search_title;
use super::top::{Ranked, best_of_branches};
use super::word_branch::{Found, search_words};

/// A request, read once for all segments (SEARCH.md 2 and 4).
pub(super) struct ParsedQuery<'q> {
    pub(super) query: &'q Query,
    /// The `query` value, unless it is a catalog id.
    pub(super) free_text: Option<ParsedText<'q>>,
    pub(super) title: Option<ParsedText<'q>>,
    /// The number of each `catalog_id` branch.
    pub(super) catalog_numbers: Vec<u64>,
    pub(super) public_id: Option<RecordId>,
    /// The episode that `query`, or else `title`, names.
    pub(super) marker: Option<EpisodeMarker>,
}

impl<'q> ParsedQuery<'q> {
    /// Reads a request.
    pub(super) fn new(query: &'q Query) -> Self {
        let mut catalog_numbers = Vec::new();
        if let Some(CatalogTerm::Number(number)) = query.catalog_id() {
            catalog_numbers.push(number);
        }
        let number = query.query().and_then(SearchText::catalog_number);
        catalog_numbers.extend(number);
        let free_text = query.parsed_query().filter(|_| number.is_none());
        let title = query.parsed_title();
        let marker_of = |text: &Option<ParsedText<'_>>| text.as_ref()?.markers().episode;
        Self {
            query,
            marker: marker_of(&free_text).or_else(|| marker_of(&title)),
            free_text,
            title,
            catalog_numbers,
            public_id: query.public_id(),
        }
    }

    fn branches_count(&self) -> usize {
        usize::from(self.free_text.is_some())
            + usize::from(self.title.is_some())
            + usize::from(self.public_id.is_some())
            + self.catalog_numbers.len()
    }

    fn page_size(&self) -> usize {
        usize::from(self.query.page_size())
    }
}

/// One segment, with what the filters of the request mean in it.
pub(super) struct Part<'a> {
    pub(super) segment: &'a Segment,
    pub(super) view: View<'a>,
    pub(super) filter: Filter<'a>,
    pub(super) filter_sets: Vec<Clause<'a>>,
}

/// The matches in one segment.
pub(super) struct PartFound {
    pub(super) total: u64,
    pub(super) best: Vec<Ranked>,
}

impl<'a> Part<'a> {
    /// Prepares a segment; `None` when no document of it can pass the filters.
    pub(super) fn new(
        segment: &'a Segment,
        tombstones: &'a Tombstones,
        query: &Query,
    ) -> Result<Option<Self>> {
        let view = segment.view()?;
        let filter = Filter::new(view, tombstones, query.filters())?;
        if filter.is_hopeless() || segment.is_empty() {
            return Ok(None);
        }
        let filter_sets = filter.clauses(query.filters())?;
        Ok(Some(Self {
            segment,
            view,
            filter,
            filter_sets,
        }))
    }

    /// Runs the `query` branch; `None` when the request has none.
    pub(super) fn search_words(
        &self,
        parsed: &ParsedQuery<'_>,
        typos: Typos,
    ) -> Result<Option<Found>> {
        let Some(text) = &parsed.free_text else {
            return Ok(None);
        };
        let Some(plan) = WordPlan::new(&self.view, text, typos)? else {
            return Ok(Some(Found::nothing()));
        };
        let wanted = (parsed.page_size(), parsed.branches_count() > 1);
        Ok(Some(search_words(
            &self.view,
            &plan,
            &self.filter,
            &self.filter_sets,
            wanted,
        )))
    }

    /// Runs the other branches and unites all; `words` is what the `query` branch found.
    pub(super) fn unite(
        &self,
        parsed: &ParsedQuery<'_>,
        words: Option<Found>,
    ) -> Result<PartFound> {
        let wanted = (parsed.page_size(), parsed.branches_count() > 1);
        let mut found: Vec<Found> = words.into_iter().collect();
        if let Some(text) = &parsed.title {
            let plan = TitlePlan::new(&self.view, text)?;
            let filters = (&self.filter, &self.filter_sets[..]);
            found.push(search_title(&self.view, &plan, filters, wanted));
        }
        for &number in &parsed.catalog_numbers {
            let (view, filter) = (&self.view, &self.filter);
            found.push(search_catalog(view, number, parsed.marker, filter, wanted)?);
        }
        if let Some(id) = parsed.public_id {
            found.push(search_id(self.segment, id, &self.filter)?);
        }
        if found.len() == 1 {
            let only = found.remove(0);
            return Ok(PartFound {
                total: only.total,
                best: only.best,
            });
        }
        let (mut sets, mut bests) = (Vec::new(), Vec::new());
        for found in found {
            sets.push(found.docs.unwrap_or_else(DocSet::empty));
            bests.push(found.best);
        }
        Ok(PartFound {
            total: DocSet::union_len(&sets, &self.view),
            best: best_of_branches(&bests, parsed.page_size()),
        })
    }
}
