//! The `title` branch over one segment: its documents, counted, and the best of them.
//!
//! The plan knows how many documents each relevance has before one is read. Where filters, a marker
//! or another branch need the set of matches, up to 512 are simply ranked. Otherwise the page is
//! filled relevance by relevance (`tiered_top`). Example: `title=man`, 40,000 matches, page of 100.
//! Relevance 2: the title "man" has 30 documents, which are read. Relevance 3: 25,000 documents
//! ("man of steel"). A scan of all documents has the missing 70 of them after about 1,000.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::index::{BLOCK, SegmentView};
use crate::plan::{Clause, Filter, PlanContext, TitleMatch, TitlePlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::tiered_top::{Candidates, TierSize, Tiers, select_best};
use super::top::{Ranked, Top};
use super::weigher::RankDocs;

/// Relevance given to a document that does not match.
const NO_MATCH: u8 = 10;

/// Runs the branch.
///
/// Cost: linear in the titles that contain the text; with filters or a marker also that of
/// [`intersect`].
pub(super) fn search_title(
    context: &PlanContext<'_>,
    plan: &TitlePlan<'_>,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let branch = TitleBranch {
        context,
        plan,
        filter,
    };
    let is_plain = filter.is_trivial() && plan.marker.is_none() && plan.fit.is_trivial();
    if is_plain && !page.needs_docs {
        // Every live document of a matching title matches: the total is a sum of stored counts,
        // less the deleted ones, and no set of documents is built.
        let top = select_best(context, Candidates::All(filter.live()), &branch, page);
        let total = filter.live().count_titled(
            plan.docs_count(TitleMatch::is_whole),
            |title| plan.match_of(title).is_whole(),
            plan.title_runs(TitleMatch::is_whole),
        );
        context.note(
            None,
            || total,
            || "count live documents of the titles".into(),
        );
        return Ok(BranchResult {
            total,
            best: top.into_sorted(),
            docs: None,
        });
    }
    let docs = branch.docs()?;
    let top = if docs.len() <= context.costs.ranked_docs_max {
        let mut top = Top::new(page.size, page.needed.cutoff);
        for block in docs.listed().chunks(BLOCK) {
            let titles = context.view.titles_of(block);
            for (&doc, title) in block.iter().zip(titles) {
                if let Some(ranked) = branch.rank_match(doc, title) {
                    top.offer(ranked);
                }
            }
        }
        top
    } else {
        select_best(context, Candidates::Set(&docs), &branch, page)
    };
    let best = top.into_sorted();
    Ok(BranchResult {
        total: docs.len(),
        best: match page.weigher {
            Some(weigher) => weigher.reordered(&branch, &docs, best),
            None => best,
        },
        docs: Some(docs),
    })
}

struct TitleBranch<'b, 'a, 'f> {
    context: &'b PlanContext<'a>,
    plan: &'b TitlePlan<'a>,
    filter: &'b Filter<'f>,
}

impl<'a> TitleBranch<'_, 'a, '_> {
    fn view(&self) -> &SegmentView<'a> {
        &self.context.view
    }

    /// Rank of a document with this title; `None` if it is not a match.
    #[inline]
    fn rank_match(&self, doc: u32, title: u32) -> Option<Ranked> {
        let marker = self.plan.marker.as_ref();
        let row = || self.view().columns().row(doc);
        let fits_marker = marker.is_some_and(|(test, _)| test.matches(row()));
        let relevance = self.plan.match_of(title).relevance(fits_marker)?;
        let fit = self.plan.fit.fit(doc, self.filter);
        Some(Ranked::new(relevance, fit, doc))
    }

    /// All matches: those by the whole text, and those by the text without its marker that fit it.
    fn docs(&self) -> Result<DocSet> {
        let whole = self.find(&[self.plan.clause(self.context, TitleMatch::is_whole)])?;
        let Some((_, fitting)) = &self.plan.marker else {
            return Ok(whole);
        };
        let unmarked = self.plan.clause(self.context, TitleMatch::is_unmarked);
        Ok(whole.union(self.find(&[unmarked, fitting.clone()])?))
    }

    fn find(&self, clauses: &[Clause<'_>]) -> Result<DocSet> {
        if clauses.iter().any(|clause| clause.size_max() == 0) {
            return Ok(DocSet::empty());
        }
        intersect(self.context, self.filter, clauses)
    }
}

impl Tiers for TitleBranch<'_, '_, '_> {
    const RELEVANCES: RangeInclusive<u8> = 2..=5;

    fn relevance_beyond(&self) -> Option<u8> {
        None
    }

    fn size(&self, relevance: u8) -> TierSize {
        let may_give = |title_match: TitleMatch| title_match.may_give(relevance);
        TierSize {
            titles: self.plan.titles_count(may_give),
            docs: self.plan.docs_count(may_give),
        }
    }

    fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32)) {
        let matches = self.plan.matches().iter();
        let titles = matches.filter(|(_, title_match)| title_match.may_give(relevance));
        titles.for_each(|(title, _)| each(*title));
    }

    fn reads_titles(&self) -> bool {
        true
    }

    fn reads_columns(&self) -> bool {
        self.plan.marker.is_some() || self.plan.fit.reads_columns(self.filter)
    }

    #[inline]
    fn rank(&self, doc: u32, title: u32) -> Option<Ranked> {
        self.rank_match(doc, title)
    }

    /// The title may give this relevance only together with the marker.
    #[inline]
    fn rank_in_tier(&self, relevance: u8, doc: u32, title: u32) -> Option<Ranked> {
        let ranked = self.rank_match(doc, title);
        ranked.filter(|ranked| ranked.relevance() == relevance)
    }
}

impl RankDocs for TitleBranch<'_, '_, '_> {
    fn reads_columns(&self) -> bool {
        Tiers::reads_columns(self)
    }

    fn rank_titled(&self, doc: u32, title: u32) -> Ranked {
        let ranked = self.rank_match(doc, title);
        ranked.unwrap_or(Ranked::new(NO_MATCH, 0, doc))
    }

    fn relevance_docs_count(&self, relevance: u8) -> Option<u64> {
        Some(self.size(relevance).docs)
    }

    fn relevance_docs(&self, relevance: u8, out: &mut Vec<u32>) {
        self.for_each_title(relevance, &mut |title| {
            out.extend(self.view().title_docs(title));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::index::{Segment, SegmentBuilder, Tombstones};
    use crate::model::{Record, RecordId, Timestamp};
    use crate::plan::CostModel;
    use crate::query::{Filters, HitOrder, Query, SearchText};

    use super::super::cutoff::Needed;
    use super::*;

    /// Counts the ranked documents.
    struct Counted<'t, T> {
        tiers: &'t T,
        ranked_count: Cell<u64>,
    }

    impl<T: Tiers> Counted<'_, T> {
        fn count(&self, ranked: Option<Ranked>) -> Option<Ranked> {
            self.ranked_count.set(self.ranked_count.get() + 1);
            ranked
        }
    }

    impl<T: Tiers> Tiers for Counted<'_, T> {
        const RELEVANCES: RangeInclusive<u8> = T::RELEVANCES;

        fn relevance_beyond(&self) -> Option<u8> {
            self.tiers.relevance_beyond()
        }

        fn size(&self, relevance: u8) -> TierSize {
            self.tiers.size(relevance)
        }

        fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32)) {
            self.tiers.for_each_title(relevance, each);
        }

        fn reads_titles(&self) -> bool {
            self.tiers.reads_titles()
        }

        fn reads_columns(&self) -> bool {
            self.tiers.reads_columns()
        }

        fn rank(&self, doc: u32, title: u32) -> Option<Ranked> {
            self.count(self.tiers.rank(doc, title))
        }

        fn rank_in_tier(&self, relevance: u8, doc: u32, title: u32) -> Option<Ranked> {
            self.count(self.tiers.rank_in_tier(relevance, doc, title))
        }
    }

    /// 5,000 records; the oldest 1,000 have titles by `old_title`.
    fn segment(old_title: fn(u16) -> String) -> Segment {
        let mut builder = SegmentBuilder::new();
        for number in 0..5_000 {
            let title = if number < 1_000 {
                old_title(number)
            } else {
                format!("new {number}")
            };
            let mut id = [0; 16];
            id[..2].copy_from_slice(&number.to_be_bytes());
            let record = Record {
                posted_at: Timestamp::from_seconds(i64::from(number)).unwrap(),
                ..Record::new(RecordId::from_bytes(id), &title)
            };
            builder.add(&record).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        Segment::open(bytes.into(), "old").unwrap()
    }

    /// Number of documents ranked for a page of ten of `title`.
    fn ranked_count(segment: &Segment, title: &str) -> u64 {
        let costs = CostModel::DEFAULT;
        let context = PlanContext {
            view: segment.view().unwrap(),
            costs: &costs,
            trace: None,
        };
        let tombstones = Tombstones::new();
        let filters = Filters::default();
        let filter = Filter::new(&context, &tombstones, &filters);
        let filter = filter.unwrap().unwrap();
        let query = Query::new(Filters::default(), 10).with_title(SearchText::title(title));
        let plan = TitlePlan::new(&context, &query.parsed_title().unwrap()).unwrap();
        let tiers = Counted {
            tiers: &TitleBranch {
                context: &context,
                plan: &plan,
                filter: &filter,
            },
            ranked_count: Cell::new(0),
        };
        let page = PageRequest {
            size: 10,
            needs_docs: false,
            weigher: None,
            needed: Needed::ALL,
            order: HitOrder::Search,
        };
        let top = select_best(&context, Candidates::All(filter.live()), &tiers, page);
        let found: Vec<u32> = top
            .into_sorted()
            .iter()
            .map(|ranked| ranked.doc())
            .collect();
        assert!(found.iter().copied().eq(4_000..4_010), "{found:?}");
        tiers.ranked_count.get()
    }

    #[test]
    fn an_old_series_costs_a_page_and_not_the_newer_documents() {
        let segment = segment(|_| "old".into());
        assert!(ranked_count(&segment, "old") <= 20);
    }

    #[test]
    fn old_titles_cost_twice_their_number_at_most() {
        let segment = segment(|number| format!("old {number}"));
        assert!(ranked_count(&segment, "old") <= 2_000);
        let segment = self::segment(|number| format!("very old{number}"));
        assert!(ranked_count(&segment, "old") <= 2_000);
    }
}
