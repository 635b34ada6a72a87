//! A segment's bytes as documents and postings.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

use bytes::Bytes;

use crate::disk::{Mapping, TruncationFlag};
use crate::error::{Error, Result};
use crate::limits::INTERPOLATIONS_MAX;
use crate::model::RecordId;
use crate::query::{LanguageTerm, known_release_words};

use super::bisect::{gallop, partition};
use super::bits::Bits;
use super::columns::{ColumnValue, Columns, SharedColumns};
use super::cursor::BLOCK;
use super::dictionary::Dictionary;
use super::doc_offsets::DocOffsets;
use super::document::StoredDoc;
use super::key_filter::KeyFilter;
use super::packed::{Packed, SharedPacked};
use super::postings::Postings;
use super::section::{Section, Sections};
use super::title_keys::{KeyedTitle, find_key};
use super::uploader_term::write_uploader_term;

/// Expectation broken by a file that is truncated, or becomes unreadable, while it is open.
const NOT_TRUNCATED: &str = "a file that is whole as long as it is open";

/// Expectation broken by damaged packed numbers.
const PACKED_NUMBERS: &str = "packed numbers";

/// An open segment: bytes of a mapped file, or of the heap.
pub struct Segment {
    sections: Sections,
    title_terms: Dictionary,
    other_terms: Dictionary,
    /// The smallest and the greatest id; read at the first look-up of a document.
    id_bounds: OnceLock<[u128; 2]>,
    /// Times of its first and its last document; read at its first merge with another.
    time_bounds: OnceLock<TimeBounds>,
    /// Offsets of its documents; found when the first one is read.
    doc_offsets: OnceLock<DocOffsets>,
    /// Sections of a view; found when it is first searched.
    view_sections: OnceLock<ViewSections>,
}

/// Sections that every search may read, found once: their heads are far apart, a cache miss each.
struct ViewSections {
    columns: SharedColumns,
    title_text: Bytes,
    languages: SharedPacked,
    doc_titles: SharedPacked,
    title_offsets: SharedPacked,
    title_starts: SharedPacked,
    title_docs: SharedPacked,
    term_title_offsets: SharedPacked,
    term_doc_offsets: SharedPacked,
    prefix_terms: SharedPacked,
    prefix_counts: SharedPacked,
    catalog_numbers: SharedPacked,
    catalog_offsets: SharedPacked,
    value_codes: SharedPacked,
    value_offsets: SharedPacked,
    /// Words and catalog numbers; `None` if they are many. Made by the first search: a merge reads
    /// the segment as well, and looks no word up.
    keys: OnceLock<Option<KeyFilter>>,
    /// The documents without a year, if they are many; made by the first search for a year.
    yearless: OnceLock<Bits>,
    /// The words of families of releases; looked up by the first search that weighs them.
    release_terms: OnceLock<Box<[Option<Term>]>>,
}

/// Times of the newest and of the oldest document of a segment, tombstones included.
#[derive(Debug, Clone, Copy)]
struct TimeBounds {
    newest: TimeNumber,
    oldest: TimeNumber,
}

/// Digits of `YYYY-MM-DDTHH:MM:SSZ` as one number: it sorts like the time.
type TimeNumber = u64;

impl Segment {
    /// Checks header, footer and dictionaries; every other block is checked at its first use.
    ///
    /// `name` is the file below the data directory, for errors. Errors: [`crate::Error::Corrupt`].
    pub fn open(bytes: Bytes, name: &str) -> Result<Self> {
        Self::read(bytes, TruncationFlag::default(), name)
    }

    /// Opens a mapped file, which may be truncated while it is open.
    pub fn open_mapped(mapping: Mapping, name: &str) -> Result<Self> {
        let truncation_flag = mapping.truncation_flag();
        Self::read(Bytes::from_owner(mapping), truncation_flag, name)
    }

    fn read(bytes: Bytes, truncation_flag: TruncationFlag, name: &str) -> Result<Self> {
        let sections = Sections::open(bytes, truncation_flag, name)?;
        let dictionary = |section| {
            Dictionary::read(sections.whole_bytes(section)?)
                .ok_or_else(|| sections.corrupt(section, 0, "an fst"))
        };
        let title_terms = dictionary(Section::TitleTerms)?;
        let other_terms = dictionary(Section::OtherTerms)?;
        Ok(Self {
            sections,
            title_terms,
            other_terms,
            id_bounds: OnceLock::new(),
            time_bounds: OnceLock::new(),
            doc_offsets: OnceLock::new(),
            view_sections: OnceLock::new(),
        })
    }

    /// Fails if bytes of the file were missing when they were read: then nothing read from it can
    /// be trusted. Cost: an atomic load.
    pub fn ensure_not_truncated(&self) -> Result<()> {
        if self.sections.is_truncated() {
            return Err(Error::corrupt(self.name(), 0, NOT_TRUNCATED));
        }
        Ok(())
    }

    /// Returns true once any reader has met damage in the segment. Cost: an atomic load.
    pub fn is_damaged(&self) -> bool {
        self.sections.is_damaged()
    }

    /// An error in a section. Remembers that the segment is damaged.
    pub(super) fn corrupt(&self, section: Section, expected: &'static str) -> Error {
        self.sections.corrupt(section, 0, expected)
    }

    /// The name that it was opened with.
    pub fn name(&self) -> &str {
        self.sections.name()
    }

    /// Count of documents, those with tombstones included.
    pub fn len(&self) -> u32 {
        self.sections.docs_count()
    }

    /// True if the segment has no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the whole segment, and bytes of it that hold documents.
    pub fn size_bytes(&self) -> (u64, u64) {
        let document_bytes = self.sections.section_bytes(Section::Documents);
        (self.sections.segment_bytes(), document_bytes)
    }

    /// Bytes of all folded titles.
    pub(crate) fn title_bytes(&self) -> u64 {
        self.sections.section_bytes(Section::TitleText)
    }

    /// Count of title words.
    pub(super) fn title_terms_count(&self) -> u64 {
        self.title_terms.len() as u64
    }

    /// Name and bytes of each section, in file order: for reports.
    #[cfg(feature = "testing")]
    pub fn sections_bytes(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.sections.sizes()
    }

    pub(super) fn packed(&self, section: Section) -> Result<Packed<'_>> {
        Packed::read(self.sections.whole(section)?)
            .ok_or_else(|| self.sections.corrupt(section, 0, PACKED_NUMBERS))
    }

    /// Document with this id. Cost: an interpolation search, which reads about five documents; two
    /// comparisons for an id outside the range of the segment's ids. The latter is the usual case
    /// after an import: its segments are ranges of ids.
    pub fn find(&self, id: RecordId) -> Result<Option<u32>> {
        read_whole(std::iter::once(self), || self.interpolate(id))
    }

    fn interpolate(&self, id: RecordId) -> Result<Option<u32>> {
        let order = self.packed(Section::IdOrder)?;
        if order.len() == 0 {
            return Ok(None);
        }
        let wanted = u128::from_be_bytes(*id.as_bytes());
        let [mut lowest, mut highest] = self.id_bounds(order)?;
        if !(lowest..=highest).contains(&wanted) {
            return Ok(None);
        }
        // Random UUIDs are spread evenly: their value between the bounds predicts their position.
        // For ids that are not (made in sequence, or crafted) the search falls back to halving.
        let (mut from, mut to) = (0, order.len());
        let mut probes_count = 0;
        while from < to {
            probes_count += 1;
            // One is added to the width, so that the share stays below 1 for equal bounds.
            let at = if probes_count <= INTERPOLATIONS_MAX {
                let share = high_half(wanted - lowest) / (high_half(highest - lowest) + 1.0);
                from + ((share * (to - from) as f64) as usize).min(to - from - 1)
            } else {
                from + (to - from) / 2
            };
            let doc = order.get_u32(at);
            let found = u128::from_be_bytes(*self.id(doc)?.as_bytes());
            if found == wanted {
                return Ok(Some(doc));
            } else if found < wanted {
                from = at + 1;
                lowest = found;
            } else {
                to = at;
                highest = found;
            }
        }
        Ok(None)
    }

    fn id_bounds(&self, order: Packed<'_>) -> Result<[u128; 2]> {
        if let Some(bounds) = self.id_bounds.get() {
            return Ok(*bounds);
        }
        let id_at = |at: usize| -> Result<u128> {
            let id = self.id(order.get_u32(at))?;
            Ok(u128::from_be_bytes(*id.as_bytes()))
        };
        let bounds = [id_at(0)?, id_at(order.len() - 1)?];
        Ok(*self.id_bounds.get_or_init(|| bounds))
    }

    /// True if all its documents are newer than all of another segment. Neither may be empty. Cost:
    /// two documents of each, the first time.
    pub(crate) fn is_newer_than(&self, other: &Self) -> Result<bool> {
        Ok(self.time_bounds()?.oldest > other.time_bounds()?.newest)
    }

    /// True if its oldest document is older than that of another segment. Neither may be empty.
    pub(crate) fn ends_before(&self, other: &Self) -> Result<bool> {
        Ok(self.time_bounds()?.oldest < other.time_bounds()?.oldest)
    }

    /// Time of its newest document, as a number that sorts like it. It may not be empty.
    pub(crate) fn newest_time(&self) -> Result<u64> {
        Ok(self.time_bounds()?.newest)
    }

    fn time_bounds(&self) -> Result<TimeBounds> {
        if let Some(bounds) = self.time_bounds.get() {
            return Ok(*bounds);
        }
        // Documents are numbered newest first.
        let time_of = |doc: u32| -> Result<TimeNumber> {
            let time = self.doc(doc)?.time();
            time.and_then(time_number)
                .ok_or_else(|| self.damaged_doc(doc, "a time"))
        };
        let bounds = TimeBounds {
            newest: time_of(0)?,
            oldest: time_of(self.len() - 1)?,
        };
        Ok(*self.time_bounds.get_or_init(|| bounds))
    }

    /// The id of a document. Panics when there is no such document.
    pub fn id(&self, doc: u32) -> Result<RecordId> {
        let id = self.doc(doc)?.id();
        id.ok_or_else(|| self.damaged_doc(doc, "an id"))
    }

    /// A stored document. Panics when there is no such document.
    pub fn doc(&self, doc: u32) -> Result<StoredDoc<'_>> {
        assert!(
            doc < self.len(),
            "documents are below the count of the segment"
        );
        StoredDoc::read(self.doc_bytes(doc)?).ok_or_else(|| self.damaged_doc(doc, "a document"))
    }

    /// The bytes of a stored document.
    pub(super) fn doc_bytes(&self, doc: u32) -> Result<&[u8]> {
        let (offsets, doc) = (self.doc_offsets()?, doc as usize);
        let span = offsets.get(doc)..offsets.get(doc + 1);
        self.sections.part(Section::Documents, span)
    }

    #[inline]
    fn doc_offsets(&self) -> Result<&DocOffsets> {
        if let Some(offsets) = self.doc_offsets.get() {
            return Ok(offsets);
        }
        let bytes = |section| self.sections.whole_bytes(section);
        let (starts, offsets) = (
            bytes(Section::DocumentStarts)?,
            bytes(Section::DocumentOffsets)?,
        );
        let offsets = DocOffsets::read(starts, offsets);
        let damaged = || self.corrupt(Section::DocumentOffsets, PACKED_NUMBERS);
        let offsets = offsets.ok_or_else(damaged)?;
        Ok(self.doc_offsets.get_or_init(|| offsets))
    }

    /// Range of the answer fragment of a stored document in the documents section.
    pub(crate) fn fragment_range(&self, doc: u32, stored: &StoredDoc<'_>) -> Result<Range<usize>> {
        let end = self.doc_offsets()?.get(doc as usize + 1);
        Ok(end - stored.fragment().len()..end)
    }

    /// Answer fragment in a range of the documents section, of a document that was read before.
    #[inline]
    pub(crate) fn fragment(&self, range: Range<usize>) -> &[u8] {
        self.sections.known_part(Section::Documents, range)
    }

    /// Everything that a search reads. Cost: two pointers; the first time the checksums of all its
    /// sections.
    pub(crate) fn view(&self) -> Result<SegmentView<'_>> {
        let sections = match self.view_sections.get() {
            Some(sections) => sections,
            None => {
                let sections = self.find_view_sections()?;
                self.view_sections.get_or_init(|| sections)
            }
        };
        Ok(SegmentView {
            segment: self,
            sections,
        })
    }

    fn find_view_sections(&self) -> Result<ViewSections> {
        let columns = SharedColumns::read(self.sections.whole_bytes(Section::Columns)?)
            .ok_or_else(|| self.sections.corrupt(Section::Columns, 0, "columns"))?;
        let packed = |section| {
            SharedPacked::read(self.sections.whole_bytes(section)?)
                .ok_or_else(|| self.sections.corrupt(section, 0, PACKED_NUMBERS))
        };
        Ok(ViewSections {
            keys: OnceLock::new(),
            yearless: OnceLock::new(),
            release_terms: OnceLock::new(),
            columns,
            title_text: self.sections.whole_bytes(Section::TitleText)?,
            languages: packed(Section::Languages)?,
            doc_titles: packed(Section::DocumentTitles)?,
            title_offsets: packed(Section::TitleOffsets)?,
            title_starts: packed(Section::TitleStarts)?,
            title_docs: packed(Section::TitleDocuments)?,
            term_title_offsets: packed(Section::TermTitleOffsets)?,
            term_doc_offsets: packed(Section::TermDocumentOffsets)?,
            prefix_terms: packed(Section::PrefixTerms)?,
            prefix_counts: packed(Section::PrefixCounts)?,
            catalog_numbers: packed(Section::CatalogNumbers)?,
            catalog_offsets: packed(Section::CatalogOffsets)?,
            value_codes: packed(Section::ValueCodes)?,
            value_offsets: packed(Section::ValueOffsets)?,
        })
    }

    fn key_filter(&self, catalog_numbers: Packed<'_>) -> Option<KeyFilter> {
        let terms_count = self.title_terms.len() + self.other_terms.len();
        let mut keys = KeyFilter::new(terms_count + catalog_numbers.len())?;
        for dictionary in self.dictionaries() {
            dictionary.for_each(|term| keys.insert(term));
        }
        for at in 0..catalog_numbers.len() {
            keys.insert(&catalog_numbers.get(at).to_le_bytes());
        }
        Some(keys)
    }

    fn damaged_doc(&self, doc: u32, expected: &'static str) -> Error {
        let offsets = self.doc_offsets();
        let at = offsets.map_or(0, |offsets| offsets.get(doc as usize));
        self.sections.corrupt(Section::Documents, at, expected)
    }

    pub(super) fn sections(&self) -> &Sections {
        &self.sections
    }

    /// Rank, after all title terms, of a word that only descriptions have.
    pub(super) fn other_rank(&self, rank: u32) -> u32 {
        rank + self.title_terms.len() as u32
    }

    /// True if `rank` is that of a title term.
    pub(super) fn is_title_rank(&self, rank: u32) -> bool {
        (rank as usize) < self.title_terms.len()
    }

    /// Words of titles, and words of descriptions only.
    pub(super) fn dictionaries(&self) -> [&Dictionary; 2] {
        [&self.title_terms, &self.other_terms]
    }
}

/// A time in documents as a number; `None` if it is not a time.
fn time_number(text: &[u8]) -> Option<TimeNumber> {
    let text: &[u8; 20] = text.try_into().ok()?;
    let digits = text.iter().filter(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// Upper 64 bits: enough for a guess, where a division of 128 bits would take four times as long.
fn high_half(number: u128) -> f64 {
    (number >> 64) as u64 as f64
}

/// Reads segments; the result counts only if none of them was truncated during the reads.
///
/// Missing bytes read as zeros, which may lead to any result, and to a panic: both become the error
/// that names the file.
pub(crate) fn read_whole<'s, T>(
    segments: impl Iterator<Item = &'s Segment> + Clone,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    // Asked before, too: results from a truncated segment are discarded, so it need not be read.
    for segment in segments.clone() {
        segment.ensure_not_truncated()?;
    }
    // Unwinding is safe here: the closure only reads what it borrowed, and its result is dropped.
    let outcome = catch_unwind(AssertUnwindSafe(read));
    for segment in segments {
        segment.ensure_not_truncated()?;
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// A word of the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    /// Rank among title terms, or after all of them.
    pub(crate) rank: u32,
    /// True if it is a word of a title.
    pub(crate) is_title: bool,
}

/// Everything that a search reads of a segment.
#[derive(Clone, Copy)]
pub(crate) struct SegmentView<'a> {
    segment: &'a Segment,
    sections: &'a ViewSections,
}

impl<'a> SegmentView<'a> {
    /// Count of documents.
    pub(crate) fn docs_count(&self) -> u32 {
        self.segment.len()
    }

    /// The segment itself.
    pub(super) fn segment(&self) -> &'a Segment {
        self.segment
    }

    /// Count of distinct folded titles.
    pub(crate) fn titles_count(&self) -> u32 {
        self.sections.title_offsets.packed().len() as u32 - 1
    }

    /// Type, year, flags, source, season, episode of each document.
    #[inline(always)]
    pub(crate) fn columns(&self) -> Columns<'a> {
        self.sections.columns.columns()
    }

    // ---- terms

    /// False only for a word that the segment does not have.
    #[inline]
    pub(crate) fn may_have(&self, word: &str) -> bool {
        self.may_have_key(word.as_bytes())
    }

    fn may_have_key(&self, key: &[u8]) -> bool {
        let made = || {
            self.segment
                .key_filter(self.sections.catalog_numbers.packed())
        };
        let keys = self.sections.keys.get_or_init(made);
        keys.as_ref().is_none_or(|keys| keys.may_have(key))
    }

    /// Looks a word up, among title terms first.
    pub(crate) fn term(&self, word: &str) -> Option<Term> {
        if !self.may_have(word) {
            return None;
        }
        match self.segment.title_terms.rank(word.as_bytes()) {
            Some(rank) => Some(Term {
                rank,
                is_title: true,
            }),
            None => self.other_term(word),
        }
    }

    /// The words of families of releases, by their places. Cost: the first time a look-up of each.
    pub(crate) fn release_terms(&self) -> &'a [Option<Term>] {
        let found = || known_release_words().map(|word| self.term(word));
        let terms = &self.sections.release_terms;
        terms.get_or_init(|| found().collect())
    }

    /// Ranks of the title terms that begin with `prefix`.
    pub(crate) fn prefix_ranks(&self, prefix: &str) -> Range<u32> {
        self.segment.title_terms.prefix_ranks(prefix).0
    }

    /// Looks a word up; also returns the ranks of the other title terms that begin with it. Cost: a
    /// single walk through the title terms.
    pub(crate) fn term_and_prefixed(&self, word: &str) -> (Option<Term>, Range<u32>) {
        let (ranks, is_title) = self.segment.title_terms.prefix_ranks(word);
        if is_title {
            let rank = ranks.start;
            return (Some(Term { rank, is_title }), rank + 1..ranks.end);
        }
        let other = self.may_have(word).then(|| self.other_term(word));
        (other.flatten(), ranks)
    }

    fn other_term(&self, word: &str) -> Option<Term> {
        let rank = self.segment.other_terms.rank(word.as_bytes())?;
        Some(Term {
            rank: self.segment.other_rank(rank),
            is_title: false,
        })
    }

    /// Ranks of the title terms close to a word; see [`Dictionary::close_terms`].
    pub(crate) fn close_terms(&self, word: &str, distance_max: u8, out: &mut Vec<u32>) {
        self.segment
            .title_terms
            .close_terms(word, distance_max, out);
    }

    fn postings(&self, section: Section, span: Range<usize>) -> Result<Postings<'a>> {
        let at = span.start;
        let sections = &self.segment.sections;
        Postings::read(sections.part(section, span)?)
            .ok_or_else(|| sections.corrupt(section, at, "a set of numbers"))
    }

    /// Documents with the term in title or description.
    pub(crate) fn term_docs(&self, rank: u32) -> Result<Postings<'a>> {
        self.postings(
            Section::TermDocuments,
            self.sections.term_doc_offsets.packed().span(rank as usize),
        )
    }

    /// Documents of the uploader with exactly this name.
    pub(crate) fn uploader_docs(&self, name: &str) -> Result<Postings<'a>> {
        let mut term = String::new();
        write_uploader_term(name, &mut term);
        let term = Some(term).filter(|term| self.may_have(term));
        match term.and_then(|term| self.other_term(&term)) {
            Some(term) => self.term_docs(term.rank),
            None => Ok(Postings::EMPTY),
        }
    }

    /// Titles with the title term.
    pub(crate) fn term_titles(&self, rank: u32) -> Result<Postings<'a>> {
        self.postings(
            Section::TermTitles,
            self.sections
                .term_title_offsets
                .packed()
                .span(rank as usize),
        )
    }

    /// Count of documents that have a title word beginning with the term, but not the term itself.
    pub(crate) fn prefix_count(&self, rank: u32) -> u64 {
        // Few words are the prefix of another: only those are stored, sorted by rank.
        let ranks = self.sections.prefix_terms.packed();
        let at = partition(0, ranks.len(), |at| ranks.get_u32(at) < rank);
        if at == ranks.len() || ranks.get_u32(at) != rank {
            return 0;
        }
        self.sections.prefix_counts.packed().get(at)
    }

    // ---- titles

    /// Rank of a document's folded title.
    #[inline(always)]
    pub(crate) fn title_of(&self, doc: u32) -> u32 {
        self.sections.doc_titles.packed().get_u32(doc as usize)
    }

    /// Ranks of the folded titles of up to [`BLOCK`] documents, in their order.
    ///
    /// No read depends on another, so the processor has many under way at once; where each title is
    /// used before the next is read, a loop waits for every one.
    #[inline]
    pub(crate) fn titles_of(&self, docs: &[u32]) -> [u32; BLOCK] {
        let mut titles = [0; BLOCK];
        for (title, &doc) in titles.iter_mut().zip(docs) {
            *title = self.title_of(doc);
        }
        titles
    }

    /// The folded title with this rank.
    pub(crate) fn title(&self, title: u32) -> &'a [u8] {
        let span = self.sections.title_offsets.packed().span(title as usize);
        &self.sections.title_text[span.start..span.end - 1]
    }

    /// Count of titles that sort before `text`.
    pub(crate) fn titles_before(&self, text: &[u8]) -> u32 {
        let is_before = |title: usize| self.title(title as u32) < text;
        partition(0, self.titles_count() as usize, is_before) as u32
    }

    /// The title that is equal to `text`, and the ranks of those that begin with it and a space.
    ///
    /// Cost: one binary search; the end of the range is found from its start by galloping.
    pub(crate) fn titles_of_text(&self, text: &str) -> (Option<u32>, Range<u32>) {
        let (text, count) = (text.as_bytes(), self.titles_count());
        let at = self.titles_before(text);
        let is_equal = at < count && self.title(at) == text;
        // No character of a title sorts before a space: between the text and the titles that
        // continue it with one there is nothing.
        let from = at + u32::from(is_equal);
        let goes_on = |title: usize| {
            let rest = self.title(title as u32).strip_prefix(text);
            rest.is_some_and(|rest| rest.first() == Some(&b' '))
        };
        let to = gallop(from as usize, count as usize, goes_on) as u32;
        (is_equal.then_some(at), from..to)
    }

    /// The titles with a title key. Cost: a binary search, which computes keys.
    pub(crate) fn titles_of_key(&self, key: &str) -> Result<Vec<KeyedTitle>> {
        let order = self.segment.packed(Section::TitleKeys)?;
        Ok(find_key(order, key, |title| self.title(title)))
    }

    /// Count of documents that have one of a range of titles.
    pub(crate) fn titles_docs_count(&self, titles: Range<u32>) -> u64 {
        let starts = self.sections.title_starts.packed();
        starts.get(titles.end as usize) - starts.get(titles.start as usize)
    }

    /// Documents that have a title, ascending.
    #[inline]
    pub(crate) fn title_docs(&self, title: u32) -> impl Iterator<Item = u32> + use<'a> {
        self.titles_docs(title..title + 1)
    }

    /// Documents that have one of a range of titles, title by title.
    #[inline]
    pub(crate) fn titles_docs(&self, titles: Range<u32>) -> impl Iterator<Item = u32> + use<'a> {
        let docs = self.sections.title_docs.packed();
        let starts = self.sections.title_starts.packed();
        let start = starts.get(titles.start as usize) as usize;
        let end = starts.get(titles.end as usize) as usize;
        (start..end).map(move |at| docs.get_u32(at))
    }

    /// The text from a place in a folded title on: the rest of the title, a line feed, the titles
    /// after it.
    #[inline]
    pub(super) fn text_from(&self, title: u32, offset: usize) -> &'a [u8] {
        let start = self.sections.title_offsets.packed().get(title as usize) as usize;
        &self.sections.title_text[start + offset..]
    }

    /// Answer fragment of a document, with its texts as written.
    pub(crate) fn fragment(&self, doc: u32) -> Result<&'a [u8]> {
        Ok(self.segment.doc(doc)?.fragment())
    }

    // ---- catalog ids, columns, languages

    /// False only for a catalog number that the segment does not have.
    pub(crate) fn may_have_number(&self, number: u64) -> bool {
        self.may_have_key(&number.to_le_bytes())
    }

    /// Documents with this catalog id, and those of its episodes that are not among them.
    pub(crate) fn catalog_docs(&self, number: u64) -> Result<[Postings<'a>; 2]> {
        let numbers = self.sections.catalog_numbers.packed();
        let offsets = self.sections.catalog_offsets.packed();
        let at = partition(0, numbers.len(), |at| numbers.get(at) < number);
        if at == numbers.len() || numbers.get(at) != number {
            return Ok([Postings::EMPTY; 2]);
        }
        let own = self.postings(Section::CatalogDocuments, offsets.span(2 * at))?;
        let parent = self.postings(Section::CatalogDocuments, offsets.span(2 * at + 1))?;
        Ok([own, parent])
    }

    /// Documents with a column value.
    pub(crate) fn value_docs(&self, value: ColumnValue) -> Result<Postings<'a>> {
        let code = value.code();
        let found = self.values_docs(code..code + 1)?;
        Ok(found.first().copied().unwrap_or(Postings::EMPTY))
    }

    /// Documents without a year. Many are kept as bits: each search for a year unites them, which
    /// took a quarter of the time of one for a frequent word. The first time costs that.
    pub(crate) fn yearless_docs(&self) -> Result<Postings<'a>> {
        let stored = self.value_docs(ColumnValue::Year(None))?;
        if stored.count() < self.docs_count() / u64::BITS {
            return Ok(stored);
        }
        let bits = self.sections.yearless.get_or_init(|| {
            let mut bits = Bits::new(self.docs_count());
            stored.union_into(&mut bits);
            bits
        });
        Ok(stored.with_bits(bits))
    }

    /// Documents of a season: a set for each of its episodes, and one for its packs.
    pub(crate) fn season_docs(&self, season: u16) -> Result<Vec<Postings<'a>>> {
        let first = ColumnValue::SeasonEpisode(season, 0).code();
        self.values_docs(first..first + (1 << 16))
    }

    fn values_docs(&self, wanted: Range<u64>) -> Result<Vec<Postings<'a>>> {
        let codes = self.sections.value_codes.packed();
        let offsets = self.sections.value_offsets.packed();
        let from = partition(0, codes.len(), |at| codes.get(at) < wanted.start);
        (from..codes.len())
            .take_while(|&at| codes.get(at) < wanted.end)
            .map(|at| self.postings(Section::ValueDocuments, offsets.span(at)))
            .collect()
    }

    /// The languages of the segment, in the order of their numbers.
    pub(crate) fn language_terms(&self) -> Result<impl Iterator<Item = LanguageTerm> + use<'a>> {
        let bytes = self.segment.sections.whole(Section::LanguageTable)?;
        Ok(bytes
            .chunks_exact(6)
            .map(|term| LanguageTerm::from_bytes(term.try_into().expect("chunks of six"))))
    }

    /// Index of a document's language in the language table.
    #[inline(always)]
    pub(crate) fn language_of(&self, doc: u32) -> u32 {
        self.sections.languages.packed().get_u32(doc as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, Real};
    use crate::index::SegmentBuilder;
    use crate::model::Record;

    /// The mark is asked before, too: a read without it meets the gap again, and its work is
    /// wasted.
    #[test]
    fn a_segment_that_is_known_to_be_truncated_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.seg");
        let mut builder = SegmentBuilder::new();
        for number in 0..200 {
            let record = Record::new(RecordId::from_bytes([number; 16]), "Ran");
            builder.add(&record).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let file = Real.open(&path).unwrap().unwrap();
        let segment = Segment::open_mapped(file.map().unwrap(), "1.seg").unwrap();
        let read = |reads_count: &mut u32| {
            read_whole(std::iter::once(&segment), || {
                *reads_count += 1;
                segment.id(7)
            })
        };
        let mut reads_count = 0;
        assert!(read(&mut reads_count).is_ok());
        std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
        // The first one meets the gap and marks it, the second finds the mark.
        for _ in 0..2 {
            assert!(matches!(read(&mut reads_count), Err(Error::Corrupt { .. })));
            assert_eq!(reads_count, 2);
        }
    }
}
