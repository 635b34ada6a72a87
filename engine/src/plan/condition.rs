//! One thing that every match of a branch must satisfy.

use crate::index::{Bits, FactTest, Postings, Probe, Seeker, View};

use super::title_set::TitleSet;

/// Documents that a title is guessed to have, where counting them would cost more than it saves.
const TITLE_DOCS_GUESS: u64 = 8;
/// Documents of several sets are put in order by bits when they are more than this share of the
/// segment; by sorting when they are fewer. (Tests have small segments, and take both ways.)
const SORTED_SHARE: u64 = if cfg!(test) { 8 } else { 1024 };

/// What a condition is about.
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
pub(crate) struct Condition<'a> {
    subject: Subject,
    sets: Vec<Postings<'a>>,
    test: Option<FactTest>,
    tested_count: usize,
    titles: Option<TitleSet>,
    stored_titles: Postings<'a>,
    size_max: u64,
}

impl<'a> Condition<'a> {
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
    pub(crate) fn tested_by(mut self, test: FactTest) -> Self {
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
        self.for_each_title(|title| view.title_docs(title).for_each(|doc| bits.insert(doc)));
    }

    fn for_each_title(&self, mut each: impl FnMut(u32)) {
        let titles = self.titles.iter().flat_map(TitleSet::titles);
        titles.for_each(|&title| each(title));
        self.stored_titles.for_each_while(|title| {
            each(title);
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
        self.for_each_title(|title| docs.extend(view.title_docs(title)));
        docs.sort_unstable();
        docs.dedup();
        docs
    }

    /// Keeps the ascending documents that satisfy it.
    pub(crate) fn retain(&self, view: &View<'_>, docs: &mut Vec<u32>) {
        match self.only_set() {
            Some(set) => set.retain(docs),
            None => {
                let mut seeker = self.seeker();
                docs.retain(|&doc| seeker.contains(view, doc));
            }
        }
    }

    /// Keeps the bits of documents that satisfy it.
    pub(crate) fn retain_bits(&self, view: &View<'_>, bits: &mut Bits) {
        let mut seeker = self.seeker();
        bits.retain(|doc| seeker.contains(view, doc));
    }

    fn seeker(&self) -> ConditionSeeker<'_> {
        ConditionSeeker {
            test: self.test,
            sets: self.sets[self.tested_count..]
                .iter()
                .map(Postings::seeker)
                .collect(),
            titles: self.titles.as_ref(),
            stored_titles: self.stored_titles.probe(),
            has_titles: self.titles.is_some() || self.stored_titles.count() > 0,
        }
    }
}

/// A condition that is asked for ascending documents.
struct ConditionSeeker<'a> {
    test: Option<FactTest>,
    sets: Vec<Seeker<'a>>,
    titles: Option<&'a TitleSet>,
    stored_titles: Probe<'a>,
    has_titles: bool,
}

impl ConditionSeeker<'_> {
    /// Whether the document satisfies the condition.
    #[inline]
    fn contains(&mut self, view: &View<'_>, doc: u32) -> bool {
        let passes = |test: FactTest| test.passes(view.facts.row(doc));
        self.test.is_some_and(passes)
            || self.sets.iter_mut().any(|set| set.contains(doc))
            || self.has_titles && self.has_title(view.title_of(doc))
    }

    fn has_title(&self, title: u32) -> bool {
        self.titles.is_some_and(|titles| titles.contains(title))
            || self.stored_titles.contains(title)
    }
}
