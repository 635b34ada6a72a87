//! Codes and names of languages, as tables (NAMES.md L2 and L3).

/// Tags, each with the codes (ISO 639-2 T and B, and those of other services) and the names that
/// are read as it, folded. The code of two letters is the tag itself.
const LANGUAGES: [(&str, &[&str]); 74] = [
    ("af", &["afr", "afrikaans"]),
    ("ar", &["ara", "arabic"]),
    ("az", &["aze", "azerbaijani"]),
    ("be", &["bel", "belarusian"]),
    ("bg", &["bul", "bulgarian"]),
    ("bn", &["ben", "bengali"]),
    ("bs", &["bos", "bosnian"]),
    ("ca", &["cat", "catalan", "catala"]),
    ("cs", &["ces", "cze", "czech"]),
    ("cy", &["cym", "wel", "welsh"]),
    ("da", &["dan", "danish", "dansk"]),
    ("de", &["deu", "ger", "german", "aleman", "deutsch"]),
    ("el", &["ell", "gre", "greek"]),
    ("en", &["eng", "english", "ingles"]),
    ("eo", &["epo", "esperanto"]),
    ("es", &["spa", "spanish", "esp", "espanol"]),
    ("et", &["est", "estonian"]),
    ("eu", &["eus", "baq", "basque", "euskera"]),
    ("fa", &["fas", "per", "persian", "farsi"]),
    ("fi", &["fin", "finnish", "suomi"]),
    ("fr", &["fra", "fre", "french", "frances", "francais"]),
    ("ga", &["gle", "irish"]),
    ("gl", &["glg", "galician", "gallego"]),
    ("he", &["heb", "hebrew"]),
    ("hi", &["hin", "hindi"]),
    ("hr", &["hrv", "croatian"]),
    ("hu", &["hun", "hungarian"]),
    ("hy", &["hye", "arm", "armenian"]),
    ("id", &["ind", "indonesian"]),
    ("is", &["isl", "ice", "icelandic"]),
    ("it", &["ita", "italian", "italiano"]),
    ("ja", &["jpn", "japanese", "japones"]),
    ("ka", &["kat", "geo", "georgian"]),
    ("kk", &["kaz", "kazakh"]),
    ("km", &["khm", "khmer"]),
    ("kn", &["kan", "kannada"]),
    ("ko", &["kor", "korean", "coreano"]),
    ("ku", &["kur", "kurdish"]),
    ("lt", &["lit", "lithuanian"]),
    ("lv", &["lav", "latvian"]),
    ("mk", &["mkd", "mac", "macedonian"]),
    ("ml", &["mal", "malayalam"]),
    ("mn", &["mon", "mongolian"]),
    ("ms", &["msa", "may", "malay"]),
    ("my", &["mya", "bur", "burmese"]),
    ("ne", &["nep", "nepali"]),
    ("nl", &["nld", "dut", "dutch", "nederlands"]),
    (
        "no",
        &["nor", "norwegian", "norsk", "nb", "nn", "nob", "nno"],
    ),
    ("pa", &["pan", "punjabi"]),
    ("pl", &["pol", "polish", "polski"]),
    ("pt", &["por", "portuguese", "portugues"]),
    ("ro", &["ron", "rum", "romanian"]),
    ("ru", &["rus", "russian"]),
    ("si", &["sin", "sinhala"]),
    ("sk", &["slk", "slo", "slovak"]),
    ("sl", &["slv", "slovenian"]),
    ("sq", &["sqi", "alb", "albanian"]),
    ("sr", &["srp", "serbian"]),
    ("sv", &["swe", "swedish", "svenska"]),
    ("sw", &["swa", "swahili"]),
    ("ta", &["tam", "tamil"]),
    ("te", &["tel", "telugu"]),
    ("th", &["tha", "thai"]),
    ("tr", &["tur", "turkish"]),
    ("tl", &["tgl", "tagalog", "fil", "filipino"]),
    ("uk", &["ukr", "ukrainian"]),
    ("ur", &["urd", "urdu"]),
    ("vi", &["vie", "vietnamese"]),
    ("zh", &["zho", "chi", "chinese", "ze"]),
    ("es-ES", &["castellano", "castilian", "spn", "sp"]),
    (
        "es-419",
        &["latino", "latinoamericano", "latam", "lat", "spl", "ea"],
    ),
    ("pt-BR", &["pob", "pb", "ptbr", "brazilian", "brasileiro"]),
    ("zh-Hans", &["chs"]),
    ("zh-Hant", &["cht", "zt"]),
];

/// Codes of two letters that are hardly words, sorted.
const CERTAIN_CODES: [&str; 28] = [
    "ar", "bg", "ca", "cs", "ea", "en", "es", "eu", "fr", "gl", "hr", "hu", "ja", "ko", "nl", "pb",
    "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk", "vi", "zh",
];
/// Codes of three letters that are words as well, sorted.
const DOUBTFUL_CODES: [&str; 23] = [
    "bel", "ben", "bos", "cat", "dan", "est", "fin", "ice", "ind", "kat", "lit", "mac", "mal",
    "may", "mon", "nor", "pan", "per", "por", "ron", "sin", "tam", "tel",
];
/// Letters of the longest code, but for one.
const LONGEST_CODE: usize = 3;
const LONG_CODE: &str = "ptbr";

/// Names of languages that have words of a place beside them.
const PLACED_NAMES: [(&str, &str); 7] = [
    ("spanish", "es"),
    ("espanol", "es"),
    ("portuguese", "pt"),
    ("portugues", "pt"),
    ("chinese", "zh"),
    ("english", "en"),
    ("french", "fr"),
];
/// Words of a place, by language, and the tag of both.
const PLACES: [(&str, &[&str], &str); 12] = [
    (
        "es",
        &["latin america", "latin american", "latin", "latino", "la"],
        "es-419",
    ),
    ("es", &["latinoamerica", "latinoamericano"], "es-419"),
    (
        "es",
        &[
            "spain",
            "espana",
            "europe",
            "european",
            "eu",
            "castilian",
            "castellano",
        ],
        "es-ES",
    ),
    ("es", &["mexico"], "es-MX"),
    ("es", &["argentina"], "es-AR"),
    ("pt", &["brazil", "brazilian", "brasil", "br"], "pt-BR"),
    ("pt", &["portugal", "european"], "pt-PT"),
    ("zh", &["simplified"], "zh-Hans"),
    ("zh", &["traditional"], "zh-Hant"),
    ("en", &["us", "usa"], "en-US"),
    ("en", &["uk"], "en-GB"),
    ("fr", &["canada", "canadian"], "fr-CA"),
];
/// Places that give a language before its own code: `European.spa`.
const PLACES_BEFORE_CODE: [&str; 4] = ["european", "latin american", "simplified", "traditional"];
/// Scripts that a tag may name.
const SCRIPTS: [(&str, &str); 4] = [
    ("hans", "Hans"),
    ("hant", "Hant"),
    ("latn", "Latn"),
    ("cyrl", "Cyrl"),
];
/// Countries with the code of a language: beside another language they are a second one.
const COUNTRIES_AND_LANGUAGES: [&str; 5] = ["de", "es", "fr", "it", "pt"];
/// Codes of ISO 3166-1, with a blank before and behind each.
const COUNTRIES: &str = " \
    ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq \
    br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm \
    do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs \
    gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn \
    kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq \
    mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm \
    pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv \
    sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi \
    vn vu wf ws ye yt za zm zw \
    ";

/// Words that a name of a language consists of, or a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordForm {
    Code,
    Name,
}

/// The tag of one folded word, and the form of the word.
pub(crate) fn word_tag(word: &str) -> Option<(&'static str, WordForm)> {
    let is_word = |entry: &&(&str, &[&str])| entry.0 == word || entry.1.contains(&word);
    let (tag, _) = LANGUAGES.iter().find(is_word)?;
    let is_code = word.len() <= LONGEST_CODE || word == LONG_CODE;
    let form = if is_code {
        WordForm::Code
    } else {
        WordForm::Name
    };
    Some((tag, form))
}

/// True for a code that is a word as well.
pub(crate) fn is_doubtful(code: &str) -> bool {
    match code.len() {
        2 => CERTAIN_CODES.binary_search(&code).is_err(),
        _ => DOUBTFUL_CODES.binary_search(&code).is_ok(),
    }
}

/// The tag of the name of a language with words of a place.
pub(crate) fn placed_tag(name: &str, place: &str) -> Option<&'static str> {
    let (_, language) = PLACED_NAMES.iter().find(|(word, _)| *word == name)?;
    place_tag(language, place)
}

/// The tag of a language with words of a place.
fn place_tag(language: &str, place: &str) -> Option<&'static str> {
    let is_place = |entry: &&(&str, &[&str], &str)| entry.0 == language && entry.1.contains(&place);
    Some(PLACES.iter().find(is_place)?.2)
}

/// The tag of a place that stands before the code of a language.
pub(crate) fn place_before_code(place: &str, code_tag: &str) -> Option<&'static str> {
    if !PLACES_BEFORE_CODE.contains(&place) {
        return None;
    }
    place_tag(primary(code_tag), place)
}

/// The part of a tag before its region or script.
pub(crate) fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// The tag of a language (without region) with a region or script behind its code: `mx`, `419`.
pub(crate) fn region_tag(language: &str, region: &str) -> Option<String> {
    if let Some((_, script)) = SCRIPTS.iter().find(|(word, _)| *word == region) {
        return Some(format!("{language}-{script}"));
    }
    match region {
        "419" => Some(format!("{language}-419")),
        "la" if language == "es" => Some("es-419".to_owned()),
        "uk" => Some(format!("{language}-GB")),
        _ => {
            let is_other = COUNTRIES_AND_LANGUAGES.contains(&region) && region != language;
            let is_country = region.len() == 2 && COUNTRIES.contains(&format!(" {region} "));
            let is_region = is_country && !is_other;
            is_region.then(|| format!("{language}-{}", region.to_ascii_uppercase()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l2_tables_are_sorted_and_complete() {
        assert!(CERTAIN_CODES.is_sorted());
        assert!(DOUBTFUL_CODES.is_sorted());
        assert_eq!(COUNTRIES.split_whitespace().count(), 249);
    }

    #[test]
    fn l2_words_and_regions() {
        assert_eq!(word_tag("spa"), Some(("es", WordForm::Code)));
        assert_eq!(word_tag("espanol"), Some(("es", WordForm::Name)));
        assert_eq!(word_tag("cht"), Some(("zh-Hant", WordForm::Code)));
        assert_eq!(word_tag("nob"), Some(("no", WordForm::Code)));
        assert_eq!(word_tag("klingon"), None);
        assert_eq!(placed_tag("espanol", "espana"), Some("es-ES"));
        assert_eq!(placed_tag("chinese", "simplified"), Some("zh-Hans"));
        assert_eq!(place_before_code("european", "pt"), Some("pt-PT"));
        assert_eq!(region_tag("es", "mx").as_deref(), Some("es-MX"));
        assert_eq!(region_tag("es", "la").as_deref(), Some("es-419"));
        assert_eq!(region_tag("en", "uk").as_deref(), Some("en-GB"));
        assert_eq!(region_tag("en", "es"), None);
        assert_eq!(region_tag("es", "es").as_deref(), Some("es-ES"));
        assert!(is_doubtful("it") && is_doubtful("dan") && !is_doubtful("spa"));
    }
}
