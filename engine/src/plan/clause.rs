//! One requirement that every match of a branch satisfies.
//!
//! Example: `query=lost s01` has two clauses. "lost" is one posting list of 40 documents. The
//! marker "s01" is a union: the posting lists of season 1 (one for each episode), or the documents
//! with the word "s01". Intersecting starts from the 40 documents. [`Clause::is_probing_cheaper`]
//! decides if the second clause is then probed for each of them (a column read of 4 ns and a
//! look-up of 8 ns each) or united as bits first (a word for each 64 documents of the segment).

use crate::index::{
    Bits, Cursor, Lookup, Postings, RowTest, SegmentView, retain_blocks, sort_numbers,
};

use super::cost::PlanContext;
use super::doc_list::retain;
use super::subject::Subject;
use super::title_set::TitleSet;

/// A union of sets of documents.
///
/// INVARIANT: a document passes `test` exactly when one of the first `tested_count` sets has it.
#[derive(Debug, Clone)]
pub(crate) struct Clause<'a> {
    subject: Subject,
    /// Documents, the tested sets first.
    sets: Vec<Postings<'a>>,
    test: Option<RowTest>,
    tested_count: usize,
    /// Titles of documents that satisfy the clause.
    titles: Option<TitleSet>,
    /// More such titles, still encoded.
    stored_titles: Postings<'a>,
    /// Estimated documents of `stored_titles`, which are not counted.
    stored_title_docs: u64,
    size_max: u64,
}

impl<'a> Clause<'a> {
    /// Clause of the documents of any of these sets.
    pub(crate) fn of_sets(subject: Subject, sets: Vec<Postings<'a>>) -> Self {
        let size_max = sets.iter().map(|set| u64::from(set.count())).sum();
        Self {
            subject,
            sets,
            test: None,
            tested_count: 0,
            titles: None,
            stored_titles: Postings::EMPTY,
            stored_title_docs: 0,
            size_max,
        }
    }

    /// Declares that `test` accepts exactly the documents of all sets added before; it is cheaper
    /// to probe than they are.
    #[must_use]
    pub(crate) fn tested_by(mut self, test: RowTest) -> Self {
        self.test = Some(test);
        self.tested_count = self.sets.len();
        self
    }

    /// Adds the documents of a set.
    #[must_use]
    pub(crate) fn or_set(mut self, set: Postings<'a>) -> Self {
        if set.count() > 0 {
            self.size_max += u64::from(set.count());
            self.sets.push(set);
        }
        self
    }

    /// Adds the documents that have one of these titles.
    #[must_use]
    pub(crate) fn or_titles(mut self, titles: TitleSet) -> Self {
        if !titles.is_empty() {
            self.size_max += titles.docs_count();
            self.titles = Some(titles);
        }
        self
    }

    /// Adds the documents that have one of these titles, which stay encoded. Each title is assumed
    /// to have `docs_estimate` documents: counting them would cost more than a better plan saves.
    #[must_use]
    pub(crate) fn or_stored_titles(mut self, titles: Postings<'a>, docs_estimate: u64) -> Self {
        self.stored_title_docs = u64::from(titles.count()) * docs_estimate;
        self.size_max += self.stored_title_docs;
        self.stored_titles = titles;
        self
    }

    /// Part of the request that the clause stands for.
    pub(crate) fn subject(&self) -> Subject {
        self.subject
    }

    /// Upper bound of the documents that satisfy the clause; with stored titles an estimate.
    pub(crate) fn size_max(&self) -> u64 {
        self.size_max
    }

    /// Titles that satisfy it.
    pub(crate) fn titles(&self) -> Option<&TitleSet> {
        self.titles.as_ref()
    }

    /// Upper bound of the documents that satisfy the clause by their titles; 0 without titles.
    pub(crate) fn title_docs_max(&self) -> u64 {
        self.titles.as_ref().map_or(0, TitleSet::docs_count) + self.stored_title_docs
    }

    /// The posting list of the clause, if it has one and nothing else.
    pub(crate) fn only_set(&self) -> Option<&Postings<'a>> {
        let is_plain =
            self.test.is_none() && self.titles.is_none() && self.stored_titles.count() == 0;
        match &self.sets[..] {
            [set] if is_plain => Some(set),
            _ => None,
        }
    }

    /// Test of its tested sets, if a copy of their union costs less than to unite them again.
    pub(crate) fn test_of_many_sets(&self, context: &PlanContext<'_>) -> Option<RowTest> {
        self.test
            .filter(|_| context.costs.many_sets <= self.tested_count)
    }

    /// Sets the bits of all documents that satisfy the clause.
    pub(crate) fn set_bits(&self, view: &SegmentView<'_>, bits: &mut Bits) {
        self.set_tested_bits(bits);
        self.set_untested_bits(view, bits);
    }

    /// Sets the bits of the documents that pass the clause's test.
    pub(crate) fn set_tested_bits(&self, bits: &mut Bits) {
        let tested = self.sets[..self.tested_count].iter();
        tested.for_each(|set| set.union_into(bits));
    }

    /// Sets the bits of the documents that satisfy the clause in another way than by its test.
    pub(crate) fn set_untested_bits(&self, view: &SegmentView<'_>, bits: &mut Bits) {
        let untested = self.sets[self.tested_count..].iter();
        untested.for_each(|set| set.union_into(bits));
        self.for_each_title_doc(view, |doc| bits.insert(doc));
    }

    /// Appends the documents that satisfy the clause by their titles, title by title.
    fn add_title_docs(&self, view: &SegmentView<'_>, docs: &mut Vec<u32>) {
        if let Some(titles) = &self.titles {
            for run in titles.runs() {
                docs.extend(view.titles_docs(run));
            }
        }
        self.stored_titles
            .for_each(|title| docs.extend(view.title_docs(title)));
    }

    fn for_each_title_doc(&self, view: &SegmentView<'_>, mut each: impl FnMut(u32)) {
        if let Some(titles) = &self.titles {
            // Documents of neighbouring titles are neighbours too: one read of offsets a run.
            for run in titles.runs() {
                view.titles_docs(run).for_each(&mut each);
            }
        }
        self.stored_titles
            .for_each(|title| view.title_docs(title).for_each(&mut each));
    }

    /// All documents that satisfy the clause, ascending.
    ///
    /// Cost: linear; for several sets that of [`sort_numbers`], or for many documents a word of
    /// bits for each 64 of the segment.
    pub(crate) fn docs(&self, context: &PlanContext<'_>) -> Vec<u32> {
        let view = &context.view;
        let mut docs = Vec::new();
        if let Some(set) = self.only_set() {
            set.decode(&mut docs);
            return docs;
        }
        docs.reserve(self.size_max as usize);
        if !context.costs.prefers_list(self.size_max, view.docs_count()) {
            let mut bits = Bits::new(view.docs_count());
            self.set_bits(view, &mut bits);
            bits.decode(&mut docs);
            return docs;
        }
        self.sets.iter().for_each(|set| set.decode(&mut docs));
        self.add_title_docs(view, &mut docs);
        // A document may be in several sets.
        sort_numbers(&mut docs, view.docs_count());
        docs
    }

    /// Documents that satisfy the clause and are accepted, ascending; `retain_accepted` keeps those
    /// of a list in any order. For a clause of titles: their documents come unordered, and most
    /// need not be sorted.
    ///
    /// Cost: linear, and that of [`sort_numbers`] for the accepted ones.
    pub(crate) fn accepted_docs(
        &self,
        context: &PlanContext<'_>,
        retain_accepted: impl FnOnce(&mut Vec<u32>),
    ) -> Vec<u32> {
        let view = &context.view;
        let mut docs = Vec::with_capacity(self.size_max as usize);
        self.sets.iter().for_each(|set| set.decode(&mut docs));
        self.add_title_docs(view, &mut docs);
        retain_accepted(&mut docs);
        sort_numbers(&mut docs, view.docs_count());
        docs
    }

    /// Keeps the ascending documents that satisfy the clause.
    ///
    /// Cost: the lesser of probing each document and uniting all documents that satisfy it.
    pub(crate) fn retain(&self, context: &PlanContext<'_>, docs: &mut Vec<u32>) {
        let view = &context.view;
        let probed_count = docs.len() as u64;
        let mut way = "intersect";
        if let Some(set) = self.only_set() {
            set.retain(docs);
        } else if self.is_probing_cheaper(context, probed_count) {
            way = "probe";
            let mut seeker = self.seeker(context, probed_count);
            retain_blocks(docs, |block| seeker.matching(view, block));
        } else {
            way = "unite";
            let mut bits = Bits::new(view.docs_count());
            self.set_bits(view, &mut bits);
            retain(docs, |doc| bits.contains(doc));
        }
        let estimates = || {
            if self.only_set().is_some() {
                return way.to_owned();
            }
            let (probing, uniting) = (self.probe_ns(context, probed_count), self.union_ns(context));
            format!("{way} (estimates: probe {probing} ns, unite {uniting} ns)")
        };
        context.note(Some(self.subject), || docs.len() as u64, estimates);
    }

    /// True if probing `docs_count` documents is expected to cost less than uniting all documents
    /// that satisfy the clause as bits. The result affects only time.
    pub(crate) fn is_probing_cheaper(&self, context: &PlanContext<'_>, docs_count: u64) -> bool {
        self.probe_ns(context, docs_count) < self.union_ns(context)
    }

    /// Estimated nanoseconds of probing `docs_count` documents.
    fn probe_ns(&self, context: &PlanContext<'_>, docs_count: u64) -> u64 {
        // One row test answers for all tested sets; each other set is sought by itself.
        let sought_sets = (self.sets.len() - self.tested_count) as u64;
        let probe_ns = context.costs.probe_ns(context.view.docs_count());
        docs_count * (probe_ns + sought_sets * context.costs.seek_ns)
    }

    /// Estimated nanoseconds of a union: one for each word of bits and for each number of a sparse
    /// chunk; a dense chunk is united as words.
    pub(crate) fn union_ns(&self, context: &PlanContext<'_>) -> u64 {
        let words_count = u64::from(context.view.docs_count()) / 64;
        // A set of more numbers than twice the words is stored as bits almost everywhere.
        let set_ns = |set: &Postings<'_>| u64::from(set.count()).min(2 * words_count);
        let sets_ns: u64 = self.sets.iter().map(set_ns).sum();
        words_count + sets_ns + self.title_docs_max() * context.costs.title_doc_ns
    }

    fn seeker(&self, context: &PlanContext<'_>, probed_count: u64) -> ClauseSeeker<'_> {
        let untested = self.sets[self.tested_count..].iter();
        let mut sets: Vec<Cursor<'_>> = untested
            .map(|set| set.cursor(probed_count as usize))
            .collect();
        let title_docs = self.title_docs_max();
        let mut probes_titles = title_docs > 0;
        if probes_titles && context.costs.prefers_title_list(title_docs, probed_count) {
            // Few documents have the titles: one more sorted list replaces a read of the title
            // column for each probed document, at addresses in no order.
            let mut docs = Vec::new();
            self.add_title_docs(&context.view, &mut docs);
            docs.sort_unstable();
            sets.push(Cursor::of_numbers(docs));
            probes_titles = false;
        }
        ClauseSeeker {
            test: self.test,
            sets,
            titles: self.titles.as_ref(),
            stored_titles: if probes_titles {
                self.sought_titles(context, probed_count)
            } else {
                None
            },
            probes_titles,
        }
    }

    /// The stored titles, prepared for a look-up of each probed document.
    fn sought_titles(
        &self,
        context: &PlanContext<'_>,
        probed_count: u64,
    ) -> Option<SoughtTitles<'_>> {
        let stored = &self.stored_titles;
        if stored.count() == 0 {
            return None;
        }
        let titles_count = context.view.titles_count();
        let stored_count = u64::from(stored.count());
        if !(context.costs).prefers_title_bits(stored_count, titles_count, probed_count) {
            return Some(SoughtTitles::Stored(stored.lookup()));
        }
        let mut titles = Vec::new();
        stored.decode(&mut titles);
        let titles = TitleSet::of_counted(context, titles, self.stored_title_docs);
        Some(SoughtTitles::Decoded(titles))
    }
}

/// Stored titles that are looked up.
enum SoughtTitles<'a> {
    /// For few look-ups: a search each.
    Stored(Lookup<'a>),
    /// For many: a bit test each.
    Decoded(TitleSet),
}

impl SoughtTitles<'_> {
    /// A bit for each of up to 64 titles, set if the title is among the stored ones.
    #[inline]
    fn matching(&self, titles: &[u32]) -> u64 {
        let stored = match self {
            Self::Stored(stored) => stored,
            Self::Decoded(set) => return set.matching(titles),
        };
        let mut matching = 0;
        for (idx, &title) in titles.iter().enumerate() {
            matching |= u64::from(stored.contains(title)) << idx;
        }
        matching
    }
}

/// A clause prepared for probing ascending documents.
struct ClauseSeeker<'a> {
    test: Option<RowTest>,
    sets: Vec<Cursor<'a>>,
    titles: Option<&'a TitleSet>,
    stored_titles: Option<SoughtTitles<'a>>,
    /// False if the clause names no titles, or their documents are one of `sets`.
    probes_titles: bool,
}

impl ClauseSeeker<'_> {
    /// Documents of a block that satisfy the clause, a bit each.
    ///
    /// Each part of the clause goes over the whole block before the next one does, without a branch
    /// that depends on a document. So the processor has many reads of columns under way at once; a
    /// loop over documents that stops at the first matching part would wait for each read.
    fn matching(&mut self, view: &SegmentView<'_>, docs: &[u32]) -> u64 {
        let mut matching = 0;
        if let Some(test) = self.test {
            for (idx, &doc) in docs.iter().enumerate() {
                matching |= u64::from(test.matches(view.columns().row(doc))) << idx;
            }
        }
        for set in &mut self.sets {
            matching |= set.seek(docs);
        }
        if self.probes_titles {
            let titles = view.titles_of(docs);
            let titles = &titles[..docs.len()];
            if let Some(set) = self.titles {
                matching |= set.matching(titles);
            }
            if let Some(stored) = &self.stored_titles {
                matching |= stored.matching(titles);
            }
        }
        matching
    }
}
