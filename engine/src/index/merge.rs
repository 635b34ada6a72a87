//! Merge of segments into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use crate::error::Result;
use crate::model::{CatalogId, RecordId};

use super::columns::ColumnValue;
use super::doc_offsets::DocOffsetsWriter;
use super::merge_input::{DROPPED, MergeInput};
use super::section::{Section, SectionWriter};
use super::segment::read_whole;
use super::term_merge::{TermMerger, merge_title_terms};
use super::title_merge::merge_titles;
use super::writer::{CatalogEntry, ColumnBuffers, write_catalogs, write_columns, write_values};
use super::{Segment, SegmentSummary, Tombstones};

/// Memory that a merge takes for a document, in bytes: its columns and its new number.
const DOC_BYTES: u64 = 64;
/// Memory that a merge takes for a byte of title, in bytes: the text, and the suffixes during their
/// sorting and packing.
const TITLE_BYTES: u64 = 10;
/// Memory that a merge takes for a title term, in bytes: its text, and its ranks in the inputs.
const TITLE_TERM_BYTES: u64 = 120;

/// Maximum memory, in bytes, that a merge takes for a segment with `live_count` live documents,
/// besides a few megabytes that every merge takes.
pub fn merge_memory_bytes(segment: &Segment, live_count: u64) -> u64 {
    live_count * DOC_BYTES
        + segment.title_bytes() * TITLE_BYTES
        + segment.title_terms_count() * TITLE_TERM_BYTES
}

/// Writes one segment with the live documents of `inputs`. No id may be live in two inputs.
///
/// Documents and postings stream through. All orders are the same in the inputs and in the output,
/// so mapping the numbers of an ascending list gives an ascending list; no text is folded again.
/// Memory: see [`merge_memory_bytes`].
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
    let inputs = inputs
        .iter()
        .map(|(segment, tombstones)| MergeInput::new(segment, tombstones))
        .collect::<Result<Vec<MergeInput<'_>>>>()?;
    let docs_count = live_count(&inputs);
    let mut writer = SectionWriter::new(out, docs_count)?;
    // Titles and their terms need no number of a document, and take about as long as copying the
    // documents.
    let (mut documents, (titles, title_terms)) = thread::scope(|scope| {
        let titles = scope.spawn(|| {
            let titles = merge_titles(&inputs)?;
            let terms = merge_title_terms(&inputs, &titles.numbers)?;
            Ok((titles, terms))
        });
        let documents = write_documents(&inputs, &mut writer);
        let titles = titles.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((documents?, titles?))
    })?;
    let columns = merge_columns(&inputs, &mut documents, &titles.numbers)?;
    write_columns(&mut writer, &columns)?;
    let title_docs = titles.texts.write(&mut writer, &columns)?;
    TermMerger {
        inputs: &inputs,
        docs: &documents.numbers,
        title_terms: &title_terms,
        title_docs: &title_docs,
    }
    .write(&mut writer)?;
    drop(title_docs);
    write_catalogs(&mut writer, documents.catalogs)?;
    write_values(&mut writer, &columns)?;
    let (segment_bytes, document_bytes) = writer.finish()?;
    Ok(SegmentSummary {
        docs_count,
        segment_bytes,
        document_bytes,
    })
}

/// The next document of an input: its time and id, the input and the document.
type MergeHead<'a> = (Option<&'a [u8]>, Reverse<Option<RecordId>>, usize, u32);

/// Merge head of the first live document of an input from `from` on. Of several heads, the first in
/// answer order is the greatest.
fn head<'a>(input: &MergeInput<'a>, input_idx: usize, from: u32) -> Result<Option<MergeHead<'a>>> {
    let Some(doc) = input.next_doc(from) else {
        return Ok(None);
    };
    let stored = input.segment.doc(doc)?;
    Ok(Some((stored.time(), Reverse(stored.id()), input_idx, doc)))
}

fn live_count(inputs: &[MergeInput<'_>]) -> u32 {
    let count: u64 = inputs.iter().map(MergeInput::live_count).sum();
    u32::try_from(count).expect("documents are below 2^32")
}

/// Facts known after the documents are written.
struct MergedDocuments {
    /// New number of each document of each input, or [`DROPPED`].
    numbers: Vec<Vec<u32>>,
    /// New numbers in the order of the documents' ids.
    id_order: Vec<u32>,
    /// Entries of their catalog ids.
    catalogs: Vec<CatalogEntry>,
}

/// Writes the documents newest first, then by id, and numbers them.
fn write_documents(
    inputs: &[MergeInput<'_>],
    writer: &mut SectionWriter<'_>,
) -> Result<MergedDocuments> {
    let docs_count = live_count(inputs) as usize;
    let mut offsets = DocOffsetsWriter::new(docs_count);
    offsets.push(0);
    let unnumbered = |input: &MergeInput<'_>| vec![DROPPED; input.segment.len() as usize];
    let mut numbers: Vec<Vec<u32>> = inputs.iter().map(unnumbered).collect();
    let (mut catalogs, mut ids) = (Vec::new(), Vec::with_capacity(docs_count));
    // Documents of each input are in answer order, so the greatest head is the next document.
    let mut heads = BinaryHeap::with_capacity(inputs.len());
    for (input_idx, input) in inputs.iter().enumerate() {
        heads.extend(head(input, input_idx, 0)?);
    }
    while let Some((.., input_idx, doc)) = heads.pop() {
        let number = ids.len() as u32;
        numbers[input_idx][doc as usize] = number;
        let input = &inputs[input_idx];
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
        heads.extend(head(input, input_idx, doc + 1)?);
    }
    writer.end(Section::Documents)?;
    offsets.finish(writer)?;
    let id_order = merge_id_orders(inputs, &numbers, &ids)?;
    Ok(MergedDocuments {
        numbers,
        id_order,
        catalogs,
    })
}

/// New numbers in the order of the ids, which are given by new number.
fn merge_id_orders(
    inputs: &[MergeInput<'_>],
    numbers: &[Vec<u32>],
    ids: &[RecordId],
) -> Result<Vec<u32>> {
    let mut runs = Vec::with_capacity(inputs.len());
    for (input, numbers) in inputs.iter().zip(numbers) {
        let order = input.segment.packed(Section::IdOrder)?;
        let docs = (0..order.len()).map(move |at| numbers[order.get_u32(at) as usize]);
        let mut run = docs.filter(|&number| number != DROPPED).peekable();
        let first_id = run.peek().map(|&number| ids[number as usize]);
        runs.push((first_id, run));
    }
    // An import leaves ranges of ids, which are one ascending run then: the stable sort finds it,
    // and merges where there are several.
    runs.sort_by_key(|(first_id, _)| *first_id);
    let mut id_order = Vec::with_capacity(ids.len());
    for (_, run) in runs {
        id_order.extend(run);
    }
    id_order.sort_by_key(|&doc| ids[doc as usize]);
    Ok(id_order)
}

fn merge_columns(
    inputs: &[MergeInput<'_>],
    documents: &mut MergedDocuments,
    title_numbers: &[Vec<u32>],
) -> Result<ColumnBuffers> {
    let docs_count = documents.id_order.len();
    let mut columns = ColumnBuffers {
        rows: vec![Default::default(); docs_count],
        downloads: vec![0; docs_count],
        languages: vec![0; docs_count],
        titles: vec![0; docs_count],
        language_terms: Vec::new(),
        id_order: std::mem::take(&mut documents.id_order),
        elided_docs: Vec::new(),
    };
    // Language numbers differ from input to input: the new one is the place in the union of all
    // languages.
    for input in inputs {
        columns.language_terms.extend(input.view.language_terms()?);
    }
    columns.language_terms.sort_unstable();
    columns.language_terms.dedup();
    for (input_idx, input) in inputs.iter().enumerate() {
        let terms = input.view.language_terms()?;
        let languages: Vec<u32> = terms
            .map(|term| {
                columns
                    .language_terms
                    .partition_point(|other| *other < term) as u32
            })
            .collect();
        let downloads = input.view.downloads()?;
        for (doc, &number) in documents.numbers[input_idx].iter().enumerate() {
            if number == DROPPED {
                continue;
            }
            let (doc, number) = (doc as u32, number as usize);
            let title = input.view.title_of(doc) as usize;
            columns.rows[number] = input.view.columns().get(doc);
            columns.downloads[number] = downloads.get_u32(doc as usize);
            columns.languages[number] = languages[input.view.language_of(doc) as usize];
            columns.titles[number] = title_numbers[input_idx][title];
        }
        let elided = input.view.value_docs(ColumnValue::ElidedTitle)?;
        elided.for_each(|doc| {
            columns
                .elided_docs
                .push(documents.numbers[input_idx][doc as usize]);
        });
    }
    columns.elided_docs.retain(|&number| number != DROPPED);
    columns.elided_docs.sort_unstable();
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::index::SegmentBuilder;
    use crate::model::Record;

    /// Documents of each input: enough for several batches of the documents of terms.
    const DOCS: u128 = 3_000;

    fn input(first: u128) -> (Arc<Segment>, Arc<Tombstones>) {
        let mut builder = SegmentBuilder::new();
        for number in first..first + DOCS {
            let words = (0..20).map(|word| format!("word{} ", number % 97 * word));
            let record = Record {
                description: Some(words.collect()),
                ..Record::new(RecordId::from_bytes(number.to_be_bytes()), "The title")
            };
            builder.add(&record).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        let segment = Segment::open(bytes.into(), "test").unwrap();
        (Arc::new(segment), Arc::new(Tombstones::new()))
    }

    /// Takes some bytes, then fails.
    struct Full {
        bytes_left: usize,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let left = self.bytes_left.checked_sub(bytes.len());
            self.bytes_left = left.ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The documents of an uploader, by id.
    fn uploaded(segment: &Segment, name: &str) -> Vec<RecordId> {
        let mut docs = Vec::new();
        let set = segment.view().unwrap().uploader_docs(name).unwrap();
        set.decode(&mut docs);
        docs.iter().map(|&doc| segment.id(doc).unwrap()).collect()
    }

    #[test]
    fn uploaders_keep_their_documents_and_are_no_words() {
        let names = [None, Some("ana"), Some("Ana María"), Some("the")];
        let part = |numbers: std::ops::Range<u8>| {
            let mut builder = SegmentBuilder::new();
            for number in numbers {
                let name = names[usize::from(number) % names.len()];
                let record = Record {
                    uploader_name: name.map(str::to_owned),
                    ..Record::new(RecordId::from_bytes([number; 16]), "The title")
                };
                builder.add(&record).unwrap();
            }
            let mut bytes = Vec::new();
            builder.finish(&mut bytes).unwrap();
            Arc::new(Segment::open(bytes.into(), "test").unwrap())
        };
        let mut tombstones = Tombstones::new();
        tombstones.insert(1);
        let inputs = [
            (part(0..100), Arc::new(tombstones)),
            (part(100..200), Arc::new(Tombstones::new())),
        ];
        let mut bytes = Vec::new();
        merge(&inputs, &mut bytes).unwrap();
        let merged = Segment::open(bytes.into(), "test").unwrap();
        merged.verify_all().unwrap();
        for (idx, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            // The deleted document is that of record 1.
            let theirs = (0..200).filter(|it| usize::from(*it) % names.len() == idx && *it != 1);
            let theirs: Vec<RecordId> = theirs.map(|it| RecordId::from_bytes([it; 16])).collect();
            assert_eq!(uploaded(&merged, name), theirs, "{name}");
        }
        assert!(uploaded(&merged, "an").is_empty());
        let view = merged.view().unwrap();
        assert!(view.term("ana").is_none(), "a name is not a word");
        let the = view.term("the").expect("a word of the titles");
        assert_eq!(view.term_docs(the.rank).unwrap().count(), 199);
    }

    #[test]
    fn a_failing_write_ends_the_merge_wherever_it_is() {
        let inputs = [input(0), input(DOCS)];
        let mut whole = Vec::new();
        merge(&inputs, &mut whole).unwrap();
        for bytes_left in (0..whole.len()).step_by(whole.len() / 64) {
            let merged = merge(&inputs, &mut Full { bytes_left });
            assert!(matches!(merged, Err(crate::Error::Io { .. })), "{merged:?}");
        }
    }
}
