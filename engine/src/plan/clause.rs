//! One thing that every match of a branch must satisfy.

use crate::index::{Bits, Postings, Probe, RowTest, Seeker, View};

use super::doc_list::{BLOCK, retain, retain_blocks};
use super::title_set::TitleSet;

/// Documents that a title is guessed to have, where counting them would cost more than it saves.
const TITLE_DOCS_GUESS: u64 = 8;
/// Documents of several sets are put in order by bits when they are more than this share of the
/// segment; by sorting when they are fewer. (Tests have small segments, and take both ways.)
const SORTED_SHARE: u64 = if cfg!(test) { 8 } else { 1024 };

/// Nanoseconds that asking a document for its columns or its title is guessed to take: while the
/// columns of the segment stay in the caches, and beyond.
const ASKED_COST: (u64, u64) = (4, 24);
/// Nanoseconds that looking for a document in a set is guessed to take.
const SOUGHT_COST: u64 = 8;
/// Documents of a segment up to which its columns are expected to stay in the caches.
const CACHED_DOCS_MAX: u32 = 2_000_000;
/// Nanoseconds that finding a document by its title and setting its bit is guessed to take.
const TITLE_DOC_COST: u64 = 2;
/// Documents of titles are listed when they are below this share of those that are asked for.
const LISTED_SHARE: u64 = 8;

/// What a clause is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A plain word, by its place among the distinct plain words.
    Word(usize),
    /// The titles that contain the `title` value.
    Title,
    /// The episode marker.
    EpisodeMarker,
    /// The year marker.
    YearMarker,
    /// The `year` parameter.
    YearFilter,
    /// The `video_type` parameter.
    TypeFilter,
    /// The `season` parameter, with `episode` when that is given.
    SeasonFilter,
    /// The `language` parameter.
    LanguageFilter,
}

/// A union of sets of documents.
///
/// INVARIANT: a document passes `test` exactly when one of the first `tested_count` sets has it.
#[derive(Debug, Clone)]
pub(crate) struct Clause<'a> {
    subject: Subject,
    sets: Vec<Postings<'a>>,
    test: Option<RowTest>,
    tested_count: usize,
    titles: Option<TitleSet>,
    stored_titles: Postings<'a>,
    size_max: u64,
}

impl<'a> Clause<'a> {
    /// One of these sets has the document.
    pub(crate) fn of_sets(subject: Subject, sets: Vec<Postings<'a>>) -> Self {
        let size_max = sets.iter().map(|set| u64::from(set.count())).sum();
        Self {
            subject,
            sets,
            test: None,
            tested_count: 0,
            titles: None,
            stored_titles: Postings::EMPTY,
            size_max,
        }
    }

    /// All sets so far are what this test says, which is cheaper to ask.
    #[must_use]
    pub(crate) fn tested_by(mut self, test: RowTest) -> Self {
        self.test = Some(test);
        self.tested_count = self.sets.len();
        self
    }

    /// Or this set has the document.
    #[must_use]
    pub(crate) fn or_set(mut self, set: Postings<'a>) -> Self {
        if set.count() > 0 {
            self.size_max += u64::from(set.count());
            self.sets.push(set);
        }
        self
    }

    /// Or the document bears one of these titles.
    #[must_use]
    pub(crate) fn or_titles(mut self, titles: TitleSet) -> Self {
        if !titles.is_empty() {
            self.size_max += titles.docs_count();
            self.titles = Some(titles);
        }
        self
    }

    /// Or the document bears one of these titles, which are left as they are stored: they are
    /// guessed to have [`TITLE_DOCS_GUESS`] documents each.
    #[must_use]
    pub(crate) fn or_stored_titles(mut self, titles: Postings<'a>) -> Self {
        self.size_max += u64::from(titles.count()) * TITLE_DOCS_GUESS;
        self.stored_titles = titles;
        self
    }

    /// What it is about.
    pub(crate) fn subject(&self) -> Subject {
        self.subject
    }

    /// How many documents satisfy it, at most; with stored titles a guess.
    pub(crate) fn size_max(&self) -> u64 {
        self.size_max
    }

    /// The titles that satisfy it.
    pub(crate) fn titles(&self) -> Option<&TitleSet> {
        self.titles.as_ref()
    }

    /// How many documents satisfy it by their titles, at most; 0 when it names no titles.
    pub(crate) fn by_title_max(&self) -> u64 {
        let by_titles = self.titles.as_ref().map_or(0, TitleSet::docs_count);
        by_titles + u64::from(self.stored_titles.count()) * TITLE_DOCS_GUESS
    }

    /// Its only set, when it is nothing but a set.
    pub(crate) fn only_set(&self) -> Option<&Postings<'a>> {
        let is_plain =
            self.test.is_none() && self.titles.is_none() && self.stored_titles.count() == 0;
        match &self.sets[..] {
            [set] if is_plain => Some(set),
            _ => None,
        }
    }

    /// All documents that satisfy it, as bits.
    pub(crate) fn set_bits(&self, view: &View<'_>, bits: &mut Bits) {
        self.sets.iter().for_each(|set| set.set_bits(bits));
        self.for_each_title_doc(view, |doc| bits.insert(doc));
    }

    /// Calls `each` with the documents of its titles; of neighbours among the titles in one go.
    fn for_each_title_doc(&self, view: &View<'_>, mut each: impl FnMut(u32)) {
        if let Some(titles) = &self.titles {
            for run in titles.runs() {
                view.titles_docs(run).for_each(&mut each);
            }
        }
        self.stored_titles.for_each_while(|title| {
            view.title_docs(title).for_each(&mut each);
            true
        });
    }

    /// All documents that satisfy it, ascending. Cost: linear; for several sets also a word of
    /// bits for each 64 documents of the segment, or a sort of few.
    pub(crate) fn docs(&self, view: &View<'_>) -> Vec<u32> {
        let mut docs = Vec::new();
        if let Some(set) = self.only_set() {
            set.decode(&mut docs);
            return docs;
        }
        docs.reserve(self.size_max as usize);
        if u64::from(view.docs_count()) / SORTED_SHARE < self.size_max {
            let mut bits = Bits::new(view.docs_count());
            self.set_bits(view, &mut bits);
            bits.decode(&mut docs);
            return docs;
        }
        self.sets.iter().for_each(|set| set.decode(&mut docs));
        self.for_each_title_doc(view, |doc| docs.push(doc));
        docs.sort_unstable();
        docs.dedup();
        docs
    }

    /// Keeps the ascending documents that satisfy it. Cost: the least of asking each and of uniting
    /// all that satisfy it.
    pub(crate) fn retain(&self, view: &View<'_>, docs: &mut Vec<u32>) {
        if let Some(set) = self.only_set() {
            return set.retain(docs);
        }
        let asked_count = docs.len() as u64;
        if self.is_better_asked(view, asked_count) {
            let mut seeker = self.seeker(view, asked_count);
            return retain_blocks(docs, |block| seeker.passing(view, block));
        }
        let mut bits = Bits::new(view.docs_count());
        self.set_bits(view, &mut bits);
        retain(docs, |doc| bits.contains(doc));
    }

    /// Whether to ask each of so many documents costs less than to unite all that satisfy it, as
    /// bits. (A guess: nothing but time depends on it.)
    pub(crate) fn is_better_asked(&self, view: &View<'_>, docs_count: u64) -> bool {
        let (near, far) = ASKED_COST;
        let is_far = CACHED_DOCS_MAX < view.docs_count();
        let asked_cost = if is_far { far } else { near };
        let sought_cost = (self.sets.len() - self.tested_count) as u64 * SOUGHT_COST;
        docs_count * (asked_cost + sought_cost) < self.union_cost(view)
    }

    /// Nanoseconds that uniting is guessed to take: one for each word of bits and for each number
    /// of a sparse chunk; a dense chunk is united as words.
    fn union_cost(&self, view: &View<'_>) -> u64 {
        let words_count = u64::from(view.docs_count()) / 64;
        let set_cost = |set: &Postings<'_>| u64::from(set.count()).min(2 * words_count);
        let sets_cost: u64 = self.sets.iter().map(set_cost).sum();
        words_count + sets_cost + self.by_title_max() * TITLE_DOC_COST
    }

    fn seeker(&self, view: &View<'_>, asked_count: u64) -> ClauseSeeker<'_> {
        let untested = self.sets[self.tested_count..].iter();
        let mut sets: Vec<Seeker<'_>> = untested.map(Postings::seeker).collect();
        let mut has_titles = self.by_title_max() > 0;
        if has_titles && self.by_title_max() * LISTED_SHARE < asked_count {
            let mut docs = Vec::new();
            self.for_each_title_doc(view, |doc| docs.push(doc));
            docs.sort_unstable();
            sets.push(Seeker::of_list(docs));
            has_titles = false;
        }
        ClauseSeeker {
            test: self.test,
            sets,
            titles: self.titles.as_ref(),
            stored_titles: self.stored_titles.probe(),
            has_titles,
        }
    }
}

/// A clause that is asked for ascending documents.
struct ClauseSeeker<'a> {
    test: Option<RowTest>,
    sets: Vec<Seeker<'a>>,
    titles: Option<&'a TitleSet>,
    stored_titles: Probe<'a>,
    has_titles: bool,
}

impl ClauseSeeker<'_> {
    /// Which documents of a block satisfy the clause: a bit each.
    fn passing(&mut self, view: &View<'_>, docs: &[u32]) -> u64 {
        let mut passing = 0;
        if let Some(test) = self.test {
            for (idx, &doc) in docs.iter().enumerate() {
                passing |= u64::from(test.passes(view.columns.row(doc))) << idx;
            }
        }
        for set in &mut self.sets {
            for (idx, &doc) in docs.iter().enumerate() {
                passing |= u64::from(set.contains(doc)) << idx;
            }
        }
        if self.has_titles {
            let mut titles = [0; BLOCK];
            for (title, &doc) in titles.iter_mut().zip(docs) {
                *title = view.title_of(doc);
            }
            for (idx, &title) in titles[..docs.len()].iter().enumerate() {
                passing |= u64::from(self.has_title(title)) << idx;
            }
        }
        passing
    }

    fn has_title(&self, title: u32) -> bool {
        self.titles.is_some_and(|titles| titles.contains(title))
            || self.stored_titles.contains(title)
    }
}
