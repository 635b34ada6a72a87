//! Language tags of records and requests.

use std::fmt;

use super::iso_639::{three_letter_code, two_letter_code};

/// A language tag as written: two or three letters, then subtags.
///
/// INVARIANT: it matches `^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$` (SEARCH.md 3.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Language(Box<str>);

impl Language {
    /// Reads a tag if it is well formed. Codes need not exist: an unknown language still equals
    /// itself.
    pub fn parse(text: &str) -> Option<Self> {
        let mut subtags = text.split(['-', '_']);
        let primary = subtags.next()?;
        let is_primary_ok = (2..=3).contains(&primary.len())
            && primary.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_rest_ok = subtags.all(|subtag| {
            (2..=8).contains(&subtag.len()) && subtag.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        if is_primary_ok && is_rest_ok {
            Some(Self(text.into()))
        } else {
            None
        }
    }

    /// Reads a tag as written by other services of subtitles: their own codes are translated, and
    /// everything else is read as by [`Language::parse`].
    ///
    /// ```
    /// use subcat_engine::Language;
    /// let tag = |text| Language::parse_any_service(text).unwrap().as_str().to_owned();
    /// assert_eq!(tag("pob"), "pt-BR");
    /// assert_eq!(tag("es-LA"), "es-419");
    /// assert_eq!(tag("es-MX"), "es-MX");
    /// ```
    pub fn parse_any_service(text: &str) -> Option<Self> {
        let parsed = Self::parse(text)?;
        let code = text.to_ascii_lowercase().replace('_', "-");
        let known = SERVICE_CODES.iter().find(|(from, _)| *from == code);
        Some(known.map_or(parsed, |(_, tag)| Self((*tag).into())))
    }

    /// Spanish without a region: the tag of a record that names none.
    pub fn spanish() -> Self {
        Self("es".into())
    }

    /// The tag as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The language itself: the first subtag in lower case, as its ISO 639-1 code where there is
    /// one; the code that other services write for a language of a region is that language. Shape:
    /// two or three letters.
    ///
    /// Source: SEARCH.md 3.4.
    ///
    /// ```
    /// use subcat_engine::Language;
    /// assert_eq!(Language::parse("SPA_mx").unwrap().primary(), "es");
    /// assert_eq!(Language::parse("ast").unwrap().primary(), "ast");
    /// ```
    pub fn primary(&self) -> String {
        let first = self.first_subtag();
        let current = replaced(&first).map_or(&*first, |(language, _)| language);
        two_letter_code(current).unwrap_or(current).to_string()
    }

    /// The language itself as its ISO 639-2/T code; without an ISO 639-1 code the first subtag.
    ///
    /// ```
    /// use subcat_engine::Language;
    /// assert_eq!(Language::parse("fre-CA").unwrap().terminology_code(), "fra");
    /// assert_eq!(Language::parse("ast").unwrap().terminology_code(), "ast");
    /// ```
    pub fn terminology_code(&self) -> String {
        let primary = self.primary();
        three_letter_code(&primary).map_or(primary, str::to_owned)
    }

    /// The first subtag, in lower case.
    fn first_subtag(&self) -> String {
        let first = self.0.split(['-', '_']).next().unwrap_or_default();
        first.to_ascii_lowercase()
    }

    /// The region: that of a code which other services write for a language of a region, else the
    /// first later subtag of two letters (in capitals) or three digits; `LA` in Spanish is `419`.
    ///
    /// Source: SEARCH.md 3.4.
    ///
    /// ```
    /// use subcat_engine::Language;
    /// let region = |tag| Language::parse(tag).unwrap().region();
    /// assert_eq!(region("zh-Hant-tw").as_deref(), Some("TW"));
    /// assert_eq!(region("es-419").as_deref(), Some("419"));
    /// assert_eq!(region("es"), None);
    /// ```
    pub fn region(&self) -> Option<String> {
        if let Some((_, Some(region))) = replaced(&self.first_subtag()) {
            return Some(region.to_string());
        }
        let mut later = self.0.split(['-', '_']).skip(1);
        let is_country = |tag: &str| tag.len() == 2 && tag.bytes().all(|b| b.is_ascii_alphabetic());
        let is_area = |tag: &str| tag.len() == 3 && tag.bytes().all(|b| b.is_ascii_digit());
        let region = later.find(|subtag| is_country(subtag) || is_area(subtag))?;
        let region = region.to_ascii_uppercase();
        let is_latin_america = region == "LA" && self.primary() == "es";
        Some(if is_latin_america {
            "419".into()
        } else {
            region
        })
    }
}

/// The language and the region for which other services write a code of their own.
fn replaced(code: &str) -> Option<(&'static str, Option<&'static str>)> {
    match code {
        "ea" | "spl" => Some(("es", Some("419"))),
        "sp" | "spn" => Some(("es", Some("ES"))),
        "esp" => Some(("es", None)),
        "pb" | "pob" => Some(("pt", Some("BR"))),
        _ => None,
    }
}

/// Codes of other services and their meaning (API.md 13.3). Each is an ISO 639 code of no language,
/// or of one without subtitles there.
const SERVICE_CODES: &[(&str, &str)] = &[
    ("ea", "es-419"),
    ("es-la", "es-419"),
    ("spl", "es-419"),
    ("sp", "es-ES"),
    ("spn", "es-ES"),
    ("esp", "es"),
    ("pb", "pt-BR"),
    ("pob", "pt-BR"),
    ("chs", "zh-Hans"),
    ("cht", "zh-Hant"),
    ("zt", "zh-Hant"),
    ("ze", "zh"),
    ("en-uk", "en-GB"),
];

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_well_formed_tags_only() {
        for tag in [
            "es",
            "ES",
            "spa",
            "es-419",
            "es_MX",
            "zh-Hant-TW",
            "en-ab-12345678",
        ] {
            assert!(Language::parse(tag).is_some(), "{tag}");
        }
        for tag in [
            "",
            "e",
            "espa",
            "es-",
            "es-1",
            "-es",
            "es--MX",
            "e1",
            "es-123456789",
            "ñu",
        ] {
            assert!(Language::parse(tag).is_none(), "{tag}");
        }
    }

    #[test]
    fn codes_of_other_services_are_read_in_any_form() {
        let tag = |text: &str| Language::parse_any_service(text).map(|tag| tag.as_str().to_owned());
        for (text, expected) in SERVICE_CODES {
            assert_eq!(tag(text).as_deref(), Some(*expected), "{text}");
            let capitals = text.to_ascii_uppercase();
            assert_eq!(tag(&capitals).as_deref(), Some(*expected), "{text}");
        }
        assert_eq!(tag("es_la").as_deref(), Some("es-419"));
        assert_eq!(tag("spa").as_deref(), Some("spa"));
        assert_eq!(tag("klingon"), None);
    }

    fn check(tag: &str, primary: &str, region: Option<&str>) {
        let language = Language::parse(tag).unwrap();
        assert_eq!(language.primary(), primary, "{tag}");
        assert_eq!(language.region().as_deref(), region, "{tag}");
    }

    #[test]
    fn search_rule_3_4_reads_language_and_region() {
        check("es", "es", None);
        check("ES", "es", None);
        check("Spa", "es", None);
        check("fre-CA", "fr", Some("CA"));
        check("es_mx", "es", Some("MX"));
        check("es-419", "es", Some("419"));
        check("spa-Latn-419-ES", "es", Some("419"));
        check("zh-Hant-TW", "zh", Some("TW"));
        check("zh-Hant", "zh", None);
        check("es-a1-12-1234", "es", None);
        check("ast-ES", "ast", Some("ES"));
        check("iw", "iw", None);
        check("hbs", "hbs", None);
        check("ea", "es", Some("419"));
        check("SPL", "es", Some("419"));
        check("sp", "es", Some("ES"));
        check("spn-MX", "es", Some("ES"));
        check("esp", "es", None);
        check("esp-MX", "es", Some("MX"));
        check("pb", "pt", Some("BR"));
        check("pob", "pt", Some("BR"));
        check("es-LA", "es", Some("419"));
        check("spa_la", "es", Some("419"));
        check("en-LA", "en", Some("LA"));
    }
}
