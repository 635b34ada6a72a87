//! The documents of each release word in one segment (SEARCH.md 5.6).

use crate::error::Result;
use crate::index::{BlockSums, Postings, SegmentView};
use crate::limits::MISSING_WEIGHT_MAX;
use crate::query::{RELATIVE_WEIGHT, ReleaseWord};

use super::marker_clauses::term_docs;

const _: () = assert!(MISSING_WEIGHT_MAX <= BlockSums::MAX);

/// Documents of a release word, and of the other words of its family.
pub(crate) struct ReleaseSet<'a> {
    /// Weight of a document with the word.
    pub(crate) weight: u8,
    /// Documents with the word.
    pub(crate) docs: Postings<'a>,
    /// Documents of each other word of the family.
    pub(crate) relatives: Vec<Postings<'a>>,
}

impl ReleaseSet<'_> {
    /// Weight of a document that has not the word, but another one of its family.
    pub(crate) fn relative_weight(&self) -> u8 {
        self.weight - RELATIVE_WEIGHT
    }

    /// The greatest weight of a document.
    pub(crate) fn weight_max(&self) -> u8 {
        if self.docs.count() > 0 {
            self.weight
        } else {
            self.relative_weight()
        }
    }
}

/// The release words over one segment.
pub(crate) struct ReleaseSets<'a> {
    /// Sets of the words that occur in a document.
    pub(crate) sets: Vec<ReleaseSet<'a>>,
    /// Sum of the weights of all release words.
    pub(crate) weight_sum: u8,
}

impl<'a> ReleaseSets<'a> {
    /// Looks the words up. Cost: a dictionary look-up for each word of no family; the first time in
    /// a segment, for each word of all families.
    pub(crate) fn new(view: &SegmentView<'a>, words: &[ReleaseWord<'_>]) -> Result<Self> {
        let known = view.release_terms();
        let mut sets = Vec::with_capacity(words.len());
        for word in words {
            let term = match word.place {
                Some(place) => known[place],
                None => view.term(word.word),
            };
            let mut relatives = Vec::new();
            for &place in word.relative_places() {
                if known[place].is_some() {
                    relatives.push(term_docs(view, known[place])?);
                }
            }
            if term.is_some() || !relatives.is_empty() {
                sets.push(ReleaseSet {
                    weight: word.weight,
                    docs: term_docs(view, term)?,
                    relatives,
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
