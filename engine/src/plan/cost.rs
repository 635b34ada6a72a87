//! Cost model: every estimate and threshold by which a search chooses a strategy.
//!
//! All strategies give the same answer; only time depends on these values. They are fields of one
//! value that is passed down from the snapshot, so that tests take every strategy with small
//! segments ([`CostModel::TINY`] and its variants) and `explain` shows the values in use.

use crate::index::SegmentView;

use super::subject::Subject;
use super::trace::{Trace, TraceStep};

/// Estimates and thresholds by which strategies are chosen.
///
/// The nanoseconds are estimates; their ratios matter, not their size. They were accepted because
/// searches of a catalog of 10,000,000 records became 1.3 to 9 times as fast with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CostModel {
    /// Nanoseconds to read one document's columns or title while they stay in the caches.
    pub(crate) cached_probe_ns: u64,
    /// Nanoseconds for the same when the columns are larger than the caches: a miss for each read;
    /// several of the misses overlap.
    pub(crate) uncached_probe_ns: u64,
    /// Maximum number of documents of a segment with columns that are expected to stay in the
    /// caches.
    pub(crate) cached_docs_max: u32,
    /// Nanoseconds to look up one document in one posting list, in ascending order.
    pub(crate) seek_ns: u64,
    /// Nanoseconds to look up one document in one posting list, in no order.
    pub(crate) lookup_ns: u64,
    /// Nanoseconds to find the sets of the filters of a request.
    pub(crate) filter_sets_ns: u64,
    /// Nanoseconds to visit one document of a posting list.
    pub(crate) visit_ns: u64,
    /// Nanoseconds to read one document of a title and set its bit.
    pub(crate) title_doc_ns: u64,
    /// Assumed number of documents of a title, where counting costs more than it saves.
    pub(crate) title_docs_estimate: u64,
    /// A list of matches is used while the smallest clause has at most 1/this of the segment's
    /// documents; above, all clauses are intersected as bits. At 1/64 the bits of a clause take as
    /// many words as the list has entries.
    pub(crate) list_share: u64,
    /// Documents are weighed by an intersection with each release word while they are at most
    /// 1/this of the segment's; above, the weights of whole blocks are added up. An intersection
    /// reads a bit for a document in some nanoseconds, an addition 64 of them in one.
    pub(crate) weighed_share: u64,
    /// Number of sets above which uniting them costs more than a copy of their union.
    pub(crate) many_sets: usize,
    /// A union of several sets of a filter is listed while it has at most 1/this of the segment's
    /// documents; above, it is collected as bits, and so is everything that it is intersected with.
    pub(crate) sort_share: u64,
    /// Documents of a clause's titles are listed before probing when they are fewer than 1/this of
    /// the probed documents: then a sort of a short list replaces a title look-up for each.
    pub(crate) title_list_share: u64,
    /// Nanoseconds to rank one match of a scan.
    pub(crate) rank_ns: u64,
    /// Nanoseconds to read one document of a title, ask if it is a match, and offer it.
    pub(crate) collect_ns: u64,
    /// A scan of the matches that is not expected to fill the page is tried at 1/this of the cost
    /// of collecting documents by title: the newest matches may be the ones that are sought.
    pub(crate) scan_share: u64,
    /// Number of matches up to which each one is ranked; above, the best are sought relevance by
    /// relevance.
    pub(crate) ranked_docs_max: u64,
    /// Size of a stored set up to which each document is visited to count the live ones, every
    /// time; above, the count is remembered.
    pub(crate) forgotten_set_max: u64,
    /// Size of a stored set up to which each document is visited to count the live ones; above, the
    /// tombstones are looked up.
    pub(crate) visited_set_max: u64,
    /// Number of tombstones up to which their titles are listed and remembered, so that those of
    /// many titles are counted by searches in the list.
    pub(crate) listed_tombstones_max: u64,
    /// Number of title matches up to which they are a sorted list; above, they are a byte for every
    /// title.
    pub(crate) title_list_max: usize,
    /// Number of titles in a set up to which it is searched linearly instead of as bits.
    pub(crate) title_set_list_max: usize,
    /// Number of titles up to which each is compared with the texts of relevance 2 and 3; above,
    /// the texts are looked up among all titles.
    pub(crate) compared_titles_max: usize,
}

impl CostModel {
    /// Model of the service.
    pub(crate) const DEFAULT: Self = Self {
        cached_probe_ns: 4,
        uncached_probe_ns: 24,
        cached_docs_max: 2_000_000,
        seek_ns: 8,
        lookup_ns: 40,
        filter_sets_ns: 400,
        visit_ns: 2,
        title_doc_ns: 2,
        title_docs_estimate: 8,
        list_share: 64,
        weighed_share: 512,
        many_sets: 16,
        sort_share: 1024,
        title_list_share: 8,
        rank_ns: 10,
        collect_ns: 4,
        scan_share: 16,
        ranked_docs_max: 512,
        forgotten_set_max: 32,
        visited_set_max: 256,
        listed_tombstones_max: 1 << 16,
        title_list_max: 512,
        title_set_list_max: 16,
        compared_titles_max: 8,
    };

    /// Model for segments of some dozen documents: every strategy is taken that the service takes
    /// with millions.
    #[cfg(test)]
    pub(crate) const TINY: Self = Self {
        cached_docs_max: 20,
        filter_sets_ns: 8,
        list_share: 4,
        weighed_share: 8,
        many_sets: 1,
        sort_share: 8,
        scan_share: 2,
        ranked_docs_max: 4,
        forgotten_set_max: 1,
        visited_set_max: 2,
        listed_tombstones_max: 6,
        title_list_max: 4,
        title_set_list_max: 2,
        compared_titles_max: 1,
        ..Self::DEFAULT
    };

    /// [`CostModel::TINY`], but documents are always probed, never united.
    #[cfg(test)]
    pub(crate) const ALWAYS_PROBE: Self = Self {
        cached_probe_ns: 0,
        uncached_probe_ns: 0,
        seek_ns: 0,
        lookup_ns: 0,
        title_doc_ns: 100,
        title_list_share: 1,
        list_share: 1,
        ..Self::TINY
    };

    /// [`CostModel::TINY`], but sets are always united, documents never probed.
    #[cfg(test)]
    pub(crate) const ALWAYS_UNITE: Self = Self {
        cached_probe_ns: 1_000_000,
        uncached_probe_ns: 1_000_000,
        scan_share: 1_000,
        list_share: 2,
        ..Self::TINY
    };

    /// Nanoseconds to read one document's columns or title in a segment of `segment_docs`.
    pub(crate) fn probe_ns(&self, segment_docs: u32) -> u64 {
        if segment_docs <= self.cached_docs_max {
            self.cached_probe_ns
        } else {
            self.uncached_probe_ns
        }
    }

    /// True if an intersection that starts from `docs_max` documents should be a list.
    pub(crate) fn prefers_list(&self, docs_max: u64, segment_docs: u32) -> bool {
        // A product instead of a quotient: a divisor that is not a constant costs a division.
        docs_max.saturating_mul(self.list_share) <= u64::from(segment_docs)
    }

    /// True if `docs` documents should be weighed by intersections, not by sums of blocks.
    pub(crate) fn prefers_intersecting(&self, docs: u64, segment_docs: u32) -> bool {
        docs.saturating_mul(self.weighed_share) <= u64::from(segment_docs)
    }

    /// True if a union of up to `docs_max` documents should be listed, not collected as bits.
    pub(crate) fn prefers_sort(&self, docs_max: u64, segment_docs: u32) -> bool {
        docs_max.saturating_mul(self.sort_share) <= u64::from(segment_docs)
    }

    /// True if `title_docs` documents should be listed before `probed_docs` are probed.
    pub(crate) fn prefers_title_list(&self, title_docs: u64, probed_docs: u64) -> bool {
        title_docs * self.title_list_share < probed_docs
    }

    /// True if `stored` of the segment's titles should be decoded before `probed_docs` are probed:
    /// as bits, which cost a word for 64 titles, they are sought without a search.
    pub(crate) fn prefers_title_bits(&self, stored: u64, titles: u32, probed_docs: u64) -> bool {
        u64::from(titles) / 64 + stored < probed_docs * self.seek_ns
    }

    /// Name, value and unit of every field, for `explain`.
    pub(crate) fn entries(&self) -> [(&'static str, u64, &'static str); 24] {
        [
            ("cached_probe", self.cached_probe_ns, "ns"),
            ("uncached_probe", self.uncached_probe_ns, "ns"),
            ("cached_docs_max", self.cached_docs_max.into(), "documents"),
            ("seek", self.seek_ns, "ns"),
            ("lookup", self.lookup_ns, "ns"),
            ("filter_sets", self.filter_sets_ns, "ns"),
            ("visit", self.visit_ns, "ns"),
            ("title_doc", self.title_doc_ns, "ns"),
            ("title_docs_estimate", self.title_docs_estimate, "documents"),
            ("list_share", self.list_share, "(1/n of the segment)"),
            ("weighed_share", self.weighed_share, "(1/n of the segment)"),
            ("many_sets", self.many_sets as u64, "sets"),
            ("sort_share", self.sort_share, "(1/n of the segment)"),
            (
                "title_list_share",
                self.title_list_share,
                "(1/n of the probed documents)",
            ),
            ("rank", self.rank_ns, "ns"),
            ("collect", self.collect_ns, "ns"),
            (
                "scan_share",
                self.scan_share,
                "(1/n of the cost of collecting)",
            ),
            ("ranked_docs_max", self.ranked_docs_max, "documents"),
            ("forgotten_set_max", self.forgotten_set_max, "documents"),
            ("visited_set_max", self.visited_set_max, "documents"),
            (
                "listed_tombstones_max",
                self.listed_tombstones_max,
                "tombstones",
            ),
            ("title_list_max", self.title_list_max as u64, "titles"),
            (
                "title_set_list_max",
                self.title_set_list_max as u64,
                "titles",
            ),
            (
                "compared_titles_max",
                self.compared_titles_max as u64,
                "titles",
            ),
        ]
    }
}

/// One segment in the view of the planner.
#[derive(Clone, Copy)]
pub(crate) struct PlanContext<'a> {
    /// Dictionaries, sets and columns of the segment.
    pub(crate) view: SegmentView<'a>,
    /// Costs by which strategies are chosen.
    pub(crate) costs: &'a CostModel,
    /// Steps of the search, if it is explained.
    pub(crate) trace: Option<&'a Trace<'a>>,
}

impl PlanContext<'_> {
    /// Notes a step for `explain`. Cost otherwise: a comparison.
    #[inline]
    pub(crate) fn note(
        &self,
        subject: Option<Subject>,
        docs_count: impl FnOnce() -> u64,
        action: impl FnOnce() -> String,
    ) {
        if let Some(trace) = self.trace {
            let nanoseconds = trace.elapsed();
            trace.note(TraceStep {
                action: action(),
                subject,
                docs_count: docs_count(),
                nanoseconds,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_at_most_its_share() {
        let costs = CostModel::DEFAULT;
        assert!(costs.prefers_list(1_000, 64_000));
        assert!(!costs.prefers_list(1_001, 64_000));
        assert!(costs.prefers_sort(62, 64_000));
        assert!(!costs.prefers_sort(63, 64_000));
    }

    #[test]
    fn probes_cost_more_beyond_the_caches() {
        let costs = CostModel::DEFAULT;
        assert_eq!(costs.probe_ns(costs.cached_docs_max), 4);
        assert_eq!(costs.probe_ns(costs.cached_docs_max + 1), 24);
    }
}
