//! tantivy at its best for this job: title and description as two fields without positions,
//! frequencies, norms or stored fields, text folded beforehand, one segment, documents added in
//! answer order. Season and episode are words, as SQLite has them: as numbers, two long lists would
//! be intersected for each query with a marker.
//!
//! T2 queries it as its documentation shows (top by a fast field, a count, filters as terms); T2d
//! as an expert would (the first 100 documents are the answer, the count comes from the weight,
//! filters are read from columns). Substrings are trigrams of titles, verified.

use std::collections::HashMap;

use subcat_engine::{
    CatalogId, CatalogTerm, Number, Query as Request, Record, VideoType, Year, fold,
    internals::{ParsedText, has_number},
    words,
};
use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::Column;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{
    BooleanQuery, EnableScoring, FuzzyTermQuery, Query, RegexQuery, TermQuery, Weight,
};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{
    DocSet, Index, IndexWriter, Order, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term,
};

use crate::error::{BenchError, Result};

use super::peer::{Answer, Builder, Deletions, PAGE, Peer, Prepared};

/// Memory of the writer: the largest that it accepts, so that it seldom flushes.
const WRITER_BYTES: usize = 2 << 30;

fn failed() -> impl FnOnce(tantivy::TantivyError) -> BenchError {
    BenchError::on("use tantivy")
}

#[derive(Clone, Copy)]
struct Fields {
    title: Field,
    description: Field,
    trigrams: Field,
    year: Field,
    video_type: Field,
    /// Words that stand for the season, and for the season with the episode.
    markers: Field,
    catalog: Field,
    rank: Field,
    title_number: Field,
}

impl Fields {
    fn new(can_delete: bool) -> (Schema, Self) {
        let mut builder = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("words")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        let text = TextOptions::default().set_indexing_options(indexing);
        let fields = Self {
            title: builder.add_text_field("title", text.clone()),
            description: builder.add_text_field("description", text.clone()),
            trigrams: builder.add_text_field("trigrams", text.clone()),
            markers: builder.add_text_field("markers", text),
            year: builder.add_u64_field("year", INDEXED | FAST),
            video_type: builder.add_u64_field("video_type", INDEXED | FAST),
            catalog: builder.add_u64_field("catalog", INDEXED),
            // A term for each document, and only where documents will be deleted by it.
            rank: if can_delete {
                builder.add_u64_field("rank", INDEXED | FAST)
            } else {
                builder.add_u64_field("rank", FAST)
            },
            title_number: builder.add_u64_field("title_number", FAST),
        };
        (builder.build(), fields)
    }
}

/// Builds an index in memory.
pub struct TantivyBuilder {
    fields: Fields,
    index: Index,
    writer: IndexWriter,
    titles: Vec<String>,
    title_numbers: HashMap<String, u64>,
    count: u64,
}

impl TantivyBuilder {
    /// An index without documents; `can_delete` if documents will be deleted by their ranks.
    pub fn new(can_delete: bool) -> Result<Self> {
        let (schema, fields) = Fields::new(can_delete);
        let index = Index::create_in_ram(schema);
        let words = TextAnalyzer::from(WhitespaceTokenizer::default());
        index.tokenizers().register("words", words);
        let writer = writer(&index)?;
        Ok(Self {
            fields,
            index,
            writer,
            titles: Vec::new(),
            title_numbers: HashMap::new(),
            count: 0,
        })
    }
}

fn rank_column(reader: &SegmentReader) -> Result<Column<u64>> {
    reader.fast_fields().u64("rank").map_err(failed())
}

impl Builder for TantivyBuilder {
    const NAME: &'static str = "tantivy";
    type Index = TantivyIndex;

    fn add(&mut self, record: &Record) -> Result<()> {
        let fields = self.fields;
        let mut document = TantivyDocument::default();
        let title = fold(&record.title);
        document.add_text(fields.title, distinct_words(&title));
        let description = fold(record.description.as_deref().unwrap_or(""));
        document.add_text(fields.description, distinct_words(&description));
        document.add_text(fields.trigrams, trigrams(&title).join(" "));
        let mut number = |field, number: Option<u16>| {
            document.add_u64(field, number.map_or(0, u64::from));
        };
        number(fields.year, record.year.map(Year::get));
        let is_episode = record.video_type == VideoType::Episode;
        number(fields.video_type, Some(u16::from(is_episode)));
        if let Some(season) = record.season.map(Number::get) {
            let episode = record.episode.map_or(0, Number::get);
            document.add_text(fields.markers, format!("s{season} s{season}e{episode}"));
        }
        let mut numbers =
            [record.catalog_id, record.parent_catalog_id].map(|id| id.map(CatalogId::number));
        if numbers[0] == numbers[1] {
            numbers[1] = None;
        }
        for number in numbers.into_iter().flatten() {
            document.add_u64(fields.catalog, number);
        }
        document.add_u64(fields.rank, self.count);
        let next = self.titles.len() as u64;
        let number = *self.title_numbers.entry(title.clone()).or_insert(next);
        if number == next {
            self.titles.push(title);
        }
        document.add_u64(fields.title_number, number);
        self.count += 1;
        self.writer.add_document(document).map_err(failed())?;
        Ok(())
    }

    fn finish(mut self) -> Result<(TantivyIndex, u64)> {
        self.writer.commit().map_err(failed())?;
        let searcher = self.index.reader().map_err(failed())?.searcher();
        let mut ids = Vec::new();
        for reader in searcher.segment_readers() {
            ids.push((rank_column(reader)?.first(0), reader.segment_id()));
        }
        ids.sort_unstable();
        if ids.len() > 1 {
            let ids: Vec<_> = ids.into_iter().map(|(_, id)| id).collect();
            self.writer.merge(&ids).wait().map_err(failed())?;
        }
        self.writer.wait_merging_threads().map_err(failed())?;
        let searcher = self.index.reader().map_err(failed())?.searcher();
        let ranks = rank_column(searcher.segment_reader(0))?;
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        if !(0..count).all(|doc| ranks.first(doc) == Some(u64::from(doc))) {
            return Err(BenchError::new(
                "tantivy's documents are not in answer order",
            ));
        }
        let space = searcher
            .space_usage()
            .map_err(BenchError::on("measure tantivy"))?;
        let index = TantivyIndex {
            fields: self.fields,
            schema: self.index.schema(),
            index: self.index,
            writer: None,
            searcher,
            titles: self.titles,
        };
        Ok((index, space.total().get_bytes()))
    }
}

fn distinct_words(text: &str) -> String {
    let mut distinct: Vec<&str> = words(text).collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.join(" ")
}

fn trigrams(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    // A space is written as a dot: the tokenizer splits at spaces.
    let written = |&c: &char| if c == ' ' { '.' } else { c };
    let grams = chars.windows(3);
    let mut grams: Vec<String> = grams
        .map(|gram| gram.iter().map(written).collect())
        .collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// An index of tantivy, and the distinct folded titles that substrings are verified with.
pub struct TantivyIndex {
    fields: Fields,
    schema: Schema,
    index: Index,
    /// Takes deletions until they are committed.
    writer: Option<IndexWriter>,
    searcher: Searcher,
    titles: Vec<String>,
}

impl Deletions for TantivyIndex {
    fn delete(&mut self, rank: u32, _: &Record) -> Result<()> {
        if self.writer.is_none() {
            self.writer = Some(writer(&self.index)?);
        }
        if let Some(writer) = &self.writer {
            writer.delete_term(Term::from_field_u64(self.fields.rank, u64::from(rank)));
        }
        Ok(())
    }

    /// The segment stays as it is, with its deleted documents.
    fn commit(&mut self) -> Result<()> {
        if let Some(mut writer) = self.writer.take() {
            writer.commit().map_err(failed())?;
            writer.wait_merging_threads().map_err(failed())?;
        }
        self.searcher = self.index.reader().map_err(failed())?.searcher();
        Ok(())
    }
}

fn writer(index: &Index) -> Result<IndexWriter> {
    let writer: IndexWriter = index
        .writer_with_num_threads(1, WRITER_BYTES)
        .map_err(failed())?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

/// The index, queried as documented.
pub struct Documented<'i>(pub &'i TantivyIndex);

/// The index, queried as an expert would.
pub struct Expert<'i>(pub &'i TantivyIndex);

/// A request as queries of tantivy.
struct Translated {
    query: Box<dyn Query>,
    with_typos: Option<Box<dyn Query>>,
    /// Checks that remain for each document.
    checks: Checks,
}

#[derive(Default)]
struct Checks {
    substring: Option<String>,
    year: Option<u64>,
    video_type: Option<u64>,
}

impl Checks {
    fn is_empty(&self) -> bool {
        self.substring.is_none() && self.year.is_none() && self.video_type.is_none()
    }
}

impl Peer for Documented<'_> {
    fn name(&self) -> &'static str {
        "T2"
    }

    fn finds_typos(&self) -> bool {
        true
    }

    fn prepare<'a>(&'a self, request: &'a Request) -> Result<Prepared<'a>> {
        let translated = self.0.translate(request, false)?;
        Ok(Box::new(move || {
            self.0.search(&translated, |query| {
                if translated.checks.is_empty() {
                    self.0.collect(query)
                } else {
                    self.0.walk(query, &translated.checks)
                }
            })
        }))
    }
}

impl Peer for Expert<'_> {
    fn name(&self) -> &'static str {
        "T2d"
    }

    fn finds_typos(&self) -> bool {
        true
    }

    fn prepare<'a>(&'a self, request: &'a Request) -> Result<Prepared<'a>> {
        let translated = self.0.translate(request, true)?;
        Ok(Box::new(move || {
            self.0
                .search(&translated, |query| self.0.walk(query, &translated.checks))
        }))
    }
}

impl TantivyIndex {
    fn search(
        &self,
        translated: &Translated,
        run: impl Fn(&dyn Query) -> Result<Answer>,
    ) -> Result<Answer> {
        let answer = run(&*translated.query)?;
        match &translated.with_typos {
            Some(query) if answer.total == 0 => run(&**query),
            _ => Ok(answer),
        }
    }

    /// Top by a fast field, and a count.
    fn collect(&self, query: &dyn Query) -> Result<Answer> {
        let top = TopDocs::with_limit(PAGE).order_by_u64_field("rank", Order::Asc);
        let found = self.searcher.search(query, &(top, Count));
        let (top, count) = found.map_err(failed())?;
        Ok(Answer {
            page: top.into_iter().map(|(_, address)| address.doc_id).collect(),
            total: count as u64,
        })
    }

    /// The first documents are the page; what remains to be checked is read from columns.
    fn walk(&self, query: &dyn Query, checks: &Checks) -> Result<Answer> {
        let reader = self.searcher.segment_reader(0);
        let scoring = EnableScoring::disabled_from_schema(&self.schema);
        let weight = query.weight(scoring).map_err(failed())?;
        if checks.is_empty() {
            return first_and_count(&*weight, reader);
        }
        let column = |name: &str| reader.fast_fields().u64(name).map_err(failed());
        let (years, types) = (column("year")?, column("video_type")?);
        let titles = column("title_number")?;
        let text = checks.substring.as_deref();
        // For each title: unknown, does not contain the text, contains it.
        let mut known = vec![0u8; text.map_or(0, |_| self.titles.len())];
        let mut contains = |doc, text: &str| {
            let title = titles.first(doc).unwrap_or(0) as usize;
            if known[title] == 0 {
                known[title] = 1 + u8::from(self.titles[title].contains(text));
            }
            known[title] == 2
        };
        let mut answer = Answer::default();
        let mut docs = weight.scorer(reader, 1.0).map_err(failed())?;
        let mut doc = docs.doc();
        while doc != TERMINATED {
            let has_year = |wanted| [0, wanted].contains(&years.first(doc).unwrap_or(0));
            let passes = !reader.is_deleted(doc)
                && checks.year.is_none_or(has_year)
                && checks
                    .video_type
                    .is_none_or(|wanted| types.first(doc) == Some(wanted))
                && text.is_none_or(|text| contains(doc, text));
            if passes {
                answer.total += 1;
                if answer.page.len() < PAGE {
                    answer.page.push(doc);
                }
            }
            doc = docs.advance();
        }
        Ok(answer)
    }

    fn translate(&self, request: &Request, is_expert: bool) -> Result<Translated> {
        let filters = request.filters();
        let year = filters.year.map(|year| u64::from(year.get()));
        let is_episode = |video_type| u64::from(video_type == VideoType::Episode);
        let video_type = filters.video_type.map(is_episode);
        let filtered = |query: Box<dyn Query>| {
            let mut all = vec![query];
            if !is_expert {
                all.extend(year.map(|year| self.year_or_none(year)));
                let by_type = |number| self.number(self.fields.video_type, number);
                all.extend(video_type.map(by_type));
            }
            intersection(all)
        };
        let mut checks = Checks::default();
        if is_expert {
            (checks.year, checks.video_type) = (year, video_type);
        }
        let mut with_typos = None;
        let query = if let Some(CatalogTerm::Number(number)) = request.catalog_id() {
            self.number(self.fields.catalog, number)
        } else if let Some(title) = request.title() {
            checks.substring = Some(title.folded().to_owned());
            let grams = trigrams(title.folded()).into_iter();
            let grams = grams.map(|gram| self.text(self.fields.trigrams, &gram));
            intersection(grams.collect())
        } else {
            let text = request.parsed_query();
            let text = text.ok_or_else(|| BenchError::new("a request without criterion"))?;
            with_typos = Some(filtered(self.words(&text, true)?));
            self.words(&text, false)?
        };
        Ok(Translated {
            query: filtered(query),
            with_typos,
            checks,
        })
    }

    fn words(&self, text: &ParsedText<'_>, with_typos: bool) -> Result<Box<dyn Query>> {
        let Fields {
            title, description, ..
        } = self.fields;
        let plain: Vec<&str> = text.plain_words().collect();
        let mut all: Vec<Box<dyn Query>> = Vec::new();
        for (idx, word) in plain.iter().enumerate() {
            let mut any = vec![self.text(title, word), self.text(description, word)];
            let chars_count = word.chars().count();
            if idx + 1 == plain.len() && chars_count >= 3 {
                let query = RegexQuery::from_pattern(&format!("{word}.+"), title);
                any.push(Box::new(query.map_err(failed())?));
            }
            if with_typos && chars_count >= 5 && !has_number(word) {
                let distance = if chars_count >= 9 { 2 } else { 1 };
                let term = Term::from_field_text(title, word);
                any.push(Box::new(FuzzyTermQuery::new(term, distance, true)));
            }
            all.push(Box::new(BooleanQuery::union(any)));
        }
        all.extend(self.episode(text));
        if let (Some(marker), Some(word)) = (text.markers().year, text.year_word()) {
            let year = self.year_or_none(u64::from(marker.year.get()));
            all.push(Box::new(BooleanQuery::union(vec![
                year,
                self.text(title, word),
            ])));
        }
        Ok(intersection(all))
    }

    fn episode(&self, text: &ParsedText<'_>) -> Option<Box<dyn Query>> {
        let fields = self.fields;
        let (marker, word) = (text.markers().episode?, text.episode_word()?);
        let season = marker.season.get();
        let mut any = vec![
            self.text(fields.title, word),
            self.text(fields.description, word),
        ];
        match marker.episode.map(Number::get) {
            Some(episode) => {
                any.push(self.text(fields.markers, &format!("s{season}e{episode}")));
                any.push(self.text(fields.markers, &format!("s{season}e0")));
            }
            None => any.push(self.text(fields.markers, &format!("s{season}"))),
        }
        Some(Box::new(BooleanQuery::union(any)))
    }

    fn text(&self, field: Field, word: &str) -> Box<dyn Query> {
        let term = Term::from_field_text(field, word);
        Box::new(TermQuery::new(term, IndexRecordOption::Basic))
    }

    fn number(&self, field: Field, number: u64) -> Box<dyn Query> {
        let term = Term::from_field_u64(field, number);
        Box::new(TermQuery::new(term, IndexRecordOption::Basic))
    }

    fn year_or_none(&self, year: u64) -> Box<dyn Query> {
        let field = self.fields.year;
        let any = vec![self.number(field, year), self.number(field, 0)];
        Box::new(BooleanQuery::union(any))
    }
}

fn intersection(mut all: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    if all.len() == 1 {
        return all.remove(0);
    }
    Box::new(BooleanQuery::intersection(all))
}

/// A page of first documents, and how many there are by the weight.
fn first_and_count(weight: &dyn Weight, reader: &SegmentReader) -> Result<Answer> {
    let mut docs = weight.scorer(reader, 1.0).map_err(failed())?;
    let mut page = Vec::with_capacity(PAGE);
    while docs.doc() != TERMINATED && page.len() < PAGE {
        if !reader.is_deleted(docs.doc()) {
            page.push(docs.doc());
        }
        docs.advance();
    }
    let total = if page.len() < PAGE {
        page.len() as u64
    } else {
        u64::from(weight.count(reader).map_err(failed())?)
    };
    Ok(Answer { page, total })
}
