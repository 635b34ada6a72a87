//! One thing that every match of a branch must satisfy.

use crate::index::{Bits, FactTest, Postings, Probe, View};

use super::title_set::TitleSet;

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A plain word, by its place among the distinct plain words.
    Word(usize),
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

    /// What it is about.
    pub(crate) fn subject(&self) -> Subject {
        self.subject
    }

    /// An upper bound of how many documents satisfy it.
    pub(crate) fn size_max(&self) -> u64 {
        self.size_max
    }

    /// The titles that satisfy it.
    pub(crate) fn titles(&self) -> Option<&TitleSet> {
        self.titles.as_ref()
    }

    /// Its only set, when it is nothing but a set.
    pub(crate) fn only_set(&self) -> Option<&Postings<'a>> {
        match (&self.sets[..], &self.test, &self.titles) {
            ([set], None, None) => Some(set),
            _ => None,
        }
    }

    /// All documents that satisfy it, as bits.
    pub(crate) fn set_bits(&self, view: &View<'_>, bits: &mut Bits) {
        self.sets.iter().for_each(|set| set.set_bits(bits));
        for &title in self.titles.iter().flat_map(|titles| titles.titles()) {
            view.title_docs(title).for_each(|doc| bits.insert(doc));
        }
    }

    /// All documents that satisfy it, ascending.
    pub(crate) fn docs(&self, view: &View<'_>) -> Vec<u32> {
        let mut docs = Vec::with_capacity(self.size_max as usize);
        self.sets.iter().for_each(|set| set.decode(&mut docs));
        for &title in self.titles.iter().flat_map(|titles| titles.titles()) {
            docs.extend(view.title_docs(title));
        }
        if self.sets.len() + self.titles.as_ref().map_or(0, |t| t.titles().len()) > 1 {
            docs.sort_unstable();
            docs.dedup();
        }
        docs
    }

    /// Keeps the ascending documents that satisfy it.
    pub(crate) fn retain(&self, view: &View<'_>, docs: &mut Vec<u32>) {
        match self.only_set() {
            Some(set) => set.retain(docs),
            None => {
                let probe = self.probe();
                docs.retain(|&doc| probe.contains(view, doc));
            }
        }
    }

    /// A form in which single documents are found quickly.
    pub(crate) fn probe(&self) -> ConditionProbe<'_> {
        ConditionProbe {
            test: self.test,
            sets: self.sets[self.tested_count..]
                .iter()
                .map(Postings::probe)
                .collect(),
            titles: self.titles.as_ref(),
        }
    }
}

/// A condition in which single documents are found quickly.
pub(crate) struct ConditionProbe<'a> {
    test: Option<FactTest>,
    sets: Vec<Probe<'a>>,
    titles: Option<&'a TitleSet>,
}

impl ConditionProbe<'_> {
    /// Whether the document satisfies the condition.
    #[inline]
    pub(crate) fn contains(&self, view: &View<'_>, doc: u32) -> bool {
        self.test
            .is_some_and(|test| test.passes(view.facts.row(doc)))
            || self.sets.iter().any(|set| set.contains(doc))
            || self
                .titles
                .is_some_and(|titles| titles.contains(view.title_of(doc)))
    }
}
