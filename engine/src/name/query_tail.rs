//! Words of a query that give neither title nor year nor episode: they order the hits.

use std::cell::OnceCell;
use std::ops::Range;

use super::marks::Mark;
use super::parsed_name::ParsedName;
use super::tokens::{NameTokens, plain};
use super::years::YearWords;
use crate::text::{fold, words};

/// The words of a query as it was written, split on demand.
#[derive(Debug, Clone)]
pub(super) struct OriginalWords {
    text: String,
    words: OnceCell<NameTokens>,
}

impl OriginalWords {
    /// The words of a query without its ending.
    pub(super) fn new(stem: &str) -> Self {
        Self {
            text: stem.to_owned(),
            words: OnceCell::new(),
        }
    }

    fn words(&self) -> &NameTokens {
        let split = || NameTokens::of_plain(plain(&self.text));
        self.words.get_or_init(split)
    }
}

/// A number that is read as an episode, with the title that then stands before it.
pub(super) struct Marked<'a> {
    pub(super) title: &'a Range<usize>,
    pub(super) year: Option<&'a YearWords>,
    pub(super) number: Range<usize>,
}

/// The words of a query that are no words of the title, the year or a mark.
pub(super) fn tail(
    original: &OriginalWords,
    name: &ParsedName,
    marked: Option<&Marked<'_>>,
) -> Vec<String> {
    let (tokens, original) = (&name.words.tokens, original.words());
    let (title, year) = match marked {
        Some(marked) => (marked.title, marked.year),
        None => (&name.title.words, name.year.as_ref()),
    };
    let is_mark = |idx: usize| {
        let in_mark = |mark: &Mark| mark.words.contains(&idx);
        name.words.marks.iter().any(in_mark)
            || name.mark.as_ref().is_some_and(|mark| mark.contains(&idx))
            || marked.is_some_and(|marked| marked.number.contains(&idx))
    };
    let mut left = String::new();
    // Words that were removed from the name before it was read stand in the query only: both have
    // their words at the same bytes.
    let mut idx = 0;
    for at in 0..original.len() {
        while idx < tokens.len() && tokens.start(idx) < original.start(at) {
            idx += 1;
        }
        let is_read = idx < tokens.len() && tokens.start(idx) == original.start(at);
        let is_told = is_read
            && (title.contains(&idx)
                || year.is_some_and(|year| year.words.contains(&idx))
                || is_mark(idx));
        if !is_told {
            left.push_str(original.word(at));
            left.push(' ');
        }
        idx += usize::from(is_read);
    }
    words(&fold(&left)).map(str::to_owned).collect()
}
