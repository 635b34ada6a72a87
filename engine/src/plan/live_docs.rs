//! Live documents of one segment, and counts of live documents in stored sets.
//!
//! The segment has stored how many documents a word, a title or a catalog id has, deleted ones
//! included. So the number of matches is often known without a list of them, except for the deleted
//! ones. Example: `query=lost` in a segment with one deleted record: 2,100 documents are stored,
//! and the one tombstone is looked up among them.

use std::ops::Range;

use crate::error::Result;
use crate::index::{Bits, Lookup, Postings, StoredSet, Tombstones};

use super::cost::PlanContext;
use super::title_set::TitleSet;

/// Documents of a segment that have no tombstone.
#[derive(Clone, Copy)]
pub(crate) struct LiveDocs<'a> {
    context: &'a PlanContext<'a>,
    tombstones: &'a Tombstones,
}

impl<'a> LiveDocs<'a> {
    /// The documents without these tombstones.
    pub(super) fn new(context: &'a PlanContext<'a>, tombstones: &'a Tombstones) -> Self {
        Self {
            context,
            tombstones,
        }
    }

    /// True if no document is deleted.
    #[inline]
    pub(crate) fn are_all(&self) -> bool {
        self.tombstones.is_empty()
    }

    /// True if the document is live. Cost: a bit test.
    #[inline]
    pub(crate) fn contains(&self, doc: u32) -> bool {
        !self.tombstones.contains(doc)
    }

    /// Removes the deleted documents.
    pub(super) fn retain_bits(&self, docs: &mut Bits) {
        self.tombstones.remove_from(docs);
    }

    /// Count of live documents in a set that the segment has stored as `name`.
    ///
    /// Cost: a read; the first time since a deletion a look-up for each of the last tombstones, and
    /// the first time since many were added also a step for each document of the set, each
    /// tombstone, or each 64 documents of the segment, whichever are fewest.
    pub(crate) fn count(&self, name: StoredSet, set: &Postings<'_>) -> u64 {
        let (count, costs) = (u64::from(set.count()), self.context.costs);
        if self.are_all() {
            return count;
        }
        if count <= costs.forgotten_set_max {
            return count - self.deleted_by_docs(set);
        }
        if let Some(deleted) = self.tombstones.known_count(name) {
            return count - deleted;
        }
        // Visiting a short list costs less than looking the last tombstones up in it.
        let deleted = if count <= costs.visited_set_max {
            self.deleted_by_docs(set)
        } else {
            let lookup = set.lookup();
            self.tombstones.count_in(
                name,
                |doc| lookup.contains(doc),
                || self.count_deleted(set, &lookup),
            )
        };
        self.tombstones.remember_count(name, deleted);
        count - deleted
    }

    fn deleted_by_docs(&self, set: &Postings<'_>) -> u64 {
        let mut count = 0;
        set.for_each(|doc| count += u64::from(self.tombstones.contains(doc)));
        count
    }

    fn count_deleted(&self, set: &Postings<'_>, lookup: &Lookup<'_>) -> u64 {
        let (costs, view) = (self.context.costs, &self.context.view);
        let by_tombstones_ns = self.tombstones.len() * costs.lookup_ns;
        let by_docs_ns = u64::from(set.count()) * costs.visit_ns;
        // A word of bits is cleared, set and compared in about a nanosecond.
        let by_bits_ns = u64::from(view.docs_count()) / 64;
        if by_tombstones_ns <= by_docs_ns.min(by_bits_ns) {
            let deleted = self.tombstones.iter();
            deleted.filter(|&doc| lookup.contains(doc)).count() as u64
        } else if by_docs_ns <= by_bits_ns {
            self.deleted_by_docs(set)
        } else {
            let mut bits = Bits::new(view.docs_count());
            set.union_into(&mut bits);
            self.tombstones.count_in_bits(&bits)
        }
    }

    /// Count of the live documents that have one of `titles` but not the term of `rank`, of `count`
    /// documents; `has_term` says if a document has it.
    pub(crate) fn count_prefixed<'t>(
        &self,
        rank: u32,
        count: u64,
        titles: impl FnOnce() -> Result<&'t TitleSet>,
        has_term: impl Fn(u32) -> bool,
    ) -> Result<u64> {
        let name = StoredSet::Prefixed(rank);
        if self.are_all() {
            return Ok(count);
        }
        if let Some(deleted) = self.tombstones.known_count(name) {
            return Ok(count - deleted);
        }
        let titles = titles()?;
        let view = &self.context.view;
        let is_one = |doc: u32| titles.contains(view.title_of(doc)) && !has_term(doc);
        let count_all = || {
            let is_deleted = |doc: u32| self.tombstones.contains(doc) && !has_term(doc);
            if self.prefers_tombstones(titles.docs_count()) {
                self.tombstones.iter().filter(|&doc| is_one(doc)).count() as u64
            } else {
                let docs = titles.runs().flat_map(|run| view.titles_docs(run));
                docs.filter(|&doc| is_deleted(doc)).count() as u64
            }
        };
        let deleted = self.tombstones.count_in(name, is_one, count_all);
        self.tombstones.remember_count(name, deleted);
        Ok(count - deleted)
    }

    /// Count of the live documents that have a title of the ascending `runs`, of `count` documents;
    /// `is_wanted` says if a title is in one.
    pub(crate) fn count_titled(
        &self,
        count: u64,
        is_wanted: impl Fn(u32) -> bool,
        runs: impl Iterator<Item = Range<u32>>,
    ) -> u64 {
        if self.are_all() {
            return count;
        }
        let (costs, view) = (self.context.costs, &self.context.view);
        // Few documents are visited at once. Many tombstones are not listed by title: the first
        // search after some deletions would wait for it.
        let lists_tombstones = self.tombstones.len() <= costs.listed_tombstones_max;
        let deleted = if lists_tombstones && costs.visited_set_max < count {
            (self.tombstones).count_titled(runs, |doc| view.title_of(doc), is_wanted)
        } else if self.prefers_tombstones(count) {
            let deleted = self.tombstones.iter();
            deleted.filter(|&doc| is_wanted(view.title_of(doc))).count() as u64
        } else {
            let docs = runs.flat_map(|run| view.titles_docs(run));
            docs.filter(|&doc| self.tombstones.contains(doc)).count() as u64
        };
        count - deleted
    }

    /// True if reading the titles of all tombstones costs less than visiting `docs_count`
    /// documents.
    fn prefers_tombstones(&self, docs_count: u64) -> bool {
        let costs = self.context.costs;
        let segment_docs = self.context.view.docs_count();
        self.tombstones.len() * costs.probe_ns(segment_docs) <= docs_count * costs.title_doc_ns
    }
}
