//! The `query` branch, read as the name of a release, over one segment (SEARCH.md 4.8, 4.9).
//!
//! All matches have relevance 8. Fit 0 and 1 belong to the titles that are the first words of the
//! value, which are one or two: their documents are collected. The others are visited by missing
//! weight, until a page of them has fit 2.

use std::ops::ControlFlow;

use crate::plan::{Filter, PlanContext, ReleasePlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::Ranked;
use super::weigher::Weigher;

/// Relevance of every match.
const RELEVANCE: u8 = 8;
/// Smallest fit of a match whose title is not the first words of the value.
const OTHER_FIT: u8 = 2;

/// Runs the branch; `weigher` weighs the tail, or the `release` of the request.
pub(super) fn search_release_name(
    context: &PlanContext<'_>,
    plan: &ReleasePlan<'_>,
    filter: &Filter<'_>,
    weigher: &Weigher<'_>,
    page: PageRequest<'_>,
) -> BranchResult {
    let rank = |doc: u32| {
        let fit = plan.fit(&context.view, doc, filter);
        Ranked::new(RELEVANCE, fit, doc)
    };
    let docs = intersect(context, filter, &plan.clauses);
    let best = match &docs {
        DocSet::List(docs) => {
            let ranked = docs.iter().map(|&doc| rank(doc)).collect();
            weigher.best(ranked, page.size)
        }
        DocSet::Bits(..) => {
            let mut best = Vec::new();
            for &title in &plan.first_titles {
                let of_title = context.view.title_docs(title);
                best.extend(of_title.filter(|&doc| docs.contains(doc)).map(rank));
            }
            if best.len() < page.size {
                best.extend(others(&docs, &rank, weigher, page.size - best.len()));
            }
            weigher.best(best, page.size)
        }
    };
    BranchResult {
        total: docs.len(),
        best,
        docs: Some(docs),
    }
}

/// At least the best `count` of the documents with any other title.
fn others(
    docs: &DocSet,
    rank: &dyn Fn(u32) -> Ranked,
    weigher: &Weigher<'_>,
    count: usize,
) -> Vec<Ranked> {
    let (mut settled, mut off) = (Vec::with_capacity(count), Vec::new());
    let _ = weigher.try_for_each(docs, &mut |doc, _| {
        let ranked = rank(doc);
        if ranked.fit() == OTHER_FIT {
            settled.push(ranked);
        } else if OTHER_FIT < ranked.fit() && off.len() < count {
            off.push(ranked);
        }
        if settled.len() < count {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    settled.extend(off);
    settled
}
