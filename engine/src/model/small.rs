//! Small numbers with a range.

use std::num::NonZeroU16;

use crate::limits::{YEAR_MAX, YEAR_MIN};

/// A release or premiere year.
///
/// INVARIANT: `YEAR_MIN <= self.get() <= YEAR_MAX`. There is no other way to make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Year(u16);

impl Year {
    /// The year, if it is in range.
    ///
    /// ```
    /// use subcat_engine::Year;
    /// assert_eq!(Year::new(1995).unwrap().get(), 1995);
    /// assert_eq!(Year::new(1800), None);
    /// ```
    pub const fn new(year: u16) -> Option<Self> {
        if YEAR_MIN <= year && year <= YEAR_MAX {
            Some(Self(year))
        } else {
            None
        }
    }

    /// The year as a number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// The number of a season or of an episode: 1 to 65,535.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(NonZeroU16);

impl Number {
    /// The number, if it is at least 1.
    ///
    /// ```
    /// use subcat_engine::Number;
    /// assert!(Number::new(0).is_none());
    /// ```
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number as an integer.
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}
