//! The languages that the filter of the catalog offers: those of its records.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use subcat_engine::{Language, LanguageTerm};

use super::language_badge::name_of;
use crate::limits::LANGUAGES_OFFERED_MAX;
use crate::web::frame::language::Lang;

/// A language to choose.
pub(crate) struct LanguageChoice {
    /// Value of the parameter.
    pub(crate) tag: String,
    pub(crate) name: String,
}

/// The languages of these records, those of most records first, each followed by its varieties:
/// for Spanish the two regions by which people choose, for others the regions that records have.
///
/// Shape: up to [`LANGUAGES_OFFERED_MAX`]. An import may bring thousands of invented ones.
pub(crate) fn language_choices(
    counts: &BTreeMap<LanguageTerm, u64>,
    lang: Lang,
) -> Vec<LanguageChoice> {
    let mut languages: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (term, count) in counts {
        let varieties = languages.entry(term.primary()).or_default();
        *varieties.entry(variety(*term)).or_default() += count;
    }
    let mut ordered: Vec<_> = languages.into_iter().collect();
    ordered.sort_by_key(|(_, varieties)| Reverse(varieties.values().sum::<u64>()));
    let mut tags = Vec::new();
    for (primary, varieties) in ordered {
        if 1 < varieties.len() {
            tags.push(primary.clone());
        }
        let has_one = varieties.len() == 1;
        let mut varieties: Vec<_> = varieties.into_iter().collect();
        varieties.sort_by_key(|(_, count)| Reverse(*count));
        let tags_of = varieties.into_iter().map(|(tag, _)| tag);
        tags.extend(tags_of.filter(|tag| has_one || *tag != primary));
    }
    tags.truncate(LANGUAGES_OFFERED_MAX);
    let choice = |tag: String| LanguageChoice {
        name: name_of(&tag, lang),
        tag,
    };
    tags.into_iter().map(choice).collect()
}

/// Tag by which records of this language and region are chosen.
fn variety(term: LanguageTerm) -> String {
    let tag = term.to_string();
    if term.is_spanish() && term.has_region() && tag != "es-ES" {
        return "es-419".to_owned();
    }
    tag
}

/// A value of the filter as its choice has it: `spa_mx` is `es-MX`. A value that is not a tag stays
/// as it is.
pub(crate) fn canonical_tag(value: &str) -> String {
    let language = Language::parse(value);
    language.map_or(value.to_owned(), |it| LanguageTerm::of(&it).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(languages: &[(&str, u64)]) -> BTreeMap<LanguageTerm, u64> {
        let term = |tag: &str| LanguageTerm::of(&Language::parse(tag).unwrap());
        languages
            .iter()
            .map(|(tag, count)| (term(tag), *count))
            .collect()
    }

    #[test]
    fn every_language_of_the_records_is_offered_most_records_first() {
        let check = |languages: &[(&str, u64)], expected: &[(&str, &str)]| {
            let choices = language_choices(&counts(languages), Lang::En);
            let found: Vec<(&str, &str)> = choices
                .iter()
                .map(|choice| (choice.tag.as_str(), choice.name.as_str()))
                .collect();
            assert_eq!(found, expected);
        };
        check(&[], &[]);
        check(&[("es-ES", 3)], &[("es-ES", "Spanish (Spain)")]);
        check(
            &[
                ("ar", 4),
                ("en", 9),
                ("es", 2),
                ("es-AR", 1),
                ("es-MX", 2),
                ("es-ES", 2),
            ],
            &[
                ("en", "English"),
                ("es", "Spanish"),
                ("es-419", "Spanish (Latin America)"),
                ("es-ES", "Spanish (Spain)"),
                ("ar", "Arabic"),
            ],
        );
        check(
            &[
                ("pt-BR", 4),
                ("pt-PT", 5),
                ("xx-YY", 1),
                ("en", 1),
                ("en-US", 2),
            ],
            &[
                ("pt", "Portuguese"),
                ("pt-PT", "Portuguese (Portugal)"),
                ("pt-BR", "Portuguese (Brazil)"),
                ("en", "English"),
                ("en-US", "English (US)"),
                ("xx-YY", "xx-YY"),
            ],
        );
    }

    #[test]
    fn invented_languages_are_offered_up_to_a_bound() {
        let letters = || 'a'..='z';
        let tags: Vec<String> = letters()
            .flat_map(|a| letters().map(move |b| format!("{a}{b}q")))
            .collect();
        let mut languages: Vec<(&str, u64)> = tags.iter().map(|tag| (tag.as_str(), 1)).collect();
        languages.push(("es", 2));
        let choices = language_choices(&counts(&languages), Lang::Es);
        assert_eq!(choices.len(), LANGUAGES_OFFERED_MAX);
        assert_eq!(choices[0].name, "Español");
    }

    #[test]
    fn a_value_is_known_however_it_is_written() {
        assert_eq!(canonical_tag("spa_mx"), "es-MX");
        assert_eq!(canonical_tag("ENG"), "en");
        assert_eq!(canonical_tag("!"), "!");
    }
}
