//! Filtering of document lists without a branch for each document.
//!
//! Columns are read at addresses in no order that the processor could predict. Where no branch
//! depends on a value, it starts the next reads before the first one has arrived; a mispredicted
//! branch for every other document would cost more than the reads.

/// Keeps the documents for which `keep` is true, in order.
#[inline]
pub(super) fn retain(docs: &mut Vec<u32>, mut keep: impl FnMut(u32) -> bool) {
    let mut kept = 0;
    for idx in 0..docs.len() {
        // Always written, and overwritten by the next one unless this one is kept.
        let doc = docs[idx];
        docs[kept] = doc;
        kept += usize::from(keep(doc));
    }
    docs.truncate(kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::index::retain_blocks;

    use super::*;

    proptest! {
        #[test]
        fn both_keep_what_is_wanted(
            docs in prop::collection::vec(any::<u32>(), 0..300), remainder in 0u32..3,
        ) {
            let is_wanted = |doc: u32| doc % 3 == remainder;
            let expected: Vec<u32> = docs.iter().copied().filter(|&doc| is_wanted(doc)).collect();
            let mut kept = docs.clone();
            retain(&mut kept, is_wanted);
            prop_assert_eq!(&kept, &expected);
            let mut kept = docs;
            retain_blocks(&mut kept, |block| {
                let bit = |(idx, &doc): (usize, &u32)| u64::from(is_wanted(doc)) << idx;
                block.iter().enumerate().map(bit).sum()
            });
            prop_assert_eq!(kept, expected);
        }
    }
}
