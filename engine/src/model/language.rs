//! Language tags of records and requests.

use std::fmt;

/// A language tag as it was written: two or three letters, then subtags.
///
/// INVARIANT: it matches `^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$` (SEARCH.md, filters).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Language(Box<str>);

impl Language {
    /// Reads a well-formed tag.
    pub fn parse(text: &str) -> Option<Self> {
        let mut subtags = text.split(['-', '_']);
        let primary = subtags.next()?;
        let is_primary_ok = (2..=3).contains(&primary.len())
            && primary.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_rest_ok = subtags.all(|subtag| {
            (2..=8).contains(&subtag.len()) && subtag.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        (is_primary_ok && is_rest_ok).then(|| Self(text.into()))
    }

    /// Spanish without a region: the tag of a record that names none.
    pub fn spanish() -> Self {
        Self("es".into())
    }

    /// The tag as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_well_formed_tags() {
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
}
