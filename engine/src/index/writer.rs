//! Writers of the sections of a segment, shared by building and merging.

use foldhash::HashMap;

use crate::error::Result;
use crate::model::{VideoType, Year};
use crate::query::LanguageTerm;

use super::columns::{ColumnRow, ColumnValue, pack_columns};
use super::packed::{PackedBuilder, pack};
use super::postings::{encode, encode_smallest};
use super::section::{Section, SectionWriter};
use super::suffix::{EncodedSuffixes, encode_suffixes};
use super::title_keys::key_order;
use super::uploader_term::is_uploader_term;

/// The columns of a segment, in document order.
#[derive(Default)]
pub(crate) struct ColumnBuffers {
    /// Type, year, season, episode.
    pub(crate) rows: Vec<ColumnRow>,
    /// Upstream's downloads.
    pub(crate) downloads: Vec<u32>,
    /// Index of the language in `language_terms`.
    pub(crate) languages: Vec<u32>,
    /// The distinct languages, sorted.
    pub(crate) language_terms: Vec<LanguageTerm>,
    /// Rank of the folded title.
    pub(crate) titles: Vec<u32>,
    /// Documents in the order of their ids.
    pub(crate) id_order: Vec<u32>,
    /// Documents with a title that begins with an `l` and an apostrophe, ascending.
    pub(crate) elided_docs: Vec<u32>,
}

/// A document under a catalog id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CatalogEntry {
    /// The number of the id.
    pub(crate) number: u64,
    /// True if it is the id of the document's series, not its own.
    pub(crate) is_parent: bool,
    /// The document.
    pub(crate) doc: u32,
}

/// Writes the columns.
pub(crate) fn write_columns(writer: &mut SectionWriter<'_>, columns: &ColumnBuffers) -> Result<()> {
    let numbers = |column: &[u32]| pack(column.iter().copied().map(u64::from));
    writer.section(Section::IdOrder, &numbers(&columns.id_order))?;
    writer.section(
        Section::Columns,
        &pack_columns(columns.rows.iter().copied()),
    )?;
    writer.section(Section::Downloads, &numbers(&columns.downloads))?;
    writer.section(Section::Languages, &numbers(&columns.languages))?;
    let mut table = Vec::with_capacity(columns.language_terms.len() * 6);
    for term in &columns.language_terms {
        table.extend_from_slice(&term.to_bytes());
    }
    writer.section(Section::LanguageTable, &table)?;
    writer.section(Section::DocumentTitles, &numbers(&columns.titles))
}

/// Numbers in groups: the start of each group, and all numbers.
pub(crate) struct Groups {
    /// Start of each group, and the end.
    pub(crate) starts: Vec<u32>,
    /// The numbers, ascending in each group.
    pub(crate) numbers: Vec<u32>,
}

impl Groups {
    /// The numbers of a group.
    pub(crate) fn get(&self, idx: u32) -> &[u32] {
        let idx = idx as usize;
        &self.numbers[self.starts[idx] as usize..self.starts[idx + 1] as usize]
    }
}

/// The distinct folded titles, and the positions of each text in them.
pub(crate) struct TitleTexts {
    /// The titles, sorted, between line feeds.
    text: Vec<u8>,
    /// Start of each title in the text, and the end.
    offsets: Vec<u64>,
    suffixes: EncodedSuffixes,
}

impl TitleTexts {
    /// Sorts the suffixes of titles, which come sorted themselves.
    pub(crate) fn new<'t>(titles: impl Iterator<Item = &'t str>) -> Self {
        let mut text = vec![b'\n'];
        let mut offsets = vec![1u64];
        for title in titles {
            text.extend_from_slice(title.as_bytes());
            text.push(b'\n');
            offsets.push(text.len() as u64);
        }
        let suffixes = encode_suffixes(&mut text, &offsets);
        Self {
            text,
            offsets,
            suffixes,
        }
    }

    /// Writes the titles, and the documents of each, which it returns.
    pub(crate) fn write(
        self,
        writer: &mut SectionWriter<'_>,
        columns: &ColumnBuffers,
    ) -> Result<Groups> {
        let numbers = |column: &[u32]| pack(column.iter().copied().map(u64::from));
        writer.section(Section::TitleText, &self.text)?;
        writer.section(Section::TitleOffsets, &pack(self.offsets.iter().copied()))?;
        let docs = invert(&columns.titles, self.offsets.len() - 1);
        writer.section(Section::TitleStarts, &numbers(&docs.starts))?;
        writer.section(Section::TitleDocuments, &numbers(&docs.numbers))?;
        writer.section(Section::Suffixes, &self.suffixes.positions)?;
        writer.section(Section::Repeats, &self.suffixes.repeats)?;
        let (titles, elided_docs) = (&columns.titles, &columns.elided_docs);
        let keys = key_order(&self.text, &self.offsets, titles, elided_docs);
        writer.section(Section::TitleKeys, &numbers(&keys))?;
        Ok(docs)
    }
}

/// Groups the documents by their number, ascending in each group: a counting sort.
pub(crate) fn invert(numbers: &[u32], numbers_count: usize) -> Groups {
    let mut starts = vec![0u32; numbers_count + 1];
    for &number in numbers {
        starts[number as usize + 1] += 1;
    }
    for idx in 0..numbers_count {
        starts[idx + 1] += starts[idx];
    }
    let mut docs = vec![0; numbers.len()];
    let mut ends = starts.clone();
    for (doc, &number) in numbers.iter().enumerate() {
        let end = &mut ends[number as usize];
        docs[*end as usize] = doc as u32;
        *end += 1;
    }
    Groups {
        starts,
        numbers: docs,
    }
}

/// Writes sets of numbers one after the other, then the start of each.
pub(crate) struct PostingsWriter {
    offsets: Vec<u64>,
    bytes: Vec<u8>,
}

impl PostingsWriter {
    /// A writer before its first set.
    pub(crate) fn new() -> Self {
        Self {
            offsets: vec![0],
            bytes: Vec::new(),
        }
    }

    /// Writes one set of ascending numbers.
    pub(crate) fn push(&mut self, writer: &mut SectionWriter<'_>, numbers: &[u32]) -> Result<()> {
        self.bytes.clear();
        encode(numbers, &mut self.bytes);
        self.push_encoded(writer)
    }

    /// Writes the documents of a term. Those of an uploader are only ever listed, so they take the
    /// form with the fewest bytes.
    pub(crate) fn push_docs(
        &mut self,
        writer: &mut SectionWriter<'_>,
        term: &[u8],
        docs: &[u32],
    ) -> Result<()> {
        if !is_uploader_term(term) {
            return self.push(writer, docs);
        }
        self.bytes.clear();
        encode_smallest(docs, &mut self.bytes);
        self.push_encoded(writer)
    }

    fn push_encoded(&mut self, writer: &mut SectionWriter<'_>) -> Result<()> {
        writer.write(&self.bytes)?;
        self.offsets.push(writer.section_bytes());
        Ok(())
    }

    /// Ends the section of sets and writes that of their offsets.
    pub(crate) fn finish(
        self,
        writer: &mut SectionWriter<'_>,
        sets: Section,
        offsets: Section,
    ) -> Result<()> {
        writer.end(sets)?;
        let max = self.offsets.last().copied().unwrap_or(0);
        let mut packed = PackedBuilder::new(max, self.offsets.len());
        self.offsets.iter().for_each(|&offset| packed.push(offset));
        writer.section(offsets, &packed.finish())
    }
}

/// Writes the documents of each catalog id: its own, then those of its episodes that are not among
/// its own.
pub(crate) fn write_catalogs(
    writer: &mut SectionWriter<'_>,
    mut entries: Vec<CatalogEntry>,
) -> Result<()> {
    entries.sort_unstable();
    let mut numbers = Vec::new();
    let mut postings = PostingsWriter::new();
    let mut docs = Vec::new();
    // Sorted by number, then own before parent, then document: each chunk is one catalog id, and
    // both of its parts ascend.
    for entries in entries.chunk_by(|a, b| a.number == b.number) {
        numbers.push(entries[0].number);
        let own_count = entries.partition_point(|entry| !entry.is_parent);
        let (own, parent) = entries.split_at(own_count);
        docs.clear();
        docs.extend(own.iter().map(|entry| entry.doc));
        postings.push(writer, &docs)?;
        let is_own = |doc: u32| own.binary_search_by_key(&doc, |entry| entry.doc).is_ok();
        docs.clear();
        docs.extend(
            parent
                .iter()
                .map(|entry| entry.doc)
                .filter(|&doc| !is_own(doc)),
        );
        postings.push(writer, &docs)?;
    }
    postings.finish(writer, Section::CatalogDocuments, Section::CatalogOffsets)?;
    writer.section(Section::CatalogNumbers, &pack(numbers.iter().copied()))
}

/// Writes the documents of each column value that a filter or a marker can name.
pub(crate) fn write_values(writer: &mut SectionWriter<'_>, columns: &ColumnBuffers) -> Result<()> {
    let mut codes = Vec::new();
    let mut postings = PostingsWriter::new();
    // Most records have no season: their set would be large, and nothing looks it up.
    let no_season = ColumnValue::SeasonEpisode(0, 0).code();
    let kinds: [&dyn Fn(usize) -> ColumnValue; 4] = [
        &|doc| ColumnValue::Year(Year::new(columns.rows[doc].year)),
        &|doc| {
            ColumnValue::VideoType(if columns.rows[doc].is_episode {
                VideoType::Episode
            } else {
                VideoType::Movie
            })
        },
        &|doc| ColumnValue::SeasonEpisode(columns.rows[doc].season, columns.rows[doc].episode),
        &|doc| ColumnValue::Language(columns.languages[doc]),
    ];
    for value_of in kinds {
        let code_of = |doc: usize| value_of(doc).code();
        // Numbered as they come: many documents have few values, so only the values are sorted.
        let mut numbers: HashMap<u64, u32> = HashMap::default();
        let mut number_of = |doc| {
            let next = numbers.len() as u32;
            *numbers.entry(code_of(doc)).or_insert(next)
        };
        let doc_numbers: Vec<u32> = (0..columns.rows.len()).map(&mut number_of).collect();
        let docs = invert(&doc_numbers, numbers.len());
        let mut distinct: Vec<(u64, u32)> = numbers.into_iter().collect();
        distinct.sort_unstable();
        for (code, number) in distinct {
            if code != no_season {
                codes.push(code);
                postings.push(writer, docs.get(number))?;
            }
        }
    }
    if !columns.elided_docs.is_empty() {
        codes.push(ColumnValue::ElidedTitle.code());
        postings.push(writer, &columns.elided_docs)?;
    }
    postings.finish(writer, Section::ValueDocuments, Section::ValueOffsets)?;
    writer.section(Section::ValueCodes, &pack(codes.iter().copied()))
}
