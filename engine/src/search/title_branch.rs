//! The `title` branch over one segment: its documents, counted, and the best of them.

use crate::index::View;
use crate::plan::{Filter, TitlePlan};

use super::doc_set::DocSet;
use super::top::{Ranked, Top};
use super::word_branch::Found;

/// Runs the branch. `needs_docs` when it is not the only one.
///
/// Cost: linear in the documents of the titles that contain the text; without filters and marker,
/// in those titles and a page for each.
pub(super) fn search_title(
    view: &View<'_>,
    plan: &TitlePlan<'_>,
    filter: &Filter<'_>,
    (page_size, needs_docs): (usize, bool),
) -> Found {
    let mut top = Top::new(page_size);
    if filter.is_trivial() && plan.fits.is_none() && plan.fit.is_trivial() && !needs_docs {
        let mut total = 0;
        for way in &plan.ways {
            total += u64::from(view.title_docs_count(way.title));
            for doc in view.title_docs(way.title).take(page_size) {
                top.offer(Ranked::new(way.whole, 0, doc));
            }
        }
        return Found {
            total,
            best: top.into_sorted(),
            docs: None,
        };
    }
    let mut docs = Vec::new();
    for way in &plan.ways {
        for doc in view.title_docs(way.title).filter(|&doc| filter.passes(doc)) {
            let fits = plan
                .fits
                .is_some_and(|test| test.passes(view.facts.row(doc)));
            let relevance = if fits {
                way.whole.min(way.unmarked)
            } else {
                way.whole
            };
            if relevance < u8::MAX {
                docs.push(doc);
                top.offer(Ranked::new(relevance, plan.fit.fit(doc, filter), doc));
            }
        }
    }
    if needs_docs {
        docs.sort_unstable();
    }
    Found {
        total: docs.len() as u64,
        best: top.into_sorted(),
        docs: Some(DocSet::List(docs)),
    }
}
