//! Segments and tombstones of one moment.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::index::{Segment, StoredDoc, Tombstones, read_whole};
use crate::model::{CatalogId, FlagSet, Record, RecordId};
use crate::plan::{CostModel, PlanContext, Trace};
use crate::query::{HitOrder, LanguageTerm, Query};

use super::cutoff::{Needed, PageRanks};
use super::hits::{Doc, Hit, Hits, LocatedHits, RecordLocation};
use super::list_order::KeptPlaces;
use super::page_merge::{PageRun, merge_pages};
use super::reading::{
    QueryReading, TextFound, search_as, search_last, search_last_release, search_query,
};
use super::segment_search::{ParsedQuery, SegmentHits, SegmentSearch};

/// Segments and tombstones of one moment. Readers hold it as long as they need it: a merge that
/// replaces its segments does not touch them.
pub struct Snapshot {
    id: u64,
    parts: Vec<(Arc<Segment>, Arc<Tombstones>)>,
    /// Records that are in no segment because their stored values are damaged.
    damaged: Arc<BTreeSet<RecordId>>,
    /// True if records are missing, as their segment is damaged and not built again yet.
    is_partial: bool,
    costs: CostModel,
    /// Indexes of the segments with documents, newest first; made by the first search.
    newest_first: OnceLock<Box<[usize]>>,
    kept_places: KeptPlaces,
}

impl Snapshot {
    /// A snapshot of these segments without their deleted documents. No id may be live in two of
    /// them.
    pub fn new(id: u64, parts: Vec<(Arc<Segment>, Arc<Tombstones>)>) -> Self {
        Self {
            id,
            parts,
            damaged: Arc::default(),
            is_partial: false,
            costs: CostModel::DEFAULT,
            newest_first: OnceLock::new(),
            kept_places: KeptPlaces::default(),
        }
    }

    /// The same snapshot, in which a look-up of one of these records fails: it exists, but cannot
    /// be read.
    pub(crate) fn with_damaged(mut self, damaged: Arc<BTreeSet<RecordId>>) -> Self {
        self.damaged = damaged;
        self
    }

    /// The same snapshot, in which records are missing or not.
    pub(crate) fn with_partial(mut self, is_partial: bool) -> Self {
        self.is_partial = is_partial;
        self
    }

    /// Returns true if records are missing, as their segment is damaged and not built again yet.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// The same snapshot, searched with another cost model.
    #[cfg(test)]
    pub(super) fn with_costs(mut self, costs: CostModel) -> Self {
        self.costs = costs;
        self
    }

    /// Count of records that cannot be read.
    pub(crate) fn damaged_count(&self) -> u64 {
        self.damaged.len() as u64
    }

    /// Cost model by which searches choose strategies.
    pub(super) fn costs(&self) -> &CostModel {
        &self.costs
    }

    /// The segments, in the given order.
    pub fn parts(&self) -> &[(Arc<Segment>, Arc<Tombstones>)] {
        &self.parts
    }

    /// Id of the snapshot: greater than that of every snapshot before it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Runs a search over all records.
    ///
    /// Cost: that of its branches in every segment, then a merge of one page from each. Errors: a
    /// damaged block, a file that was truncated, or [`Error::Rebuilding`] if the snapshot is
    /// partial. Source: SEARCH.md 3 to 5.
    pub fn search(&self, query: &Query) -> Result<Hits> {
        if self.is_partial {
            return Err(Error::Rebuilding);
        }
        self.search_reading(query).map(|(hits, _)| hits)
    }

    /// Runs a search over the records that can be read now: the caller tells that some may be
    /// missing if the snapshot is partial.
    ///
    /// Cost, errors: as of [`Snapshot::search`]; [`Error::Rebuilding`] if there is no segment left.
    pub fn search_rest(&self, query: &Query) -> Result<Hits> {
        if self.is_partial && self.parts.is_empty() {
            return Err(Error::Rebuilding);
        }
        self.search_reading(query).map(|(hits, _)| hits)
    }

    /// Runs a search. Also returns the last reading of the `query` value that was tried.
    pub(super) fn search_reading(&self, query: &Query) -> Result<(Hits, QueryReading)> {
        read_whole(self.segments(), || match query.order() {
            HitOrder::Search => self.search_parts(query),
            HitOrder::Player => self.search_in_groups(query),
        })
    }

    /// Fails if a segment file was truncated while it was open: then nothing read from it can be
    /// trusted. Call this after an answer is assembled, before it is sent.
    ///
    /// Cost: an atomic load per segment.
    pub fn ensure_not_truncated(&self) -> Result<()> {
        self.segments().try_for_each(Segment::ensure_not_truncated)
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> + Clone {
        self.parts.iter().map(|(segment, _)| &**segment)
    }

    /// Runs the steps of a search; the order is explained in `segment_search`.
    pub(super) fn search_parts(&self, query: &Query) -> Result<(Hits, QueryReading)> {
        let parsed = ParsedQuery::new(query);
        let contexts = self.contexts(None)?;
        let parts = self.prepared(&parsed, &contexts)?;
        let (found, reading) = find(&parts, &parsed)?;
        let hits = Hits {
            snapshot_id: self.id,
            // An id lives in one segment only: no record is counted twice.
            total: found.iter().map(|(_, found)| found.total).sum(),
            hits: self.merge(&found, usize::from(query.page_size()))?,
        };
        Ok((hits, reading))
    }

    /// The first hits of a search under this reading of its values, whatever other readings would
    /// find.
    pub(super) fn search_under(&self, query: &Query, reading: QueryReading) -> Result<Box<[Hit]>> {
        let parsed = ParsedQuery::new(query);
        let contexts = self.contexts(None)?;
        let parts = self.prepared(&parsed, &contexts)?;
        let text = search_as(&parts, &parsed, reading)?;
        let found = unite(&parts, &parsed, text)?;
        self.merge(&found, usize::from(query.page_size()))
    }

    /// The segments with documents in the view of a plan, the newest first, each with its index.
    /// Steps are noted in `trace`.
    pub(super) fn contexts<'s>(
        &'s self,
        trace: Option<&'s Trace<'s>>,
    ) -> Result<Vec<SegmentContext<'s>>> {
        let order = self.newest_first()?;
        let mut contexts = Vec::with_capacity(order.len());
        for &part_idx in order {
            let view = self.parts[part_idx].0.view()?;
            let costs = &self.costs;
            contexts.push((part_idx, PlanContext { view, costs, trace }));
        }
        Ok(contexts)
    }

    /// Segments in which something can match the filters, in the order of their contexts.
    pub(super) fn prepared<'s>(
        &'s self,
        parsed: &'s ParsedQuery<'_>,
        contexts: &'s [SegmentContext<'s>],
    ) -> Result<Vec<(usize, SegmentSearch<'s>)>> {
        let mut prepared = Vec::with_capacity(contexts.len());
        for (part_idx, context) in contexts {
            let (segment, tombstones) = &self.parts[*part_idx];
            let part = SegmentSearch::new(segment, tombstones, parsed, context)?;
            if let Some(part) = part {
                prepared.push((*part_idx, part));
            }
        }
        Ok(prepared)
    }

    /// Indexes of the segments with documents, that with the newest document first.
    pub(super) fn newest_first(&self) -> Result<&[usize]> {
        if let Some(order) = self.newest_first.get() {
            return Ok(order);
        }
        let mut times = Vec::with_capacity(self.parts.len());
        for (part_idx, (segment, _)) in self.parts.iter().enumerate() {
            if !segment.is_empty() {
                times.push((Reverse(segment.newest_time()?), part_idx));
            }
        }
        times.sort_unstable();
        let order = || times.into_iter().map(|(_, part_idx)| part_idx).collect();
        Ok(self.newest_first.get_or_init(order))
    }

    /// The page of all segments.
    fn merge(&self, found: &[(usize, SegmentHits)], page_size: usize) -> Result<Box<[Hit]>> {
        // Usual: one segment has all hits.
        if let [(part_idx, only)] = found {
            let page = only.best.iter().take(page_size);
            return Ok(page.map(|&ranked| Hit::new(*part_idx, ranked)).collect());
        }
        let runs = found.iter().map(|(part_idx, found)| {
            let segment = &*self.parts[*part_idx].0;
            PageRun::new(*part_idx, segment, &found.best)
        });
        Ok(merge_pages(runs.collect(), page_size)?.into())
    }

    /// The active record with this id. Cost: an interpolation search per segment. Errors: its
    /// document or its stored value is damaged; [`Error::Rebuilding`] if it may be one of those
    /// that a partial snapshot lacks.
    pub fn doc(&self, id: RecordId) -> Result<Option<Doc<'_>>> {
        let Some((part_idx, doc)) = self.find(id)? else {
            return Ok(None);
        };
        let stored = self.parts[part_idx].0.doc(doc)?;
        Ok(Some(Doc {
            id,
            stored,
            part_idx: part_idx as u32,
            number: doc,
        }))
    }

    /// Returns true if the record is left out because its stored value is damaged.
    pub(crate) fn is_damaged(&self, id: RecordId) -> bool {
        self.damaged.contains(&id)
    }

    /// Returns true if a document of this snapshot is that of this version of the record.
    pub(crate) fn is_doc_of(&self, doc: &Doc<'_>, record: &Record) -> Result<bool> {
        let segment = &self.parts[doc.part_idx as usize].0;
        read_whole(std::iter::once(&**segment), || {
            // The document itself has everything but the language and the flags.
            let view = segment.view()?;
            let row = view.columns().get(doc.number);
            let language = view.language_of(doc.number) as usize;
            let has_language =
                view.language_terms()?.nth(language) == Some(LanguageTerm::of(&record.language));
            let has_flags = row.flags == record.flags.set();
            Ok(has_language && has_flags && doc.stored.is_of(record))
        })
    }

    /// The active records, segment by segment, newest first in each.
    pub fn docs(&self) -> impl Iterator<Item = Result<Doc<'_>>> {
        let parts = (0..).zip(&self.parts);
        parts.flat_map(|(part_idx, (segment, tombstones))| {
            let active = (0..segment.len()).filter(|&doc| !tombstones.contains(doc));
            active.map(move |doc| {
                let stored = segment.doc(doc)?;
                let id = id_of(segment, &stored)?;
                Ok(Doc {
                    id,
                    stored,
                    part_idx,
                    number: doc,
                })
            })
        })
    }

    /// The location of the active record with this id. Cost: as of [`Snapshot::doc`].
    pub fn locate(&self, id: RecordId) -> Result<Option<RecordLocation>> {
        let found = self.find(id)?;
        found
            .map(|(part_idx, doc)| self.location_of(part_idx as u32, doc))
            .transpose()
    }

    /// Places of the records with the most downloads, as far as they were looked up.
    pub(super) fn kept_places(&self) -> &KeptPlaces {
        &self.kept_places
    }

    /// The place of the active record with this id, if it can be read.
    pub(super) fn live_place(&self, id: RecordId) -> Result<Option<(usize, u32)>> {
        // From the newest segment to the oldest: the delta is the last part.
        for (part_idx, (segment, tombstones)) in self.parts.iter().enumerate().rev() {
            let found = segment.find(id)?.filter(|&doc| !tombstones.contains(doc));
            if let Some(doc) = found {
                return Ok(Some((part_idx, doc)));
            }
        }
        Ok(None)
    }

    fn find(&self, id: RecordId) -> Result<Option<(usize, u32)>> {
        if let Some(place) = self.live_place(id)? {
            return Ok(Some(place));
        }
        if self.damaged.contains(&id) {
            let place = format!("catalog.redb, record {id}");
            let expected = "a value that matches its checksum";
            return Err(Error::corrupt(place, 0, expected));
        }
        if self.is_partial {
            return Err(Error::Rebuilding);
        }
        Ok(None)
    }

    /// The locations of hits of this snapshot. Panics when they are of another one.
    pub fn locate_hits(&self, hits: &Hits) -> Result<LocatedHits> {
        assert_eq!(
            hits.snapshot_id, self.id,
            "hits are read from their snapshot"
        );
        let locations = hits
            .hits
            .iter()
            .map(|hit| self.location_of(hit.part_idx, hit.doc));
        Ok(LocatedHits {
            snapshot_id: self.id,
            total: hits.total,
            locations: locations.collect::<Result<_>>()?,
        })
    }

    fn location_of(&self, part_idx: u32, doc: u32) -> Result<RecordLocation> {
        let segment = &self.parts[part_idx as usize].0;
        let stored = segment.doc(doc)?;
        let fragment = segment.fragment_range(doc, &stored)?;
        Ok(RecordLocation {
            id: id_of(segment, &stored)?,
            part_idx,
            doc,
            fragment_start: fragment.start,
            fragment_bytes: fragment.len() as u32,
            upstream_downloads: stored.downloads(),
        })
    }

    /// Finished JSON of the answer up to and with `"downloads":`, of a location of this snapshot.
    pub fn fragment(&self, location: &RecordLocation) -> &[u8] {
        // The block was checked when the location was made: an answer checks nothing.
        let start = location.fragment_start;
        let range = start..start + location.fragment_bytes as usize;
        self.parts[location.part_idx as usize].0.fragment(range)
    }

    /// The record at a location of this snapshot.
    pub fn located_doc(&self, location: &RecordLocation) -> Result<Doc<'_>> {
        let stored = self.parts[location.part_idx as usize].0.doc(location.doc)?;
        Ok(Doc {
            id: location.id,
            stored,
            part_idx: location.part_idx,
            number: location.doc,
        })
    }

    /// The flags that are true for the record at a location of this snapshot. Cost: a read of its
    /// columns.
    pub fn flags(&self, location: &RecordLocation) -> Result<FlagSet> {
        let view = self.parts[location.part_idx as usize].0.view()?;
        Ok(view.columns().get(location.doc).flags)
    }

    /// The catalog id of the record at a location of this snapshot.
    pub fn catalog_id(&self, location: &RecordLocation) -> Result<Option<CatalogId>> {
        let stored = self.parts[location.part_idx as usize].0.doc(location.doc)?;
        Ok(stored.catalog_id())
    }

    /// The record behind one hit of this snapshot. Panics when the hits are of another snapshot or
    /// there is no such hit.
    pub fn hit_doc<'a>(&'a self, hits: &Hits, hit_idx: usize) -> Result<Doc<'a>> {
        assert_eq!(
            hits.snapshot_id, self.id,
            "hits are read from their snapshot"
        );
        let hit = hits.hits[hit_idx];
        let segment = &self.parts[hit.part_idx as usize].0;
        let stored = segment.doc(hit.doc)?;
        let id = id_of(segment, &stored)?;
        Ok(Doc {
            id,
            stored,
            part_idx: hit.part_idx,
            number: hit.doc,
        })
    }
}

/// The id of a document. Errors: it does not begin with one.
pub(super) fn id_of(segment: &Segment, stored: &StoredDoc<'_>) -> Result<RecordId> {
    let id = stored.id();
    id.ok_or_else(|| Error::corrupt(segment.name(), 0, "documents that begin with an id"))
}

/// Runs the branches in each segment, reading by reading; keeps the segments with matches.
pub(super) fn find(
    parts: &[(usize, SegmentSearch<'_>)],
    parsed: &ParsedQuery<'_>,
) -> Result<(Vec<(usize, SegmentHits)>, QueryReading)> {
    let text = search_query(parts, parsed)?;
    let mut reading = text.reading;
    let mut found = unite(parts, parsed, text)?;
    if reading == QueryReading::Nothing {
        if !found.is_empty() {
            if let Some(text) = search_last_release(parts, parsed)? {
                reading = text.reading;
                found = unite(parts, parsed, text)?;
            }
        } else if let Some(text) = search_last(parts, parsed)? {
            reading = text.reading;
            // No other branch matches.
            let results = parts.iter().zip(text.results);
            let hits = results.filter_map(|((part_idx, _), result)| Some((*part_idx, result?)));
            found = hits
                .map(|(part_idx, result)| (part_idx, result.into()))
                .collect();
        }
    }
    Ok((found, reading))
}

/// Runs the other branches in each segment and unites the results; keeps those with matches.
fn unite(
    parts: &[(usize, SegmentSearch<'_>)],
    parsed: &ParsedQuery<'_>,
    text: TextFound,
) -> Result<Vec<(usize, SegmentHits)>> {
    let has_weights = parsed.release.is_some() || text.reading.is_of_name();
    let mut ranks = PageRanks::new(parsed.page_size());
    let mut found = Vec::with_capacity(parts.len());
    let mut text_results = text.results.into_iter();
    for (idx, (part_idx, part)) in parts.iter().enumerate() {
        let needed = if has_weights {
            Needed::ALL
        } else {
            ranks.needed(part.segment)?
        };
        let hits = part.unite(parsed, text_results.next().flatten(), needed)?;
        // Usual in small segments: nothing to merge.
        if hits.total > 0 {
            // Ranks are for the segments that follow.
            let is_last = idx + 1 == parts.len();
            if !is_last {
                ranks.add(part.segment, &hits.best)?;
            }
            found.push((*part_idx, hits));
        }
    }
    Ok(found)
}

/// A segment in the view of a plan, and its index in the snapshot.
pub(super) type SegmentContext<'s> = (usize, PlanContext<'s>);
