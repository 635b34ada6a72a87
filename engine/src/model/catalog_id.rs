//! Identifiers of titles in an external film and TV catalog.

use std::fmt;

use crate::limits::CATALOG_ID_DIGITS_MAX;

/// `tt` followed by 1 to 12 digits. Leading zeros are kept, because answers show the id as
/// imported.
///
/// Two ids name the same title when their numbers are equal ([`CatalogId::number`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CatalogId {
    number: u64,
    digits_count: u8,
}

impl CatalogId {
    /// Reads `tt` and 1 to 12 digits.
    ///
    /// ```
    /// use subcat_engine::CatalogId;
    /// let id = CatalogId::parse("tt0411008").unwrap();
    /// assert_eq!(id.number(), 411_008);
    /// assert_eq!(id.to_string(), "tt0411008");
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_digits(text.strip_prefix("tt")?)
    }

    /// Reads 1 to 12 ASCII digits.
    pub fn from_digits(digits: &str) -> Option<Self> {
        let is_short_enough = digits.len() <= CATALOG_ID_DIGITS_MAX;
        if !is_short_enough || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = digits.parse().ok()?;
        let digits_count = u8::try_from(digits.len()).ok()?;
        Some(Self {
            number,
            digits_count,
        })
    }

    /// The number that decides equality in a search; leading zeros do not count.
    pub const fn number(self) -> u64 {
        self.number
    }

    /// Count of digits as written, leading zeros included.
    pub const fn digits_count(self) -> u8 {
        self.digits_count
    }
}

impl fmt::Display for CatalogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tt{:0width$}",
            self.number,
            width = usize::from(self.digits_count)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_leading_zeros_in_text_only() {
        let id = CatalogId::parse("tt0012345").unwrap();
        assert_eq!(id.number(), 12345);
        assert_eq!(id.to_string(), "tt0012345");
    }

    #[test]
    fn refuses_other_texts() {
        for text in [
            "",
            "tt",
            "tt+1",
            "12",
            "TT12",
            "tt1234567890123",
            "tt1 ",
            "tt١",
        ] {
            assert_eq!(CatalogId::parse(text), None, "{text}");
        }
    }
}
