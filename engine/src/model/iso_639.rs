//! ISO 639 codes of three letters that have an equivalent of two letters.

/// ISO 639-2 (T and B) and 639-3 codes, each followed by its ISO 639-1 code, in ascending order: a
/// binary search finds the first three letters.
///
/// Source: the code tables of ISO 639-2 (Library of Congress) and ISO 639-3 (SIL), 2026-07, as
/// published in the package `python-iso639`. Withdrawn codes (`iw`, `in`, `ji`, `mo`, `sh`, `bh`,
/// `scr`, `scc`, `mol`) are not in it.
const CODES: [&str; 203] = [
    "aaraa", "abkab", "afraf", "akaak", "albsq", "amham", "araar", "argan", "armhy", "asmas",
    "avaav", "aveae", "aymay", "azeaz", "bakba", "bambm", "baqeu", "belbe", "benbn", "bisbi",
    "bodbo", "bosbs", "brebr", "bulbg", "burmy", "catca", "cescs", "chach", "chece", "chizh",
    "chucu", "chvcv", "corkw", "cosco", "crecr", "cymcy", "czecs", "danda", "deude", "divdv",
    "dutnl", "dzodz", "ellel", "engen", "epoeo", "estet", "euseu", "eweee", "faofo", "fasfa",
    "fijfj", "finfi", "frafr", "frefr", "fryfy", "fulff", "geoka", "gerde", "glagd", "glega",
    "glggl", "glvgv", "greel", "grngn", "gujgu", "hatht", "hauha", "hebhe", "herhz", "hinhi",
    "hmoho", "hrvhr", "hunhu", "hyehy", "iboig", "iceis", "idoio", "iiiii", "ikuiu", "ileie",
    "inaia", "indid", "ipkik", "islis", "itait", "javjv", "jpnja", "kalkl", "kankn", "kasks",
    "katka", "kaukr", "kazkk", "khmkm", "kikki", "kinrw", "kirky", "komkv", "konkg", "korko",
    "kuakj", "kurku", "laolo", "latla", "lavlv", "limli", "linln", "litlt", "ltzlb", "lublu",
    "luglg", "macmk", "mahmh", "malml", "maomi", "marmr", "mayms", "mkdmk", "mlgmg", "mltmt",
    "monmn", "mrimi", "msams", "myamy", "nauna", "navnv", "nblnr", "ndend", "ndong", "nepne",
    "nldnl", "nnonn", "nobnb", "norno", "nyany", "ocioc", "ojioj", "orior", "ormom", "ossos",
    "panpa", "perfa", "plipi", "polpl", "porpt", "pusps", "quequ", "rohrm", "ronro", "rumro",
    "runrn", "rusru", "sagsg", "sansa", "sinsi", "slksk", "slosk", "slvsl", "smese", "smosm",
    "snasn", "sndsd", "somso", "sotst", "spaes", "sqisq", "srdsc", "srpsr", "sswss", "sunsu",
    "swasw", "swesv", "tahty", "tamta", "tattt", "telte", "tgktg", "tgltl", "thath", "tibbo",
    "tirti", "tonto", "tsntn", "tsots", "tuktk", "turtr", "twitw", "uigug", "ukruk", "urdur",
    "uzbuz", "venve", "vievi", "volvo", "welcy", "wlnwa", "wolwo", "xhoxh", "yidyi", "yoryo",
    "zhaza", "zhozh", "zulzu",
];

/// The ISO 639-1 code of a lower-case code of three letters, where there is one.
pub(super) fn two_letter_code(code: &str) -> Option<&'static str> {
    let found = CODES.binary_search_by(|pair| pair[..3].cmp(code));
    found.ok().map(|pair_idx| &CODES[pair_idx][3..])
}

/// Codes of ISO 639-2/B, for bibliographies; the others of [`CODES`] are for terminology (T).
const BIBLIOGRAPHIC: [&str; 20] = [
    "alb", "arm", "baq", "bur", "chi", "cze", "dut", "fre", "geo", "ger", "gre", "ice", "mac",
    "mao", "may", "per", "rum", "slo", "tib", "wel",
];

/// The ISO 639-2/T code of a lower-case code of two letters, where there is one.
pub(super) fn three_letter_code(code: &str) -> Option<&'static str> {
    let mut of_code = CODES.iter().filter(|pair| &pair[3..] == code);
    let found = of_code.find(|pair| !BIBLIOGRAPHIC.contains(&&pair[..3]))?;
    Some(&found[..3])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, expected: Option<&str>) {
        assert_eq!(two_letter_code(code), expected, "{code}");
    }

    #[test]
    fn every_code_of_two_letters_has_one_of_three_that_is_not_bibliographic() {
        for pair in CODES {
            let found = three_letter_code(&pair[3..]).unwrap();
            assert!(!BIBLIOGRAPHIC.contains(&found), "{pair}");
            assert_eq!(two_letter_code(found), Some(&pair[3..]));
        }
        assert_eq!(three_letter_code("es"), Some("spa"));
        assert_eq!(three_letter_code("de"), Some("deu"));
        assert_eq!(three_letter_code("xx"), None);
    }

    #[test]
    fn maps_639_2_b_and_t_and_639_3() {
        check("spa", Some("es"));
        check("fra", Some("fr"));
        check("fre", Some("fr"));
        check("deu", Some("de"));
        check("ger", Some("de"));
        check("zho", Some("zh"));
        check("chi", Some("zh"));
        check("hrv", Some("hr"));
        check("srp", Some("sr"));
        check("ron", Some("ro"));
        check("rum", Some("ro"));
        check("cat", Some("ca"));
        check("glg", Some("gl"));
        check("eus", Some("eu"));
        check("baq", Some("eu"));
        check("zul", Some("zu"));
        check("aar", Some("aa"));
    }

    #[test]
    fn leaves_codes_without_a_current_short_form() {
        for code in [
            "ast", "cmn", "hbs", "mol", "scr", "scc", "bih", "xxx", "es", "",
        ] {
            check(code, None);
        }
    }

    #[test]
    fn the_table_is_in_order_and_well_formed() {
        assert!(CODES.is_sorted());
        for pair in CODES {
            assert_eq!(pair.len(), 5, "{pair}");
            assert!(pair.bytes().all(|byte| byte.is_ascii_lowercase()), "{pair}");
        }
    }

    #[test]
    fn every_639_1_code_is_there() {
        let mut short: Vec<&str> = CODES.iter().map(|pair| &pair[3..]).collect();
        short.sort_unstable();
        short.dedup();
        assert_eq!(short.len(), 183);
    }
}
