//! Languages given by the name of one text among others (NAMES.md L5), such as a file in an
//! archive: its neighbours show which words are a title.

use super::language::{LanguageWords, language_before, region_before, told_before};
use super::language_words::WordForm;
use super::marks::{Circumstances, FolderSeason};
use super::name_words::NameWords;
use super::named::YEAR_LAST;
use super::path_words::{flag, is_clear, is_in_source, languages};
use super::tags::without_additions;
use super::title::ARTICLES;
use super::tokens::{NameTokens, plain};
use super::word_class::{is_one_of, number};

/// Codes that give a language anywhere in a name.
const CODES_ANYWHERE: [&str; 3] = ["eng", "spa", "esp"];

/// Words of a name that may give its language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldLanguage {
    /// The tag.
    pub tag: String,
    /// The folded words.
    words: Vec<String>,
    /// The folded word before them.
    before: Option<String>,
}

impl ToldLanguage {
    /// The languages that a base name without its ending may give: the one at its end first, then
    /// names of languages from the last to the first.
    ///
    /// ```
    /// use subcat_engine::ToldLanguage;
    /// let found = ToldLanguage::all("Show.S01E02.Spanish.Lesson.en");
    /// let tags: Vec<&str> = found.iter().map(|it| it.tag.as_str()).collect();
    /// assert_eq!(tags, ["en", "es"]);
    /// ```
    pub fn all(base_name: &str) -> Vec<Self> {
        let circumstances = Circumstances {
            is_query: false,
            year_last: YEAR_LAST,
            folder: FolderSeason::Outside,
        };
        let text = without_additions(plain(base_name), circumstances);
        let tokens = NameTokens::of_plain(text);
        let mut all = Vec::new();
        let is_direct = |start| is_behind_what_a_language_follows(&tokens, start, circumstances);
        let mut end = end_before_flags(&tokens, is_direct);
        if let Some(language) = language_at_end(&tokens, end, is_direct) {
            end = language.words.start;
            all.push(Self::new(&tokens, &language));
        }
        while end > 0 {
            match language_before(&tokens, end).filter(|it| tells_anywhere(&tokens, it)) {
                Some(language) => {
                    end = language.words.start;
                    all.push(Self::new(&tokens, &language));
                }
                None => end -= 1,
            }
        }
        all
    }

    fn new(tokens: &NameTokens, language: &LanguageWords) -> Self {
        let start = language.words.start;
        Self {
            tag: language.tag.clone(),
            words: tokens
                .range(language.words.clone())
                .map(str::to_owned)
                .collect(),
            before: start
                .checked_sub(1)
                .map(|before| tokens.word(before).to_owned()),
        }
    }

    /// True if another name, or a title, has these words behind the same word; where none stands
    /// before them, in front, an article apart. Such words belong to a title.
    pub fn stands_in(&self, name: &str) -> bool {
        let tokens = NameTokens::new(name);
        let len = self.words.len();
        (0..(tokens.len() + 1).saturating_sub(len)).any(|start| {
            let mut words = tokens.range(start..start + len).zip(&self.words);
            let is_same_before = match (&self.before, start.checked_sub(1)) {
                (Some(word), Some(before)) => tokens.word(before) == word,
                (None, None) => true,
                (None, Some(0)) => is_one_of(tokens.word(0), &ARTICLES),
                _ => false,
            };
            is_same_before && words.all(|(word, own)| word == own)
        })
    }
}

/// The language of a folder that gives one and nothing else: words of folders of subtitles, flags,
/// and `en` beside another language apart.
///
/// ```
/// use subcat_engine::language_of_folder;
/// assert_eq!(language_of_folder("Subtítulos en español").as_deref(), Some("es"));
/// assert_eq!(language_of_folder("Season 1"), None);
/// ```
pub fn language_of_folder(name: &str) -> Option<String> {
    let tokens = NameTokens::new(name);
    let mut found = languages(&tokens);
    found.retain(|it| tokens.word(it.words.start) != "hi");
    if found.len() > 1 {
        found.retain(|it| tokens.word(it.words.start) != "en");
    }
    let [language] = found.as_slice() else {
        return None;
    };
    let is_alone = (0..tokens.len()).all(|idx| {
        let word = tokens.word(idx);
        language.words.contains(&idx) || is_clear(word) || flag(word).is_some() || word == "en"
    });
    is_alone.then(|| language.tag.clone())
}

/// A base name without what a site adds to its end.
pub(crate) fn without_site(base_name: &str) -> String {
    let circumstances = Circumstances {
        is_query: false,
        year_last: YEAR_LAST,
        folder: FolderSeason::Outside,
    };
    without_additions(plain(base_name), circumstances)
}

/// Place behind the last word that is neither a flag nor digits.
fn end_before_flags(tokens: &NameTokens, is_direct: impl Fn(usize) -> bool) -> usize {
    let mut end = tokens.len();
    while let Some(last) = end.checked_sub(1) {
        let word = tokens.word(last);
        // The digits of `es-419` stay; those of `Show_es_419`, which names no region (L2), go.
        let is_region = || {
            region_before(tokens, end).is_some()
                && told_before(tokens, end, &is_direct).is_some_and(|it| it.words.start < last)
        };
        let is_tag = flag(word).is_some() || (number(word, 1..=9).is_some() && !is_region());
        if !is_tag {
            break;
        }
        end = last;
    }
    end
}

/// The language that the words before `end` are; a doubtful code after a blank does not count.
fn language_at_end(
    tokens: &NameTokens,
    end: usize,
    is_direct: impl Fn(usize) -> bool,
) -> Option<LanguageWords> {
    let language = told_before(tokens, end, is_direct)?;
    let gap = tokens.gap(language.words.start);
    let is_word = language.is_doubtful && gap.ends_with(char::is_whitespace);
    (!is_word).then_some(language)
}

/// True if a mark, a year, a flag or a source word stands directly before this word.
fn is_behind_what_a_language_follows(
    tokens: &NameTokens,
    start: usize,
    circumstances: Circumstances,
) -> bool {
    let words = NameWords::new(tokens.text(), circumstances);
    words.marks.iter().any(|mark| mark.words.end == start)
        || words.years.iter().any(|year| year.words.end == start)
        || flag(tokens.word(start - 1)).is_some()
        || is_in_source(tokens, start - 1)
}

/// True for a name of a language, or for a code that gives one anywhere in a name.
fn tells_anywhere(tokens: &NameTokens, language: &LanguageWords) -> bool {
    language.form == WordForm::Name || is_one_of(tokens.word(language.words.start), &CODES_ANYWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &[&str]) {
        let found = ToldLanguage::all(name);
        let tags: Vec<&str> = found.iter().map(|it| it.tag.as_str()).collect();
        assert_eq!(tags, expected, "{name:?}");
    }

    #[test]
    fn l5_languages_of_a_name() {
        check("Show.S01E02.es", &["es"]);
        check("Show.S01E02.Latino", &["es-419"]);
        check("2_English", &["en"]);
        check("English.SDH.2", &["en"]);
        check("Show.es.hi", &["es"]);
        check("European.spa", &["es-ES"]);
        check("Show pt_br", &[]);
        check("Show.S01E02.pt_br", &["pt-BR"]);
        check("Show_en_cc", &["en"]);
        check("Show.en-cc", &["en"]);
        check("Show_es_419", &["es"]);
        check("Show.S01E02_es_419", &["es-419"]);
        check("Stay it", &[]);
        check("Spanish Lesson", &["es"]);
        check("French.Spanish.x", &["es", "fr"]);
        check("Show.en.[Site]", &["en"]);
        check("Show", &[]);
        check("", &[]);
    }

    #[test]
    fn l5_words_of_a_title() {
        let found = &ToldLanguage::all("The Spanish Prisoner")[0];
        assert!(found.stands_in("the.spanish.apartment"));
        assert!(!found.stands_in("Spanish"));
        let first = &ToldLanguage::all("Spanish Prisoner")[0];
        assert!(first.stands_in("The Spanish Prisoner"));
        assert!(!first.stands_in("My Spanish Prisoner"));
    }

    #[test]
    fn l5_folders() {
        assert_eq!(language_of_folder("Spanish").as_deref(), Some("es"));
        assert_eq!(language_of_folder("Subs (English)").as_deref(), Some("en"));
        assert_eq!(language_of_folder("Spanish French"), None);
        assert_eq!(language_of_folder("The Spanish"), None);
    }
}
