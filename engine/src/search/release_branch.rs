//! The `query` branch, read as the name of a release, over one segment (SEARCH.md 4.8, 4.9).
//!
//! All matches have relevance 8. Fit 0 to 3 belong to the titles that are the first words of the
//! value, which are one or two: their documents are collected. Of many matches, those of each other
//! fit are a set: that of fit 4, with the right markers, is visited by missing weight until the
//! page is full, then the next one. Without the sets, `the.1999.2000.2001.1902` would visit all
//! films of these years for one of 1902.

use crate::error::Result;
use crate::index::{BLOCK, Bits};
use crate::plan::{Clause, Filter, PlanContext, ReleasePlan, TITLE_FIT};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::Ranked;
use super::weigher::{Sought, Weigher};

/// Relevance of every match.
const RELEVANCE: u8 = 8;

/// Runs the branch; `weigher` weighs the tail, or the `release` of the request.
pub(super) fn search_release_name(
    context: &PlanContext<'_>,
    plan: &ReleasePlan<'_>,
    filter: &Filter<'_>,
    weigher: &Weigher<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let rank_titled = |doc: u32, title: u32| {
        let fit = plan.fit(doc, title, filter);
        Ranked::new(RELEVANCE, fit, doc)
    };
    let docs = intersect(context, filter, &plan.clauses)?;
    let best = match &docs {
        DocSet::List(docs) => {
            let mut ranked = Vec::with_capacity(docs.len());
            for block in docs.chunks(BLOCK) {
                let titled = block.iter().zip(context.view.titles_of(block));
                ranked.extend(titled.map(|(&doc, title)| rank_titled(doc, title)));
            }
            weigher.best(ranked, page.size)
        }
        DocSet::Bits(bits, _) => {
            let mut best = Vec::new();
            for &title in &plan.first_titles {
                let of_title = context.view.title_docs(title);
                let of_title = of_title.filter(|&doc| docs.contains(doc));
                best.extend(of_title.map(|doc| rank_titled(doc, title)));
            }
            if best.len() < page.size {
                for (fit, docs) in (TITLE_FIT..).zip(by_exactness(context, plan, bits)) {
                    let missing_count = page.size.saturating_sub(best.len());
                    if missing_count > 0 {
                        let sought = Sought::unknown(RELEVANCE, fit, missing_count);
                        let found = weigher.lightest(&docs, sought, rank_titled);
                        best.extend(found.into_iter().flatten());
                    }
                }
            }
            weigher.best(best, page.size)
        }
    };
    Ok(BranchResult {
        total: docs.len(),
        best,
        docs: Some(docs),
    })
}

/// The matches by their faults in year and episode: none, the year, the episode, both.
fn by_exactness(context: &PlanContext<'_>, plan: &ReleasePlan<'_>, docs: &Bits) -> [DocSet; 4] {
    let episodes = divided(context, plan.exact_episode.as_slice(), docs);
    let [[exact, other_year], [other_episode, neither]] =
        episodes.map(|docs| divided(context, &plan.exact_years, &docs));
    [exact, other_year, other_episode, neither].map(|docs| {
        let count = docs.count();
        DocSet::Bits(docs, count)
    })
}

/// The documents that satisfy all of these clauses, and the others.
fn divided(context: &PlanContext<'_>, clauses: &[Clause<'_>], docs: &Bits) -> [Bits; 2] {
    let (mut satisfying, mut others) = (docs.clone(), docs.clone());
    let mut of_clause = Bits::new(context.view.docs_count());
    for clause in clauses {
        of_clause.clear();
        clause.set_bits(&context.view, &mut of_clause);
        satisfying.and(&of_clause);
    }
    others.and_not(&satisfying);
    [satisfying, others]
}
