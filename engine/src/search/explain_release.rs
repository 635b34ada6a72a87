//! Explanation of releases: the words that agree.

use crate::error::Result;
use crate::plan::has_word;
use crate::query::{RELATIVE_WEIGHT, ReleaseWord};

use super::Snapshot;
use super::hits::Hit;
use super::reading::QueryReading;
use super::segment_search::ParsedQuery;

/// A release word of a request, and the weight that a hit lacks of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordOfRelease {
    /// The word, folded.
    pub word: String,
    /// Weight of the word (SEARCH.md 5.6).
    pub weight: u8,
    /// Weight that the hit lacks of it: none if it has the word, little if it has another one of
    /// the family.
    pub missing: u8,
}

impl WordOfRelease {
    /// The words that agree and those that are missing, with their weights.
    pub(super) fn listed(words: &[Self]) -> String {
        let mut parts = Vec::new();
        let has: fn(&Self) -> bool = |word| word.missing == 0;
        let has_relative: fn(&Self) -> bool = |word| 0 < word.missing && word.missing < word.weight;
        let lacks: fn(&Self) -> bool = |word| word.missing == word.weight;
        let labels = [
            ("has", has),
            ("has the like of", has_relative),
            ("lacks", lacks),
        ];
        for (label, is_listed) in labels {
            let listed = words.iter().filter(|word| is_listed(word));
            let shown = listed.map(|word| format!("{} {}", word.word, word.weight));
            let shown = shown.collect::<Vec<_>>().join(", ");
            if !shown.is_empty() {
                parts.push(format!("{label} {shown}"));
            }
        }
        parts.join("; ")
    }
}

/// The words of `release` with their weights.
pub(super) fn describe_release(words: &[ReleaseWord<'_>]) -> String {
    format!("release: words [{}]", weighted(words))
}

/// Words and their weights.
pub(super) fn weighted(words: &[ReleaseWord<'_>]) -> String {
    let shown = words
        .iter()
        .map(|word| format!("{} {}", word.word, word.weight));
    shown.collect::<Vec<_>>().join(", ")
}

/// The words by which a hit was weighed (SEARCH.md 5.5); empty if it was not.
pub(super) fn words_of_release(
    snapshot: &Snapshot,
    parsed: &ParsedQuery<'_>,
    reading: QueryReading,
    hit: &Hit,
) -> Result<Vec<WordOfRelease>> {
    let name = parsed.release_name();
    let lookup = reading.lookup(parsed);
    let tail: Vec<&str> = match (lookup, &name) {
        (Some(lookup), _) => lookup.tail.iter().map(String::as_str).collect(),
        (None, Some(name)) if reading == QueryReading::ReleaseName => name.tail().to_vec(),
        (None, _) => Vec::new(),
    };
    let words = match &parsed.release {
        Some(words) => words.clone(),
        None if hit.relevance == 8 => parsed.weighed_tail(&tail),
        None => Vec::new(),
    };
    let view = snapshot.parts()[hit.part_idx as usize].0.view()?;
    let mut explained = Vec::with_capacity(words.len());
    for release_word in words {
        let ReleaseWord { word, weight, .. } = release_word;
        let mut missing = 0;
        if !has_word(&view, word, hit.doc)? {
            let mut has_relative = false;
            for relative in release_word.relatives() {
                has_relative |= has_word(&view, relative, hit.doc)?;
            }
            missing = if has_relative {
                RELATIVE_WEIGHT
            } else {
                weight
            };
        }
        explained.push(WordOfRelease {
            word: word.to_owned(),
            weight,
            missing,
        });
    }
    Ok(explained)
}
