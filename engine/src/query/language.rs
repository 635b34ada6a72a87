//! Languages, reduced to the parts that decide a match of the `language` filter.

use std::fmt;

use crate::model::Language;

/// The parts of a language tag that decide a match: the language and the region.
///
/// Six bytes, so that a segment can keep a table of them and a number for each document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanguageTerm {
    primary: [u8; 3],
    region: [u8; 3],
}

/// Bytes that stand for no region.
const NOWHERE: [u8; 3] = [0; 3];

impl LanguageTerm {
    /// Reduces a tag.
    ///
    /// ```
    /// use subcat_engine::{Language, LanguageTerm};
    /// let term = |tag| LanguageTerm::of(&Language::parse(tag).unwrap());
    /// assert_eq!(term("spa_mx"), term("es-MX"));
    /// ```
    pub fn of(language: &Language) -> Self {
        Self {
            primary: padded(&language.primary()),
            region: language.region().map_or(NOWHERE, |region| padded(&region)),
        }
    }

    /// The language itself, as [`Language::primary`].
    pub fn primary(self) -> String {
        String::from_utf8_lossy(&self.primary).replace('\0', "")
    }

    /// True if a record of this language matches the filter `requested`. Symmetric.
    ///
    /// Source: SEARCH.md 3.4.
    ///
    /// ```
    /// use subcat_engine::{Language, LanguageTerm};
    /// let term = |tag| LanguageTerm::of(&Language::parse(tag).unwrap());
    /// assert!(term("es-MX").matches(term("es-419")));
    /// assert!(!term("es-ES").matches(term("es-419")));
    /// assert!(term("es-ES").matches(term("es")));
    /// ```
    pub fn matches(self, requested: Self) -> bool {
        if self.primary != requested.primary {
            return false;
        }
        // A tag without a region matches every region, on either side: "es" finds "es-MX", and the
        // other way round.
        let (ours, theirs) = (self.region, requested.region);
        ours == theirs || ours == NOWHERE || theirs == NOWHERE || self.spans_both(ours, theirs)
    }

    /// True if a record of this language passes the filter `variety`: it is another language, or
    /// matches it.
    ///
    /// Source: SEARCH.md 8.3.
    pub(crate) fn passes_variety(self, variety: Self) -> bool {
        self.primary != variety.primary || self.matches(variety)
    }

    /// True if one side is the Spanish of Latin America and the other is not that of Spain. Source:
    /// SEARCH.md 3.4.
    fn spans_both(self, ours: [u8; 3], theirs: [u8; 3]) -> bool {
        let is_latin_america = ours == *b"419" || theirs == *b"419";
        let is_spain = ours == *b"ES\0" || theirs == *b"ES\0";
        self.is_spanish() && is_latin_america && !is_spain
    }

    /// True if the language is Spanish, of any region.
    pub fn is_spanish(self) -> bool {
        self.primary == *b"es\0"
    }

    /// True if the tag names a region.
    pub fn has_region(self) -> bool {
        self.region != NOWHERE
    }

    /// Language and region, each padded with zeros to three bytes.
    pub fn to_bytes(self) -> [u8; 6] {
        let [a, b, c] = self.primary;
        let [d, e, f] = self.region;
        [a, b, c, d, e, f]
    }

    /// Inverse of [`LanguageTerm::to_bytes`]. Other bytes give a term that no request has.
    pub fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self {
            primary: [a, b, c],
            region: [d, e, f],
        }
    }
}

impl fmt::Display for LanguageTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: [u8; 3]| String::from_utf8_lossy(&bytes).replace('\0', "");
        f.write_str(&text(self.primary))?;
        if self.has_region() {
            write!(f, "-{}", text(self.region))?;
        }
        Ok(())
    }
}

/// Up to three letters or digits, padded with zeros.
fn padded(text: &str) -> [u8; 3] {
    let mut bytes = [0; 3];
    for (padded, byte) in bytes.iter_mut().zip(text.bytes()) {
        *padded = byte;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(tag: &str) -> LanguageTerm {
        LanguageTerm::of(&Language::parse(tag).unwrap())
    }

    fn check(record: &str, request: &str, expected: bool) {
        assert_eq!(
            term(record).matches(term(request)),
            expected,
            "{record} {request}"
        );
        assert_eq!(
            term(request).matches(term(record)),
            expected,
            "{request} {record}"
        );
    }

    #[test]
    fn search_rule_3_4_languages_are_equal_after_mapping() {
        check("es", "es", true);
        check("es", "ES", true);
        check("es", "spa", true);
        check("fr", "fre", true);
        check("fra", "fre", true);
        check("es", "en", false);
        check("es", "est", false);
        check("zh-Hant", "zh-Hans", true);
        check("ast", "ast", true);
        check("he", "iw", false);
        check("ea", "es-MX", true);
        check("es-LA", "spl", true);
        check("spn", "es-LA", false);
        check("esp", "es", true);
        check("pob", "pt", true);
        check("pb", "pt-PT", false);
    }

    #[test]
    fn search_rule_3_4_regions_are_equal_where_both_have_one() {
        check("es-MX", "es_mx", true);
        check("es-MX", "es-AR", false);
        check("es-MX", "es", true);
        check("en-GB", "en-US", false);
        check("zh-Hant-TW", "zh-TW", true);
        check("en-419", "en-US", false);
    }

    #[test]
    fn search_rule_3_4_latin_america_is_every_region_but_spain() {
        check("es-419", "es-419", true);
        check("es-419", "es-MX", true);
        check("es-419", "es-US", true);
        check("spa-419", "es-003", true);
        check("es-419", "es-ES", false);
        check("es-419", "es", true);
        check("es-ES", "es-ES", true);
    }

    #[test]
    fn search_rule_8_3_other_languages_pass_a_variety() {
        let passes = |record, variety| term(record).passes_variety(term(variety));
        assert!(passes("en", "es-419"));
        assert!(passes("spa-MX", "es-419"));
        assert!(passes("es", "es-419"));
        assert!(!passes("es-ES", "es-419"));
    }

    #[test]
    fn bytes_and_text_keep_everything() {
        for tag in ["es", "es-MX", "es-419", "ast-ES"] {
            assert_eq!(LanguageTerm::from_bytes(term(tag).to_bytes()), term(tag));
            assert_eq!(term(tag).to_string(), tag);
        }
    }
}
