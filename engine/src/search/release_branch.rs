//! The `query` branch, read as the name of a release, over one segment (SEARCH.md 4.8, 4.9).
//!
//! All matches have relevance 8. Fit 0 and 1 belong to the titles that are the first words of the
//! value, which are one or two: their documents are collected. Of many matches, those whose markers
//! are right are a set: it is visited by missing weight until the page is full of fit 2, then the
//! rest for fit 3. Without the set, `the.1999.2000.2001.1902` would visit all films of these years
//! for one of 1902.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::index::Bits;
use crate::plan::{Filter, PlanContext, ReleasePlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::Ranked;
use super::weigher::Weigher;

/// Relevance of every match.
const RELEVANCE: u8 = 8;
/// Fits of matches whose titles are not the first words of the value: with the right markers, and
/// without.
const OTHER_FITS: [u8; 2] = [2, 3];

/// Runs the branch; `weigher` weighs the tail, or the `release` of the request.
pub(super) fn search_release_name(
    context: &PlanContext<'_>,
    plan: &ReleasePlan<'_>,
    filter: &Filter<'_>,
    weigher: &Weigher<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let rank = |doc: u32| {
        let fit = plan.fit(&context.view, doc, filter);
        Ranked::new(RELEVANCE, fit, doc)
    };
    let docs = intersect(context, filter, &plan.clauses)?;
    let best = match &docs {
        DocSet::List(docs) => {
            let ranked = docs.iter().map(|&doc| rank(doc)).collect();
            weigher.best(ranked, page.size)
        }
        DocSet::Bits(bits, _) => {
            let mut best = Vec::new();
            for &title in &plan.first_titles {
                let of_title = context.view.title_docs(title);
                best.extend(of_title.filter(|&doc| docs.contains(doc)).map(rank));
            }
            if best.len() < page.size {
                let sets = by_exactness(context, plan, bits);
                for (fit, docs) in OTHER_FITS.into_iter().zip(sets) {
                    let of_fit = |doc| Some(rank(doc)).filter(|ranked| ranked.fit() == fit);
                    best.extend(visited(&docs, weigher, page.size - best.len(), of_fit));
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

/// The matches whose markers are right, and the others.
fn by_exactness(context: &PlanContext<'_>, plan: &ReleasePlan<'_>, docs: &Bits) -> [DocSet; 2] {
    let (mut exact, mut others) = (docs.clone(), docs.clone());
    let mut satisfying = Bits::new(context.view.docs_count());
    for clause in &plan.exact {
        satisfying.clear();
        clause.set_bits(&context.view, &mut satisfying);
        exact.and(&satisfying);
    }
    others.and_not(&exact);
    [exact, others].map(|docs| {
        let count = docs.count();
        DocSet::Bits(docs, count)
    })
}

/// The best `count` of the documents that have a rank, by weight.
fn visited(
    docs: &DocSet,
    weigher: &Weigher<'_>,
    count: usize,
    rank: impl Fn(u32) -> Option<Ranked>,
) -> Vec<Ranked> {
    let mut best = Vec::with_capacity(count);
    if count == 0 {
        return best;
    }
    let _ = weigher.try_for_each(docs, &mut |doc, _| {
        best.extend(rank(doc));
        if best.len() < count {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    best
}
