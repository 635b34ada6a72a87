//! The language of a record as pages show it.

use subcat_engine::LanguageTerm;

use crate::web::frame::language::Lang;

/// The variety of a record's language.
pub(crate) struct LanguageBadge {
    /// Name in the language of the page.
    pub(crate) name: String,
    /// Class in the style sheet.
    pub(crate) class: &'static str,
    /// Language tag of the record's texts.
    pub(crate) tag: String,
}

/// Languages that have a name, in English and Spanish; of the others the tag is shown.
const NAMES: [(&str, &str, &str); 24] = [
    ("ar", "Arabic", "Árabe"),
    ("ca", "Catalan", "Catalán"),
    ("cs", "Czech", "Checo"),
    ("da", "Danish", "Danés"),
    ("de", "German", "Alemán"),
    ("el", "Greek", "Griego"),
    ("en", "English", "Inglés"),
    ("eu", "Basque", "Euskera"),
    ("fi", "Finnish", "Finés"),
    ("fr", "French", "Francés"),
    ("gl", "Galician", "Gallego"),
    ("he", "Hebrew", "Hebreo"),
    ("hu", "Hungarian", "Húngaro"),
    ("it", "Italian", "Italiano"),
    ("ja", "Japanese", "Japonés"),
    ("ko", "Korean", "Coreano"),
    ("nl", "Dutch", "Neerlandés"),
    ("no", "Norwegian", "Noruego"),
    ("pl", "Polish", "Polaco"),
    ("pt", "Portuguese", "Portugués"),
    ("ro", "Romanian", "Rumano"),
    ("ru", "Russian", "Ruso"),
    ("sv", "Swedish", "Sueco"),
    ("zh", "Chinese", "Chino"),
];

impl LanguageBadge {
    /// The badge of a language; for Spanish its variety, by which people choose.
    pub(crate) fn new(language: Option<LanguageTerm>, lang: Lang) -> Self {
        let Some(language) = language else {
            return Self {
                name: String::new(),
                class: "neutral",
                tag: String::new(),
            };
        };
        let tag = language.to_string();
        let (name, class) = match tag.as_str() {
            "es" => (lang.t("Spanish", "Español").to_owned(), "neutral"),
            "es-ES" => (lang.t("Spain", "España").to_owned(), "spain"),
            _ if language.is_spanish() => {
                let name = lang.t("Latin America", "Latinoamérica");
                (name.to_owned(), "latin")
            }
            _ => (name_of(&tag, lang), "other"),
        };
        Self { name, class, tag }
    }
}

/// Name of a language that is not Spanish, with its region if the tag has one.
fn name_of(tag: &str, lang: Lang) -> String {
    let (primary, region) = tag.split_once('-').unwrap_or((tag, ""));
    let known = NAMES.iter().find(|(known, ..)| *known == primary);
    match known {
        None => tag.to_owned(),
        Some((_, en, es)) if region.is_empty() => lang.t(en, es).to_owned(),
        Some((_, en, es)) => format!("{} ({region})", lang.t(en, es)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varieties_of_spanish_and_other_languages_have_names() {
        let check = |tag: &str, expected: &str| {
            let language = subcat_engine::Language::parse(tag).unwrap();
            let badge = LanguageBadge::new(Some(LanguageTerm::of(&language)), Lang::Es);
            assert_eq!(badge.name, expected, "{tag}");
        };
        check("es-ES", "España");
        check("spa_es", "España");
        check("es-419", "Latinoamérica");
        check("es-MX", "Latinoamérica");
        check("es", "Español");
        check("en", "Inglés");
        check("en-US", "Inglés (US)");
        check("pt-BR", "Portugués (BR)");
        check("xx-YY", "xx-YY");
    }
}
