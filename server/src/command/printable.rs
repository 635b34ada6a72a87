//! Texts for terminals: the names of files and records may hold control characters, which a
//! terminal would obey.

use std::borrow::Cow;

/// A text whose control characters, but for line ends and tabs, are escaped as in JSON.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// A text within a line, whose control characters are all escaped.
pub(super) fn printable_in_line(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            clean.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        for (text, whole, in_line) in [
            ("año\t1\n", "año\t1\n", "año\\u00091\\u000a"),
            ("a\x1b[2J\r", "a\\u001b[2J\\u000d", "a\\u001b[2J\\u000d"),
            ("\u{9b}1m\x7f", "\\u009b1m\\u007f", "\\u009b1m\\u007f"),
        ] {
            assert_eq!(printable(text), whole);
            assert_eq!(printable_in_line(text), in_line);
        }
    }
}
