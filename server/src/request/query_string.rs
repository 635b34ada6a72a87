//! Query strings as names and values. Bytes that are not UTF-8 are windows-1252, as old clients
//! send them.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// The parameters of a query string, in order, decoded: `+` and `%20` are spaces, bytes that are
/// not UTF-8 are windows-1252, invalid escapes stay unchanged (API.md, query string).
pub fn parameters(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains(['+', '%']) {
        return Cow::Borrowed(text);
    }
    // Before decoding: an encoded plus sign (%2B) stays one.
    let spaced = text.replace('+', " ");
    let decoded: Vec<u8> = percent_decode(spaced.as_bytes()).collect();
    Cow::Owned(match String::from_utf8(decoded) {
        Ok(text) => text,
        Err(error) => windows_1252(error.as_bytes()),
    })
}

/// Characters of the bytes 0x80 to 0x9F in windows-1252; five of them are control characters, as
/// browsers read them (WHATWG, Encoding). The other bytes are those of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

fn windows_1252(bytes: &[u8]) -> String {
    let character = |byte: &u8| match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(*byte),
    };
    bytes.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> = parameters(query).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| (Cow::Borrowed(*name), Cow::Borrowed(*value)))
            .collect();
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn splits_and_decodes() {
        check("", &[]);
        check("a=b", &[("a", "b")]);
        check("a=b+c%20d", &[("a", "b c d")]);
        check("a&b=&&=c", &[("a", ""), ("b", ""), ("", "c")]);
        check("a=b=c", &[("a", "b=c")]);
        check("%61=%C3%B1", &[("a", "ñ")]);
        check("a=%2B5", &[("a", "+5")]);
        check("a=1;b=2", &[("a", "1;b=2")]);
    }

    #[test]
    fn keeps_invalid_escapes() {
        check("a=100%", &[("a", "100%")]);
        check("a=%zz%4", &[("a", "%zz%4")]);
    }

    #[test]
    fn what_is_not_utf_8_is_windows_1252() {
        check("a=ni%F1o", &[("a", "niño")]);
        check("a=ni%F1o&b=ni%C3%B1o", &[("a", "niño"), ("b", "niño")]);
        check("a=%93Qu%E9%3F%94+%80", &[("a", "“Qué?” €")]);
        check("a=%81%9D%ff%41", &[("a", "\u{81}\u{9D}ÿA")]);
        // One byte that is not UTF-8 makes the whole value windows-1252.
        check("a=%C3%B1%F1", &[("a", "Ã±ñ")]);
    }
}
