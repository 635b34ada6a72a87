//! A set for look-ups, made ready for them by the first.

use std::cell::OnceCell;

use crate::index::{Lookup, Postings};

/// A stored set that is asked for single numbers, or never: a list is decoded by the first
/// question, and most searches of small segments ask none.
pub(crate) struct LazyLookup<'a> {
    set: Postings<'a>,
    lookup: OnceCell<Lookup<'a>>,
}

impl<'a> LazyLookup<'a> {
    /// The numbers of a set.
    pub(crate) fn new(set: Postings<'a>) -> Self {
        Self {
            set,
            lookup: OnceCell::new(),
        }
    }

    /// The set as it is stored.
    pub(crate) fn set(&self) -> &Postings<'a> {
        &self.set
    }

    /// True if the set has the number.
    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.lookup
            .get_or_init(|| self.set.lookup())
            .contains(number)
    }
}
