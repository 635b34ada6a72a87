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
const NAMES: [(&str, &str, &str); 72] = [
    ("ar", "Arabic", "Árabe"),
    ("ast", "Asturian", "Asturiano"),
    ("be", "Belarusian", "Bielorruso"),
    ("bg", "Bulgarian", "Búlgaro"),
    ("bn", "Bengali", "Bengalí"),
    ("bs", "Bosnian", "Bosnio"),
    ("ca", "Catalan", "Catalán"),
    ("cs", "Czech", "Checo"),
    ("cy", "Welsh", "Galés"),
    ("da", "Danish", "Danés"),
    ("de", "German", "Alemán"),
    ("el", "Greek", "Griego"),
    ("en", "English", "Inglés"),
    ("eo", "Esperanto", "Esperanto"),
    ("es", "Spanish", "Español"),
    ("et", "Estonian", "Estonio"),
    ("eu", "Basque", "Euskera"),
    ("fa", "Persian", "Persa"),
    ("fi", "Finnish", "Finés"),
    ("fr", "French", "Francés"),
    ("ga", "Irish", "Irlandés"),
    ("gl", "Galician", "Gallego"),
    ("he", "Hebrew", "Hebreo"),
    ("hi", "Hindi", "Hindi"),
    ("hr", "Croatian", "Croata"),
    ("hu", "Hungarian", "Húngaro"),
    ("hy", "Armenian", "Armenio"),
    ("id", "Indonesian", "Indonesio"),
    ("is", "Icelandic", "Islandés"),
    ("it", "Italian", "Italiano"),
    ("ja", "Japanese", "Japonés"),
    ("ka", "Georgian", "Georgiano"),
    ("kk", "Kazakh", "Kazajo"),
    ("km", "Khmer", "Jemer"),
    ("kn", "Kannada", "Canarés"),
    ("ko", "Korean", "Coreano"),
    ("ku", "Kurdish", "Kurdo"),
    ("la", "Latin", "Latín"),
    ("lt", "Lithuanian", "Lituano"),
    ("lv", "Latvian", "Letón"),
    ("mk", "Macedonian", "Macedonio"),
    ("ml", "Malayalam", "Malayalam"),
    ("mn", "Mongolian", "Mongol"),
    ("mr", "Marathi", "Maratí"),
    ("ms", "Malay", "Malayo"),
    ("my", "Burmese", "Birmano"),
    ("nb", "Norwegian Bokmål", "Noruego bokmål"),
    ("ne", "Nepali", "Nepalí"),
    ("nl", "Dutch", "Neerlandés"),
    ("nn", "Norwegian Nynorsk", "Noruego nynorsk"),
    ("no", "Norwegian", "Noruego"),
    ("oc", "Occitan", "Occitano"),
    ("pl", "Polish", "Polaco"),
    ("pt", "Portuguese", "Portugués"),
    ("ro", "Romanian", "Rumano"),
    ("ru", "Russian", "Ruso"),
    ("si", "Sinhala", "Cingalés"),
    ("sk", "Slovak", "Eslovaco"),
    ("sl", "Slovenian", "Esloveno"),
    ("sq", "Albanian", "Albanés"),
    ("sr", "Serbian", "Serbio"),
    ("sv", "Swedish", "Sueco"),
    ("sw", "Swahili", "Suajili"),
    ("ta", "Tamil", "Tamil"),
    ("te", "Telugu", "Telugu"),
    ("th", "Thai", "Tailandés"),
    ("tl", "Tagalog", "Tagalo"),
    ("tr", "Turkish", "Turco"),
    ("uk", "Ukrainian", "Ucraniano"),
    ("ur", "Urdu", "Urdu"),
    ("vi", "Vietnamese", "Vietnamita"),
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

/// Name of a language, with its region if the tag has one: `Spanish (Latin America)`.
pub(crate) fn name_of(tag: &str, lang: Lang) -> String {
    let (primary, region) = tag.split_once('-').unwrap_or((tag, ""));
    let Some((_, en, es)) = NAMES.iter().find(|(known, ..)| *known == primary) else {
        return tag.to_owned();
    };
    let name = lang.t(en, es);
    let region = match (primary, region) {
        (_, "") => return name.to_owned(),
        ("es", "ES") => lang.t("Spain", "España"),
        ("es", "419") => lang.t("Latin America", "Latinoamérica"),
        ("pt", "BR") => lang.t("Brazil", "Brasil"),
        ("pt", "PT") => "Portugal",
        (_, region) => region,
    };
    format!("{name} ({region})")
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
        check("pt-BR", "Portugués (Brasil)");
        check("nb", "Noruego bokmål");
        check("xx-YY", "xx-YY");
    }
}
