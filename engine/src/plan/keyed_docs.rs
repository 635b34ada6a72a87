//! Documents by the key of their title (SEARCH.md 1.7).

use crate::error::Result;
use crate::index::{ColumnValue, SegmentView};

/// The documents with a title key, ascending. Cost: a binary search, then linear in the documents
/// of the titles.
pub(crate) fn keyed_docs(view: &SegmentView<'_>, key: &str) -> Result<Vec<u32>> {
    let titles = view.titles_of_key(key)?;
    let mut docs = Vec::new();
    if titles.is_empty() {
        return Ok(docs);
    }
    // Of a folded title with two spellings, only the documents with this one.
    let elided = view.value_docs(ColumnValue::ElidedTitle)?.lookup();
    for keyed in titles {
        let of_title = view.title_docs(keyed.title);
        docs.extend(of_title.filter(|&doc| elided.contains(doc) == keyed.is_elided));
    }
    docs.sort_unstable();
    Ok(docs)
}
