//! Markup in texts of tables: entities, tags and control characters (API.md 13.9).

use super::text::windows_1252;
use crate::limits::ENTITY_BYTES_MAX;

/// Names of the characters from U+00A0 to U+00FF.
const LATIN_1: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy \
    reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 \
    frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml \
    Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute \
    Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute \
    ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash \
    ugrave uacute ucirc uuml yacute thorn yuml";

/// Names of other characters.
const OTHERS: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("OElig", 'Œ'),
    ("oelig", 'œ'),
    ("Scaron", 'Š'),
    ("scaron", 'š'),
    ("Yuml", 'Ÿ'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("hellip", '…'),
    ("bull", '•'),
    ("trade", '™'),
    ("euro", '€'),
];

/// The text without markup: entities become characters, tags and control characters are removed.
/// Line ends and tabs stay.
pub(super) fn without_markup(text: &str) -> String {
    let decoded = without_entities(text);
    let plain = without_tags(&decoded);
    let is_kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    plain
        .replace("\r\n", "\n")
        .chars()
        .filter(is_kept)
        .collect()
}

fn without_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest
            .bytes()
            .take(ENTITY_BYTES_MAX)
            .position(|byte| byte == b';');
        match end.and_then(|end| entity(&rest[..end]).map(|c| (c, end))) {
            Some((character, end)) => {
                plain.push(character);
                rest = &rest[end + 1..];
            }
            None => plain.push('&'),
        }
    }
    plain.push_str(rest);
    plain
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hexadecimal = number.strip_prefix(['x', 'X']);
        let code = match hexadecimal {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        // As browsers read them: those pages were written on Windows.
        return match code {
            0x80..=0x9F => Some(windows_1252(code as u8)),
            _ => char::from_u32(code),
        };
    }
    if let Some(idx) = LATIN_1.split(' ').position(|known| known == name) {
        // A space that does not break is a space in titles.
        let code = if idx == 0 { 0x20 } else { 0xA0 + idx as u32 };
        return char::from_u32(code);
    }
    let known = OTHERS.iter().find(|(known, _)| *known == name);
    known.map(|(_, character)| *character)
}

/// The text without tags; `<3` and `a < b` are none. A line break of HTML ends a line.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        plain.push_str(&rest[..at]);
        let tag = &rest[at + 1..];
        let name = tag.trim_start_matches('/');
        let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!');
        match tag.find('>').filter(|_| is_tag) {
            Some(end) => {
                let name = name.to_ascii_lowercase();
                if name.starts_with("br>") || name.starts_with("br/") || name.starts_with("br ") {
                    plain.push('\n');
                }
                rest = &tag[end + 1..];
            }
            None => {
                plain.push('<');
                rest = tag;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(without_markup(text), expected, "{text}");
    }

    #[test]
    fn markup_goes_and_text_stays() {
        check("Don&#039;t Look Up", "Don't Look Up");
        check("Para la <b>versi&oacute;n</b> x", "Para la versión x");
        check("a &amp; b &c; &; & d", "a & b &c; &; & d");
        check("&#xE1;&#146;&#1114112;&yuml;", "á’&#1114112;ÿ");
        check("I <3 you, a < b", "I <3 you, a < b");
        check("a<br>b<br />c", "a\nb\nc");
        check("a\u{0}b\u{7F}\r\nc\td", "ab\nc\td");
        check("<p", "<p");
        check("&ñ;&", "&ñ;&");
    }

    #[test]
    fn every_name_of_latin_1_has_its_character() {
        assert_eq!(LATIN_1.split(' ').count(), 0x60);
        assert_eq!(entity("ntilde"), Some('ñ'));
        assert_eq!(entity("Aacute"), Some('Á'));
        assert_eq!(entity("szlig"), Some('ß'));
    }
}
