//! Check of a whole segment against itself, for the scrubber.

use crate::error::Result;

use super::Segment;
use super::dictionary::Dictionary;
use super::doc_offsets::RUN_DOCS;
use super::packed::Packed;
use super::postings::Postings;
use super::section::Section;
use super::title_keys::KeyedTitle;

impl Segment {
    /// Checks every block and every structure, whether used or not: for the scrubber.
    ///
    /// Cost: one pass over the whole segment. Errors: [`crate::Error::Corrupt`], with its offset.
    pub fn verify_all(&self) -> Result<()> {
        // Checksums first: a structure is not interpreted unless its bytes are those written.
        self.sections().check_blocks(0, u64::MAX)?;
        self.verify_columns()?;
        self.verify_documents()?;
        self.verify_titles()?;
        self.verify_title_keys()?;
        let docs_count = self.len();
        let titles_count = self.view()?.titles_count();
        self.verify_sets(Section::TermTitles, Section::TermTitleOffsets, titles_count)?;
        self.verify_sets(
            Section::TermDocuments,
            Section::TermDocumentOffsets,
            docs_count,
        )?;
        self.verify_sets(
            Section::CatalogDocuments,
            Section::CatalogOffsets,
            docs_count,
        )?;
        self.verify_sets(Section::ValueDocuments, Section::ValueOffsets, docs_count)
    }

    /// Checks some blocks anew: about `bytes`, beginning with block `first`. Returns the next
    /// block; `None` at the end. Damage is remembered as if a search had met it.
    pub(crate) fn check_blocks(&self, first: usize, bytes: u64) -> Result<Option<usize>> {
        let next = self.sections().check_blocks(first, bytes)?;
        self.ensure_not_truncated()?;
        Ok(next)
    }

    fn expect(&self, is_so: bool, section: Section, at: usize, what: &'static str) -> Result<()> {
        if is_so {
            return Ok(());
        }
        Err(self.sections().corrupt(section, at, what))
    }

    fn verify_columns(&self) -> Result<()> {
        let docs_count = self.len() as usize;
        let view = self.view()?;
        let [title_terms, other_terms] = self.dictionaries().map(Dictionary::len);
        let what = "as many numbers as the segment needs";
        for (section, count) in [
            (Section::DocumentStarts, docs_count / RUN_DOCS + 1),
            (Section::DocumentOffsets, docs_count + 1),
            (Section::IdOrder, docs_count),
            (Section::Downloads, docs_count),
            (Section::Languages, docs_count),
            (Section::DocumentTitles, docs_count),
            (Section::TitleDocuments, docs_count),
            (Section::TitleStarts, view.titles_count() as usize + 1),
            (Section::TermTitleOffsets, title_terms + 1),
            (Section::TermDocumentOffsets, title_terms + other_terms + 1),
        ] {
            self.expect(self.packed(section)?.len() == count, section, 0, what)?;
        }
        self.expect(
            view.columns().len() == docs_count,
            Section::Columns,
            0,
            what,
        )?;
        let languages_count = view.language_terms()?.count() as u32;
        let is_known = |doc| view.language_of(doc) < languages_count;
        let are_known = (0..self.len()).all(is_known);
        self.expect(are_known, Section::Languages, 0, "languages of the table")
    }

    fn verify_documents(&self) -> Result<()> {
        let downloads = self.packed(Section::Downloads)?;
        let mut before = None;
        for doc in 0..self.len() {
            let stored = self.doc(doc)?;
            let at = std::cmp::Reverse(stored.time());
            let id = Some(self.id(doc)?);
            let is_later = before.is_none_or(|before| before < (at, id));
            let what = "documents newest first, then by id";
            self.expect(is_later, Section::Documents, doc as usize, what)?;
            let are_equal = downloads.get_u32(doc as usize) == stored.downloads();
            let what = "the downloads of the documents";
            self.expect(are_equal, Section::Downloads, doc as usize, what)?;
            before = Some((at, id));
        }
        let order = self.packed(Section::IdOrder)?;
        let mut last = None;
        for at in 0..order.len() {
            let doc = order.get_u32(at);
            let what = "documents in the order of their ids";
            self.expect(doc < self.len(), Section::IdOrder, at, what)?;
            let id = Some(self.id(doc)?);
            self.expect(last < id, Section::IdOrder, at, what)?;
            last = id;
        }
        Ok(())
    }

    fn verify_titles(&self) -> Result<()> {
        let view = self.view()?;
        let mut docs_count = 0;
        for title in 0..view.titles_count() {
            let is_sorted = title == 0 || view.title(title - 1) < view.title(title);
            let what = "sorted titles in UTF-8";
            let is_text = str::from_utf8(view.title(title)).is_ok();
            self.expect(
                is_sorted && is_text,
                Section::TitleText,
                title as usize,
                what,
            )?;
            let mut last = None;
            for doc in view.title_docs(title) {
                let is_next = last < Some(doc) && doc < self.len();
                let what = "ascending documents of each title";
                let is_own = is_next && view.title_of(doc) == title;
                self.expect(is_own, Section::TitleDocuments, doc as usize, what)?;
                last = Some(doc);
                docs_count += 1;
            }
        }
        let what = "a title for each document";
        self.expect(docs_count == self.len(), Section::TitleDocuments, 0, what)
    }

    fn verify_title_keys(&self) -> Result<()> {
        let view = self.view()?;
        let order = self.packed(Section::TitleKeys)?;
        let mut is_keyed = vec![false; view.titles_count() as usize];
        let mut before = String::new();
        for at in 0..order.len() {
            let keyed = KeyedTitle::from_code(order.get_u32(at));
            let what = "titles in the order of their keys";
            let is_known = keyed.title < view.titles_count();
            self.expect(is_known, Section::TitleKeys, at, what)?;
            let key = keyed.key(view.title(keyed.title));
            self.expect(before <= key, Section::TitleKeys, at, what)?;
            is_keyed[keyed.title as usize] = true;
            before = key;
        }
        let what = "a key of each title";
        let are_keyed = is_keyed.iter().all(|&is_keyed| is_keyed);
        self.expect(are_keyed, Section::TitleKeys, 0, what)
    }

    fn verify_sets(&self, sets: Section, offsets: Section, limit: u32) -> Result<()> {
        let bytes = self.sections().whole(sets)?;
        let offsets: Packed<'_> = self.packed(offsets)?;
        for idx in 0..offsets.len().saturating_sub(1) {
            let span = offsets.span(idx);
            let at = span.start;
            let set = bytes.get(span).and_then(Postings::read);
            let is_sound = set.is_some_and(|set| set.is_sound(limit));
            self.expect(is_sound, sets, at, "ascending numbers below their limit")?;
        }
        Ok(())
    }
}
