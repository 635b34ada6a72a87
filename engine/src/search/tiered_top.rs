//! The best of many matches, tier by tier.
//!
//! An answer is ordered by relevance first. A *tier* is a relevance that titles give: its titles,
//! and the number of their documents, are known before a document is read. The page is filled tier
//! by tier, each in one of two ways:
//!
//! - *Collect by title*: read the documents of the tier's titles. `query=lost`: the one title
//!   "lost" has 120 documents. They fill the page; the 9,000 other matches are never ranked.
//! - *Scan matches*: rank the matches one by one in answer order. `title=man`: 25,000 documents
//!   have a title that begins with the word. A scan meets one in 14 documents and has a page of
//!   them after 1,400.
//!
//! Which is cheaper depends on the age of the documents: a scan of the matches meets the newest
//! first, and those of a series that ended years ago last. So a scan is a bet. It is given up when
//! it has cost as much as collecting would, or a sixteenth of that if it is not expected to win.
//! Then the page costs up to twice the cheaper way, whatever the ages are.
//!
//! # The choice, with numbers
//!
//! A segment has 350,000 documents, the page 100 hits, and the cost model says 10 ns for a visit of
//! a scan, 4 ns for a collected document and 4 ns for a title.
//!
//! - A tier of 9,000 titles and 25,000 documents costs 9,000·4 + 25,000·4 ns to collect: 136 µs, as
//!   much as 13,600 visits. A scan is expected to have a page after 1,400 visits
//!   (100·350,000/25,000). It is tried, and given up after 13,600.
//! - A tier of 1,000 titles with one document each costs 8 µs to collect: 800 visits. A scan would
//!   need 35,000, so it gets a sixteenth: 50. They cannot yield 100 documents: the tier is
//!   collected at once.

use std::ops::{ControlFlow, RangeInclusive};

use crate::index::{BLOCK, Postings};
use crate::plan::{LiveDocs, PlanContext};

use super::branch::PageRequest;
use super::doc_set::DocSet;
use super::top::{Ranked, Top};

/// Relevances that titles give, and the rank of each document.
///
/// The methods are look-ups without side effects. They may be called in any order and any number of
/// times during one search of a segment, and give the same answers throughout.
pub(super) trait Tiers {
    /// Relevances of the tiers, best first.
    const RELEVANCES: RangeInclusive<u8>;

    /// The last relevance after all tiers that matches may have too; `None` if every match is of a
    /// tier. A page of matches up to it, with fit 0, is complete.
    ///
    /// Asked after the last tier, if the page is not complete then: the matches of the relevances
    /// after the tiers, up to this one, are found by a scan only.
    fn relevance_beyond(&self) -> Option<u8>;

    /// Upper bound, or estimate, of the titles and documents of a tier; no titles if the tier is
    /// empty.
    ///
    /// `relevance` is one of [`Tiers::RELEVANCES`].
    fn size(&self, relevance: u8) -> TierSize;

    /// Calls `each` with every title of a tier once, in any order; not at all if the tier is empty.
    ///
    /// A title may belong to several tiers: the marker of a document decides then, in
    /// [`Tiers::rank_in_tier`].
    fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32));

    /// True if the rank of a candidate depends on its title. If not, scans read no title.
    fn reads_titles(&self) -> bool;

    /// True if the rank of a candidate depends on its columns: they are read ahead, block by block.
    fn reads_columns(&self) -> bool;

    /// Rank of a candidate with this title; `None` if it is not a match.
    ///
    /// Called by scans, for live candidates in answer order; with any title if titles are not read.
    /// The rank may be that of an earlier tier: the scan skips it, as that tier was offered before.
    fn rank(&self, doc: u32, title: u32) -> Option<Ranked>;

    /// Rank of a candidate with this title of the tier; `None` if it is not of this relevance.
    ///
    /// Called only with titles that [`Tiers::for_each_title`] gives for `relevance`.
    fn rank_in_tier(&self, relevance: u8, doc: u32, title: u32) -> Option<Ranked>;
}

/// Titles and documents of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TierSize {
    /// Count of titles.
    pub(super) titles: u64,
    /// Count of documents that have them, matches or not.
    pub(super) docs: u64,
}

/// Documents that include all matches.
#[derive(Clone, Copy)]
pub(super) enum Candidates<'c, 'a> {
    /// The matches themselves.
    Set(&'c DocSet),
    /// The live documents of a single word: all live documents of its titles are among them.
    OneWord(&'c Postings<'a>, &'c LiveDocs<'a>),
    /// All live documents of the segment: matches are those with the titles of a tier.
    All(&'c LiveDocs<'a>),
}

impl Candidates<'_, '_> {
    /// True if a document with a title of a tier is a match; a marker may still exclude it.
    #[inline]
    fn contains(&self, doc: u32) -> bool {
        match self {
            Self::Set(docs) => docs.contains(doc),
            Self::OneWord(_, live) | Self::All(live) => live.contains(doc),
        }
    }

    /// Count of documents that a scan visits, deleted ones included.
    fn count(&self, context: &PlanContext<'_>) -> u64 {
        match self {
            Self::Set(docs) => docs.len(),
            Self::OneWord(set, _) => u64::from(set.count()),
            Self::All(_) => u64::from(context.view.docs_count()),
        }
    }

    /// Number of documents over which those of the tiers are assumed to be spread evenly. Nothing
    /// is known of a set: its documents may have any titles.
    fn population(&self, context: &PlanContext<'_>) -> u64 {
        match self {
            Self::OneWord(set, _) => u64::from(set.count()),
            Self::Set(_) | Self::All(_) => u64::from(context.view.docs_count()),
        }
    }

    /// Calls `each` with the live documents and their titles in answer order until it breaks; with
    /// title 0 if the tiers do not read titles.
    ///
    /// Titles, and columns if they will be read, are read for a block of documents at a time: no
    /// read waits for another.
    fn try_for_each_titled(
        &self,
        context: &PlanContext<'_>,
        tiers: &impl Tiers,
        mut each: impl FnMut(u32, u32) -> ControlFlow<()>,
    ) {
        let view = &context.view;
        if !tiers.reads_titles() && !tiers.reads_columns() {
            let _ = self.try_for_each(context, |doc| each(doc, 0));
            return;
        }
        let (mut block, mut block_len) = ([0; BLOCK], 0);
        let mut visit_block = |docs: &[u32]| {
            if tiers.reads_columns() {
                view.columns().prefetch(docs);
            }
            let titles = if tiers.reads_titles() {
                view.titles_of(docs)
            } else {
                [0; BLOCK]
            };
            let mut titled = docs.iter().zip(titles);
            titled.try_for_each(|(&doc, title)| each(doc, title))
        };
        let flow = self.try_for_each(context, |doc| {
            block[block_len] = doc;
            block_len += 1;
            if block_len < BLOCK {
                return ControlFlow::Continue(());
            }
            block_len = 0;
            visit_block(&block)
        });
        if flow.is_continue() {
            let _ = visit_block(&block[..block_len]);
        }
    }

    /// Calls `each` with the live documents in answer order until it breaks.
    fn try_for_each(
        &self,
        context: &PlanContext<'_>,
        mut each: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let visit = |live: &LiveDocs<'_>, each: &mut dyn FnMut(u32) -> ControlFlow<()>, doc| {
            if live.contains(doc) {
                each(doc)
            } else {
                ControlFlow::Continue(())
            }
        };
        match self {
            Self::Set(docs) => docs.try_for_each(each),
            Self::OneWord(set, live) => set.try_for_each(|doc| visit(live, &mut each, doc)),
            Self::All(live) => {
                (0..context.view.docs_count()).try_for_each(|doc| visit(live, &mut each, doc))
            }
        }
    }
}

/// Offers the matches that can be on the page, and maybe others, to an empty one.
///
/// Works tier by tier until the page is complete. That is right because once a page of documents up
/// to relevance `r`, fit 0 is known, here or in newer segments, no document of a later relevance
/// can displace one of them. Cost: for each tier up to twice that of the cheaper way; then, if
/// matches are beyond the tiers, a scan of them.
pub(super) fn select_best(
    context: &PlanContext<'_>,
    candidates: Candidates<'_, '_>,
    tiers: &impl Tiers,
    page: PageRequest<'_>,
) -> Top {
    let mut selection = Selection {
        context,
        candidates,
        tiers,
        page,
        offered_count: 0,
        top: Top::new(page.size, page.needed.cutoff),
    };
    let _ = selection.run();
    selection.top
}

/// Page while it is selected.
struct Selection<'s, 'a, T> {
    context: &'s PlanContext<'a>,
    candidates: Candidates<'s, 'a>,
    tiers: &'s T,
    page: PageRequest<'s>,
    /// Count of the documents collected up to now. All precede later tiers, whatever their fit.
    offered_count: usize,
    top: Top,
}

/// Outcome of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    /// The page is complete, or every candidate was visited: nothing is left to offer.
    Complete,
    /// Too many candidates were visited. The page is unchanged.
    GivenUp,
}

impl<T: Tiers> Selection<'_, '_, T> {
    /// Fills the page; breaks when it is complete before the last tier.
    fn run(&mut self) -> ControlFlow<()> {
        for relevance in T::RELEVANCES {
            let missing = self.missing_count(relevance)?;
            let size = self.tiers.size(relevance);
            if size.titles == 0 {
                continue;
            }
            let visits_max = self.scan_visits_max(size, missing as u64);
            if missing as u64 <= visits_max
                && self.scan(relevance..=relevance, missing, visits_max) == Scan::Complete
            {
                return ControlFlow::Break(());
            }
            self.collect(relevance, missing);
        }
        if let Some(last) = self.tiers.relevance_beyond() {
            let missing = self.missing_count(last)?;
            let first = *T::RELEVANCES.end() + 1;
            self.scan(first..=last, missing, u64::MAX);
        }
        ControlFlow::Continue(())
    }

    /// Number of documents of this relevance, with fit 0, that complete the page. Breaks when none
    /// of it, or of a later one, can be on the page.
    fn missing_count(&self, relevance: u8) -> ControlFlow<(), usize> {
        let missing = self.page.missing_count(relevance, self.offered_count);
        if missing > 0 && self.top.admits(Ranked::new(relevance, 0, 0)) {
            ControlFlow::Continue(missing)
        } else {
            ControlFlow::Break(())
        }
    }

    /// Number of candidates that a scan for the missing documents of a tier may visit before
    /// collecting them by title is cheaper.
    fn scan_visits_max(&self, size: TierSize, missing: u64) -> u64 {
        let costs = self.context.costs;
        let collected_docs = match self.candidates {
            // The set may have none of them: each title is read to its end.
            Candidates::Set(_) => size.docs,
            // The first documents of each title are enough.
            _ => size.docs.min(size.titles.saturating_mul(missing)),
        };
        let title_ns = costs.probe_ns(self.context.view.docs_count());
        let collect_ns = size.titles * title_ns + collected_docs * costs.collect_ns;
        let visits_max = collect_ns / costs.rank_ns;
        let candidates_count = self.candidates.count(self.context);
        if candidates_count <= visits_max {
            return u64::MAX;
        }
        let population = self.candidates.population(self.context);
        let expected_visits = missing * population / size.docs.max(1);
        if expected_visits <= visits_max {
            visits_max
        } else {
            visits_max / costs.scan_share
        }
    }

    /// Offers the documents of a tier: from each title, up to the missing ones with fit 0.
    fn collect(&mut self, relevance: u8, missing: usize) {
        let view = &self.context.view;
        let (candidates, tiers) = (self.candidates, self.tiers);
        let (top, offered_count) = (&mut self.top, &mut self.offered_count);
        let offered_before = *offered_count;
        tiers.for_each_title(relevance, &mut |title| {
            let mut missing = missing;
            for doc in view.title_docs(title) {
                // The documents of a title ascend, which is answer order: those after one that is
                // not among the best are not either. So most titles of many cost one document.
                if !top.admits(Ranked::new(relevance, 0, doc)) {
                    break;
                }
                if !candidates.contains(doc) {
                    continue;
                }
                let Some(ranked) = tiers.rank_in_tier(relevance, doc, title) else {
                    continue;
                };
                top.offer(ranked);
                *offered_count += 1;
                if ranked.fit() == 0 {
                    missing -= 1;
                    if missing == 0 {
                        break;
                    }
                }
            }
        });
        let offered = (*offered_count - offered_before) as u64;
        let action = || {
            let TierSize { titles, docs } = tiers.size(relevance);
            format!("collect relevance {relevance}: {titles} titles of about {docs} documents")
        };
        self.context.note(None, || offered, action);
    }

    /// Offers matches in answer order, of the first of these relevances and all later ones, until
    /// the missing matches up to the last one, with fit 0, were offered, or all were visited. Gives
    /// up after `visits_max` visits.
    fn scan(
        &mut self,
        relevances: RangeInclusive<u8>,
        mut missing: usize,
        visits_max: u64,
    ) -> Scan {
        // A scan that is given up must leave no trace: the documents that it offered will be
        // collected again.
        let may_give_up = visits_max < self.candidates.count(self.context);
        let before = if may_give_up {
            Some(self.top.clone())
        } else {
            None
        };
        let mut visits_left = visits_max;
        let mut scan = Scan::Complete;
        let (tiers, top) = (self.tiers, &mut self.top);
        let mut visit = |doc: u32, title: u32| {
            if visits_left == 0 {
                scan = Scan::GivenUp;
                return ControlFlow::Break(());
            }
            visits_left -= 1;
            // Better relevances were offered before.
            let ranked = tiers.rank(doc, title);
            let Some(ranked) = ranked.filter(|ranked| *relevances.start() <= ranked.relevance())
            else {
                return ControlFlow::Continue(());
            };
            top.offer(ranked);
            if (ranked.relevance(), ranked.fit()) <= (*relevances.end(), 0) {
                missing -= 1;
                if missing == 0 {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        };
        self.candidates
            .try_for_each_titled(self.context, tiers, &mut visit);
        if scan == Scan::GivenUp
            && let Some(before) = before
        {
            self.top = before;
        }
        self.context.note(
            None,
            || visits_max - visits_left,
            || {
                let outcome = match scan {
                    Scan::Complete => "complete",
                    Scan::GivenUp => "given up",
                };
                let first = relevances.start();
                let of = self.candidates.count(self.context);
                format!("scan {of} from relevance {first}: {outcome}")
            },
        );
        scan
    }
}
