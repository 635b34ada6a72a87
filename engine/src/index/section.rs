//! The outer form of a segment: header, sections, footer, and a checksum for every block.
//!
//! ```text
//! header   0   8  magic "SUBCSEGM"
//!          8   4  format version
//!         12   4  documents
//!         16   8  fingerprint of the folding that made the terms
//!         24   8  xxh3 of the 24 bytes before
//! sections    …   one after the other, in the order of `Section`
//! footer       per section: 8 offset, 8 bytes, then 8 for the xxh3 of each block of it
//! trailer  0   8  offset of the footer
//!          8   8  xxh3 of the footer
//!         16   8  magic "SUBCSEGM"
//! ```
//! All integers are little-endian. A block is [`BLOCK_BYTES`] of one section, the last one shorter.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::TruncationFlag;
use crate::error::{Error, Result};
use crate::text::FOLDING_FINGERPRINT;

const MAGIC: [u8; 8] = *b"SUBCSEGM";
/// Version of the format that this program reads and writes.
const VERSION: u32 = 7;
/// Bytes that one checksum covers.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;
const HEADER_BYTES: usize = 32;
const TRAILER_BYTES: usize = 24;

/// The parts of a segment, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Section {
    /// Stored documents, in answer order.
    Documents,
    /// Packed: start of each run of documents (`doc_offsets`).
    DocumentStarts,
    /// Packed: offset of each document, and of the end, from the start of its run.
    DocumentOffsets,
    /// Packed: documents in the order of their ids.
    IdOrder,
    /// Year, type, season and episode of each document.
    Columns,
    /// Packed: upstream's downloads of each document, for the order by them.
    Downloads,
    /// Packed: number of each document's language.
    Languages,
    /// The languages.
    LanguageTable,
    /// Packed: number of each document's folded title.
    DocumentTitles,
    /// The distinct folded titles, sorted, between line feeds.
    TitleText,
    /// Packed: start of each title in the text, and the end.
    TitleOffsets,
    /// Packed: start of the documents of each title, and the end.
    TitleStarts,
    /// Packed: documents by title, ascending in each.
    TitleDocuments,
    /// Positions in titles, sorted by the text that follows.
    Suffixes,
    /// Packed: least predecessor of each block of positions (`repeats`); empty if no text is
    /// repeated in many titles.
    Repeats,
    /// Packed: the titles in the order of their keys, each twice its number, and one more for its
    /// key as a title that begins with an `l` and an apostrophe.
    TitleKeys,
    /// Titles of each title term.
    TermTitles,
    /// Packed: start of the titles of each title term, and the end.
    TermTitleOffsets,
    /// Documents of each term, title terms first.
    TermDocuments,
    /// Packed: start of the documents of each term, and the end.
    TermDocumentOffsets,
    /// Packed: terms that are the prefix of other title terms, where that adds documents.
    PrefixTerms,
    /// Packed: number of documents that those title terms add to each term of `PrefixTerms`.
    PrefixCounts,
    /// fst: words of titles, with their ranks.
    TitleTerms,
    /// fst: words that only descriptions have, and uploaders (`uploader_term`), with their ranks.
    OtherTerms,
    /// Documents of each catalog id: its own, then those of its episodes that are not its own.
    CatalogDocuments,
    /// Packed: start of both sets of each catalog id, and the end.
    CatalogOffsets,
    /// Packed: numbers of catalog ids, sorted.
    CatalogNumbers,
    /// Documents of each column value.
    ValueDocuments,
    /// Packed: start of the documents of each column value, and the end.
    ValueOffsets,
    /// Packed: codes of the column values that have postings, sorted.
    ValueCodes,
}

/// Count of sections.
pub(crate) const SECTIONS_COUNT: usize = Section::ValueCodes as usize + 1;

/// Writes the sections of a segment in order, then its footer.
pub(crate) struct SectionWriter<'a> {
    out: &'a mut dyn Write,
    /// Offset at which the current section starts.
    written: u64,
    /// Entries of the finished sections.
    footer: Vec<u8>,
    /// Incomplete block: a checksum needs the whole of it.
    block: Vec<u8>,
    section_bytes: u64,
    /// Checksums of the full blocks of the current section.
    checksums: Vec<u64>,
    sections_count: usize,
    document_bytes: u64,
}

impl<'a> SectionWriter<'a> {
    /// Writes the header; sections follow.
    pub(crate) fn new(out: &'a mut dyn Write, docs_count: u32) -> Result<Self> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&docs_count.to_le_bytes());
        header.extend_from_slice(&FOLDING_FINGERPRINT.to_le_bytes());
        header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
        out.write_all(&header).map_err(write_failed)?;
        Ok(Self {
            out,
            written: HEADER_BYTES as u64,
            footer: Vec::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            section_bytes: 0,
            checksums: Vec::new(),
            sections_count: 0,
            document_bytes: 0,
        })
    }

    /// Size of the section that is being written, in bytes.
    pub(crate) fn section_bytes(&self) -> u64 {
        self.section_bytes
    }

    /// Appends to the section that is being written.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.section_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let taken = bytes.len().min(BLOCK_BYTES - self.block.len());
            self.block.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.block.len() == BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        self.checksums.push(xxh3_64(&self.block));
        self.out.write_all(&self.block).map_err(write_failed)?;
        self.block.clear();
        Ok(())
    }

    /// Ends a section; `section` must be the next one.
    pub(crate) fn end(&mut self, section: Section) -> Result<()> {
        assert_eq!(
            section as usize, self.sections_count,
            "sections come in order"
        );
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.footer.extend_from_slice(&self.written.to_le_bytes());
        self.footer
            .extend_from_slice(&self.section_bytes.to_le_bytes());
        for checksum in self.checksums.drain(..) {
            self.footer.extend_from_slice(&checksum.to_le_bytes());
        }
        if section == Section::Documents {
            self.document_bytes = self.section_bytes;
        }
        self.written += self.section_bytes;
        self.section_bytes = 0;
        self.sections_count += 1;
        Ok(())
    }

    /// Writes a whole section.
    pub(crate) fn section(&mut self, section: Section, bytes: &[u8]) -> Result<()> {
        self.write(bytes)?;
        self.end(section)
    }

    /// Writes footer and trailer; returns the bytes of the segment and of its documents.
    pub(crate) fn finish(self) -> Result<(u64, u64)> {
        assert_eq!(
            self.sections_count, SECTIONS_COUNT,
            "every section is written"
        );
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&self.written.to_le_bytes());
        trailer.extend_from_slice(&xxh3_64(&self.footer).to_le_bytes());
        trailer.extend_from_slice(&MAGIC);
        self.out.write_all(&self.footer).map_err(write_failed)?;
        self.out.write_all(&trailer).map_err(write_failed)?;
        let segment_bytes = self.written + (self.footer.len() + TRAILER_BYTES) as u64;
        Ok((segment_bytes, self.document_bytes))
    }
}

fn write_failed(source: std::io::Error) -> Error {
    Error::Io {
        action: "write a segment to",
        path: "index".into(),
        source,
    }
}

/// Position of a section, and its blocks that were found sound.
struct SectionState {
    offset: usize,
    len: usize,
    /// Checksum of each block.
    checksums: Box<[u64]>,
    /// A bit for each block, set once the block was found sound.
    checked: Box<[AtomicU64]>,
    /// True once all blocks were found sound: then one load replaces a look at their bits.
    is_checked: AtomicBool,
}

/// The sections of an open segment.
pub(crate) struct Sections {
    bytes: Bytes,
    name: Box<str>,
    truncation_flag: TruncationFlag,
    /// True once any reader has met damage: the segment must then be rebuilt.
    is_damaged: AtomicBool,
    docs_count: u32,
    sections: Vec<SectionState>,
}

impl Sections {
    /// Checks header, footer and trailer. `truncation_flag` is that of the mapping of the bytes.
    pub(crate) fn open(bytes: Bytes, truncation_flag: TruncationFlag, name: &str) -> Result<Self> {
        let corrupt = |offset, expected| Error::corrupt(name, offset, expected);
        let header = bytes
            .get(..HEADER_BYTES)
            .ok_or_else(|| corrupt(0, "the header of a segment"))?;
        if header[..8] != MAGIC {
            return Err(corrupt(0, "the magic number of a segment"));
        }
        // The checksum comes before the fields: otherwise a damaged version would be reported as a
        // segment of another program.
        if read_u64(header, 24) != Some(xxh3_64(&header[..24])) {
            return Err(corrupt(24, "the checksum of the header"));
        }
        if read_u64(header, 8).map(|word| word as u32) != Some(VERSION) {
            return Err(corrupt(8, "version 7 of the segment format"));
        }
        if read_u64(header, 16) != Some(FOLDING_FINGERPRINT) {
            return Err(corrupt(16, "terms folded as this program folds"));
        }
        let docs_count = (read_u64(header, 8).unwrap_or(0) >> 32) as u32;
        let sections = read_footer(&bytes, name)?;
        Ok(Self {
            bytes,
            name: name.into(),
            truncation_flag,
            is_damaged: AtomicBool::new(false),
            docs_count,
            sections,
        })
    }

    /// True if bytes of the file were missing when they were read. Cost: an atomic load.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncation_flag.is_truncated()
    }

    /// The name that the segment was opened with.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Count of documents, from the header.
    pub(crate) fn docs_count(&self) -> u32 {
        self.docs_count
    }

    /// Bytes of the whole segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes of a section.
    pub(crate) fn section_bytes(&self, section: Section) -> u64 {
        self.sections[section as usize].len as u64
    }

    /// Name and bytes of each section.
    #[cfg(feature = "testing")]
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let size = |section| (format!("{section:?}"), self.section_bytes(section));
        ALL.into_iter().map(size)
    }

    /// A whole section, with every block checked. Cost after its first use: one atomic load.
    pub(crate) fn whole(&self, section: Section) -> Result<&[u8]> {
        let state = &self.sections[section as usize];
        let bytes = &self.bytes[state.offset..state.offset + state.len];
        // Checked at first use, not when the file is opened: a start would read every file. Two
        // threads may check the same block; both get the same result.
        if !state.is_checked.load(Ordering::Acquire) {
            self.check(section, 0, state.len)?;
            state.is_checked.store(true, Ordering::Release);
        }
        Ok(bytes)
    }

    /// A whole section as a cheap handle.
    pub(crate) fn whole_bytes(&self, section: Section) -> Result<Bytes> {
        self.whole(section)?;
        let state = &self.sections[section as usize];
        Ok(self.bytes.slice(state.offset..state.offset + state.len))
    }

    /// A part of a section, with its blocks checked. Cost after the first use: one atomic load per
    /// block.
    #[inline]
    pub(crate) fn part(&self, section: Section, range: std::ops::Range<usize>) -> Result<&[u8]> {
        let state = &self.sections[section as usize];
        if range.start > range.end || range.end > state.len {
            return Err(self.corrupt(section, range.start, "offsets inside the section"));
        }
        if !state.is_checked.load(Ordering::Acquire) {
            self.check(section, range.start, range.end)?;
        }
        Ok(&self.bytes[state.offset + range.start..state.offset + range.end])
    }

    /// A section that [`Sections::whole`] returned before: its blocks are known to be sound.
    #[inline]
    pub(crate) fn known_whole(&self, section: Section) -> &[u8] {
        let state = &self.sections[section as usize];
        &self.bytes[state.offset..state.offset + state.len]
    }

    /// A part of a section that [`Sections::part`] returned before: its blocks are known to be
    /// sound. Panics outside the section.
    #[inline]
    pub(crate) fn known_part(&self, section: Section, range: std::ops::Range<usize>) -> &[u8] {
        &self.known_whole(section)[range]
    }

    fn check(&self, section: Section, from: usize, to: usize) -> Result<()> {
        let state = &self.sections[section as usize];
        for block_idx in from / BLOCK_BYTES..to.div_ceil(BLOCK_BYTES) {
            let (word, bit) = (&state.checked[block_idx / 64], 1 << (block_idx % 64));
            if word.load(Ordering::Acquire) & bit != 0 {
                continue;
            }
            self.check_block(section, block_idx)?;
            // Release pairs with the acquire above: a thread that sees the bit may read the block.
            word.fetch_or(bit, Ordering::Release);
        }
        Ok(())
    }

    fn check_block(&self, section: Section, block_idx: usize) -> Result<()> {
        let state = &self.sections[section as usize];
        let start = block_idx * BLOCK_BYTES;
        let end = state.len.min(start + BLOCK_BYTES);
        let block = &self.bytes[state.offset + start..state.offset + end];
        if xxh3_64(block) != state.checksums[block_idx] {
            return Err(self.corrupt(section, start, "a block that has its checksum"));
        }
        Ok(())
    }

    /// Checks blocks anew, counted through all sections: about `bytes` of them, beginning with
    /// `first`. Returns the next one; `None` at the end.
    pub(crate) fn check_blocks(&self, first: usize, bytes: u64) -> Result<Option<usize>> {
        let end = first + (bytes as usize).div_ceil(BLOCK_BYTES);
        let mut before = 0;
        for section in ALL {
            let blocks_count = self.sections[section as usize].checksums.len();
            for block_idx in first.saturating_sub(before)..blocks_count {
                if before + block_idx == end {
                    return Ok(Some(end));
                }
                self.check_block(section, block_idx)?;
            }
            before += blocks_count;
        }
        Ok(None)
    }

    /// An error at a byte of a section. Remembers that the segment is damaged.
    pub(crate) fn corrupt(&self, section: Section, at: usize, expected: &'static str) -> Error {
        self.is_damaged.store(true, Ordering::Release);
        let offset = self.sections[section as usize].offset + at;
        Error::corrupt(&*self.name, offset as u64, expected)
    }

    /// Returns true once any reader has met damage. Cost: an atomic load.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }
}

/// All sections, in file order.
const ALL: [Section; SECTIONS_COUNT] = [
    Section::Documents,
    Section::DocumentStarts,
    Section::DocumentOffsets,
    Section::IdOrder,
    Section::Columns,
    Section::Downloads,
    Section::Languages,
    Section::LanguageTable,
    Section::DocumentTitles,
    Section::TitleText,
    Section::TitleOffsets,
    Section::TitleStarts,
    Section::TitleDocuments,
    Section::Suffixes,
    Section::Repeats,
    Section::TitleKeys,
    Section::TermTitles,
    Section::TermTitleOffsets,
    Section::TermDocuments,
    Section::TermDocumentOffsets,
    Section::PrefixTerms,
    Section::PrefixCounts,
    Section::TitleTerms,
    Section::OtherTerms,
    Section::CatalogDocuments,
    Section::CatalogOffsets,
    Section::CatalogNumbers,
    Section::ValueDocuments,
    Section::ValueOffsets,
    Section::ValueCodes,
];

fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

fn read_footer(bytes: &[u8], name: &str) -> Result<Vec<SectionState>> {
    let trailer_at = bytes.len().saturating_sub(TRAILER_BYTES);
    let corrupt = |at: usize, expected| Error::corrupt(name, at as u64, expected);
    if trailer_at < HEADER_BYTES || bytes[trailer_at + 16..] != MAGIC {
        return Err(corrupt(trailer_at, "the trailer of a segment"));
    }
    let footer_at = read_u64(bytes, trailer_at).and_then(|at| usize::try_from(at).ok());
    let footer = footer_at.and_then(|at| bytes.get(at..trailer_at));
    let (Some(footer_at), Some(footer)) = (footer_at, footer) else {
        return Err(corrupt(trailer_at, "the offset of the footer"));
    };
    if read_u64(bytes, trailer_at + 8) != Some(xxh3_64(footer)) {
        return Err(corrupt(footer_at, "a footer that has its checksum"));
    }
    let mut sections = Vec::with_capacity(SECTIONS_COUNT);
    let (mut at, mut next_offset) = (0, HEADER_BYTES);
    for _ in 0..SECTIONS_COUNT {
        let state = read_section(footer, &mut at, next_offset)
            .filter(|state| state.len <= footer_at - state.offset)
            .ok_or_else(|| corrupt(footer_at + at, "sections one after the other"))?;
        next_offset = state.offset + state.len;
        sections.push(state);
    }
    if at != footer.len() || next_offset != footer_at {
        return Err(corrupt(footer_at, "sections up to the footer"));
    }
    Ok(sections)
}

fn read_section(footer: &[u8], at: &mut usize, offset: usize) -> Option<SectionState> {
    let stored_offset = usize::try_from(read_u64(footer, *at)?).ok()?;
    let len = usize::try_from(read_u64(footer, *at + 8)?).ok()?;
    let blocks_count = len.div_ceil(BLOCK_BYTES);
    let checksums = footer
        .get(*at + 16..)?
        .get(..blocks_count.checked_mul(8)?)?;
    *at += 16 + checksums.len();
    // Sections have no gaps: any other offset is damage.
    if stored_offset != offset {
        return None;
    }
    Some(SectionState {
        offset,
        len,
        checksums: checksums
            .chunks_exact(8)
            .map(|chunk| u64::from_le_bytes(chunk.try_into().expect("chunks of eight")))
            .collect(),
        checked: (0..blocks_count.div_ceil(64))
            .map(|_| AtomicU64::new(0))
            .collect(),
        is_checked: AtomicBool::new(len == 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = SectionWriter::new(&mut bytes, 3).unwrap();
        for (idx, section) in ALL.into_iter().enumerate() {
            writer
                .section(section, &vec![idx as u8; idx * 1500])
                .unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    fn opened(bytes: Vec<u8>) -> Result<Sections> {
        Sections::open(bytes.into(), TruncationFlag::default(), "x")
    }

    #[test]
    fn gives_back_every_section() {
        let sections = opened(written()).unwrap();
        assert_eq!(sections.docs_count(), 3);
        for (idx, section) in ALL.into_iter().enumerate() {
            assert_eq!(
                sections.whole(section).unwrap(),
                vec![idx as u8; idx * 1500]
            );
        }
        assert_eq!(sections.check_blocks(0, u64::MAX).unwrap(), None);
        let part = sections.part(Section::ValueCodes, 20_000..20_003).unwrap();
        assert_eq!(part, [Section::ValueCodes as u8; 3]);
        assert!(sections.part(Section::ValueCodes, 44_000..44_001).is_err());
    }

    #[test]
    fn finds_every_flipped_byte() {
        let good = written();
        for at in (0..good.len())
            .step_by(37)
            .chain(good.len() - 200..good.len())
        {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            let found = opened(bytes).and_then(|s| s.check_blocks(0, u64::MAX).map(drop));
            assert!(found.is_err(), "byte {at}");
        }
    }

    #[test]
    fn refuses_every_truncation() {
        let good = written();
        for len in (0..good.len())
            .step_by(97)
            .chain(good.len() - 30..good.len())
        {
            assert!(opened(good[..len].to_vec()).is_err(), "{len}");
        }
    }
}
