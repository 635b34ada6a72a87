//! Counts of the documents that the prefix rule adds to each word. They are computed when a segment
//! is written, so that a search for one word knows its total without reading a document.

use crate::error::Result;
use crate::limits::PREFIX_CHARS_MIN;

use super::packed::pack;
use super::section::{Section, SectionWriter};
use super::writer::Groups;

/// Counts for each term the documents that have a title word which begins with the term, but not
/// the term itself.
///
/// Cost: for each term with such title words, linear in its documents and in theirs.
pub(crate) struct PrefixCounter<'a> {
    title_terms: Vec<&'a [u8]>,
    term_titles: &'a Groups,
    title_docs: &'a Groups,
    /// Index of the first title term that does not sort before the last counted term.
    cursor: usize,
    /// Round in which each title was last counted. A new round forgets all without clearing.
    title_rounds: Vec<u32>,
    /// Last round in which each document had the term.
    doc_rounds: Vec<u32>,
    round: u32,
    /// Ranks of the terms with a count above zero.
    ranks: Vec<u64>,
    /// Count of each of `ranks`.
    counts: Vec<u64>,
    next_rank: u64,
}

impl<'a> PrefixCounter<'a> {
    /// A counter for sorted title terms, the titles of each term, and the documents of each title.
    pub(crate) fn new(
        title_terms: Vec<&'a [u8]>,
        term_titles: &'a Groups,
        title_docs: &'a Groups,
    ) -> Self {
        Self {
            title_terms,
            term_titles,
            title_docs,
            cursor: 0,
            title_rounds: vec![0; title_docs.starts.len() - 1],
            doc_rounds: vec![0; title_docs.numbers.len()],
            round: 0,
            ranks: Vec::new(),
            counts: Vec::new(),
            next_rank: 0,
        }
    }

    /// Returns to the first title term: the terms that only descriptions have are counted next, in
    /// their own order.
    pub(crate) fn restart(&mut self) {
        self.cursor = 0;
    }

    /// Counts for the next term in order; `docs` are the documents with the term itself.
    pub(crate) fn count(&mut self, term: &[u8], docs: &[u32]) {
        let rank = self.next_rank;
        self.next_rank += 1;
        let terms = &self.title_terms;
        // Terms come sorted, so the title terms after this one begin where the last search ended.
        while self.cursor < terms.len() && terms[self.cursor] < term {
            self.cursor += 1;
        }
        let mut from = self.cursor;
        if terms.get(from) == Some(&term) {
            from += 1;
        }
        let begins = |other: &&[u8]| other.starts_with(term);
        let to = from
            + terms[from..]
                .iter()
                .take_while(|other| begins(other))
                .count();
        let is_long =
            str::from_utf8(term).is_ok_and(|term| term.chars().count() >= PREFIX_CHARS_MIN);
        if from == to || !is_long {
            return;
        }
        let added_count = self.added_count(from..to, docs);
        if added_count > 0 {
            self.ranks.push(rank);
            self.counts.push(added_count);
        }
    }

    fn added_count(&mut self, others: std::ops::Range<usize>, docs: &[u32]) -> u64 {
        self.round += 1;
        for &doc in docs {
            self.doc_rounds[doc as usize] = self.round;
        }
        let mut added_count = 0;
        for other in others {
            // A title may have two such words ("lost" and "losers" for "los"): it counts once. No
            // document counts twice, because each has one title.
            for &title in self.term_titles.get(other as u32) {
                let seen_in = &mut self.title_rounds[title as usize];
                if std::mem::replace(seen_in, self.round) == self.round {
                    continue;
                }
                let added = self.title_docs.get(title).iter();
                let is_new = |doc: &&u32| self.doc_rounds[**doc as usize] != self.round;
                added_count += added.filter(is_new).count() as u64;
            }
        }
        added_count
    }

    /// Writes the counts that are not zero.
    pub(crate) fn finish(self, writer: &mut SectionWriter<'_>) -> Result<()> {
        writer.section(Section::PrefixTerms, &pack(self.ranks.iter().copied()))?;
        writer.section(Section::PrefixCounts, &pack(self.counts.iter().copied()))
    }
}
