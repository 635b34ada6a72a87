//! Orders of lists and of all hits of a search.
//!
//! Documents are numbered newest first, so the newest of a set are its first. For the order by
//! downloads all documents of a set are compared, by counts that stand side by side in the index;
//! our own counts are by id, which only the document has, so they are looked up where they can
//! decide:
//!
//! ```text
//! first pass    upstream's count, and our own of the records that have most of them (`kept`):
//!               a page of lower bounds; the last one is the bar
//! second pass   our own count of each document that `rest_max` downloads more would lift to it
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use parking_lot::Mutex;

use crate::counters::OwnDownloads;
use crate::error::Result;
use crate::index::Segment;
use crate::limits::MOST_DOWNLOADED_MAX;
use crate::model::RecordId;

use super::doc_set::DocSet;
use super::top::{Ranked, Top};

/// Order of the records of a list.
#[derive(Clone, Copy)]
pub enum ListOrder<'o> {
    /// Newest first, then by id.
    Newest,
    /// Most downloads first, upstream's and those from this service; of equals the newest.
    Downloads(&'o OwnDownloads<'o>),
}

/// Documents of a segment with their downloads from this service, ascending.
type KeptDocs = Vec<(u32, u64)>;

/// An order, ready for the segments of a snapshot.
pub(super) enum PreparedOrder<'o> {
    Newest,
    /// Also the kept records of each segment.
    Downloads(&'o OwnDownloads<'o>, Vec<KeptDocs>),
}

impl PreparedOrder<'_> {
    /// The first `needed` documents of a set of this segment, in order.
    ///
    /// Cost: for the newest, linear in `needed`. By downloads, a read of a packed number for each
    /// document of the set, twice; and a read of the document for each whose own downloads can
    /// decide.
    pub(super) fn first_of(
        &self,
        docs: &DocSet,
        part_idx: usize,
        segment: &Segment,
        needed: usize,
    ) -> Result<Vec<Ranked>> {
        match self {
            Self::Newest => {
                let mut first = Vec::new();
                let _ = docs.try_for_each(|doc| {
                    if first.len() == needed {
                        return ControlFlow::Break(());
                    }
                    first.push(Ranked::keyed(0, doc));
                    ControlFlow::Continue(())
                });
                Ok(first)
            }
            Self::Downloads(own, kept) => {
                most_downloaded(docs, segment, own, &kept[part_idx], needed)
            }
        }
    }
}

/// Sort key of a document with this many downloads. Beyond 2^32 all are equal.
fn key_of(downloads: u64) -> u32 {
    u32::MAX - u32::try_from(downloads).unwrap_or(u32::MAX)
}

fn most_downloaded(
    docs: &DocSet,
    segment: &Segment,
    own: &OwnDownloads<'_>,
    kept: &[(u32, u64)],
    needed: usize,
) -> Result<Vec<Ranked>> {
    let upstream = segment.view()?.downloads()?;
    let upstream = |doc: u32| upstream.get(doc as usize);
    let mut bounds = Top::new(needed, Ranked::LAST);
    for_each_kept(docs, kept, |doc, count| {
        let key = key_of(upstream(doc) + count.unwrap_or(0));
        bounds.offer(Ranked::keyed(key, doc));
    });
    let bounds = bounds.into_sorted();
    let rest_max = own.most().rest_max();
    if rest_max == 0 {
        return Ok(bounds);
    }
    let bar = bounds.get(needed - 1).map_or(u32::MAX, |last| last.rank());
    // Documents come newest first: once a page has the most downloads that any can have, none that
    // follows is looked up.
    let can_reach =
        |best: &Top, key: u32, doc: u32| key <= bar && best.admits(Ranked::keyed(key, doc));
    let mut best = Top::new(needed, Ranked::LAST);
    let mut failed = None;
    for_each_kept(docs, kept, |doc, count| {
        let count = match count {
            Some(count) => count,
            None if can_reach(&best, key_of(upstream(doc) + rest_max), doc) => {
                match segment.id(doc) {
                    Ok(id) => own.of(id),
                    Err(error) => {
                        failed = Some(error);
                        return;
                    }
                }
            }
            None => return,
        };
        best.offer(Ranked::keyed(key_of(upstream(doc) + count), doc));
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(best.into_sorted()),
    }
}

/// Visits the documents of a set, each with its own downloads if it is kept. Nothing else is done
/// for a document: there may be millions.
#[inline]
fn for_each_kept(docs: &DocSet, mut kept: &[(u32, u64)], mut visit: impl FnMut(u32, Option<u64>)) {
    let _ = docs.try_for_each(|doc| {
        while let Some((_, rest)) = kept.split_first().filter(|((first, _), _)| *first < doc) {
            kept = rest;
        }
        let count = kept.first().filter(|(first, _)| *first == doc);
        visit(doc, count.map(|(_, count)| *count));
        ControlFlow::Continue(())
    });
}

/// Places of kept records in a snapshot: a look-up by id reads several documents.
#[derive(Default)]
pub(super) struct KeptPlaces(Mutex<BTreeMap<RecordId, Option<(usize, u32)>>>);

impl KeptPlaces {
    /// The kept records of each segment; `find` gives the place of a record.
    ///
    /// Cost: two look-ups in memory for each of them, and the first time one by its id.
    pub(super) fn kept_docs(
        &self,
        own: &OwnDownloads<'_>,
        parts_count: usize,
        find: impl Fn(RecordId) -> Result<Option<(usize, u32)>>,
    ) -> Result<Vec<KeptDocs>> {
        let mut kept = vec![KeptDocs::new(); parts_count];
        let mut places = self.0.lock();
        // Records have left the list since: those that are in it are looked up again.
        if 4 * MOST_DOWNLOADED_MAX < places.len() {
            places.clear();
        }
        for id in own.most().ids() {
            let place = match places.get(&id) {
                Some(place) => *place,
                None => {
                    let place = find(id)?;
                    places.insert(id, place);
                    place
                }
            };
            if let Some((part_idx, doc)) = place {
                kept[part_idx].push((doc, own.of(id)));
            }
        }
        drop(places);
        kept.iter_mut().for_each(|docs| docs.sort_unstable());
        Ok(kept)
    }
}
