//! Explanation of a search: its parsing, plan and ranking, as text for people.
//!
//! It plans and runs the search again step by step; nothing here is on the path of a request.

use std::fmt;

use crate::error::Result;
use crate::plan::{
    Clause, CostModel, EPISODE_FIT, ReleasePlan, Subject, TITLE_FIT, TitlePlan, Trace, TraceStep,
    Typos, WordPlan,
};
use crate::query::{LookupKinds, ParsedText, Query, ReleaseTurn};

use super::Snapshot;
use super::branch::BranchResult;
use super::cutoff::Needed;
use super::explain_name::{describe_lookup, describe_names};
use super::explain_release::{WordOfRelease, describe_release, words_of_release};
use super::hits::Hit;
use super::reading::QueryReading;
use super::segment_search::{ParsedQuery, SegmentSearch};

/// Parsing, plan and ranking of one request.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// Each criterion in its parsed form.
    pub criteria: Vec<String>,
    /// Work in each segment.
    pub segments: Vec<SegmentExplanation>,
    /// True if no record matched the exact words, so that typos were tried, unless too many words
    /// may have them; false again if another reading was tried after them.
    pub is_typo_search: bool,
    /// True if no record matched with typos either, and the `query` or `title` as a name did.
    pub is_name_search: bool,
    /// Number of records that match.
    pub total: u64,
    /// The hits, in order.
    pub hits: Vec<HitExplanation>,
    /// Nanoseconds of the whole search.
    pub nanoseconds: u64,
    /// Values of the cost model that decided the strategies.
    pub cost_model: Vec<CostValue>,
}

/// One value of the cost model.
#[derive(Debug, Clone)]
pub struct CostValue {
    /// Name of the value.
    pub name: &'static str,
    /// The value; for a share, its divisor.
    pub value: u64,
    /// Unit of the value.
    pub unit: &'static str,
}

/// Work of a search in one segment.
#[derive(Debug, Clone)]
pub struct SegmentExplanation {
    /// Name of the segment.
    pub name: String,
    /// Count of the segment's documents, deleted ones included.
    pub docs_count: u32,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
}

/// One step of the work.
#[derive(Debug, Clone)]
pub struct PlanStep {
    /// Action of the step.
    pub what: String,
    /// Documents: an upper bound for a planned set, the exact number for a result. Titles, for the
    /// steps that collect titles.
    pub docs_count: u64,
    /// Nanoseconds, for steps that were timed.
    pub nanoseconds: Option<u64>,
}

/// Rank of one hit and its reason.
#[derive(Debug, Clone)]
pub struct HitExplanation {
    /// The record.
    pub id: String,
    /// Relevance of the hit.
    pub relevance: u8,
    /// Fit of the hit.
    pub fit: u8,
    /// Reason for a fit above 0.
    pub fit_reason: Option<&'static str>,
    /// Meaning of the relevance.
    pub meaning: &'static str,
    /// Missing weight of the hit.
    pub missing: u8,
    /// The release words, if any decided its rank, and which of them it has.
    pub release_words: Vec<WordOfRelease>,
}

impl Snapshot {
    /// Explains a search as text for people; `clock` gives nanoseconds.
    pub fn explain(&self, query: &Query, clock: &dyn Fn() -> u64) -> Result<String> {
        Ok(self.explanation(query, clock)?.to_string())
    }

    /// Explains a search; `clock` gives nanoseconds.
    pub fn explanation(&self, query: &Query, clock: &dyn Fn() -> u64) -> Result<Explanation> {
        let parsed = ParsedQuery::new(query);
        // The real search first: its time is reported, and it decides about typos.
        let began = clock();
        let (hits, reading) = self.search_reading(query)?;
        let nanoseconds = clock() - began;
        let mut segments = Vec::new();
        let trace = Trace::new(clock);
        let contexts = self.contexts(Some(&trace))?;
        let prepared = self.prepared(&parsed, &contexts)?;
        for (part_idx, part) in &prepared {
            let part_idx = *part_idx;
            let segment = &self.parts()[part_idx].0;
            segments.push(SegmentExplanation {
                name: segment.name().to_owned(),
                docs_count: segment.len(),
                steps: steps(part, &parsed, reading, clock)?,
            });
        }
        let mut explained = Vec::with_capacity(hits.len());
        for (hit_idx, hit) in hits.hits().iter().enumerate() {
            explained.push(HitExplanation {
                id: self.hit_doc(&hits, hit_idx)?.id().to_string(),
                relevance: hit.relevance,
                fit: hit.fit,
                fit_reason: fit_reason(&prepared, reading, hit),
                meaning: meaning(hit.relevance, reading),
                missing: hit.missing,
                release_words: words_of_release(self, &parsed, reading, hit)?,
            });
        }
        Ok(Explanation {
            criteria: criteria(&parsed, reading),
            segments,
            is_typo_search: reading == QueryReading::Typos,
            is_name_search: reading.is_of_name(),
            total: hits.total(),
            hits: explained,
            nanoseconds,
            cost_model: cost_model(self.costs()),
        })
    }
}

fn cost_model(costs: &CostModel) -> Vec<CostValue> {
    let entries = costs.entries().into_iter();
    entries
        .map(|(name, value, unit)| CostValue { name, value, unit })
        .collect()
}

fn criteria(parsed: &ParsedQuery<'_>, reading: QueryReading) -> Vec<String> {
    let mut criteria = Vec::new();
    if let Some(id) = parsed.public_id {
        criteria.push(format!("public_id: {id}"));
    }
    for number in parsed.catalog_numbers() {
        criteria.push(format!("catalog_id: number {number}"));
    }
    if let Some(text) = &parsed.title {
        criteria.push(format!("title: {}", describe_text(text)));
    }
    if let Some(text) = &parsed.free_text {
        criteria.push(format!("query: {}", describe_text(text)));
    }
    criteria.extend(describe_names(parsed, reading));
    criteria.extend(parsed.release.as_deref().map(describe_release));
    criteria
}

fn describe_text(parsed: &ParsedText<'_>) -> String {
    let words: Vec<&str> = parsed.plain_words().collect();
    let mut text = format!("words [{}]", words.join(" "));
    if let Some(word) = parsed.episode_word() {
        text += &format!(", episode marker {word}");
    }
    if let Some(word) = parsed.year_word() {
        text += &format!(", year marker {word}");
    }
    text
}

fn steps(
    part: &SegmentSearch<'_>,
    parsed: &ParsedQuery<'_>,
    reading: QueryReading,
    clock: &dyn Fn() -> u64,
) -> Result<Vec<PlanStep>> {
    let mut steps = SegmentSteps {
        part,
        parsed,
        clock,
        began: 0,
        steps: Vec::new(),
    };
    // The steps run in one segment after the other.
    steps.add_noted();
    steps.steps.clear();
    for clause in part.filter.clauses()? {
        steps.add_planned(clause, &[]);
    }
    let words = match reading {
        QueryReading::EqualTitle => steps.of_equal_title()?,
        QueryReading::Nothing => None,
        QueryReading::Number(_) | QueryReading::Lookup(_) | QueryReading::TitleLookup(_) => {
            steps.of_name(reading)?
        }
        QueryReading::Words => steps.of_words(Typos::Refused)?,
        QueryReading::Typos => steps.of_words(Typos::Allowed)?,
        QueryReading::ReleaseName => steps.of_release()?,
    };
    steps.begin();
    if let Some(text) = &parsed.title {
        let plan = TitlePlan::new(part.context, text)?;
        let titles_count = plan.matches().len() as u64;
        steps.add_timed("title: distinct titles that contain the text", titles_count);
    }
    // Segments are explained one by one, but the reading was decided over all of them: a segment
    // may show no match here although the search had some.
    steps.begin();
    let found = part.unite(parsed, words, Needed::ALL)?;
    steps.add_noted();
    steps.add_timed("other branches, and all united", found.total);
    Ok(steps.steps)
}

/// Steps of a search in one segment while it is run again.
struct SegmentSteps<'s, 'p, 'q> {
    part: &'s SegmentSearch<'p>,
    parsed: &'s ParsedQuery<'q>,
    clock: &'s dyn Fn() -> u64,
    /// Time at which the next timed step began.
    began: u64,
    steps: Vec<PlanStep>,
}

impl SegmentSteps<'_, '_, '_> {
    fn begin(&mut self) {
        self.began = (self.clock)();
    }

    /// Adds a set that is planned.
    fn add_planned(&mut self, clause: &Clause<'_>, words: &[&str]) {
        self.steps.push(PlanStep {
            what: subject_text(clause.subject(), words),
            docs_count: clause.size_max(),
            nanoseconds: None,
        });
    }

    /// Adds a step that ends now.
    fn add_timed(&mut self, what: impl Into<String>, docs_count: u64) {
        self.steps.push(PlanStep {
            what: what.into(),
            docs_count,
            nanoseconds: Some((self.clock)() - self.began),
        });
    }

    /// Adds the steps that the search has noted since the last call.
    fn add_noted(&mut self) {
        let words = self.parsed.free_text.as_ref().map(distinct_words);
        let words = words.unwrap_or_default();
        let noted = self.part.context.trace.map(Trace::take).unwrap_or_default();
        let step = |step: TraceStep| PlanStep {
            what: match step.subject {
                Some(subject) => format!("  {}: {}", subject_text(subject, &words), step.action),
                None => format!("  {}", step.action),
            },
            docs_count: step.docs_count,
            nanoseconds: Some(step.nanoseconds),
        };
        self.steps.extend(noted.into_iter().map(step));
    }

    /// Adds the noted steps of a branch, and its result.
    fn add_branch(&mut self, what: impl Into<String>, found: Option<&BranchResult>) {
        self.add_noted();
        if let Some(found) = found {
            self.add_timed(what, found.total);
        }
    }

    /// Steps of the `query` branch, and its result.
    fn of_words(&mut self, typos: Typos) -> Result<Option<BranchResult>> {
        self.begin();
        if let Some(text) = &self.parsed.free_text {
            let words = distinct_words(text);
            let plan = WordPlan::new(self.part.context, text, typos)?;
            for clause in plan.iter().flat_map(|plan| &plan.clauses) {
                self.add_planned(clause, &words);
            }
            let titles_count = plan.map_or(0, |plan| plan.full_titles.len()) as u64;
            let what = "query: dictionaries, sets and titles with all words";
            self.add_timed(what, titles_count);
        }
        self.begin();
        let words = self.part.search_words(self.parsed, typos, Needed::ALL)?;
        self.add_branch("query: intersect and rank", words.as_ref());
        Ok(words)
    }

    /// Steps of the `query` branch for titles in another spelling, and its result.
    fn of_equal_title(&mut self) -> Result<Option<BranchResult>> {
        let Some(text) = &self.parsed.free_text else {
            return Ok(None);
        };
        self.begin();
        let key = text.plain_title_key();
        let found = self.part.search_equal_title(self.parsed, &key)?;
        self.add_branch(format!("query: titles with the key {key}"), found.as_ref());
        Ok(found)
    }

    /// Steps of the `query` branch read as the name of a release, and its result.
    fn of_release(&mut self) -> Result<Option<BranchResult>> {
        let (part, parsed) = (self.part, self.parsed);
        let (Some(text), Some(name)) = (&parsed.free_text, parsed.release_name()) else {
            return Ok(None);
        };
        let kinds = match parsed.release_turn() {
            ReleaseTurn::Second(kinds) => kinds,
            ReleaseTurn::Never | ReleaseTurn::Last => LookupKinds::Films,
        };
        self.begin();
        let year = parsed.query.filters().year;
        let plan = ReleasePlan::new(part.context, text, &name, year, kinds)?;
        for clause in plan.iter().flat_map(|plan| &plan.clauses) {
            self.add_planned(clause, &[]);
        }
        let titles_count = plan.map_or(0, |plan| plan.first_titles.len()) as u64;
        self.add_timed("query: titles that are the first words", titles_count);
        self.begin();
        let found = part.search_release_name(parsed, &name, kinds)?;
        self.add_branch("query: intersect, rank and weigh", found.as_ref());
        Ok(found)
    }

    /// The step of a look-up of a name, and its result.
    fn of_name(&mut self, reading: QueryReading) -> Result<Option<BranchResult>> {
        let Some(lookup) = reading.lookup(self.parsed) else {
            return Ok(None);
        };
        self.begin();
        let found = self.part.search_lookup(self.parsed, lookup)?;
        self.add_branch(format!("name: {}", describe_lookup(lookup)), Some(&found));
        Ok(Some(found))
    }
}

fn distinct_words<'p>(text: &'p ParsedText<'_>) -> Vec<&'p str> {
    let mut words: Vec<&str> = text.plain_words().collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The weightiest reason for a fit above 0 (SEARCH.md 5.3).
fn fit_reason(
    prepared: &[(usize, SegmentSearch<'_>)],
    reading: QueryReading,
    hit: &Hit,
) -> Option<&'static str> {
    let of_hit = |(part_idx, _): &&(usize, SegmentSearch<'_>)| *part_idx == hit.part_idx as usize;
    let (_, part) = prepared.iter().find(of_hit)?;
    if hit.fit == 0 {
        None
    } else if hit.fit & TITLE_FIT != 0 && reading == QueryReading::ReleaseName {
        Some("its title is not the first words of the value")
    } else if hit.fit & TITLE_FIT != 0 {
        Some("its title is not the one that was looked up")
    } else if hit.fit & EPISODE_FIT != 0 {
        Some("it is not exactly the episode")
    } else if part.filter.matches_unknown_year(hit.doc) {
        Some("its year is unknown")
    } else if matches!(hit.relevance, 1 | 9) {
        Some("only the id of its series is equal")
    } else {
        Some("its year is not the one of the text")
    }
}

fn subject_text(subject: Subject, words: &[&str]) -> String {
    match subject {
        Subject::Word(idx) => format!("set: word {}", words[idx]),
        Subject::Title => "set: titles that contain the text".into(),
        Subject::EpisodeMarker => "set: episode marker".into(),
        Subject::YearMarker => "set: year marker".into(),
        Subject::ReleaseName => "set: titles with every word of the release's name".into(),
        Subject::ReleaseYears => "set: years of the release's name".into(),
        Subject::Kinds => "set: films, or films and packs".into(),
        Subject::NameWord => "set: a word of the name's title".into(),
        Subject::Filter(name) => format!("filter: {name}"),
    }
}

/// Meaning of a relevance (SEARCH.md 5.1).
fn meaning(relevance: u8, reading: QueryReading) -> &'static str {
    match relevance {
        0 => "public_id",
        1 => "catalog_id",
        2 => "the title is the text",
        3 => "the title begins with the text",
        4 => "the text, or every word, in the title",
        5 => "the title contains the text inside words",
        6 => "every word in the title or the description",
        7 => "the last word begins a title word",
        8 if reading == QueryReading::ReleaseName => "as the name of a release",
        8 if reading.is_of_name() => "as a name",
        8 if reading == QueryReading::EqualTitle => "an equal title",
        8 => "with typos",
        _ => "catalog_id of the series, another episode was named",
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for criterion in &self.criteria {
            writeln!(f, "{criterion}")?;
        }
        for segment in &self.segments {
            write!(f, "{segment}")?;
        }
        let reading = if self.is_name_search {
            ", as a name"
        } else if self.is_typo_search {
            ", with typos"
        } else {
            ""
        };
        let time = self.nanoseconds as f64 / 1000.0;
        writeln!(f, "total {}{reading}, {time:.1} us", self.total)?;
        for (idx, hit) in self.hits.iter().enumerate() {
            let (position, id, meaning) = (idx + 1, &hit.id, hit.meaning);
            let rank = format!("{}.{}", hit.relevance, hit.fit);
            write!(f, "{position:>4}  {id}  {rank}  {meaning}")?;
            match hit.fit_reason {
                Some(reason) => writeln!(f, "; {reason}")?,
                None => writeln!(f)?,
            }
            if !hit.release_words.is_empty() {
                let words = WordOfRelease::listed(&hit.release_words);
                writeln!(f, "      missing weight {}: {words}", hit.missing)?;
            }
        }
        writeln!(f, "cost model")?;
        for CostValue { name, value, unit } in &self.cost_model {
            writeln!(f, "  {name:<24} {value:>9} {unit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for SegmentExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "segment {} ({} documents)", self.name, self.docs_count)?;
        for PlanStep {
            what,
            docs_count,
            nanoseconds,
        } in &self.steps
        {
            write!(f, "  {what:<52} {docs_count:>9}")?;
            if let Some(nanoseconds) = nanoseconds {
                let time = *nanoseconds as f64 / 1000.0;
                write!(f, "  {time:>9.1} us")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
