//! The documents of each release word in one segment (SEARCH.md 5.6).

use crate::error::Result;
use crate::index::{BlockSums, Postings, SegmentView};
use crate::limits::MISSING_WEIGHT_MAX;
use crate::query::{RELATIVE_WEIGHT, ReleaseWord};

use super::marker_clauses::term_docs;

const _: () = assert!(MISSING_WEIGHT_MAX <= BlockSums::MAX);

/// Documents that have any of some words, and the weight that they get for it.
pub(crate) struct ReleaseSet<'a> {
    pub(crate) weight: u8,
    /// Documents of each of the words.
    pub(crate) docs: Vec<Postings<'a>>,
}

/// The release words over one segment.
pub(crate) struct ReleaseSets<'a> {
    /// Sets of the words that occur in a document.
    pub(crate) sets: Vec<ReleaseSet<'a>>,
    /// Sum of the weights of all release words.
    pub(crate) weight_sum: u8,
}

impl<'a> ReleaseSets<'a> {
    /// Looks the words up. Cost: a dictionary look-up for each word of their families.
    pub(crate) fn new(view: &SegmentView<'a>, words: &[ReleaseWord<'_>]) -> Result<Self> {
        let mut sets = Vec::with_capacity(words.len());
        for word in words {
            let docs = term_docs(view, view.term(word.word))?;
            let mut united = Vec::new();
            for relative in word.relatives() {
                let docs = term_docs(view, view.term(relative))?;
                united.extend(Some(docs).filter(|docs| docs.count() > 0));
            }
            // A document with another word of the family gets all but one of the weight: so the
            // family gives that, and the word itself the one.
            let own_weight = match united.len() {
                0 => word.weight,
                _ => RELATIVE_WEIGHT,
            };
            if docs.count() > 0 {
                let docs = vec![docs];
                sets.push(ReleaseSet {
                    weight: own_weight,
                    docs: docs.clone(),
                });
                if !united.is_empty() {
                    united.extend(docs);
                }
            }
            if !united.is_empty() {
                sets.push(ReleaseSet {
                    weight: word.weight - RELATIVE_WEIGHT,
                    docs: united,
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
