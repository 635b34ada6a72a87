//! Filters of a request (SEARCH.md 3 and 8) and live documents, over one segment.
//!
//! A filter has two forms, and a plan uses whichever costs less. As a *probe* it tests one
//! document: [`Filter::accepts`], mostly a load and two comparisons. As *clauses* it is sets of
//! documents that are intersected with those of the branch. Example: `year=1999&video_type=movie`
//! accepts 3 % of the documents. For a branch of 50 documents, 50 probes are made; for one of a
//! million, the posting lists of the year and the type are intersected as bits.

use std::cell::OnceCell;

use crate::error::Result;
use crate::index::{Bits, Column, ColumnValue, Columns, RowTest, Tombstones};
use crate::model::{Flag, Number, VideoType, Year};
use crate::query::{Filters, LanguageTerm, PackFilter};

use super::clause::Clause;
use super::cost::PlanContext;
use super::doc_list::retain;
use super::live_docs::LiveDocs;
use super::subject::Subject;

/// Filters of a request, and the tombstones, over one segment.
pub(crate) struct Filter<'a> {
    context: &'a PlanContext<'a>,
    live: LiveDocs<'a>,
    /// Type, year, flags, source, season and episode.
    test: RowTest,
    /// The episode or none, if packs pass as well.
    pack_test: RowTest,
    /// First document that is older than `since`; all later ones are, too.
    docs_end: u32,
    /// True for each language of the segment that matches; `None` when all do.
    languages: Option<Vec<bool>>,
    filters: &'a Filters,
    /// The filters as sets, for a plan that starts from one of them or intersects them whole. Made
    /// on demand: finding them costs more than probing some dozen documents.
    clauses: OnceCell<Vec<Clause<'a>>>,
    /// True if several branches are searched.
    is_shared: bool,
    /// Documents that pass the test of a marker, united for one branch and kept for the others.
    united: OnceCell<(RowTest, Bits)>,
}

impl<'a> Filter<'a> {
    /// Filters of a request over a segment; `None` when no document of it can match.
    pub(crate) fn new(
        context: &'a PlanContext<'a>,
        tombstones: &'a Tombstones,
        filters: &'a Filters,
    ) -> Result<Option<Self>> {
        let columns = context.view.columns();
        let test = row_test(&columns, filters);
        let (Some(test), Some(pack_test)) = (test, pack_test(&columns, filters)) else {
            return Ok(None);
        };
        let docs_end = match filters.since {
            Some(since) => context.view.docs_since(since)?,
            None => context.view.docs_count(),
        };
        if docs_end == 0 {
            return Ok(None);
        }
        let mut languages = None;
        let requested = filters.language.as_ref().map(LanguageTerm::of);
        let variety = filters.variety.as_ref().map(LanguageTerm::of);
        if requested.is_some() || variety.is_some() {
            let passes = |term: LanguageTerm| {
                requested.is_none_or(|requested| term.matches(requested))
                    && variety.is_none_or(|variety| term.passes_variety(variety))
            };
            let terms = context.view.language_terms()?;
            let matching: Vec<bool> = terms.map(passes).collect();
            if !matching.contains(&true) {
                return Ok(None);
            }
            // A filter that every language of the segment matches filters nothing.
            if matching.contains(&false) {
                languages = Some(matching);
            }
        }
        Ok(Some(Self {
            context,
            live: LiveDocs::new(context, tombstones),
            test,
            pack_test,
            docs_end,
            languages,
            filters,
            clauses: OnceCell::new(),
            is_shared: false,
            united: OnceCell::new(),
        }))
    }

    /// The same filters, for several branches of one request: the union made for one is kept for
    /// the others.
    #[must_use]
    pub(crate) fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Sets the bits of all documents that satisfy a clause of a branch.
    ///
    /// The sets of a season are hundreds, and branches of one request often name the same one.
    pub(crate) fn set_bits_of(&self, clause: &Clause<'_>, bits: &mut Bits) {
        let view = &self.context.view;
        let test = clause.test_of_many_sets(self.context);
        let Some(test) = test.filter(|_| self.is_shared) else {
            clause.set_bits(view, bits);
            return;
        };
        let (united_test, united) = self.united.get_or_init(|| {
            let mut united = Bits::new(view.docs_count());
            clause.set_tested_bits(&mut united);
            (test, united)
        });
        if *united_test == test {
            bits.or(united);
            clause.set_untested_bits(view, bits);
        } else {
            clause.set_bits(view, bits);
        }
    }

    /// True if every live document of the segment is accepted.
    pub(crate) fn is_trivial(&self) -> bool {
        self.test.is_trivial()
            && self.pack_test.is_trivial()
            && self.languages.is_none()
            && self.docs_end == self.context.view.docs_count()
    }

    /// The live documents of the segment.
    pub(crate) fn live(&self) -> &LiveDocs<'a> {
        &self.live
    }

    /// The filters as sets of documents. Together with the live documents they are the whole
    /// filter, except for the cases of [`Filter::exceeds_clauses`].
    ///
    /// Cost: the first time a search among the values of the columns for each filter.
    pub(crate) fn clauses(&self) -> Result<&[Clause<'a>]> {
        if let Some(clauses) = self.clauses.get() {
            return Ok(clauses);
        }
        let clauses = self.build_clauses()?;
        Ok(self.clauses.get_or_init(|| clauses))
    }

    /// True if a live document of all [`Filter::clauses`] may still be refused, so it must be
    /// probed: no posting lists exist for an episode or a pack without a season, for flags, for
    /// records with a source, and for times.
    fn exceeds_clauses(&self) -> bool {
        let filters = self.filters;
        let names_episode = filters.episode.is_some() || filters.packs == PackFilter::Only;
        names_episode && filters.season.is_none()
            || filters.has_source
            || filters.since.is_some()
            || filters.flags.iter().any(|filter| filter.wanted().is_some())
    }

    /// True if probing `docs_count` documents is expected to cost less than finding the clauses and
    /// clearing the bits of one of them.
    pub(crate) fn prefers_probing(&self, docs_count: u64) -> bool {
        let (costs, segment_docs) = (self.context.costs, self.context.view.docs_count());
        self.probes_ns(docs_count) <= costs.filter_sets_ns + u64::from(segment_docs) / 64
    }

    /// Estimated nanoseconds of probing `docs_count` documents.
    fn probes_ns(&self, docs_count: u64) -> u64 {
        let segment_docs = self.context.view.docs_count();
        docs_count.saturating_mul(self.context.costs.probe_ns(segment_docs))
    }

    /// Keeps the accepted documents of a set to which all clauses were applied.
    ///
    /// Cost: a word for each 64 documents; a probe of each for filters without posting lists.
    pub(crate) fn retain_bits_beyond_clauses(&self, docs: &mut Bits) {
        self.live.retain_bits(docs);
        if self.exceeds_clauses() {
            docs.retain(|doc| self.matches(doc));
        }
        let action = || "drop deleted documents".to_owned();
        self.context.note(None, || docs.count(), action);
    }

    /// True if the document is live and matches the filters. Cost: a probe of each column that a
    /// filter reads.
    #[inline]
    pub(crate) fn accepts(&self, doc: u32) -> bool {
        self.matches(doc) && self.live.contains(doc)
    }

    /// True if the document matches the filters, live or not.
    #[inline]
    fn matches(&self, doc: u32) -> bool {
        let view = &self.context.view;
        let matches_language = || match &self.languages {
            Some(matching) => matching[view.language_of(doc) as usize],
            None => true,
        };
        self.matches_row(view.columns().row(doc)) && doc < self.docs_end && matches_language()
    }

    #[inline]
    fn matches_row(&self, row: u64) -> bool {
        self.test.matches(row) && self.pack_test.matches(row)
    }

    /// Keeps the ascending documents that are accepted.
    ///
    /// Cost: a probe of each, or, for many documents, that of the clauses.
    pub(crate) fn retain(&self, docs: &mut Vec<u32>) -> Result<()> {
        if !self.is_trivial() {
            self.retain_matching(docs)?;
        }
        self.retain_live(docs);
        Ok(())
    }

    fn retain_matching(&self, docs: &mut Vec<u32>) -> Result<()> {
        if self.prefers_probing(docs.len() as u64) {
            self.retain_probed(docs);
            return Ok(());
        }
        let mut needs_probes = self.exceeds_clauses();
        for clause in self.clauses()? {
            // One probe tests all filters at once: it replaces every clause that costs more.
            if self.probes_ns(docs.len() as u64) < clause.union_ns(self.context) {
                needs_probes = true;
            } else {
                clause.retain(self.context, docs);
            }
        }
        if needs_probes {
            self.retain_probed(docs);
        }
        Ok(())
    }

    /// Keeps the accepted documents of a list in any order. Cost: a probe of each.
    pub(crate) fn retain_unordered(&self, docs: &mut Vec<u32>) {
        self.retain_probed(docs);
        self.retain_live(docs);
    }

    /// Keeps the accepted documents of an ascending list to which all clauses were applied.
    pub(crate) fn retain_beyond_clauses(&self, docs: &mut Vec<u32>) {
        if self.exceeds_clauses() {
            self.retain_probed(docs);
        }
        self.retain_live(docs);
    }

    fn retain_live(&self, docs: &mut Vec<u32>) {
        if !self.live.are_all() {
            retain(docs, |doc| self.live.contains(doc));
            let action = || "drop deleted documents".to_owned();
            self.context.note(None, || docs.len() as u64, action);
        }
    }

    fn retain_probed(&self, docs: &mut Vec<u32>) {
        let view = &self.context.view;
        // In locals: the loops write documents, after which all that is behind a reference would be
        // read again, and fewer reads of columns would be under way at once.
        let (columns, test, pack_test) = (view.columns(), self.test, self.pack_test);
        // One column after the other, each without branches: see `doc_list`.
        if !test.is_trivial() {
            retain(docs, |doc| test.matches(columns.row(doc)));
        }
        if !pack_test.is_trivial() {
            retain(docs, |doc| pack_test.matches(columns.row(doc)));
        }
        if self.docs_end < view.docs_count() {
            retain(docs, |doc| doc < self.docs_end);
        }
        if let Some(matching) = &self.languages {
            retain(docs, |doc| matching[view.language_of(doc) as usize]);
        }
        let action = || "probe the filters".to_owned();
        self.context.note(None, || docs.len() as u64, action);
    }

    /// True if the year filter is given.
    pub(crate) fn has_year(&self) -> bool {
        self.filters.year.is_some()
    }

    /// True if the year filter is given and the year of the document is unknown: fit 1
    /// (SEARCH.md 5.3).
    #[inline]
    pub(crate) fn matches_unknown_year(&self, doc: u32) -> bool {
        self.filters.year.is_some() && self.context.view.columns().get(doc).year == 0
    }

    fn build_clauses(&self) -> Result<Vec<Clause<'a>>> {
        let (view, filters) = (&self.context.view, self.filters);
        let mut clauses = Vec::new();
        let mut push = |name, sets| clauses.push(Clause::of_sets(Subject::Filter(name), sets));
        if let Some(year) = filters.year {
            let known = view.value_docs(ColumnValue::Year(Some(year)))?;
            push("year", vec![known, view.yearless_docs()?]);
        }
        if let Some(video_type) = filters.video_type {
            let value = ColumnValue::VideoType(video_type);
            push("video_type", vec![view.value_docs(value)?]);
        }
        if let Some(season) = filters.season {
            let one = |episode: u16| {
                let value = ColumnValue::SeasonEpisode(season.get(), episode);
                view.value_docs(value)
            };
            let sets = match (filters.packs, filters.episode.map(Number::get)) {
                (PackFilter::Only, _) => vec![one(0)?],
                (PackFilter::Exclude, Some(episode)) => vec![one(episode)?],
                (PackFilter::Include, Some(episode)) => vec![one(episode)?, one(0)?],
                (_, None) => view.season_docs(season.get())?,
            };
            push("season", sets);
        }
        if let Some(matching) = &self.languages {
            let numbers = (0..).zip(matching).filter(|(_, matches)| **matches);
            let sets = numbers
                .map(|(number, _)| view.value_docs(ColumnValue::Language(number)))
                .collect::<Result<Vec<_>>>()?;
            push("language", sets);
        }
        Ok(clauses)
    }
}

/// Test of the packed columns; `None` when no row of the segment can match.
fn row_test(columns: &Columns<'_>, filters: &Filters) -> Option<RowTest> {
    let equal = [
        (
            Column::VideoType,
            filters
                .video_type
                .map(|video_type| u16::from(video_type == VideoType::Episode)),
        ),
        (Column::Season, filters.season.map(Number::get)),
        (Column::Episode, exact_episode(filters)),
        (Column::Source, filters.has_source.then_some(1)),
        wanted_flag(filters, Flag::HearingImpaired),
        wanted_flag(filters, Flag::Forced),
        wanted_flag(filters, Flag::MachineTranslated),
    ];
    let mut test = RowTest::default();
    for (column, value) in equal {
        if let Some(value) = value {
            test = columns.with_equal(test, column, value)?;
        }
    }
    // SEARCH.md 3.2: a record without a year matches every year.
    match filters.year.map(Year::get) {
        Some(year) => columns.with_equal_or_none(test, Column::Year, year),
        None => Some(test),
    }
}

/// The one value of the episode that passes, 0 being none.
fn exact_episode(filters: &Filters) -> Option<u16> {
    match filters.packs {
        PackFilter::Exclude => filters.episode.map(Number::get),
        PackFilter::Include => None,
        PackFilter::Only => Some(0),
    }
}

fn wanted_flag(filters: &Filters, flag: Flag) -> (Column, Option<u16>) {
    (
        Column::Flag(flag),
        filters.flag(flag).wanted().map(u16::from),
    )
}

/// Test of the episode when packs pass as well; `None` when no row of the segment can match.
fn pack_test(columns: &Columns<'_>, filters: &Filters) -> Option<RowTest> {
    let test = RowTest::default();
    match (filters.packs, filters.episode) {
        (PackFilter::Include, Some(episode)) => {
            let of_episode = columns.with_equal_or_none(test, Column::Episode, episode.get());
            // A segment without that episode may have the pack.
            of_episode.or_else(|| columns.with_equal(test, Column::Episode, 0))
        }
        _ => Some(test),
    }
}
