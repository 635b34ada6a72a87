//! Titles in the order of their keys (SEARCH.md 1.7).
//!
//! A folded title has one key, or two: `lauberge` may be `L'auberge`, with the key `auberge`. The
//! keys themselves are not stored: a search for one computes those of the 17 titles that a binary
//! search visits, of 100,000.

use std::cmp::Ordering;

use crate::text::{compare_title_key, folded_title_key};

use super::bisect::partition;
use super::packed::Packed;

/// A folded title, and one of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyedTitle {
    /// The title.
    pub(crate) title: u32,
    /// True if the key is that of the title with an apostrophe after its first letter.
    pub(crate) is_elided: bool,
}

impl KeyedTitle {
    /// The title and the key of a code.
    pub(super) fn from_code(code: u32) -> Self {
        Self {
            title: code / 2,
            is_elided: !code.is_multiple_of(2),
        }
    }

    /// The key, of the folded title.
    pub(super) fn key(self, folded: &[u8]) -> String {
        folded_title_key(&String::from_utf8_lossy(folded), self.is_elided)
    }

    fn code(self) -> u32 {
        2 * self.title + u32::from(self.is_elided)
    }
}

/// Codes of the titles of a segment, one for each key of a title, sorted by key. `text` has the
/// sorted titles, and `offsets` their starts and the end; `doc_titles` is the title of each
/// document, and `elided_docs` are the documents with a title that begins with an `l` and an
/// apostrophe.
///
/// Cost: a key for each title, and a sort.
pub(super) fn key_order(
    text: &[u8],
    offsets: &[u64],
    doc_titles: &[u32],
    elided_docs: &[u32],
) -> Vec<u32> {
    let titles_count = offsets.len() - 1;
    let mut has_key = [vec![false; titles_count], vec![false; titles_count]];
    let mut elided_docs = elided_docs.iter().peekable();
    for (doc, &title) in (0..).zip(doc_titles) {
        let is_elided = elided_docs.next_if_eq(&&doc).is_some();
        has_key[usize::from(is_elided)][title as usize] = true;
    }
    let mut keyed = Vec::with_capacity(titles_count);
    for title in 0..titles_count {
        for is_elided in [false, true] {
            if has_key[usize::from(is_elided)][title] {
                let (start, end) = (offsets[title] as usize, offsets[title + 1] as usize - 1);
                let title = title as u32;
                let keyed_title = KeyedTitle { title, is_elided };
                let key = keyed_title.key(&text[start..end]);
                keyed.push((key.into_boxed_str(), keyed_title.code()));
            }
        }
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, code)| code).collect()
}

/// The titles with a key, in the order of the segment; `title` gives a folded title.
pub(super) fn find_key<'t>(
    order: Packed<'_>,
    key: &str,
    title: impl Fn(u32) -> &'t [u8],
) -> Vec<KeyedTitle> {
    let keyed_title = |at: usize| KeyedTitle::from_code(order.get_u32(at));
    let compare = |at: usize| {
        let keyed = keyed_title(at);
        // A title that is not UTF-8 was damaged on its way: it has no key.
        let folded = str::from_utf8(title(keyed.title)).unwrap_or_default();
        compare_title_key(folded, keyed.is_elided, key)
    };
    let first = partition(0, order.len(), |at| compare(at) == Ordering::Less);
    let having = (first..order.len()).take_while(|&at| compare(at) == Ordering::Equal);
    having.map(keyed_title).collect()
}
