//! Explanation of releases: how a value is read as the name of one, and which words agree.

use std::fmt::Write as _;

use crate::error::Result;
use crate::plan::has_word;
use crate::query::{ParsedText, ReleaseName, ReleaseWord, release_words};

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
    /// True if it is among the words of the hit.
    pub agrees: bool,
}

impl WordOfRelease {
    /// The words that agree and those that are missing, with their weights.
    pub(super) fn listed(words: &[Self]) -> String {
        let mut parts = Vec::new();
        for (label, agrees) in [("has", true), ("lacks", false)] {
            let listed = words.iter().filter(|word| word.agrees == agrees);
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
    let tail = release_words(name.tail());
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
        (None, Some(name)) if is_by_name => release_words(name.tail()),
        (None, _) => Vec::new(),
    };
    let view = snapshot.parts()[hit.part_idx as usize].0.view()?;
    let mut explained = Vec::with_capacity(words.len());
    for ReleaseWord { word, weight } in words {
        explained.push(WordOfRelease {
            word: word.to_owned(),
            weight,
            agrees: has_word(&view, word, hit.doc)?,
        });
    }
    Ok(explained)
}
