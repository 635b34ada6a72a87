//! The documents of each release word in one segment (SEARCH.md 5.6).

use crate::error::Result;
use crate::index::{BlockSums, Postings, SegmentView};
use crate::limits::MISSING_WEIGHT_MAX;
use crate::query::ReleaseWord;

use super::marker_clauses::term_docs;

const _: () = assert!(MISSING_WEIGHT_MAX <= BlockSums::MAX);

/// Documents of a release word.
pub(crate) struct ReleaseSet<'a> {
    pub(crate) weight: u8,
    pub(crate) docs: Postings<'a>,
}

/// The release words over one segment.
pub(crate) struct ReleaseSets<'a> {
    /// Sets of the words that some document has.
    pub(crate) sets: Vec<ReleaseSet<'a>>,
    /// Sum of the weights of all release words.
    pub(crate) weight_sum: u8,
}

impl<'a> ReleaseSets<'a> {
    /// Looks the words up. Cost: a dictionary look-up for each word.
    pub(crate) fn new(view: &SegmentView<'a>, words: &[ReleaseWord<'_>]) -> Result<Self> {
        let mut sets = Vec::with_capacity(words.len());
        for ReleaseWord { word, weight } in words {
            let docs = term_docs(view, view.term(word))?;
            if docs.count() > 0 {
                sets.push(ReleaseSet {
                    weight: *weight,
                    docs,
                });
            }
        }
        Ok(Self {
            sets,
            weight_sum: words.iter().map(|word| word.weight).sum(),
        })
    }
}

/// True if a document has the word, in its title or its description.
pub(crate) fn has_word(view: &SegmentView<'_>, word: &str, doc: u32) -> Result<bool> {
    let docs = term_docs(view, view.term(word))?;
    Ok(docs.cursor(1).seek(&[doc]) != 0)
}
