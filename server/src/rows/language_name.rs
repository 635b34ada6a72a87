//! Names of languages as Bazarr's provider writes them (API.md 20.9).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use subcat_engine::{Language, LanguageTerm, fold};

/// Tags and their names.
const NAMES: &str = "ab=abkhazian af=afrikaans am=amharic an=aragonese ar=arabic as=assamese \
    az=azerbaijani be=belarusian bg=bulgarian bn=bengali br=breton bs=bosnian ca=catalan cs=czech \
    cy=welsh da=danish de=german el=greek en=english eo=esperanto es=spanish et=estonian \
    eu=basque fa=farsi_persian fi=finnish fr=french ga=irish gd=gaelic he=hebrew hi=hindi \
    hr=croatian hu=hungarian hy=armenian ia=interlingua id=indonesian ig=igbo is=icelandic \
    it=italian ja=japanese ka=georgian kk=kazakh km=cambodian-khmer kn=kannada ko=korean \
    ku=kurdish lb=luxembourgish lt=lithuanian lv=latvian mk=macedonian ml=malayalam mn=mongolian \
    mr=marathi ms=malay my=burmese ne=nepali nl=dutch no=norwegian nv=navajo oc=occitan \
    pa=punjabi pl=polish ps=pashto pt-BR=brazillian-portuguese pt-PT=portuguese ro=romanian \
    ru=russian rw=kinyarwanda sd=sindhi se=northen-sami si=sinhala sk=slovak sl=slovenian \
    so=somali sq=albanian sr=serbian su=sundanese sv=swedish sw=swahili ta=tamil te=telugu \
    th=thai tk=turkmen tl=tagalog tr=turkish tt=tatar uk=ukranian ur=urdu uz=uzbek \
    vi=vietnamese yo=yoruba zh=chinese-bg-code";

/// Other names that are understood, folded, and their tags.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("brazilian portuguese", "pt-BR"),
    ("chinese", "zh"),
    ("farsi", "fa"),
    ("khmer", "km"),
    ("persian", "fa"),
    ("ukrainian", "uk"),
    ("spanish latin america", "es-419"),
    ("spanish spain", "es-ES"),
];

/// Names by tag, and tags by folded name.
struct Names {
    by_tag: HashMap<&'static str, &'static str>,
    by_name: HashMap<String, &'static str>,
}

fn names() -> &'static Names {
    static NAMES_READ: LazyLock<Names> = LazyLock::new(|| {
        let mut names = Names {
            by_tag: HashMap::new(),
            by_name: HashMap::new(),
        };
        for pair in NAMES.split_ascii_whitespace() {
            let (tag, name) = pair.split_once('=').expect("the table has pairs");
            names.by_tag.insert(tag, name);
            names.by_name.insert(fold(name), tag);
        }
        let others = OTHER_NAMES.map(|(name, tag)| (name.to_owned(), tag));
        names.by_name.extend(others);
        names
    });
    &NAMES_READ
}

/// The tag that a name stands for; none for what is not one.
pub(crate) fn named_tag(name: &str) -> Option<&'static str> {
    names().by_name.get(&fold(name)).copied()
}

/// The language that a name or a tag stands for; none for what is neither.
pub(crate) fn named_language(text: &str) -> Option<Language> {
    Language::parse(named_tag(text).unwrap_or(text))
}

/// The name of a language: by its first subtag, of Portuguese also by the region; without a name
/// that subtag.
pub(crate) fn language_name(term: LanguageTerm) -> Cow<'static, str> {
    let tag = term.to_string();
    let primary = tag.split('-').next().unwrap_or_default();
    let named = match (primary, tag.as_str()) {
        ("pt", "pt-BR") => "pt-BR",
        ("pt", _) => "pt-PT",
        (primary, _) => primary,
    };
    match names().by_tag.get(named) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(primary.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_20_9_names_are_equal_when_their_folds_are() {
        let check = |text: &str, expected: Option<&str>| {
            let found = named_language(text);
            assert_eq!(found.as_ref().map(Language::as_str), expected, "{text}");
        };
        check("spanish", Some("es"));
        check("SPANISH", Some("es"));
        check("farsi_persian", Some("fa"));
        check("Farsi/Persian", Some("fa"));
        check("Brazilian Portuguese", Some("pt-BR"));
        check("brazillian-portuguese", Some("pt-BR"));
        check("portuguese", Some("pt-PT"));
        check("Spanish (Latin America)", Some("es-419"));
        check("spanish spain", Some("es-ES"));
        check("chinese bg code", Some("zh"));
        check("es-MX", Some("es-MX"));
        check("klingon", None);
        check("", None);
    }

    #[test]
    fn rule_20_9_a_record_is_named_by_its_first_subtag() {
        let check = |tag: &str, expected: &str| {
            let term = LanguageTerm::of(&Language::parse(tag).unwrap());
            assert_eq!(language_name(term), expected, "{tag}");
        };
        check("es", "spanish");
        check("spa-MX", "spanish");
        check("pt", "portuguese");
        check("por-AO", "portuguese");
        check("pt_br", "brazillian-portuguese");
        check("zh-Hant", "chinese-bg-code");
        check("ast", "ast");
    }
}
