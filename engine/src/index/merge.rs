//! Merge of segments into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use fst::Streamer;
use fst::raw::OpBuilder;

use crate::error::Result;
use crate::model::{CatalogId, RecordId};
use crate::query::LanguageTerm;

use super::dictionary::DictionaryBuilder;
use super::packed::PackedBuilder;
use super::prefix_counts::PrefixCounter;
use super::section::{Section, SectionWriter};
use super::segment::{SegmentView, read_whole};
use super::writer::{
    CatalogEntry, ColumnBuffers, Groups, PostingsWriter, write_catalogs, write_columns,
    write_titles, write_values,
};
use super::{Segment, SegmentSummary, Tombstones};

/// New number of a document or title that is not kept.
const DROPPED: u32 = u32::MAX;

/// Writes one segment with the live documents of `inputs`. No id may be live in two inputs.
///
/// Documents and postings stream through. All orders are the same in the inputs and in the output,
/// so mapping the numbers of an ascending list gives an ascending list; no text is folded again.
/// Memory: about 60 bytes a document, for the columns.
///
/// Errors: damage of an input, found before or while it is read.
pub fn merge(
    inputs: &[(Arc<Segment>, Arc<Tombstones>)],
    out: &mut dyn Write,
) -> Result<SegmentSummary> {
    let segments = inputs.iter().map(|(segment, _)| &**segment);
    read_whole(segments, || merge_all(inputs, out))
}

fn merge_all(
    inputs: &[(Arc<Segment>, Arc<Tombstones>)],
    out: &mut dyn Write,
) -> Result<SegmentSummary> {
    let mut merger = Merger::new(inputs)?;
    let docs_count = merger.docs_count();
    let mut writer = SectionWriter::new(out, docs_count)?;
    let catalogs = merger.write_documents(&mut writer)?;
    let titles = merger.merge_titles();
    merger.fill_columns()?;
    write_columns(&mut writer, &merger.columns)?;
    let title_texts = titles
        .iter()
        .map(|&(input_idx, title)| merger.inputs[input_idx].title_text(title))
        .collect::<Result<Vec<&str>>>()?;
    let title_docs = write_titles(&mut writer, title_texts.into_iter(), &merger.columns.titles)?;
    merger.write_terms(&mut writer, &title_docs)?;
    drop(title_docs);
    write_catalogs(&mut writer, catalogs)?;
    write_values(&mut writer, &merger.columns)?;
    let (segment_bytes, document_bytes) = writer.finish()?;
    Ok(SegmentSummary {
        docs_count,
        segment_bytes,
        document_bytes,
    })
}

/// One input, and the new numbers of its documents and titles.
struct Input<'a> {
    segment: &'a Segment,
    tombstones: &'a Tombstones,
    view: SegmentView<'a>,
    /// New number of each document, or [`DROPPED`].
    docs: Vec<u32>,
    /// New number of each title, or [`DROPPED`].
    titles: Vec<u32>,
}

impl<'a> Input<'a> {
    fn title_text(&self, title: u32) -> Result<&'a str> {
        let damaged = |_| self.segment.corrupt(Section::TitleText, "titles in UTF-8");
        str::from_utf8(self.view.title(title)).map_err(damaged)
    }

    /// First live document from `from` on.
    fn next_doc(&self, from: u32) -> Option<u32> {
        (from..self.segment.len()).find(|&doc| !self.tombstones.contains(doc))
    }

    /// Merge head of the first live document from `from` on. Of several heads, the first in answer
    /// order is the greatest.
    fn head(&self, input_idx: usize, from: u32) -> Result<Option<MergeHead<'a>>> {
        let Some(doc) = self.next_doc(from) else {
            return Ok(None);
        };
        let stored = self.segment.doc(doc)?;
        Ok(Some((stored.time(), Reverse(stored.id()), input_idx, doc)))
    }

    /// Appends the new numbers of the documents of a term.
    fn term_docs(&self, rank: u32, out: &mut Vec<u32>) -> Result<()> {
        self.view.term_docs(rank)?.for_each(|doc| {
            let number = self.docs[doc as usize];
            if number != DROPPED {
                out.push(number);
            }
        });
        Ok(())
    }

    /// True if a term has a live document.
    fn has_term(&self, rank: u32) -> Result<bool> {
        let search = self.view.term_docs(rank)?.try_for_each(|doc| {
            if self.docs[doc as usize] == DROPPED {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        Ok(search.is_break())
    }
}

/// The next document of an input: its time and id, the input and the document.
type MergeHead<'a> = (Option<&'a [u8]>, Reverse<Option<RecordId>>, usize, u32);
/// The ranks of one term in the inputs that have it.
type TermRanks = Vec<(usize, u32)>;

struct Merger<'a> {
    inputs: Vec<Input<'a>>,
    columns: ColumnBuffers,
}

impl<'a> Merger<'a> {
    fn new(inputs: &'a [(Arc<Segment>, Arc<Tombstones>)]) -> Result<Self> {
        let mut opened = Vec::with_capacity(inputs.len());
        for (segment, tombstones) in inputs {
            opened.push(Input {
                segment,
                tombstones,
                view: segment.view()?,
                docs: vec![DROPPED; segment.len() as usize],
                titles: Vec::new(),
            });
        }
        Ok(Self {
            inputs: opened,
            columns: ColumnBuffers::default(),
        })
    }

    fn docs_count(&self) -> u32 {
        let alive = |input: &Input<'_>| u64::from(input.segment.len()) - input.tombstones.len();
        let count: u64 = self.inputs.iter().map(alive).sum();
        u32::try_from(count).expect("documents are below 2^32")
    }

    /// Writes the documents newest first, then by id, and numbers them. Returns the entries of
    /// their catalog ids.
    fn write_documents(&mut self, writer: &mut SectionWriter<'_>) -> Result<Vec<CatalogEntry>> {
        let bytes_max: u64 = self
            .inputs
            .iter()
            .map(|input| input.segment.size_bytes().1)
            .sum();
        let mut offsets = PackedBuilder::new(bytes_max, self.docs_count() as usize + 1);
        offsets.push(0);
        let (mut catalogs, mut ids) = (Vec::new(), Vec::new());
        // Documents of each input are in answer order, so the greatest head is the next document.
        let mut heads = BinaryHeap::new();
        for (input_idx, input) in self.inputs.iter().enumerate() {
            heads.extend(input.head(input_idx, 0)?);
        }
        while let Some((.., input_idx, doc)) = heads.pop() {
            let number = ids.len() as u32;
            let input = &mut self.inputs[input_idx];
            input.docs[doc as usize] = number;
            let segment = input.segment;
            let stored = segment.doc(doc)?;
            ids.push(segment.id(doc)?);
            writer.write(segment.doc_bytes(doc)?)?;
            offsets.push(writer.section_bytes());
            let own = stored.catalog_id().map(CatalogId::number);
            for (id, is_parent) in [(own, false), (stored.parent_catalog_number(), true)] {
                catalogs.extend(id.map(|id| CatalogEntry {
                    number: id,
                    is_parent,
                    doc: number,
                }));
            }
            heads.extend(input.head(input_idx, doc + 1)?);
        }
        writer.end(Section::Documents)?;
        writer.section(Section::DocumentOffsets, &offsets.finish())?;
        let mut id_order: Vec<u32> = (0..ids.len() as u32).collect();
        id_order.sort_unstable_by_key(|&doc| ids[doc as usize]);
        self.columns.id_order = id_order;
        Ok(catalogs)
    }

    /// Numbers the titles that still have documents. Returns an input with each, and its number
    /// there.
    fn merge_titles(&mut self) -> Vec<(usize, u32)> {
        // 0 marks a title as kept until it gets its number below.
        for input in &mut self.inputs {
            input.titles = vec![DROPPED; input.view.titles_count() as usize];
            for doc in (0..input.segment.len()).filter(|&doc| input.docs[doc as usize] != DROPPED) {
                input.titles[input.view.title_of(doc) as usize] = 0;
            }
        }
        // Titles are sorted in each input: the least head is the next title, and inputs that have
        // the same title advance together.
        let mut heads = vec![0u32; self.inputs.len()];
        let mut titles = Vec::new();
        loop {
            let mut best: Option<(usize, &[u8])> = None;
            for (input_idx, input) in self.inputs.iter().enumerate() {
                let head = &mut heads[input_idx];
                let is_over = |title: u32| title >= input.view.titles_count();
                while !is_over(*head) && input.titles[*head as usize] == DROPPED {
                    *head += 1;
                }
                if is_over(*head) {
                    continue;
                }
                let text = input.view.title(*head);
                if best.is_none_or(|(_, best)| text < best) {
                    best = Some((input_idx, text));
                }
            }
            let Some((best_idx, text)) = best else {
                return titles;
            };
            titles.push((best_idx, heads[best_idx]));
            let number = titles.len() as u32 - 1;
            for (input, head) in self.inputs.iter_mut().zip(&mut heads) {
                let is_over = *head >= input.view.titles_count();
                if !is_over && input.view.title(*head) == text {
                    input.titles[*head as usize] = number;
                    *head += 1;
                }
            }
        }
    }

    fn fill_columns(&mut self) -> Result<()> {
        let docs_count = self.docs_count() as usize;
        let columns = &mut self.columns;
        columns.rows = vec![Default::default(); docs_count];
        columns.languages = vec![0; docs_count];
        columns.titles = vec![0; docs_count];
        let mut terms = Vec::new();
        // Language numbers differ from input to input: the new one is the place in the union of all
        // languages.
        for input in &self.inputs {
            terms.extend(input.view.language_terms()?);
        }
        terms.sort_unstable();
        terms.dedup();
        for input in &self.inputs {
            let languages: Vec<LanguageTerm> = input.view.language_terms()?.collect();
            let numbers: Vec<u32> = languages
                .iter()
                .map(|term| terms.partition_point(|other| other < term) as u32)
                .collect();
            for (doc, &number) in input.docs.iter().enumerate() {
                if number == DROPPED {
                    continue;
                }
                let (doc, number) = (doc as u32, number as usize);
                columns.rows[number] = input.view.columns.get(doc);
                columns.languages[number] = numbers[input.view.language_of(doc) as usize];
                columns.titles[number] = input.titles[input.view.title_of(doc) as usize];
            }
        }
        columns.language_terms = terms;
        Ok(())
    }

    fn write_terms(&self, writer: &mut SectionWriter<'_>, title_docs: &Groups) -> Result<()> {
        let mut kept: Vec<(Box<[u8]>, TermRanks)> = Vec::new();
        // A title term may keep documents only by their descriptions, after the last title with it
        // was dropped. It stays a title term, with an empty set of titles: no answer differs.
        self.for_each_term(|term, is_title, ranks| {
            if is_title && self.is_term_kept(&ranks)? {
                kept.push((term.into(), ranks));
            }
            Ok(())
        })?;
        let term_titles = self.write_term_titles(writer, &kept)?;
        let texts = kept.iter().map(|(term, _)| &**term).collect();
        let mut prefix_counts = PrefixCounter::new(texts, &term_titles, title_docs);
        let mut title_terms = DictionaryBuilder::new();
        let mut postings = PostingsWriter::new();
        let mut docs = Vec::new();
        for (term, ranks) in &kept {
            self.collect_docs(ranks, &mut docs)?;
            title_terms.push(term);
            prefix_counts.count(term, &docs);
            postings.push(writer, &docs)?;
        }
        prefix_counts.restart();
        let mut other_terms = DictionaryBuilder::new();
        self.for_each_term(|term, is_title, ranks| {
            if is_title {
                return Ok(());
            }
            self.collect_docs(&ranks, &mut docs)?;
            if !docs.is_empty() {
                other_terms.push(term);
                prefix_counts.count(term, &docs);
                postings.push(writer, &docs)?;
            }
            Ok(())
        })?;
        postings.finish(writer, Section::TermDocuments, Section::TermDocumentOffsets)?;
        prefix_counts.finish(writer)?;
        writer.section(Section::TitleTerms, &title_terms.finish())?;
        writer.section(Section::OtherTerms, &other_terms.finish())
    }

    /// Calls `each` with every term of the inputs, in order: its bytes, true if it is a title term
    /// in any of them, and its ranks.
    fn for_each_term(
        &self,
        mut each: impl FnMut(&[u8], bool, TermRanks) -> Result<()>,
    ) -> Result<()> {
        let mut streams = OpBuilder::new();
        for input in &self.inputs {
            let [of_titles, others] = input.segment.dictionaries();
            streams.push(of_titles.stream());
            streams.push(others.stream());
        }
        let mut union = streams.union();
        while let Some((term, found)) = union.next() {
            // Each input has two streams: its title terms, which have even indexes, and the others.
            let is_title = found.iter().any(|found| found.index % 2 == 0);
            let ranks = found.iter().map(|found| {
                let (input_idx, rank) = (found.index / 2, found.value as u32);
                match found.index % 2 {
                    0 => (input_idx, rank),
                    _ => (input_idx, self.inputs[input_idx].segment.other_rank(rank)),
                }
            });
            each(term, is_title, ranks.collect())?;
        }
        Ok(())
    }

    fn is_term_kept(&self, ranks: &TermRanks) -> Result<bool> {
        for &(input_idx, rank) in ranks {
            if self.inputs[input_idx].has_term(rank)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write_term_titles(
        &self,
        writer: &mut SectionWriter<'_>,
        kept: &[(Box<[u8]>, TermRanks)],
    ) -> Result<Groups> {
        let mut postings = PostingsWriter::new();
        let mut groups = Groups {
            starts: vec![0],
            numbers: Vec::new(),
        };
        let mut titles = Vec::new();
        for (_, ranks) in kept {
            titles.clear();
            for &(input_idx, rank) in ranks {
                let input = &self.inputs[input_idx];
                if input.segment.is_title_rank(rank) {
                    input.view.term_titles(rank)?.for_each(|title| {
                        let number = input.titles[title as usize];
                        if number != DROPPED {
                            titles.push(number);
                        }
                    });
                }
            }
            titles.sort();
            titles.dedup();
            postings.push(writer, &titles)?;
            groups.numbers.extend_from_slice(&titles);
            groups.starts.push(groups.numbers.len() as u32);
        }
        postings.finish(writer, Section::TermTitles, Section::TermTitleOffsets)?;
        Ok(groups)
    }

    fn collect_docs(&self, ranks: &TermRanks, docs: &mut Vec<u32>) -> Result<()> {
        docs.clear();
        for &(input_idx, rank) in ranks {
            self.inputs[input_idx].term_docs(rank, docs)?;
        }
        // A few ascending runs, which the stable sort merges in linear time.
        docs.sort();
        Ok(())
    }
}
