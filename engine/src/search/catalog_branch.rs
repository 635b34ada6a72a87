//! The `catalog_id` and `public_id` branches over one segment.

use crate::error::Result;
use crate::index::{Postings, Segment, View};
use crate::model::RecordId;
use crate::plan::Filter;
use crate::text::EpisodeMarker;

use super::doc_set::DocSet;
use super::top::{Ranked, Top};
use super::word_branch::Found;

/// Runs the `catalog_id` branch; `marker` is the episode that the request names besides.
///
/// Source: SEARCH.md 4.2, 5.1, 5.2.
pub(super) fn search_catalog(
    view: &View<'_>,
    number: u64,
    marker: Option<EpisodeMarker>,
    filter: &Filter<'_>,
    (page_size, needs_docs): (usize, bool),
) -> Result<Found> {
    let [own, parent] = view.catalog_docs(number)?;
    if filter.is_trivial() && !needs_docs && marker.is_none() {
        return Ok(first_page(&own, &parent, page_size));
    }
    let mut parent_docs = Vec::new();
    parent.decode(&mut parent_docs);
    parent_docs.retain(|&doc| filter.passes(doc));
    let mut top = Top::new(page_size);
    for &doc in &parent_docs {
        let (relevance, fit) = parent_rank(view, doc, marker);
        let fit = fit.max(u8::from(filter.is_year_guessed(doc)));
        top.offer(Ranked::new(relevance, fit, doc));
    }
    let mut docs = Vec::new();
    own.decode(&mut docs);
    docs.retain(|&doc| filter.passes(doc));
    for &doc in &docs {
        top.offer(Ranked::new(1, u8::from(filter.is_year_guessed(doc)), doc));
    }
    let total = (docs.len() + parent_docs.len()) as u64;
    if needs_docs {
        docs.extend(parent_docs);
        docs.sort_unstable();
    }
    Ok(Found {
        total,
        best: top.into_sorted(),
        docs: Some(DocSet::List(docs)),
    })
}

/// Without filters and marker: both counts are stored, the page is the first of its own documents
/// and then of those of its episodes. Cost: a page.
fn first_page(own: &Postings<'_>, parent: &Postings<'_>, page_size: usize) -> Found {
    let total = u64::from(own.count()) + u64::from(parent.count());
    let mut best = Vec::with_capacity(page_size.min(total as usize));
    for (set, fit) in [(own, 0), (parent, 1)] {
        if best.len() < page_size {
            set.for_each_while(|doc| {
                best.push(Ranked::new(1, fit, doc));
                best.len() < page_size
            });
        }
    }
    Found {
        total,
        best,
        docs: None,
    }
}

/// Relevance and fit of a document that matches by the id of its series only.
fn parent_rank(view: &View<'_>, doc: u32, marker: Option<EpisodeMarker>) -> (u8, u8) {
    let Some(marker) = marker else {
        return (1, 1);
    };
    let row = view.columns.get(doc);
    let is_season = row.season == marker.season.get();
    match marker.episode {
        None if is_season => (1, 0),
        Some(episode) if is_season && row.episode == episode.get() => (1, 0),
        Some(_) if is_season && row.episode == 0 => (1, 1),
        _ => (9, 1),
    }
}

/// Runs the `public_id` branch.
pub(super) fn search_id(segment: &Segment, id: RecordId, filter: &Filter<'_>) -> Result<Found> {
    let found = segment.find(id)?.filter(|&doc| filter.passes(doc));
    let Some(doc) = found else {
        return Ok(Found::nothing());
    };
    let fit = u8::from(filter.is_year_guessed(doc));
    Ok(Found {
        total: 1,
        best: vec![Ranked::new(0, fit, doc)],
        docs: Some(DocSet::List(vec![doc])),
    })
}
