//! The language named in a path, and how well it fits that of the record (SEARCH.md 7.12).

use crate::model::Language;
use crate::name::{ToldLanguage, language_of_folder};
use crate::text::spanish_region;

use super::path_numbers::PathParts;
use super::path_words::PathWords;

/// Fit of a language with that of the record; the smallest is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LanguageRank {
    /// The record's, with its region if it has one.
    Same,
    /// The record's without a region.
    WithoutRegion,
    /// The path names none.
    Untold,
    /// The record's with another region.
    OtherRegion,
    /// Another language.
    Other,
}

/// Reads languages of paths, for one record and the texts that fit a request.
pub(super) struct LanguageReader<'a> {
    record: &'a Language,
    title: &'a str,
    title_words: &'a PathWords,
    /// The base names of all texts that fit.
    names: Vec<&'a str>,
}

impl<'a> LanguageReader<'a> {
    pub(super) fn new(
        record: &'a Language,
        title: &'a str,
        title_words: &'a PathWords,
        fitting: &[&'a PathParts],
    ) -> Self {
        Self {
            record,
            title,
            title_words,
            names: fitting.iter().map(|path| path.name.as_str()).collect(),
        }
    }

    /// Fit of the language of a path.
    pub(super) fn rank(&self, path: &PathParts) -> LanguageRank {
        let Some(language) = self.language(path) else {
            return LanguageRank::Untold;
        };
        if language.primary() != self.record.primary() {
            return LanguageRank::Other;
        }
        let is_spanish = language.primary() == "es";
        match (self.record.region(), language.region()) {
            (None, _) => LanguageRank::Same,
            (Some(_), None) => LanguageRank::WithoutRegion,
            (Some(own), Some(other)) if own == other => LanguageRank::Same,
            (Some(own), Some(other)) if is_spanish && spans(&own, &other) => LanguageRank::Same,
            _ => LanguageRank::OtherRegion,
        }
    }

    /// The language named in a path.
    fn language(&self, path: &PathParts) -> Option<Language> {
        let of_directories = || {
            let mut directories = path.directories.iter();
            directories.find_map(|name| language_of_folder(name))
        };
        let tag = self.of_name(path).or_else(of_directories);
        let language = tag.and_then(|tag| Language::parse(&tag));
        let is_spanish = language.as_ref().unwrap_or(self.record).primary() == "es";
        let has_region = language.as_ref().is_some_and(|it| it.region().is_some());
        if !is_spanish || has_region {
            return language;
        }
        self.spanish_of(path).or(language)
    }

    /// The Spanish of Spain or Latin America by the words of a path, those of the title apart.
    fn spanish_of(&self, path: &PathParts) -> Option<Language> {
        let is_of_title = |word: &&str| self.title_words.iter().any(|other| other == *word);
        let words: Vec<&str> = path.words().filter(|word| !is_of_title(word)).collect();
        Language::parse(spanish_region(&words.join(" "))?.tag())
    }

    /// The language named in a base name: at its end, else by the last name in it. Words that all
    /// base names or the record's title have do not count.
    fn of_name(&self, path: &PathParts) -> Option<String> {
        let tells = |language: &ToldLanguage| {
            let is_shared = self.names.iter().all(|name| language.stands_in(name));
            !is_shared && !language.stands_in(self.title)
        };
        let mut languages = ToldLanguage::all(&path.name).into_iter();
        languages.find(tells).map(|language| language.tag)
    }
}

/// Returns true if one region is Latin America and the other is not Spain.
fn spans(own: &str, other: &str) -> bool {
    let is_either = |region: &str| own == region || other == region;
    is_either("419") && !is_either("ES")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(record: &str, title: &str, paths: &[&str]) -> Vec<LanguageRank> {
        let record = Language::parse(record).unwrap();
        let title_words = PathWords::of(title);
        let parts: Vec<PathParts> = paths.iter().map(|path| PathParts::of(path)).collect();
        let fitting: Vec<&PathParts> = parts.iter().collect();
        let reader = LanguageReader::new(&record, title, &title_words, &fitting);
        parts.iter().map(|path| reader.rank(path)).collect()
    }

    #[test]
    fn search_rule_7_12_a_language_is_the_records_or_another() {
        use LanguageRank::{Other, OtherRegion, Same, Untold, WithoutRegion};
        let paths = [
            "a.es-ES.srt",
            "a.es-MX.srt",
            "a.es.srt",
            "a.en.srt",
            "a.srt",
        ];
        let expected = [OtherRegion, Same, WithoutRegion, Other, Untold];
        assert_eq!(ranks("es-MX", "x", &paths), expected);
        assert_eq!(ranks("es", "x", &paths), [Same, Same, Same, Other, Untold]);
        let folders = ["English/a.srt", "Subs/Español/a.srt", "Latino/a.srt"];
        assert_eq!(ranks("es-419", "x", &folders), [Other, WithoutRegion, Same]);
        let titles = ["French.Connection.srt", "Conexion.srt"];
        assert_eq!(
            ranks("es", "The French Connection", &titles),
            [Untold, Untold]
        );
        assert_eq!(ranks("es", "Contacto", &titles), [Other, Untold]);
    }
}
