//! Names of API keys.

use std::fmt;

use crate::limits::KEY_NAME_CHARS_MAX;

/// Descriptive name of an API key.
///
/// INVARIANT: 1 to [`KEY_NAME_CHARS_MAX`] characters, no control characters, no space at its ends.
///
/// ```
/// use subcat_engine::KeyName;
/// assert_eq!(KeyName::parse(" living room ").unwrap().as_str(), "living room");
/// assert_eq!(KeyName::parse("two\nlines"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName(String);

impl KeyName {
    /// Reads a name as it was typed: space at its ends is dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.trim();
        let has_length = (1..=KEY_NAME_CHARS_MAX).contains(&name.chars().count());
        if has_length && !name.contains(char::is_control) {
            Some(Self(name.to_owned()))
        } else {
            None
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line() {
        let check = |text: &str, expected: Option<&str>| {
            let name = KeyName::parse(text);
            assert_eq!(name.as_ref().map(KeyName::as_str), expected, "{text:?}");
        };
        let longest = "ñ".repeat(100);
        check("Salón", Some("Salón"));
        check(" a b\t", Some("a b"));
        check(&longest, Some(&longest));
        check(&format!("{longest}ñ"), None);
        check("", None);
        check("  ", None);
        check("a\nb", None);
        check("a\u{7F}", None);
    }
}
