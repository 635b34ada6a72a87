//! The `catalog_id` and `public_id` branches over one segment.
//!
//! Example: `catalog_id=tt0411008` is a series with 2 packs of its own and 500 episodes that have
//! it as their parent. Both posting lists are stored with their counts: without filters the total
//! is 502 and the page is the 2 packs (fit 0), then the newest episodes (fit 1). With `query=lost
//! s02e03` as well, episode 3 of season 2 has fit 0, and other episodes rank last (relevance 9).

use std::ops::ControlFlow;

use crate::error::Result;
use crate::index::{Postings, Segment, SegmentView, StoredSet};
use crate::model::RecordId;
use crate::plan::{Filter, LiveDocs};
use crate::query::NamedEpisode;

use super::branch::{BranchResult, PageRequest};
use super::doc_set::DocSet;
use super::top::Ranked;

/// Runs the `catalog_id` branch; `named_episode` is the episode that the request also names.
///
/// Cost: a probe of the filters for each document of the id. Source: SEARCH.md 4.2, 5.1, 5.2.
pub(super) fn search_catalog(
    view: &SegmentView<'_>,
    number: u64,
    named_episode: &dyn Fn() -> Option<NamedEpisode>,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let [own, parent] = view.catalog_docs(number)?;
    // Usual in small segments.
    if own.count() + parent.count() == 0 {
        return Ok(BranchResult::empty());
    }
    let series_fit = page.order.series_fit();
    // The only branch: no text names an episode.
    if filter.is_trivial() && !page.needs_docs && series_fit == 1 {
        let sets = [
            (StoredSet::Catalog(number), own),
            (StoredSet::Parent(number), parent),
        ];
        return Ok(first_page(&sets, filter.live(), page));
    }
    // A document of both lists is in `own` only (the index leaves it out of the other), so it is
    // ranked once and the counts add up.
    let mut parent_docs = Vec::new();
    parent.decode(&mut parent_docs);
    filter.retain(&mut parent_docs)?;
    // Documents with the id itself match for any named episode: SEARCH.md 5.2 concerns those that
    // match only by the id of their series.
    let mut docs = Vec::new();
    own.decode(&mut docs);
    filter.retain(&mut docs)?;
    let unknown_year_fit = |doc| u8::from(filter.matches_unknown_year(doc));
    let mut ranked = Vec::new();
    rank_first(&docs, 0, unknown_year_fit, page, &mut ranked);
    let named = match parent_docs[..] {
        [] => None,
        [_, ..] => named_episode(),
    };
    match named {
        Some(named) => ranked.extend(parent_docs.iter().map(|&doc| {
            let (relevance, fit) = parent_rank(view, doc, named);
            Ranked::new(relevance, fit.max(unknown_year_fit(doc)), doc)
        })),
        None => {
            let fit = |doc| series_fit.max(unknown_year_fit(doc));
            rank_first(&parent_docs, series_fit, fit, page, &mut ranked);
        }
    }
    let total = (docs.len() + parent_docs.len()) as u64;
    if page.needs_docs {
        docs.extend(parent_docs);
        docs.sort_unstable();
    }
    Ok(BranchResult {
        total,
        best: page.best(ranked),
        docs: Some(DocSet::List(docs)),
    })
}

/// Ranks documents of the id: the first ones of each fit, until those of the best fit fill a page.
/// Ranks all if they are weighed.
fn rank_first(
    docs: &[u32],
    best_fit: u8,
    fit: impl Fn(u32) -> u8,
    page: PageRequest<'_>,
    ranked: &mut Vec<Ranked>,
) {
    let enough = match page.weigher {
        Some(_) => docs.len(),
        None => page.size,
    };
    let (mut best_count, mut other_count) = (0, 0);
    for &doc in docs {
        let fit = fit(doc);
        let count = if fit == best_fit {
            &mut best_count
        } else {
            &mut other_count
        };
        if *count < enough {
            *count += 1;
            ranked.push(Ranked::new(1, fit, doc));
        } else if best_count == enough {
            break;
        }
    }
}

/// Result without filters and marker: both counts are stored, and the page is filled from the
/// documents with the id itself, then from those of its episodes. Cost: a page, and that of
/// [`LiveDocs::count`] if documents are deleted.
fn first_page(
    sets: &[(StoredSet, Postings<'_>); 2],
    live: &LiveDocs<'_>,
    page: PageRequest<'_>,
) -> BranchResult {
    let docs_count: usize = sets.iter().map(|(_, set)| set.count() as usize).sum();
    let mut best = Vec::with_capacity(docs_count.min(page.size));
    let mut total = 0;
    for (fit, (name, set)) in (0..).zip(sets) {
        if page.size <= best.len() || page.needed.cutoff <= Ranked::new(1, fit, 0) {
            total += live.count(*name, set);
            continue;
        }
        let found_before = best.len();
        let visit = set.try_for_each(|doc| {
            if live.contains(doc) {
                best.push(Ranked::new(1, fit, doc));
            }
            if best.len() < page.size {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        total += if visit.is_break() {
            live.count(*name, set)
        } else {
            // All documents of the set were visited.
            (best.len() - found_before) as u64
        };
    }
    BranchResult {
        total,
        best,
        docs: None,
    }
}

/// Relevance and fit of a document that matches by the id of its series only, when an episode is
/// named.
fn parent_rank(view: &SegmentView<'_>, doc: u32, named: NamedEpisode) -> (u8, u8) {
    let row = view.columns().get(doc);
    let is_season = u32::from(row.season) == named.season;
    match named.episode {
        _ if !is_season => (9, 1),
        // The pack is exact for its season, and contains every episode.
        None => (1, u8::from(row.episode != 0)),
        Some(episode) if u32::from(row.episode) == episode => (1, 0),
        Some(_) if row.episode == 0 => (1, 1),
        Some(_) => (9, 1),
    }
}

/// Runs the `public_id` branch. Cost: that of [`Segment::find`]. Source: SEARCH.md 4.7.
pub(super) fn search_id(
    segment: &Segment,
    id: RecordId,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let found = segment.find(id)?.filter(|&doc| filter.accepts(doc));
    let Some(doc) = found else {
        return Ok(BranchResult::empty());
    };
    let fit = u8::from(filter.matches_unknown_year(doc));
    Ok(BranchResult {
        total: 1,
        best: page.best(vec![Ranked::new(0, fit, doc)]),
        docs: Some(DocSet::List(vec![doc])),
    })
}
