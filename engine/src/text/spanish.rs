//! Region of the Spanish of a record, recognised by its description (SEARCH.md 6).

use super::words;

/// Region in which the Spanish of a record is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpanishRegion {
    /// `es-ES`.
    Spain,
    /// `es-419`.
    LatinAmerica,
}

impl SpanishRegion {
    /// The language tag with this region.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Spain => "es-ES",
            Self::LatinAmerica => "es-419",
        }
    }
}

const SPAIN_WORDS: [&str; 6] = [
    "espana",
    "castellano",
    "castellana",
    "iberico",
    "iberica",
    "castilla",
];

const LATIN_AMERICA_WORDS: [&str; 18] = [
    "latino",
    "latina",
    "latinos",
    "latinas",
    "latam",
    "latinoamerica",
    "latinoamericano",
    "latinoamericana",
    "hispanoamerica",
    "mexico",
    "mexicano",
    "argentina",
    "argentino",
    "chile",
    "colombia",
    "peru",
    "venezuela",
    "uruguay",
];

/// The region named by the words of a folded description: words of one list, and none of the other.
/// Callers ask only for a record in Spanish without a region.
///
/// Source: SEARCH.md 6.
///
/// ```
/// use subcat_engine::{fold, internals::{SpanishRegion, spanish_region}};
/// let folded = fold("Español de España (castellano)");
/// assert_eq!(spanish_region(&folded), Some(SpanishRegion::Spain));
/// ```
pub fn spanish_region(folded_description: &str) -> Option<SpanishRegion> {
    let mut is_spain = false;
    let mut is_latin_america = false;
    for word in words(folded_description) {
        is_spain |= SPAIN_WORDS.contains(&word);
        is_latin_america |= LATIN_AMERICA_WORDS.contains(&word);
    }
    match (is_spain, is_latin_america) {
        (true, false) => Some(SpanishRegion::Spain),
        (false, true) => Some(SpanishRegion::LatinAmerica),
        (true, true) | (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fold;

    fn check(description: &str, expected: Option<SpanishRegion>) {
        assert_eq!(
            spanish_region(&fold(description)),
            expected,
            "{description}"
        );
    }

    #[test]
    fn search_rule_6_words_of_one_list_only() {
        check("Subtítulos de España", Some(SpanishRegion::Spain));
        check("CASTELLANO", Some(SpanishRegion::Spain));
        check("ibérica", Some(SpanishRegion::Spain));
        check("Español Latino", Some(SpanishRegion::LatinAmerica));
        check("México/Perú", Some(SpanishRegion::LatinAmerica));
        check("latinoamérica", Some(SpanishRegion::LatinAmerica));
        check("castellano y latino", None);
        check("español", None);
        check("españolas latinadas", None);
        check("argentinos", None);
        check("", None);
    }

    #[test]
    fn search_rule_6_every_listed_word_names_a_region() {
        for word in SPAIN_WORDS {
            check(word, Some(SpanishRegion::Spain));
        }
        for word in LATIN_AMERICA_WORDS {
            check(word, Some(SpanishRegion::LatinAmerica));
        }
    }
}
