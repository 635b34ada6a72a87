//! A set that is prepared for look-ups by the first one.

use std::cell::OnceCell;

use crate::index::{Lookup, Postings};

/// A stored set with few look-ups, or none: the first one decodes a list, and most searches of
/// small segments make none.
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

    /// The stored set.
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
