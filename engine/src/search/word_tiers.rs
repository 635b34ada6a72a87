//! Tiers of the `query` branch: relevance 2, 3 and 4 come from the titles with all plain words.

use std::ops::RangeInclusive;

use crate::plan::{FullTitles, PlanContext};

use super::tiered_top::TierSize;

/// The titles with all plain words, as tiers.
pub(super) struct WordTiers<'t, 'a> {
    context: &'t PlanContext<'a>,
    titles: &'t FullTitles<'a>,
}

impl<'t, 'a> WordTiers<'t, 'a> {
    /// Relevances of the tiers, best first.
    pub(super) const RELEVANCES: RangeInclusive<u8> = 2..=4;

    /// Tiers of these titles.
    pub(super) fn new(context: &'t PlanContext<'a>, titles: &'t FullTitles<'a>) -> Self {
        Self { context, titles }
    }

    /// Upper bound, or estimate, of the titles and documents of a tier.
    pub(super) fn size(&self, relevance: u8) -> TierSize {
        let titles = self.titles;
        let docs_count = |titles| self.context.view.titles_docs_count(titles);
        match relevance {
            2 => TierSize {
                titles: titles.equal.len() as u64,
                docs: titles
                    .equal
                    .iter()
                    .map(|&title| docs_count(title..title + 1))
                    .sum(),
            },
            3 => TierSize {
                titles: titles.prefixed.iter().map(|range| range.len() as u64).sum(),
                docs: titles.prefixed.iter().cloned().map(docs_count).sum(),
            },
            _ => TierSize {
                titles: titles.len() as u64,
                docs: titles.len() as u64 * self.context.costs.title_docs_estimate,
            },
        }
    }

    /// Calls `each` with every title of a tier.
    pub(super) fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32)) {
        let titles = self.titles;
        match relevance {
            2 => titles.equal.iter().copied().for_each(each),
            3 => {
                // "lost girl 2010" begins with the text "lost girl", but is equal to the text with
                // the year marker: it has relevance 2. And one range may be a part of another.
                let is_prefixed = |title: &u32| titles.member_relevance(*title) == 3;
                let ranges = titles.prefixed.iter().cloned();
                let mut prefixed: Vec<u32> = ranges.flatten().filter(is_prefixed).collect();
                prefixed.sort_unstable();
                prefixed.dedup();
                prefixed.into_iter().for_each(each);
            }
            _ => titles.for_each(|title| {
                if titles.member_relevance(title) == 4 {
                    each(title);
                }
            }),
        }
    }
}
