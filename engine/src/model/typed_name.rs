//! Names that people type: of API keys and of accounts.

use std::fmt;

use crate::limits::{DISPLAY_NAME_CHARS_MAX, KEY_NAME_CHARS_MAX};

/// Descriptive name of an API key.
///
/// INVARIANT: 1 to [`KEY_NAME_CHARS_MAX`] characters of one visible line, no space at its ends.
///
/// ```
/// use subcat_engine::KeyName;
/// assert_eq!(KeyName::parse(" living room ").unwrap().as_str(), "living room");
/// assert_eq!(KeyName::parse("\u{202E}gnp.exe").unwrap().as_str(), "gnp.exe");
/// assert_eq!(KeyName::parse("two\nlines"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName(String);

impl KeyName {
    /// Reads a typed name: invisible characters, and space at its ends, are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let name = visible_line(text, KEY_NAME_CHARS_MAX)?;
        if name.is_empty() {
            None
        } else {
            Some(Self(name))
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

/// Name of an account that pages show beside, or in place of, its address.
///
/// INVARIANT: up to [`DISPLAY_NAME_CHARS_MAX`] characters of one visible line, no space at its
/// ends. It may be empty.
///
/// ```
/// use subcat_engine::DisplayName;
/// assert_eq!(DisplayName::parse(" Ana\u{200B} ").unwrap().into_string(), "Ana");
/// assert_eq!(DisplayName::parse("Ana\nadmin"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayName(String);

impl DisplayName {
    /// Reads a typed name: invisible characters, and space at its ends, are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        visible_line(text, DISPLAY_NAME_CHARS_MAX).map(Self)
    }

    /// The name.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// One line without invisible characters; `None` when it is too long or not one line.
fn visible_line(text: &str, chars_max: usize) -> Option<String> {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    let line = visible.trim();
    let is_line = !line.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
    if is_line && line.chars().count() <= chars_max {
        Some(line.to_owned())
    } else {
        None
    }
}

/// True for characters that are invisible and change how their neighbours are read: direction
/// overrides and isolates, joiners, fillers, tags. With them a name reads as another one, or
/// reverses the line in which it stands.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_name_is_one_short_visible_line() {
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
        check("a\u{2028}b", None);
        check("a\u{7F}", None);
        check("\u{202E}gnp.exe\u{2069}", Some("gnp.exe"));
        check("ad\u{200B}min\u{200D}\u{FEFF}", Some("admin"));
        check("\u{200B}\u{3164} ", None);
        check("مفتاح", Some("مفتاح"));
        check("mando 📺", Some("mando 📺"));
    }

    #[test]
    fn a_display_name_may_be_empty() {
        let check = |text: &str, expected: Option<&str>| {
            let name = DisplayName::parse(text).map(DisplayName::into_string);
            assert_eq!(name.as_deref(), expected, "{text:?}");
        };
        let longest = "ñ".repeat(80);
        check("", Some(""));
        check("\u{200F}\u{200B}", Some(""));
        check(&longest, Some(&longest));
        check(&format!("{longest}ñ"), None);
        check("a\nb", None);
        check(" Ana \u{2066}", Some("Ana"));
    }
}
