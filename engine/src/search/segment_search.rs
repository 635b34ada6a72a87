//! A request over one segment of a snapshot: its branches, and their union.
//!
//! The work goes back and forth between snapshot and segments, because one decision needs all
//! segments: typos are allowed only if the `query` branch matches nothing in the whole catalog
//! (SEARCH.md 4.6). Segments come newest first, and each learns which hits the page still needs
//! (`cutoff`).
//!
//! ```text
//! Snapshot::search_parts   prepares each segment (SegmentSearch::new) where a document can match
//!   -> search_query        the query branch, reading by reading until one matches (`reading`)
//!   -> unite               in each segment: the other branches, and the union of all
//!   <- any match?          none in all segments: search_last, the last readings of a name
//!   <- merge               the best of each segment become the page
//! ```

use std::cell::OnceCell;

use crate::error::Result;
use crate::index::{Segment, SegmentView, Tombstones};
use crate::model::RecordId;
use crate::plan::{
    Filter, OneWordPlan, PlanContext, ReleasePlan, ReleaseSets, TitlePlan, Typos, WordPlan,
};
use crate::query::{
    CatalogTerm, LookupKinds, NameLookup, NameLookups, NamedEpisode, ParsedText, Query,
    ReleaseName, ReleaseTurn, ReleaseWord, SearchText, release_group, release_words,
};

use super::branch::{BranchResult, PageRequest};
use super::catalog_branch::{search_catalog, search_id};
use super::cutoff::Needed;
use super::doc_set::DocSet;
use super::equal_title::search_equal_title;
use super::name_branch::FoundName;
use super::one_word::search_one_word;
use super::release_branch::search_release_name;
use super::title_branch::search_title;
use super::top::{Ranked, best_of_branches};
use super::weigher::Weigher;
use super::word_branch::search_words;

/// A request, parsed once for all segments (SEARCH.md 2 and 4).
pub(super) struct ParsedQuery<'q> {
    pub(super) query: &'q Query,
    /// The `query` value, unless it is a catalog id.
    pub(super) free_text: Option<ParsedText<'q>>,
    /// The `title` value.
    pub(super) title: Option<ParsedText<'q>>,
    /// The catalog number of the parameter, and that of a `query` that is an id.
    catalog_numbers: [Option<u64>; 2],
    /// The `public_id` value.
    pub(super) public_id: Option<RecordId>,
    /// The words of `release`, with their weights.
    pub(super) release: Option<Vec<ReleaseWord<'q>>>,
    /// True if all matching documents are needed, for another order than that of hits.
    pub(super) needs_docs: bool,
    /// The `query` value as a name; parsed on demand.
    query_names: OnceCell<Box<NameLookups>>,
    /// The `title` value as a name; parsed on demand.
    title_names: OnceCell<Box<NameLookups>>,
}

impl<'q> ParsedQuery<'q> {
    /// Parses a request.
    pub(super) fn new(query: &'q Query) -> Self {
        let given = match query.catalog_id() {
            Some(CatalogTerm::Number(number)) => Some(number),
            _ => None,
        };
        // SEARCH.md 4.4: "tt0411008" as free text is an id, not a word.
        let number = query.query().and_then(SearchText::catalog_number);
        let free_text = query.parsed_query().filter(|_| number.is_none());
        let title = query.parsed_title();
        Self {
            query,
            free_text,
            title,
            catalog_numbers: [given, number],
            public_id: query.public_id(),
            release: query.release().map(|text| {
                let words: Vec<&str> = text.words().collect();
                release_words(&words, release_group(text.written()).as_deref())
            }),
            needs_docs: false,
            query_names: OnceCell::new(),
            title_names: OnceCell::new(),
        }
    }

    /// Catalog number of each `catalog_id` branch.
    pub(super) fn catalog_numbers(&self) -> impl Iterator<Item = u64> {
        self.catalog_numbers.into_iter().flatten()
    }

    /// Parses a request that needs all its matching documents.
    pub(super) fn of_all(query: &'q Query) -> Self {
        Self {
            needs_docs: true,
            ..Self::new(query)
        }
    }

    /// The `query` value as a name (SEARCH.md 4.11); `None` when there is none, or a catalog id.
    pub(super) fn query_names(&self) -> Option<&NameLookups> {
        self.free_text.as_ref()?;
        let written = self.query.query()?.written();
        let read = || Box::new(NameLookups::of_query(written));
        Some(self.query_names.get_or_init(read))
    }

    /// The `title` value as a name (SEARCH.md 4.17).
    pub(super) fn title_names(&self) -> Option<&NameLookups> {
        let written = self.query.title()?.written();
        let read = || Box::new(NameLookups::of_title(written));
        Some(self.title_names.get_or_init(read))
    }

    /// Turn in which the `query` value is read as the name of a release (SEARCH.md 4.12).
    pub(super) fn release_turn(&self) -> ReleaseTurn {
        let marker = marker_of(&self.free_text);
        let names = self.query_names();
        names.map_or(ReleaseTurn::Never, |names| names.release_turn(marker))
    }

    /// Episode that `query`, or else `title`, names (SEARCH.md 5.2).
    pub(super) fn named_episode(&self) -> Option<NamedEpisode> {
        let of_query = named_by(marker_of(&self.free_text), || self.query_names());
        of_query.or_else(|| named_by(marker_of(&self.title), || self.title_names()))
    }

    /// The `query` value as the name of a release (SEARCH.md 4.8).
    pub(super) fn release_name(&self) -> Option<ReleaseName<'q>> {
        self.free_text.as_ref().and_then(ReleaseName::of)
    }

    /// The weighed words of the `query` value's tail (SEARCH.md 5.5).
    pub(super) fn weighed_tail<'t>(&self, tail: &[&'t str]) -> Vec<ReleaseWord<'t>> {
        let group = self.query.query().map(SearchText::written);
        let group = group.and_then(release_group);
        release_words(tail, group.as_deref())
    }

    /// Size of a page. A request for none still selects one hit: an empty page has no last
    /// document.
    pub(super) fn page_size(&self) -> usize {
        usize::from(self.query.page_size()).max(1)
    }

    /// False if catalog ids are the only branches, and a segment has none of them.
    fn may_match(&self, view: &SegmentView<'_>) -> bool {
        let numbers_count = self.catalog_numbers().count();
        let are_only = numbers_count > 0 && numbers_count == self.branches_count();
        !are_only
            || self
                .catalog_numbers()
                .any(|number| view.may_have_number(number))
    }

    fn branches_count(&self) -> usize {
        usize::from(self.free_text.is_some())
            + usize::from(self.title.is_some())
            + usize::from(self.public_id.is_some())
            + self.catalog_numbers().count()
    }
}

fn marker_of(text: &Option<ParsedText<'_>>) -> Option<NamedEpisode> {
    text.as_ref()?.markers().episode.map(NamedEpisode::from)
}

/// The marker of a value if it is an episode's, else the episode that the value names.
fn named_by<'n>(
    marker: Option<NamedEpisode>,
    names: impl FnOnce() -> Option<&'n NameLookups>,
) -> Option<NamedEpisode> {
    match marker {
        Some(named) if named.episode.is_some() => Some(named),
        _ => names().and_then(NameLookups::named_episode).or(marker),
    }
}

/// One segment, prepared for a request.
pub(super) struct SegmentSearch<'a> {
    pub(super) segment: &'a Segment,
    pub(super) context: &'a PlanContext<'a>,
    /// Filters of the request over this segment, shared by all branches.
    pub(super) filter: Filter<'a>,
    /// Weighs matches by the `release` of the request, if it has one.
    weigher: Option<Box<Weigher<'a>>>,
}

/// Matches in one segment.
pub(super) struct SegmentHits {
    /// Count of documents that match by any branch.
    pub(super) total: u64,
    /// The best of them, in order: a page, or all if they are fewer.
    pub(super) best: Vec<Ranked>,
    /// All of them, if the request needs them.
    pub(super) docs: Option<DocSet>,
}

impl From<BranchResult> for SegmentHits {
    fn from(only: BranchResult) -> Self {
        Self {
            total: only.total,
            best: only.best,
            docs: only.docs,
        }
    }
}

impl<'a> SegmentSearch<'a> {
    /// Prepares a segment; `None` when no document of it can match the filters, or any branch.
    pub(super) fn new(
        segment: &'a Segment,
        tombstones: &'a Tombstones,
        parsed: &'a ParsedQuery<'_>,
        context: &'a PlanContext<'a>,
    ) -> Result<Option<Self>> {
        if !parsed.may_match(&context.view) {
            return Ok(None);
        }
        let Some(mut filter) = Filter::new(context, tombstones, parsed.query.filters())? else {
            return Ok(None);
        };
        if 1 < parsed.branches_count() {
            filter = filter.shared();
        }
        let weigher = match &parsed.release {
            Some(words) => {
                let sets = ReleaseSets::new(&context.view, words)?;
                Some(Box::new(Weigher::new(context, sets)))
            }
            None => None,
        };
        Ok(Some(Self {
            segment,
            context,
            filter,
            weigher,
        }))
    }

    /// Page that each branch must deliver.
    fn page<'p>(&'p self, parsed: &ParsedQuery<'_>, needed: Needed<'p>) -> PageRequest<'p> {
        PageRequest {
            needed,
            size: parsed.page_size(),
            needs_docs: parsed.needs_docs || parsed.branches_count() > 1 || self.weigher.is_some(),
            weigher: self.weigher.as_deref(),
            order: parsed.query.order(),
        }
    }

    /// Runs the `query` branch; `None` when the request has none.
    pub(super) fn search_words(
        &self,
        parsed: &ParsedQuery<'_>,
        typos: Typos,
        needed: Needed<'_>,
    ) -> Result<Option<BranchResult>> {
        let Some(text) = &parsed.free_text else {
            return Ok(None);
        };
        let page = self.page(parsed, needed);
        // Only one word to satisfy: its posting list is the result.
        if self.filter.is_trivial()
            && !page.needs_docs
            && typos == Typos::Refused
            && let Some(word) = text.only_word()
        {
            let Some(plan) = OneWordPlan::new(self.context, text, word)? else {
                return Ok(Some(BranchResult::empty()));
            };
            return Ok(Some(search_one_word(&plan, self.filter.live(), page)?));
        }
        let Some(plan) = WordPlan::new(self.context, text, typos)? else {
            return Ok(Some(BranchResult::empty()));
        };
        let found = search_words(self.context, &plan, &self.filter, page)?;
        Ok(Some(found))
    }

    /// Runs the `query` branch: titles with the key of the plain words.
    pub(super) fn search_equal_title(
        &self,
        parsed: &ParsedQuery<'_>,
        key: &str,
    ) -> Result<Option<BranchResult>> {
        let Some(text) = &parsed.free_text else {
            return Ok(None);
        };
        let page = self.page(parsed, Needed::ALL);
        let found = search_equal_title(self.context, text, key, &self.filter, page)?;
        Ok(Some(found))
    }

    /// Runs the `query` branch, read as the name of a release.
    pub(super) fn search_release_name(
        &self,
        parsed: &ParsedQuery<'_>,
        name: &ReleaseName<'_>,
        kinds: LookupKinds,
    ) -> Result<Option<BranchResult>> {
        let Some(text) = &parsed.free_text else {
            return Ok(None);
        };
        let year = parsed.query.filters().year;
        let Some(plan) = ReleasePlan::new(self.context, text, name, year, kinds)? else {
            return Ok(Some(BranchResult::empty()));
        };
        let (context, filter) = (self.context, &self.filter);
        let page = self.page(parsed, Needed::ALL);
        if let Some(weigher) = &self.weigher {
            return Ok(Some(search_release_name(
                context, &plan, filter, weigher, page,
            )?));
        }
        // SEARCH.md 5.5: without `release` the tail is weighed.
        let sets = ReleaseSets::new(&context.view, &parsed.weighed_tail(name.tail()))?;
        let weigher = Weigher::new(context, sets);
        Ok(Some(search_release_name(
            context, &plan, filter, &weigher, page,
        )?))
    }

    /// Runs the `query` or `title` branch, by one look-up of a name.
    pub(super) fn search_lookup(
        &self,
        parsed: &ParsedQuery<'_>,
        lookup: &NameLookup,
    ) -> Result<BranchResult> {
        let (context, filter) = (self.context, &self.filter);
        let Some(found) = FoundName::new(context, lookup, filter)? else {
            return Ok(BranchResult::empty());
        };
        let page = self.page(parsed, Needed::ALL);
        if self.weigher.is_some() || lookup.tail.is_empty() {
            return Ok(found.ranked(filter, page));
        }
        let tail: Vec<&str> = lookup.tail.iter().map(String::as_str).collect();
        let sets = ReleaseSets::new(&context.view, &parsed.weighed_tail(&tail))?;
        let weigher = Weigher::new(context, sets);
        let page = PageRequest {
            weigher: Some(&weigher),
            ..page
        };
        Ok(found.ranked(filter, page))
    }

    /// Runs the other branches and unites all results; `words` is that of the `query` branch.
    pub(super) fn unite(
        &self,
        parsed: &ParsedQuery<'_>,
        words: Option<BranchResult>,
        needed: Needed<'_>,
    ) -> Result<SegmentHits> {
        // One branch alone needs no union: its documents are not even listed.
        if parsed.branches_count() == 1
            && let Some(only) = words
        {
            return Ok(only.into());
        }
        let (context, page) = (self.context, self.page(parsed, needed));
        // Mostly the first is the only one: it takes no memory of its own.
        let (mut first, mut others) = (words, Vec::new());
        let mut add = |branch| match first {
            None => first = Some(branch),
            Some(_) => others.push(branch),
        };
        if let Some(text) = &parsed.title {
            let plan = TitlePlan::new(context, text)?;
            add(search_title(context, &plan, &self.filter, page)?);
        }
        for number in parsed.catalog_numbers() {
            let (view, filter) = (&context.view, &self.filter);
            let named_episode = || parsed.named_episode();
            add(search_catalog(view, number, &named_episode, filter, page)?);
        }
        if let Some(id) = parsed.public_id {
            add(search_id(self.segment, id, &self.filter, page)?);
        }
        if others.is_empty()
            && let Some(only) = first
        {
            return Ok(only.into());
        }
        let (mut sets, mut bests) = (Vec::new(), Vec::new());
        for found in first.into_iter().chain(others) {
            sets.push(found.docs.unwrap_or_else(DocSet::empty));
            bests.push(found.best);
        }
        Ok(SegmentHits {
            total: DocSet::union_len(&sets, &context.view),
            best: best_of_branches(&bests, page.size),
            docs: if parsed.needs_docs {
                sets.into_iter().reduce(DocSet::union)
            } else {
                None
            },
        })
    }
}
