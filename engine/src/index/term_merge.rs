//! Merge of the terms of segments, and of their documents.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use fst::Streamer;
use fst::raw::OpBuilder;

use crate::error::Result;
use crate::limits::{MERGE_BATCH_DOCS, MERGE_BATCHES_MAX};

use super::bits::Bits;
use super::dictionary::DictionaryBuilder;
use super::merge_input::{DROPPED, MergeInput};
use super::prefix_counts::PrefixCounter;
use super::section::{Section, SectionWriter};
use super::writer::{Groups, PostingsWriter};

/// The ranks of one term in the inputs that have it.
type TermRanks = Vec<(usize, u32)>;

/// The title terms that still have documents.
pub(super) struct TitleTerms {
    /// The terms, sorted.
    terms: Vec<(Box<[u8]>, TermRanks)>,
    /// New numbers of the titles of each.
    titles: Groups,
}

/// Collects the title terms of all inputs. `titles` has the new numbers of the titles of each
/// input. Reads no new number of a document, so it can run beside their merge.
pub(super) fn merge_title_terms(
    inputs: &[MergeInput<'_>],
    titles: &[Vec<u32>],
) -> Result<TitleTerms> {
    let mut terms = Vec::new();
    // A title term may keep documents only by their descriptions, after the last title with it
    // was dropped. It stays a title term, with an empty set of titles: no answer differs.
    for_each_term(inputs, |term, is_title, ranks| {
        if is_title && is_kept(inputs, &ranks)? {
            terms.push((term.into(), ranks));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut groups = Groups {
        starts: vec![0],
        numbers: Vec::new(),
    };
    let mut numbers = Vec::new();
    for (_, ranks) in &terms {
        numbers.clear();
        for &(input_idx, rank) in ranks {
            let input = &inputs[input_idx];
            if input.segment.is_title_rank(rank) {
                input.view.term_titles(rank)?.for_each(|title| {
                    let number = titles[input_idx][title as usize];
                    if number != DROPPED {
                        numbers.push(number);
                    }
                });
            }
        }
        numbers.sort();
        numbers.dedup();
        groups.numbers.extend_from_slice(&numbers);
        groups.starts.push(groups.numbers.len() as u32);
    }
    Ok(TitleTerms {
        terms,
        titles: groups,
    })
}

/// True if a term has a live document.
fn is_kept(inputs: &[MergeInput<'_>], ranks: &TermRanks) -> Result<bool> {
    for &(input_idx, rank) in ranks {
        let input = &inputs[input_idx];
        let search = input.view.term_docs(rank)?.try_for_each(|doc| {
            if input.is_live(doc) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if search.is_break() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Calls `each` with every term of the inputs, in order, until it breaks: the bytes of the term,
/// true if it is a title term in any of them, and its ranks.
fn for_each_term(
    inputs: &[MergeInput<'_>],
    mut each: impl FnMut(&[u8], bool, TermRanks) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut streams = OpBuilder::new();
    for input in inputs {
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
                _ => (input_idx, inputs[input_idx].segment.other_rank(rank)),
            }
        });
        if each(term, is_title, ranks.collect())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Writer of the terms, and of their documents by the new numbers.
pub(super) struct TermMerger<'m> {
    pub(super) inputs: &'m [MergeInput<'m>],
    /// New number of each document of each input, or [`DROPPED`].
    pub(super) docs: &'m [Vec<u32>],
    pub(super) title_terms: &'m TitleTerms,
    /// New numbers of the documents of each title.
    pub(super) title_docs: &'m Groups,
}

impl TermMerger<'_> {
    /// Writes the sections of terms.
    pub(super) fn write(&self, writer: &mut SectionWriter<'_>) -> Result<()> {
        let TitleTerms { terms, titles } = self.title_terms;
        let mut postings = PostingsWriter::new();
        for idx in 0..terms.len() as u32 {
            postings.push(writer, titles.get(idx))?;
        }
        postings.finish(writer, Section::TermTitles, Section::TermTitleOffsets)?;
        let texts = terms.iter().map(|(term, _)| &**term).collect();
        let mut output = TermOutput {
            writer,
            postings: PostingsWriter::new(),
            prefix_counts: PrefixCounter::new(texts, titles, self.title_docs),
        };
        let title_terms = self.write_documents(&mut output, |batches| {
            for (term, ranks) in terms {
                if self.collect(term, ranks, batches)?.is_break() {
                    break;
                }
            }
            Ok(())
        })?;
        output.prefix_counts.restart();
        let other_terms = self.write_documents(&mut output, |batches| {
            for_each_term(self.inputs, |term, is_title, ranks| {
                if is_title {
                    return Ok(ControlFlow::Continue(()));
                }
                self.collect(term, &ranks, batches)
            })
        })?;
        let TermOutput {
            writer,
            postings,
            prefix_counts,
        } = output;
        postings.finish(writer, Section::TermDocuments, Section::TermDocumentOffsets)?;
        prefix_counts.finish(writer)?;
        writer.section(Section::TitleTerms, &title_terms)?;
        writer.section(Section::OtherTerms, &other_terms)
    }

    /// Writes the documents of the terms that `collect` finds on another thread: collecting takes
    /// about as long as encoding. Returns the dictionary of the terms.
    fn write_documents(
        &self,
        output: &mut TermOutput<'_, '_>,
        collect: impl FnOnce(&mut BatchSender) -> Result<()> + Send,
    ) -> Result<Vec<u8>> {
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(MERGE_BATCHES_MAX);
            let docs_count = self.title_docs.numbers.len() as u32;
            let collector = scope.spawn(move || {
                let mut batches = BatchSender {
                    sender,
                    batch: TermBatch::default(),
                    sorter: DocSorter {
                        docs_count,
                        bits: Bits::new(docs_count),
                    },
                };
                collect(&mut batches)?;
                // The last batch: if it cannot be sent, writing failed and reports it.
                let _ = batches.send();
                Ok(())
            });
            let mut dictionary = DictionaryBuilder::new();
            let written = receiver
                .into_iter()
                .try_for_each(|batch| output.write(&batch, &mut dictionary));
            let collected = collector
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic));
            written.and(collected)?;
            Ok(dictionary.finish())
        })
    }

    /// Adds the documents of a term to a batch; nothing if none is live.
    fn collect(
        &self,
        term: &[u8],
        ranks: &TermRanks,
        batches: &mut BatchSender,
    ) -> Result<ControlFlow<()>> {
        let batch = &mut batches.batch;
        let start = batch.docs.len();
        for &(input_idx, rank) in ranks {
            let input = &self.inputs[input_idx];
            input.view.term_docs(rank)?.for_each(|doc| {
                let number = self.docs[input_idx][doc as usize];
                if number != DROPPED {
                    batch.docs.push(number);
                }
            });
        }
        if start == batch.docs.len() {
            return Ok(ControlFlow::Continue(()));
        }
        batches.sorter.sort(&mut batch.docs, start);
        batch.terms.extend_from_slice(term);
        batch.ends.push((batch.terms.len(), batch.docs.len()));
        if batch.docs.len() < MERGE_BATCH_DOCS {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(batches.send())
    }
}

/// Terms with their documents, one after the other.
#[derive(Default)]
struct TermBatch {
    terms: Vec<u8>,
    docs: Vec<u32>,
    /// End of each term in `terms`, and of its documents in `docs`.
    ends: Vec<(usize, usize)>,
}

/// The batch that is filled, and where it goes.
struct BatchSender {
    sender: SyncSender<TermBatch>,
    batch: TermBatch,
    sorter: DocSorter,
}

/// Sorter of the documents of one term.
struct DocSorter {
    docs_count: u32,
    bits: Bits,
}

impl DocSorter {
    /// Sorts the documents from `start` on: an ascending run for each input that has the term.
    fn sort(&mut self, docs: &mut Vec<u32>, start: usize) {
        if docs.len() - start < self.docs_count as usize / 64 {
            // The stable sort merges runs.
            docs[start..].sort();
            return;
        }
        // Merging the runs of a frequent term in fifty inputs moves each document six times.
        // Setting bits moves it once, and there are no more words of bits than documents.
        self.bits.clear();
        for doc in docs.drain(start..) {
            self.bits.insert(doc);
        }
        self.bits.decode(docs);
    }
}

impl BatchSender {
    /// Sends the batch; breaks if the receiver is gone.
    fn send(&mut self) -> ControlFlow<()> {
        match self.sender.send(std::mem::take(&mut self.batch)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Output of the documents of terms, and their counts.
struct TermOutput<'o, 'w> {
    writer: &'o mut SectionWriter<'w>,
    postings: PostingsWriter,
    prefix_counts: PrefixCounter<'o>,
}

impl TermOutput<'_, '_> {
    fn write(&mut self, batch: &TermBatch, dictionary: &mut DictionaryBuilder) -> Result<()> {
        let mut start = (0, 0);
        for &end in &batch.ends {
            let term = &batch.terms[start.0..end.0];
            let docs = &batch.docs[start.1..end.1];
            dictionary.push(term);
            self.prefix_counts.count(term, docs);
            self.postings.push_docs(self.writer, term, docs)?;
            start = end;
        }
        Ok(())
    }
}
