//! Merge of the titles of segments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Result;

use super::merge_input::{DROPPED, MergeInput};
use super::writer::TitleTexts;

/// The titles that still have documents.
pub(super) struct MergedTitles {
    /// New number of each title of each input, or [`DROPPED`].
    pub(super) numbers: Vec<Vec<u32>>,
    /// The titles, without repetition.
    pub(super) texts: TitleTexts,
}

/// Numbers the titles of all inputs that a live document has, and sorts their suffixes.
///
/// Reads nothing that depends on the new numbers of documents, so it can run in parallel with their
/// merge.
pub(super) fn merge_titles(inputs: &[MergeInput<'_>]) -> Result<MergedTitles> {
    let mut numbers: Vec<Vec<u32>> = inputs.iter().map(kept_titles).collect();
    // Titles are sorted in each input, so the least head is the next title.
    let mut heads = BinaryHeap::with_capacity(inputs.len());
    for (input_idx, input) in inputs.iter().enumerate() {
        heads.extend(head(input, input_idx, &numbers[input_idx], 0)?);
    }
    let mut texts = Vec::new();
    while let Some(Reverse((text, input_idx, title))) = heads.pop() {
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        numbers[input_idx][title as usize] = texts.len() as u32 - 1;
        let input = &inputs[input_idx];
        heads.extend(head(input, input_idx, &numbers[input_idx], title + 1)?);
    }
    Ok(MergedTitles {
        numbers,
        texts: TitleTexts::new(texts.into_iter()),
    })
}

/// For each title of an input 0 if a live document has it, else [`DROPPED`].
fn kept_titles(input: &MergeInput<'_>) -> Vec<u32> {
    let mut titles = vec![DROPPED; input.view.titles_count() as usize];
    for doc in (0..input.segment.len()).filter(|&doc| input.is_live(doc)) {
        titles[input.view.title_of(doc) as usize] = 0;
    }
    titles
}

/// Merge head of a title: its text, the input, its number there.
type TitleHead<'a> = Reverse<(&'a str, usize, u32)>;

/// Merge head of the first kept title at or after `from`.
fn head<'a>(
    input: &MergeInput<'a>,
    input_idx: usize,
    numbers: &[u32],
    from: u32,
) -> Result<Option<TitleHead<'a>>> {
    let mut titles = from..numbers.len() as u32;
    let Some(title) = titles.find(|&title| numbers[title as usize] != DROPPED) else {
        return Ok(None);
    };
    Ok(Some(Reverse((input.title_text(title)?, input_idx, title))))
}
