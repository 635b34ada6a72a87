//! Query strings as names and values.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// The parameters of a query string, in order, decoded: `+` and `%20` are spaces, invalid
/// UTF-8 becomes U+FFFD, invalid escapes stay as they are (API.md, query string).
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
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
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
    fn keeps_invalid_escapes_and_replaces_invalid_utf8() {
        check("a=100%", &[("a", "100%")]);
        check("a=%zz%4", &[("a", "%zz%4")]);
        check("a=%ff%41", &[("a", "\u{FFFD}A")]);
    }
}
