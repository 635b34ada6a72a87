//! Builder of a segment from records in any order.

use std::io::Write;

use foldhash::HashMap;

use crate::error::Result;
use crate::model::{CatalogId, Record};
use crate::query::LanguageTerm;
use crate::text::{fold_into, is_elided, words};

use super::columns::ColumnRow;
use super::dictionary::DictionaryBuilder;
use super::doc_offsets::DocOffsetsWriter;
use super::document::write_document;
use super::interner::Interner;
use super::prefix_counts::PrefixCounter;
use super::section::{Section, SectionWriter};
use super::uploader_term::write_uploader_term;
use super::writer::{
    CatalogEntry, ColumnBuffers, Groups, PostingsWriter, TitleTexts, write_catalogs, write_columns,
    write_values,
};

/// Size of a finished segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentSummary {
    /// Documents: the active records among those that were added.
    pub docs_count: u32,
    /// Bytes of the whole segment.
    pub segment_bytes: u64,
    /// Size of the documents in it (fragments, release ids, file names), in bytes; the rest is
    /// index.
    pub document_bytes: u64,
}

/// A record that was added.
struct BuilderEntry {
    /// Seconds of `posted_at`: with the id, they give its place in the answer order.
    seconds: i64,
    id: [u8; 16],
    /// Start of its document in `documents`; it ends where that of the next entry starts.
    document_at: usize,
    /// Start of its description's words in `words`, with its uploader; they end where those of the
    /// next entry start.
    words_at: usize,
    /// Index of its folded title in `titles`.
    title: u32,
    /// True if its title begins with an `l` and an apostrophe.
    has_elided_title: bool,
    /// Index of its language in `languages`.
    language: u32,
    row: ColumnRow,
    /// Upstream's downloads.
    downloads: u32,
    /// Numeric part of its catalog id.
    catalog: Option<u64>,
    /// Numeric part of its series' catalog id.
    parent: Option<u64>,
}

/// Orders by which entries and titles are numbered in a segment.
struct SegmentOrders<'a> {
    /// Entries in answer order: the position of an entry is its document.
    entries: &'a [u32],
    /// Titles in the order of their texts: the position of a title is its rank.
    titles: &'a [u32],
}

/// Collects records and writes them as one segment.
///
/// Memory: about 500 bytes a record, most of it its document.
#[derive(Default)]
pub struct SegmentBuilder {
    entries: Vec<BuilderEntry>,
    documents: Vec<u8>,
    /// Words of descriptions, each once per record, and the uploader, as indexes of `terms`.
    words: Vec<u32>,
    terms: Interner,
    /// For each term, 1 more than the last entry with the term in its description; 0 for none.
    last_seen: Vec<u32>,
    /// Titles as written: a repeated one is not folded again.
    written_titles: Interner,
    /// Index in `titles` of the folded form of each written title.
    folded_of_written: Vec<u32>,
    /// For each written title, true if it begins with an `l` and an apostrophe.
    elided_of_written: Vec<bool>,
    /// Folded titles.
    titles: Interner,
    /// Words of each folded title, each once, as indexes of `terms`.
    title_words: Vec<Box<[u32]>>,
    /// Languages, numbered in the order of their first use.
    languages: HashMap<LanguageTerm, u32>,
    /// Buffer for the folding of one text.
    folded: String,
}

impl SegmentBuilder {
    /// A builder without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a record; skips an inactive one. Ids must not repeat.
    ///
    /// Cost: folding and a hash look-up per word. Titles are folded once each.
    pub fn add(&mut self, record: &Record) -> Result<()> {
        if !record.is_active {
            return Ok(());
        }
        let written = self.take_title(&record.title) as usize;
        let words_at = self.words.len();
        self.take_words(record.description.as_deref().unwrap_or(""));
        self.take_uploader(record.uploader_name.as_deref());
        let languages_count = self.languages.len() as u32;
        let language = LanguageTerm::of(&record.language);
        let language = *self.languages.entry(language).or_insert(languages_count);
        let document_at = self.documents.len();
        write_document(record, &mut self.documents);
        self.entries.push(BuilderEntry {
            seconds: record.posted_at.seconds(),
            id: *record.id.as_bytes(),
            document_at,
            words_at,
            title: self.folded_of_written[written],
            has_elided_title: self.elided_of_written[written],
            language,
            row: ColumnRow::of(record),
            downloads: record.downloads,
            catalog: record.catalog_id.map(CatalogId::number),
            parent: record.parent_catalog_id.map(CatalogId::number),
        });
        Ok(())
    }

    /// Index of a title in `written_titles`.
    fn take_title(&mut self, title: &str) -> u32 {
        // A title is repeated by hundreds of records: an exact repetition is not folded again.
        let (written, is_new) = self.written_titles.intern(title);
        if !is_new {
            return written;
        }
        self.elided_of_written.push(is_elided(title));
        self.folded.clear();
        fold_into(title, &mut self.folded);
        let (folded, is_new) = self.titles.intern(&self.folded);
        self.folded_of_written.push(folded);
        if is_new {
            let mut numbers: Vec<u32> = words(&self.folded)
                .map(|word| self.terms.intern(word).0)
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            self.last_seen.resize(self.terms.len(), 0);
            self.title_words.push(numbers.into());
        }
        written
    }

    fn take_words(&mut self, description: &str) {
        self.folded.clear();
        fold_into(description, &mut self.folded);
        let seen = self.entries.len() as u32 + 1;
        for word in words(&self.folded) {
            let (term, is_new) = self.terms.intern(word);
            if is_new {
                self.last_seen.push(0);
            }
            let last_seen = &mut self.last_seen[term as usize];
            if *last_seen != seen {
                *last_seen = seen;
                self.words.push(term);
            }
        }
    }

    fn take_uploader(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            return;
        };
        write_uploader_term(name, &mut self.folded);
        let (term, is_new) = self.terms.intern(&self.folded);
        if is_new {
            self.last_seen.push(0);
        }
        self.words.push(term);
    }

    /// Count of active records that were added.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no active record was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Approximate memory in use, in bytes: callers decide by it when to finish.
    pub fn memory_bytes(&self) -> usize {
        let texts = [&self.terms, &self.written_titles, &self.titles];
        self.documents.len()
            + self.words.len() * 4
            + self.entries.len() * size_of::<BuilderEntry>()
            + self.title_words.len() * 40
            + texts.map(Interner::memory_bytes).iter().sum::<usize>()
    }

    /// Writes the segment. An empty one is a valid segment too.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<SegmentSummary> {
        let docs_count = u32::try_from(self.entries.len()).expect("documents are below 2^32");
        let mut writer = SectionWriter::new(out, docs_count)?;
        let order = self.answer_order();
        self.write_documents(&mut writer, &order)?;
        let title_order = self.titles.sorted();
        let title_ranks = ranks(&title_order);
        let columns = self.columns(&order, &title_ranks);
        write_columns(&mut writer, &columns)?;
        let titles = title_order.iter().map(|&title| self.titles.get(title));
        let title_docs = TitleTexts::new(titles).write(&mut writer, &columns)?;
        let orders = SegmentOrders {
            entries: &order,
            titles: &title_order,
        };
        self.write_terms(&mut writer, &orders, &title_docs)?;
        drop(title_docs);
        write_catalogs(&mut writer, self.catalogs(&order))?;
        write_values(&mut writer, &columns)?;
        let (segment_bytes, document_bytes) = writer.finish()?;
        Ok(SegmentSummary {
            docs_count,
            segment_bytes,
            document_bytes,
        })
    }

    /// Entries newest first, then by id (SEARCH.md 5).
    fn answer_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            let (a, b) = (&self.entries[a as usize], &self.entries[b as usize]);
            b.seconds.cmp(&a.seconds).then_with(|| a.id.cmp(&b.id))
        });
        order
    }

    fn entry_words(&self, entry_idx: u32) -> &[u32] {
        let idx = entry_idx as usize;
        let end = self
            .entries
            .get(idx + 1)
            .map_or(self.words.len(), |next| next.words_at);
        &self.words[self.entries[idx].words_at..end]
    }

    fn write_documents(&mut self, writer: &mut SectionWriter<'_>, order: &[u32]) -> Result<()> {
        // Taken, so that their memory is free before postings are built.
        let documents = std::mem::take(&mut self.documents);
        let mut offsets = DocOffsetsWriter::new(order.len());
        offsets.push(0);
        for &entry_idx in order {
            let idx = entry_idx as usize;
            let end = self
                .entries
                .get(idx + 1)
                .map_or(documents.len(), |next| next.document_at);
            writer.write(&documents[self.entries[idx].document_at..end])?;
            offsets.push(writer.section_bytes());
        }
        writer.end(Section::Documents)?;
        offsets.finish(writer)
    }

    fn columns(&self, order: &[u32], title_ranks: &[u32]) -> ColumnBuffers {
        let entry = |&idx: &u32| &self.entries[idx as usize];
        let mut language_terms: Vec<LanguageTerm> = self.languages.keys().copied().collect();
        language_terms.sort_unstable();
        // Languages were numbered as they came; a segment numbers them in order, so that merging
        // is a merge of sorted lists.
        let mut language_ranks = vec![0; language_terms.len()];
        for (rank, term) in language_terms.iter().enumerate() {
            language_ranks[self.languages[term] as usize] = rank as u32;
        }
        let mut id_order: Vec<u32> = (0..order.len() as u32).collect();
        id_order.sort_unstable_by_key(|&doc| entry(&order[doc as usize]).id);
        ColumnBuffers {
            rows: order.iter().map(|idx| entry(idx).row).collect(),
            downloads: order.iter().map(|idx| entry(idx).downloads).collect(),
            languages: order
                .iter()
                .map(|idx| language_ranks[entry(idx).language as usize])
                .collect(),
            language_terms,
            titles: order
                .iter()
                .map(|idx| title_ranks[entry(idx).title as usize])
                .collect(),
            id_order,
            elided_docs: (0..)
                .zip(order)
                .filter(|(_, idx)| entry(idx).has_elided_title)
                .map(|(doc, _)| doc)
                .collect(),
        }
    }

    fn catalogs(&self, order: &[u32]) -> Vec<CatalogEntry> {
        let mut entries = Vec::with_capacity(order.len() * 5 / 4);
        for (doc, &idx) in order.iter().enumerate() {
            let entry = &self.entries[idx as usize];
            let doc = doc as u32;
            for (number, is_parent) in [(entry.catalog, false), (entry.parent, true)] {
                entries.extend(number.map(|number| CatalogEntry {
                    number,
                    is_parent,
                    doc,
                }));
            }
        }
        entries
    }

    /// Writes the titles and the documents of each term, then the two dictionaries.
    fn write_terms(
        &self,
        writer: &mut SectionWriter<'_>,
        orders: &SegmentOrders<'_>,
        title_docs: &Groups,
    ) -> Result<()> {
        let (term_order, title_terms_count) = self.term_order();
        let ranks = ranks(&term_order);
        let title_words = |title: u32| self.title_words[title as usize].iter();
        let term_titles = inverted(orders.titles, &ranks, |&title| title_words(title));
        let mut postings = PostingsWriter::new();
        for rank in 0..title_terms_count as u32 {
            postings.push(writer, term_titles.get(rank))?;
        }
        postings.finish(writer, Section::TermTitles, Section::TermTitleOffsets)?;
        let term_docs = inverted(orders.entries, &ranks, |&idx| {
            title_words(self.entries[idx as usize].title).chain(self.entry_words(idx))
        });
        let term = |&term: &u32| self.terms.get(term).as_bytes();
        let (title_terms, other_terms) = term_order.split_at(title_terms_count);
        let title_texts = title_terms.iter().map(term).collect();
        let mut prefix_counts = PrefixCounter::new(title_texts, &term_titles, title_docs);
        let mut postings = PostingsWriter::new();
        for (rank, number) in term_order.iter().enumerate() {
            if rank == title_terms_count {
                prefix_counts.restart();
            }
            let docs = term_docs.get(rank as u32);
            prefix_counts.count(term(number), docs);
            postings.push_docs(writer, term(number), docs)?;
        }
        postings.finish(writer, Section::TermDocuments, Section::TermDocumentOffsets)?;
        prefix_counts.finish(writer)?;
        for (section, terms) in [
            (Section::TitleTerms, title_terms),
            (Section::OtherTerms, other_terms),
        ] {
            let mut dictionary = DictionaryBuilder::new();
            terms
                .iter()
                .for_each(|number| dictionary.push(term(number)));
            writer.section(section, &dictionary.finish())?;
        }
        Ok(())
    }

    /// Title terms, sorted, then all other terms, sorted; and the number of title terms.
    fn term_order(&self) -> (Vec<u32>, usize) {
        let mut is_title_term = vec![false; self.terms.len()];
        for &term in self.title_words.iter().flatten() {
            is_title_term[term as usize] = true;
        }
        let sorted = self.terms.sorted();
        let (mut order, others): (Vec<u32>, Vec<u32>) = sorted
            .into_iter()
            .partition(|&term| is_title_term[term as usize]);
        let title_terms_count = order.len();
        order.extend(others);
        (order, title_terms_count)
    }
}

/// Position of each number in an order: its inverse.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, &number) in order.iter().enumerate() {
        ranks[number as usize] = rank as u32;
    }
    ranks
}

/// Turns "words of each item" into "positions of the items with each word": a counting sort in two
/// passes, linear in the words. A word that an item has twice is kept once.
fn inverted<'w, I: Iterator<Item = &'w u32>>(
    items: &[u32],
    ranks: &[u32],
    words_of: impl Fn(&u32) -> I,
) -> Groups {
    let mut ends = vec![0u32; ranks.len() + 1];
    for word in items.iter().flat_map(&words_of) {
        ends[ranks[*word as usize] as usize] += 1;
    }
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    // Repeated words were counted too, so a group may end before the next one starts.
    let wide_starts = ends.clone();
    let mut numbers = vec![0; total as usize];
    for (place, item) in items.iter().enumerate() {
        for word in words_of(item) {
            let rank = ranks[*word as usize] as usize;
            let end = ends[rank];
            let is_repeated = wide_starts[rank] < end && numbers[end as usize - 1] == place as u32;
            if !is_repeated {
                numbers[end as usize] = place as u32;
                ends[rank] += 1;
            }
        }
    }
    close_gaps(&wide_starts, &ends, numbers)
}

/// Closes the gaps that repeated words left between groups.
fn close_gaps(wide_starts: &[u32], ends: &[u32], mut numbers: Vec<u32>) -> Groups {
    let mut starts = Vec::with_capacity(ends.len());
    let mut kept = 0;
    for (&start, &end) in wide_starts.iter().zip(ends) {
        starts.push(kept);
        numbers.copy_within(start as usize..end as usize, kept as usize);
        kept += end - start;
    }
    numbers.truncate(kept as usize);
    Groups { starts, numbers }
}
