//! The `title` branch over one segment: its documents, counted, and the best of them.

use crate::index::View;
use crate::plan::{Condition, Filter, TitlePlan, TitleWay};

use super::doc_set::DocSet;
use super::top::{Ranked, Top};
use super::word_branch::Found;

/// Relevances that a title can give.
const RELEVANCES: std::ops::RangeInclusive<u8> = 2..=5;

/// Runs the branch. `needs_docs` when it is not the only one; `filters` are the filter's own sets.
///
/// Cost: linear in the titles that contain the text; with filters or a marker also in the documents
/// of these titles, or in the smallest set of a filter when that is less.
pub(super) fn search_title(
    view: &View<'_>,
    plan: &TitlePlan<'_>,
    (filter, filters): (&Filter<'_>, &[Condition<'_>]),
    (page_size, needs_docs): (usize, bool),
) -> Found {
    let mut top = Top::new(page_size);
    if filter.is_trivial() && plan.fits.is_none() && plan.fit.is_trivial() && !needs_docs {
        let total = offer_by_relevance(view, plan, &mut top, page_size);
        return Found {
            total,
            best: top.into_sorted(),
            docs: None,
        };
    }
    let mut docs = Vec::new();
    let mut offer = |doc: u32, way: TitleWay| {
        if !filter.passes(doc) {
            return;
        }
        let fits = plan
            .fits
            .is_some_and(|test| test.passes(view.facts.row(doc)));
        if let Some(relevance) = way.relevance(fits) {
            docs.push(doc);
            top.offer(Ranked::new(relevance, plan.fit.fit(doc, filter), doc));
        }
    };
    let bearing = plan
        .ways
        .iter()
        .map(|way| u64::from(view.title_docs_count(way.title)));
    let bearing: u64 = bearing.sum();
    let smallest = filters.iter().min_by_key(|condition| condition.size_max());
    match smallest.filter(|condition| condition.size_max() * 2 < bearing) {
        Some(condition) => {
            let table = way_table(view, plan);
            for doc in condition.docs(view) {
                match table[view.title_of(doc) as usize] {
                    0 => {}
                    place => offer(doc, plan.ways[place as usize - 1]),
                }
            }
        }
        None => {
            for way in &plan.ways {
                view.title_docs(way.title).for_each(|doc| offer(doc, *way));
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

/// For every title 1 more than the place of its way, or 0.
fn way_table(view: &View<'_>, plan: &TitlePlan<'_>) -> Vec<u32> {
    let mut table = vec![0; view.titles_count() as usize];
    for (place, way) in plan.ways.iter().enumerate() {
        table[way.title as usize] = place as u32 + 1;
    }
    table
}

/// Without filters and marker: offers relevance after relevance until the page is full; returns how
/// many documents there are in all.
///
/// The documents of a relevance are gathered title by title, or, when they are so many that a page
/// of them is met sooner, sought among all documents in order.
fn offer_by_relevance(
    view: &View<'_>,
    plan: &TitlePlan<'_>,
    top: &mut Top,
    page_size: usize,
) -> u64 {
    let mut counts = [0u64; *RELEVANCES.end() as usize + 1];
    for way in &plan.ways {
        counts[usize::from(way.whole)] += u64::from(view.title_docs_count(way.title));
    }
    let mut table = None;
    for relevance in RELEVANCES {
        let room = page_size.saturating_sub(top.len()) as u64;
        let count = counts[usize::from(relevance)];
        if room == 0 {
            break;
        }
        if count * count <= u64::from(view.docs_count()) * room {
            for way in plan.ways.iter().filter(|way| way.whole == relevance) {
                for doc in view.title_docs(way.title).take(page_size) {
                    top.offer(Ranked::new(relevance, 0, doc));
                }
            }
            continue;
        }
        let table = table.get_or_insert_with(|| {
            let mut table = vec![0; view.titles_count() as usize];
            plan.ways
                .iter()
                .for_each(|way| table[way.title as usize] = way.whole);
            table
        });
        (0..view.docs_count())
            .filter(|&doc| table[view.title_of(doc) as usize] == relevance)
            .take(room as usize)
            .for_each(|doc| top.offer(Ranked::new(relevance, 0, doc)));
    }
    counts.iter().sum()
}
