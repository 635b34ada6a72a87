//! One thing that every match of a branch must satisfy.

use crate::index::{Bits, FactTest, Postings, Probe, View};

use super::title_set::TitleSet;

/// Documents that a title is guessed to have, where counting them would cost more than it saves.
const TITLE_DOCS_GUESS: u64 = 8;

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

    /// All documents that satisfy it, ascending.
    pub(crate) fn docs(&self, view: &View<'_>) -> Vec<u32> {
        let mut docs = Vec::with_capacity(self.size_max as usize);
        self.sets.iter().for_each(|set| set.decode(&mut docs));
        self.for_each_title(|title| docs.extend(view.title_docs(title)));
        if self.only_set().is_none() {
            // A few ascending runs: what the stable sort merges in linear time.
            docs.sort();
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
            stored_titles: self.stored_titles.probe(),
            has_titles: self.titles.is_some() || self.stored_titles.count() > 0,
        }
    }
}

/// A condition in which single documents are found quickly.
pub(crate) struct ConditionProbe<'a> {
    test: Option<FactTest>,
    sets: Vec<Probe<'a>>,
    titles: Option<&'a TitleSet>,
    stored_titles: Probe<'a>,
    has_titles: bool,
}

impl ConditionProbe<'_> {
    /// Whether the document satisfies the condition.
    #[inline]
    pub(crate) fn contains(&self, view: &View<'_>, doc: u32) -> bool {
        let has_set = self
            .test
            .is_some_and(|test| test.passes(view.facts.row(doc)))
            || self.sets.iter().any(|set| set.contains(doc));
        let has_title = || {
            let title = view.title_of(doc);
            self.titles.is_some_and(|titles| titles.contains(title))
                || self.stored_titles.contains(title)
        };
        has_set || self.has_titles && has_title()
    }
}
