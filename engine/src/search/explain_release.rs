//! Explanation of releases: how a value is read as the name of one, and which words agree.

use std::fmt::Write as _;

use crate::error::Result;
use crate::plan::has_word;
use crate::query::{ParsedText, RELATIVE_WEIGHT, ReleaseName, ReleaseWord};

use super::hits::Hit;
use super::segment_search::ParsedQuery;
use super::snapshot::{QueryReading, Snapshot};

/// A release word of a request, and whether a hit has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordOfRelease {
    /// The word, folded.
    pub word: String,
    /// Its weight (SEARCH.md 5.6).
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

/// The name of a release as it was read, and the weights of its tail.
pub(super) fn describe_name(parsed: &ParsedQuery<'_>, name: &ReleaseName<'_>) -> String {
    let mut text = format!(
        "query as the name of a release: name [{}]",
        name.name().join(" ")
    );
    let episode_word = parsed.free_text.as_ref().and_then(ParsedText::episode_word);
    if let Some(word) = episode_word {
        let _ = write!(text, ", episode marker {word}");
    }
    if !name.years().is_empty() {
        let years: Vec<String> = name.years().iter().map(|y| y.get().to_string()).collect();
        let _ = write!(text, ", years [{}]", years.join(" "));
    }
    let tail = parsed.weighed_tail(name.tail());
    let _ = write!(text, ", tail [{}]", weighted(&tail));
    text
}

/// The words of `release` with their weights.
pub(super) fn describe_release(words: &[ReleaseWord<'_>]) -> String {
    format!("release: words [{}]", weighted(words))
}

fn weighted(words: &[ReleaseWord<'_>]) -> String {
    let shown = words
        .iter()
        .map(|word| format!("{} {}", word.word, word.weight));
    shown.collect::<Vec<_>>().join(", ")
}

/// The words by which a hit was weighed (SEARCH.md 5.5); none if it was not.
pub(super) fn words_of_release(
    snapshot: &Snapshot,
    parsed: &ParsedQuery<'_>,
    reading: QueryReading,
    hit: &Hit,
) -> Result<Vec<WordOfRelease>> {
    let is_by_name = reading == QueryReading::ReleaseName && hit.relevance == 8;
    let words = match (&parsed.release, parsed.release_name()) {
        (Some(words), _) => words.clone(),
        (None, Some(name)) if is_by_name => parsed.weighed_tail(name.tail()),
        (None, _) => Vec::new(),
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
