//! Languages in a name: the words that give one, and its tag (NAMES.md L2).

use std::ops::Range;

use super::language_words::{
    WordForm, is_doubtful, place_before_code, placed_tag, primary, region_tag, word_tag,
};
use super::tokens::{NameTokens, plain};

/// Words of a name that give a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LanguageWords {
    pub(crate) tag: String,
    pub(crate) words: Range<usize>,
    pub(crate) form: WordForm,
    /// True for a code without region that is a word as well.
    pub(crate) is_doubtful: bool,
    /// True for a code and a region that `_` joins.
    pub(crate) is_joined_by_underscore: bool,
    /// True for the name of a language, or of its place, before its own code: `Danish.dan`.
    pub(crate) is_before_own_code: bool,
}

impl LanguageWords {
    /// The language without region or script.
    pub(crate) fn primary(&self) -> &str {
        primary(&self.tag)
    }
}

/// The tag of a text that is a code or a name of a language, and nothing else.
///
/// ```
/// use subcat_engine::language_of;
/// assert_eq!(language_of("spa").as_deref(), Some("es"));
/// assert_eq!(language_of("Spanish (Latin America)").as_deref(), Some("es-419"));
/// assert_eq!(language_of("pt_br").as_deref(), Some("pt-BR"));
/// assert_eq!(language_of("Klingon"), None);
/// ```
pub fn language_of(text: &str) -> Option<String> {
    let tokens = NameTokens::of_plain(plain(text));
    let found = language_before(&tokens, tokens.len())?;
    (found.words.start == 0).then_some(found.tag)
}

/// The language given by the words before `end`: the longest one.
pub(crate) fn language_before(tokens: &NameTokens, end: usize) -> Option<LanguageWords> {
    let found = single_before(tokens, end)?;
    let with_name = match found.form {
        WordForm::Code => before_own_code(tokens, &found),
        WordForm::Name => None,
    };
    Some(with_name.unwrap_or(found))
}

/// The language given by the words before `end`. A code and a region that `_` joins are one tag if
/// the region is in capitals, or if the code comes first, set off by another sign or, by
/// `is_direct`, after a word that a language follows; else the last word may be a code by itself
/// (NAMES.md L2).
pub(crate) fn told_before(
    tokens: &NameTokens,
    end: usize,
    is_direct: impl FnOnce(usize) -> bool,
) -> Option<LanguageWords> {
    let found = language_before(tokens, end)?;
    let start = found.words.start;
    let is_in_capitals = || {
        let region = &tokens.text()[tokens.start(start + 1)..tokens.end(start + 1)];
        region.len() == 2 && region.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let is_set_off = || tokens.gap(start).ends_with(['.', '-', '(', '[', '{']);
    let is_one = !found.is_joined_by_underscore
        || start == 0
        || is_set_off()
        || is_in_capitals()
        || is_direct(start);
    if is_one {
        Some(found)
    } else {
        word_before(tokens, end)
    }
}

/// A code, a code with a region, a name, a name with a place.
fn single_before(tokens: &NameTokens, end: usize) -> Option<LanguageWords> {
    placed_before(tokens, end)
        .or_else(|| region_before(tokens, end))
        .or_else(|| word_before(tokens, end))
}

/// A code or a name of one word.
fn word_before(tokens: &NameTokens, end: usize) -> Option<LanguageWords> {
    let last = end.checked_sub(1)?;
    let word = tokens.word(last);
    let (tag, form) = word_tag(word)?;
    Some(LanguageWords {
        tag: tag.to_owned(),
        words: last..end,
        form,
        is_doubtful: form == WordForm::Code && is_doubtful(word),
        is_joined_by_underscore: false,
        is_before_own_code: false,
    })
}

/// A code and, behind `-` or `_`, a region or a script.
pub(crate) fn region_before(tokens: &NameTokens, end: usize) -> Option<LanguageWords> {
    let start = end.checked_sub(2)?;
    let gap = tokens.gap(start + 1);
    if !matches!(gap, "-" | "_") {
        return None;
    }
    let (language, form) = word_tag(tokens.word(start))?;
    if form != WordForm::Code || language.contains('-') {
        return None;
    }
    Some(LanguageWords {
        tag: region_tag(language, tokens.word(start + 1))?,
        words: start..end,
        form,
        is_doubtful: false,
        is_joined_by_underscore: gap == "_",
        is_before_own_code: false,
    })
}

/// A name with words of a place behind or before it, or `latin american` alone.
fn placed_before(tokens: &NameTokens, end: usize) -> Option<LanguageWords> {
    let found = |tag: &str, words| LanguageWords {
        tag: tag.to_owned(),
        words,
        form: WordForm::Name,
        is_doubtful: false,
        is_joined_by_underscore: false,
        is_before_own_code: false,
    };
    if let Some(start) = end.checked_sub(3) {
        let words: [&str; 3] = std::array::from_fn(|at| tokens.word(start + at));
        let [first, second, third] = words;
        let tag = placed_tag(first, &[second, third].join(" "))
            .or_else(|| placed_tag(third, &[first, second].join(" ")));
        if let Some(tag) = tag {
            return Some(found(tag, start..end));
        }
    }
    let start = end.checked_sub(2)?;
    let (first, second) = (tokens.word(start), tokens.word(start + 1));
    if first == "latin" && second == "american" {
        return Some(found("es-419", start..end));
    }
    let tag = placed_tag(first, second).or_else(|| placed_tag(second, first))?;
    Some(found(tag, start..end))
}

/// The name of a language, or of its place, before its own code; the more specific of the two
/// counts.
fn before_own_code(tokens: &NameTokens, code: &LanguageWords) -> Option<LanguageWords> {
    let end = code.words.start;
    let combined = |tag: &str, start| LanguageWords {
        tag: tag.to_owned(),
        words: start..code.words.end,
        form: WordForm::Name,
        is_doubtful: false,
        is_joined_by_underscore: false,
        is_before_own_code: true,
    };
    if let Some(name) = single_before(tokens, end)
        && name.form == WordForm::Name
        && name.primary() == code.primary()
    {
        let tells_more = name.tag.contains('-') && !code.tag.contains('-');
        let tag = if tells_more { &name.tag } else { &code.tag };
        return Some(combined(tag, name.words.start));
    }
    let place = tokens.word(end.checked_sub(1)?);
    let tag = place_before_code(place, &code.tag)?;
    Some(combined(tag, end - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(language_of(text).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn l2_codes_and_names() {
        check("es", Some("es"));
        check("SPA", Some("es"));
        check("Español", Some("es"));
        check("Español (España)", Some("es-ES"));
        check("Spanish (Latin America)", Some("es-419"));
        check("Latin American Spanish", Some("es-419"));
        check("Latin American", Some("es-419"));
        check("European Spanish", Some("es-ES"));
        check("Brazilian", Some("pt-BR"));
        check("Portuguese (Brazil)", Some("pt-BR"));
        check("Chinese Simplified", Some("zh-Hans"));
        check("English (UK)", Some("en-GB"));
        check("Canadian French", Some("fr-CA"));
        check("pt-BR", Some("pt-BR"));
        check("pt_br", Some("pt-BR"));
        check("es-419", Some("es-419"));
        check("es-la", Some("es-419"));
        check("zh-hans", Some("zh-Hans"));
        check("sr-Latn", Some("sr-Latn"));
        check("en-es", None);
        check("nob", Some("no"));
        check("hi", Some("hi"));
        check("Klingon", None);
        check("The Spanish", None);
        check("", None);
    }

    #[test]
    fn l3_names_before_their_own_code() {
        check("Danish.dan", Some("da"));
        check("Brazilian.por", Some("pt-BR"));
        check("European.spa", Some("es-ES"));
        check("Latin American.spa", Some("es-419"));
        check("Simplified.chi", Some("zh-Hans"));
        check("Danish.spa", None);
    }
}
