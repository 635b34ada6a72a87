//! The `query` branch, read as the name of a release, over one segment (SEARCH.md 4.8, 4.9).
//!
//! All matches have relevance 8. Fit 0 and 1 belong to the titles that are the first words of the
//! value, which are one or two: their documents are collected. Of many matches, those whose markers
//! are right are a set: it is visited by missing weight until the page is full of fit 2, then the
//! rest for fit 3. Without the set, `the.1999.2000.2001.1902` would visit all films of these years
//! for one of 1902.

use crate::error::Result;
use crate::index::{BLOCK, Bits};
use crate::plan::{Filter, PlanContext, ReleasePlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::Ranked;
use super::weigher::{Sought, Weigher};

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
                let sets = by_exactness(context, plan, bits);
                for (fit, docs) in OTHER_FITS.into_iter().zip(sets) {
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
