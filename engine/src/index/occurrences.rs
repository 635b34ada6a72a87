//! Occurrences of a text in titles, as a range of suffixes.

use super::suffix::Suffixes;

/// Neighbour of an occurrence on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The title begins or ends there.
    Title,
    /// A word begins or ends there.
    Word,
    /// The word continues.
    Inside,
}

/// Positions in titles at which a text occurs.
pub(crate) struct Occurrences<'a> {
    suffixes: Suffixes<'a>,
    /// Starts of those that end a title, of those that end a word, of the others; and the end.
    bounds: [usize; 4],
}

impl<'a> Occurrences<'a> {
    pub(super) fn new(suffixes: Suffixes<'a>, bounds: [usize; 4]) -> Self {
        Self { suffixes, bounds }
    }

    /// Calls `each` with the title of every position, and its neighbours before and after.
    /// Cost: a read of neighbouring numbers each.
    #[inline]
    pub(crate) fn for_each(&self, mut each: impl FnMut(u32, Side, Side)) {
        let [first, second, third, end] = self.bounds;
        // The range determines the neighbour after; only the one before is read for each position.
        let sides = [Side::Title, Side::Word, Side::Inside];
        for (range, after) in [first..second, second..third, third..end]
            .into_iter()
            .zip(sides)
        {
            for idx in range {
                let position = self.suffixes.get(idx);
                let before = match position.offset {
                    0 => Side::Title,
                    _ if position.begins_word => Side::Word,
                    _ => Side::Inside,
                };
                each(position.title, before, after);
            }
        }
    }
}
