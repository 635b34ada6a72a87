//! Years of a name (NAMES.md N2).

use std::ops::Range;

use super::tokens::{NameTokens, is_blank, is_dash};
use super::word_class::year;

/// A year of a name, or two joined by a dash; the first one counts (NAMES.md N2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YearWords {
    pub(crate) year: u32,
    pub(crate) words: Range<usize>,
    /// True for two years joined by a dash without blanks: `2010-2016`.
    pub(crate) is_joined: bool,
}

/// Years in their order; two that a dash joins are one.
pub(crate) fn years(tokens: &NameTokens, year_last: u32) -> Vec<YearWords> {
    let mut years = Vec::new();
    let mut idx = 0;
    while idx < tokens.len() {
        let Some(first) = year(tokens.word(idx), year_last) else {
            idx += 1;
            continue;
        };
        let gap = tokens.gap(idx + 1);
        let mut dash = gap.trim_matches(is_blank).chars();
        let is_dash_only = dash.next().is_some_and(is_dash) && dash.next().is_none();
        let is_pair = is_dash_only && year(tokens.word(idx + 1), year_last).is_some();
        let end = idx + 1 + usize::from(is_pair);
        years.push(YearWords {
            year: first,
            words: idx..end,
            is_joined: is_pair && !gap.contains(is_blank),
        });
        idx = end;
    }
    years
}
