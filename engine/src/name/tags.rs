//! Language and flags at the end of a file's name (NAMES.md L1, L3 and L4).

use super::clean::CleanName;
use super::episode_number::path_number;
use super::language::{LanguageWords, language_before, region_before, told_before};
use super::language_words::{WordForm, primary, word_tag};
use super::marks::{Circumstances, Mark, MarkKind};
use super::name_words::NameWords;
use super::path_words::{
    NameFlag, flag, is_generic, is_in_source, is_written_as_code, release_group,
};
use super::title::is_release_word;
use super::tokens::{NameTokens, plain};
use super::word_class::{is_one_of, is_video_ending, number};

/// Words that sites and programs add behind a language or a flag.
const ADDED_WORDS: [&str; 16] = [
    "sub",
    "subs",
    "srt",
    "deepl",
    "machine",
    "synced",
    "resync",
    "fixed",
    "corregido",
    "corregida",
    "corregidos",
    "corregidas",
    "copia",
    "copy",
    "bak",
    "utf8",
];
/// Two letters behind a mark that are no language and no mistake for one.
const OTHER_TWO_LETTERS: [&str; 6] = ["hd", "sd", "tv", "dl", "ts", "r5"];

/// The folders around a name, as far as its language depends on them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// Words of the inner folder's title.
    pub(crate) title: Vec<String>,
    /// True if a folder of clear words holds the name, below the inner folder.
    pub(crate) is_clear: bool,
    /// True if the inner folder has a year or an episode.
    pub(crate) has_year_or_episode: bool,
    /// True if the inner folder has a source word.
    pub(crate) is_release: bool,
    /// The language given by folders.
    pub(crate) language: Option<String>,
    /// Words of the series' title, and its year.
    pub(crate) series: Vec<String>,
    pub(crate) series_year: Option<u32>,
}

/// Language and flags given by the end of a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tags {
    /// The name without its tags.
    pub(crate) name: String,
    /// Ids of the catalog in the whole name, also behind its tags.
    pub(crate) ids: Vec<String>,
    pub(crate) language: Option<String>,
    pub(crate) is_hearing_impaired: bool,
    pub(crate) is_forced: bool,
    /// Words that may be a language or none: the name is refused.
    pub(crate) refused: Option<String>,
}

impl Tags {
    /// Reads the end of a name without its ending.
    pub(crate) fn new(name: &str, circumstances: Circumstances, around: &Surroundings) -> Self {
        let text = without_additions(without_video_ending(plain(name)), circumstances);
        let words = NameWords::new(&text, circumstances);
        let mut reader = Reader {
            around,
            number_end: path_number(&words, &around.series, around.series_year)
                .map(|found| found.end),
            words: &words,
            end: words.tokens.len(),
            language: None,
            flags: Vec::new(),
        };
        reader.read();
        let refused = reader.refused();
        Self {
            language: reader
                .language
                .as_ref()
                .map(|language| language.tag.clone()),
            is_hearing_impaired: reader.has(NameFlag::HearingImpaired),
            is_forced: reader.has(NameFlag::Forced) || reader.has(NameFlag::Foreign),
            name: text[..reader.cut()].to_owned(),
            refused,
            ids: words.ids,
        }
    }
}

/// A reader of tags, from the end of a name to its front.
struct Reader<'a> {
    words: &'a NameWords,
    around: &'a Surroundings,
    /// Place behind the number of an episode in the folder of a season.
    number_end: Option<usize>,
    /// Place of the first tag that was read.
    end: usize,
    language: Option<LanguageWords>,
    flags: Vec<(usize, NameFlag)>,
}

impl Reader<'_> {
    fn tokens(&self) -> &NameTokens {
        &self.words.tokens
    }

    fn read(&mut self) {
        let all = self.end;
        // One digit may stand behind tags: a second file of the same language.
        let has_digit = all > 1 && number(self.tokens().word(all - 1), 1..=1).is_some();
        if has_digit {
            self.end = all - 1;
            self.read_tags();
            if self.end < all - 1 {
                return;
            }
            self.end = all;
        }
        self.read_tags();
    }

    fn read_tags(&mut self) {
        loop {
            if let Some(last) = self.end.checked_sub(1)
                && let Some(flag) = self.flag_at(last)
            {
                self.flags.push((last, flag));
                self.end = last;
                continue;
            }
            if self.language.is_none()
                && let Some(language) = self.counted_language()
            {
                self.end = language.words.start;
                self.language = Some(language);
                continue;
            }
            break;
        }
    }

    fn has(&self, wanted: NameFlag) -> bool {
        self.flags.iter().any(|(_, flag)| *flag == wanted)
    }

    /// Byte at which the name without its tags ends.
    fn cut(&self) -> usize {
        let tokens = self.tokens();
        if self.end == tokens.len() {
            return tokens.text().len();
        }
        let before = self
            .end
            .checked_sub(1)
            .map_or(0, |before| tokens.end(before));
        match tokens.bracket(self.end) {
            Some(bracket) if before <= bracket.start => bracket.start,
            _ => tokens.start(self.end),
        }
    }

    /// The flag that a word is, where it stands (NAMES.md L1).
    fn flag_at(&self, idx: usize) -> Option<NameFlag> {
        let tokens = self.tokens();
        let flag = flag(tokens.word(idx))?;
        let is_beside_language = self.is_language_word_before(idx)
            || self
                .language
                .as_ref()
                .is_some_and(|it| it.words.start == idx + 1);
        if flag == NameFlag::Foreign {
            return is_beside_language.then_some(flag);
        }
        let is_beside_flag = self.flags.iter().any(|(place, _)| *place == idx + 1)
            || idx
                .checked_sub(1)
                .is_some_and(|before| is_flag(tokens.word(before)));
        let is_flag = self.is_set_off(idx)
            || (self.is_alone(idx) && (self.around.is_clear || !self.is_title_word(idx)))
            || self.is_behind_title(idx)
            || (self.is_direct(idx) && !tokens.is_behind_dash(idx))
            || is_beside_language
            || is_beside_flag;
        is_flag.then_some(flag)
    }

    fn is_language_word_before(&self, idx: usize) -> bool {
        let tokens = self.tokens();
        let found = language_before(tokens, idx);
        found.is_some_and(|language| tokens.word(language.words.start) != "hi")
    }

    /// True if a sign that sets words off stands directly before this word.
    fn is_set_off(&self, idx: usize) -> bool {
        self.tokens()
            .gap(idx)
            .ends_with(['.', '_', '-', '(', '[', '{'])
    }

    /// True directly behind a mark, a year, a flag, a source word, a disc, the number of an
    /// episode, or the group of a release.
    fn is_direct(&self, idx: usize) -> bool {
        let Some(before) = idx.checked_sub(1) else {
            return false;
        };
        let words = self.words;
        let word = words.tokens.word(before);
        self.mark_before(idx).is_some()
            || words.years.iter().any(|year| year.words.end == idx)
            || is_flag(word)
            || is_in_source(&words.tokens, before)
            || is_one_of(word, &["cd1", "cd2", "cd3"])
            || self.is_behind_number(idx)
            || release_group(&words.tokens, words.source, idx).is_some()
    }

    fn mark_before(&self, idx: usize) -> Option<&Mark> {
        self.words.marks.iter().find(|mark| mark.words.end == idx)
    }

    /// True directly behind the number of an episode that is not a mark.
    fn is_behind_number(&self, idx: usize) -> bool {
        let is_group_number = || {
            let found = self.words.group_number();
            found.is_some_and(|(number, _)| number + 1 == idx)
        };
        self.number_end == Some(idx) || is_group_number()
    }

    /// True if nothing but generic words stands before this word.
    fn is_alone(&self, idx: usize) -> bool {
        let tokens = self.tokens();
        (0..idx).all(|before| {
            let is_number = tokens
                .word(before)
                .bytes()
                .all(|byte| byte.is_ascii_digit());
            let is_free = !is_number || self.around.is_clear || tokens.gap(before + 1) == "_";
            is_free && is_generic(tokens, before)
        })
    }

    /// True if the words before this one are the inner folder's title.
    fn is_behind_title(&self, idx: usize) -> bool {
        let title = &self.around.title;
        let words = (0..idx).map(|before| self.tokens().word(before));
        !title.is_empty() && title.len() == idx && words.eq(title.iter().map(String::as_str))
    }

    /// True for a word of the inner folder's title.
    fn is_title_word(&self, idx: usize) -> bool {
        let word = self.tokens().word(idx);
        self.around.title.iter().any(|it| it == word)
    }

    /// True if the inner folder's title ends in these words.
    fn is_end_of_title(&self, language: &LanguageWords) -> bool {
        let words: Vec<&str> = self.tokens().range(language.words.clone()).collect();
        let title: Vec<&str> = self.around.title.iter().map(String::as_str).collect();
        title.ends_with(&words)
    }

    /// The language before the tags that were read, if it counts (NAMES.md L3).
    fn counted_language(&self) -> Option<LanguageWords> {
        let language = self.language_here()?;
        self.counts(&language).then_some(language)
    }

    /// The language given by the last words, counting or not.
    fn language_here(&self) -> Option<LanguageWords> {
        let is_direct = |start| self.is_direct(start) || self.is_behind_title(start);
        let found = told_before(self.tokens(), self.end, is_direct)?;
        let is_flag = self.tokens().word(found.words.start) == "hi" && found.words.len() == 1;
        (!is_flag).then_some(found)
    }

    fn counts(&self, language: &LanguageWords) -> bool {
        if language.is_before_own_code {
            return true;
        }
        if !is_written_as_code(self.tokens(), language) {
            return false;
        }
        if self.is_alone_as_language(language) {
            return true;
        }
        match language.form {
            WordForm::Name => self.counts_as_name(language),
            WordForm::Code => self.counts_as_code(language),
        }
    }

    fn is_alone_as_language(&self, language: &LanguageWords) -> bool {
        let start = language.words.start;
        let around = self.around;
        let is_title_word = || language.words.clone().any(|idx| self.is_title_word(idx));
        let is_alone = self.is_alone(start) && (around.is_clear || !is_title_word());
        if !is_alone && !self.is_behind_title(start) {
            return false;
        }
        !language.is_doubtful
            || around.is_clear
            || around.has_year_or_episode
            || (is_alone && start > 0)
    }

    fn counts_as_name(&self, language: &LanguageWords) -> bool {
        let start = language.words.start;
        let tokens = self.tokens();
        let is_behind_episode = || {
            let is_season = |mark: &Mark| matches!(mark.kind, MarkKind::Season(_));
            self.is_behind_number(start)
                || self.mark_before(start).is_some_and(|mark| !is_season(mark))
        };
        let is_direct =
            self.is_direct(start) && !(tokens.is_behind_dash(start) && is_behind_episode());
        let is_behind_source = self.words.source.is_some_and(|source| source < start);
        let in_release_folder = || {
            self.around.is_release
                && self.words.marks.is_empty()
                && !language.words.clone().any(|idx| self.is_title_word(idx))
        };
        is_direct
            || is_behind_source
            || in_release_folder()
            || (self.is_set_off(start) && self.has_spaces())
    }

    fn counts_as_code(&self, language: &LanguageWords) -> bool {
        let start = language.words.start;
        let gap = self.tokens().gap(start);
        let is_direct = self.is_direct(start);
        if self.is_set_off(start) {
            let is_behind_source = self.words.source.is_some_and(|source| source < start);
            let is_by_dash = gap.ends_with('-');
            let is_certain = !language.is_doubtful || is_direct || self.has_spaces();
            return is_certain && (!is_by_dash || (is_direct && !is_behind_source));
        }
        let raw = self.raw(start);
        let is_behind_blank = self.is_behind_blank(start);
        let is_small = !raw.contains(char::is_uppercase);
        is_behind_blank && is_direct && !language.is_doubtful && is_small
    }

    fn raw(&self, idx: usize) -> &str {
        let tokens = self.tokens();
        &tokens.text()[tokens.start(idx)..tokens.end(idx)]
    }

    /// True if a blank stands directly before this word, but not that of ` - `.
    fn is_behind_blank(&self, idx: usize) -> bool {
        let tokens = self.tokens();
        tokens.gap(idx).ends_with(char::is_whitespace) && !tokens.is_behind_dash(idx)
    }

    fn has_spaces(&self) -> bool {
        self.tokens().text().trim().contains(' ')
    }

    /// The words for which a name is refused (NAMES.md L1 and L4).
    fn refused(&self) -> Option<String> {
        let record = self.around.language.as_deref();
        if self.language.is_some() {
            return None;
        }
        let hi = self
            .flags
            .iter()
            .find(|(idx, _)| self.tokens().word(*idx) == "hi");
        if let Some((idx, _)) = hi
            && record.is_none()
        {
            return Some(self.raw(*idx).to_owned());
        }
        if let Some(language) = self.language_here() {
            let is_other = match record {
                None => true,
                Some(record) => {
                    language.form == WordForm::Name && primary(record) != language.primary()
                }
            };
            if is_other && self.looks_told(&language) && !self.is_end_of_title(&language) {
                let tokens = self.tokens();
                let range = tokens.start(language.words.start)..tokens.end(language.words.end - 1);
                return Some(tokens.text()[range].to_owned());
            }
            return None;
        }
        if record.is_none() {
            self.two_letters()
        } else {
            None
        }
    }

    /// True if words that do not count look like words that gave the language.
    fn looks_told(&self, language: &LanguageWords) -> bool {
        let start = language.words.start;
        let tokens = self.tokens();
        let gap = tokens.gap(start);
        if self.is_set_off(start) {
            let is_behind_code = || {
                let before = start
                    .checked_sub(1)
                    .map_or("", |before| tokens.word(before));
                word_tag(before).is_some_and(|(_, form)| form == WordForm::Code)
            };
            return !gap.ends_with('-') || is_behind_code();
        }
        let is_direct =
            self.is_direct(start) && (self.is_behind_blank(start) || tokens.is_behind_dash(start));
        is_direct || (language.form == WordForm::Code && self.is_alone(start))
    }

    /// Two letters directly behind a mark, a year or a source word that are no language.
    fn two_letters(&self) -> Option<String> {
        let last = self.end.checked_sub(1)?;
        is_two_letters(self.words, last).then(|| self.raw(last).to_owned())
    }
}

fn is_flag(word: &str) -> bool {
    flag(word).is_some_and(|flag| flag != NameFlag::Foreign)
}

/// True for two letters, set off by `.` or `_`, directly behind a mark, a year or a source word,
/// that are no word of a release.
fn is_two_letters(words: &NameWords, idx: usize) -> bool {
    let tokens = &words.tokens;
    let word = tokens.word(idx);
    let is_word = word.len() == 2
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
        && !is_one_of(word, &OTHER_TWO_LETTERS)
        && !is_release_word(word);
    let is_behind = words.marks.iter().any(|mark| mark.words.end == idx)
        || words.years.iter().any(|year| year.words.end == idx)
        || idx
            .checked_sub(1)
            .is_some_and(|before| is_in_source(tokens, before));
    is_word && is_behind && tokens.gap(idx).ends_with(['.', '_'])
}

/// A name without the ending of a video before its tags.
fn without_video_ending(text: String) -> String {
    let tokens = NameTokens::of_plain(text.clone());
    for idx in (1..tokens.len()).rev() {
        let word = tokens.word(idx);
        if is_video_ending(word) && tokens.gap(idx) == "." {
            let mut text = text;
            text.replace_range(tokens.end(idx - 1)..tokens.end(idx), "");
            return text;
        }
        let is_tag = is_generic(&tokens, idx)
            || is_one_of(word, &ADDED_WORDS)
            || region_before(&tokens, idx + 1).is_some();
        if !is_tag || is_in_source(&tokens, idx) {
            break;
        }
    }
    text
}

/// A name without what a site adds to its end (NAMES.md L1).
pub(super) fn without_additions(text: String, circumstances: Circumstances) -> String {
    let mut text = text;
    while let Some(len) = addition(&text, circumstances) {
        text.truncate(len);
    }
    text
}

/// Length of a name without one addition at its end.
fn addition(text: &str, circumstances: Circumstances) -> Option<usize> {
    let trimmed = text.trim_end();
    let ends_in = |ending: &str| {
        let start = trimmed.len().checked_sub(ending.len())?;
        let is_ending = trimmed.get(start..)?.eq_ignore_ascii_case(ending);
        is_ending.then_some(start)
    };
    if let Some(start) = ends_in(".addic7ed.com") {
        let mut before = &trimmed[..start];
        while let Some((rest, last)) = before.rsplit_once('.')
            && is_one_of(&last.to_ascii_lowercase(), &["orig", "updated", "c"])
        {
            before = rest;
        }
        return Some(before.len());
    }
    disc_and_number(trimmed)
        .or_else(|| site_number(trimmed))
        .or_else(|| added_bracket(trimmed))
        .or_else(|| added_word(trimmed, circumstances))
}

/// `.1cd.(1234567)`.
fn disc_and_number(text: &str) -> Option<usize> {
    let (before, inside) = text.strip_suffix(')')?.rsplit_once(".(")?;
    let (rest, disc) = before.rsplit_once('.')?;
    let digit = disc.to_ascii_lowercase();
    let is_disc = number(digit.strip_suffix("cd")?, 1..=1).is_some();
    (is_disc && inside.starts_with(|c: char| c.is_ascii_digit())).then_some(rest.len())
}

/// `-12345` behind a language, or behind `-yify`, which goes as well.
fn site_number(text: &str) -> Option<usize> {
    let (before, digits) = text.rsplit_once('-')?;
    let is_number = digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    if let Some((rest, site)) = before.rsplit_once('-')
        && site.eq_ignore_ascii_case("yify")
    {
        return Some(rest.len());
    }
    let tokens = NameTokens::of_plain(before.to_owned());
    language_before(&tokens, tokens.len()).map(|_| before.len())
}

/// `[…]` without digits, flag or language, behind a language or flag.
fn added_bracket(text: &str) -> Option<usize> {
    let start = text.strip_suffix(']')?.rfind('[')?;
    let inside = NameTokens::of_plain(text[start..].to_owned());
    let is_plain = !text[start..].contains(|c: char| c.is_ascii_digit())
        && (0..inside.len()).all(|idx| {
            let word = inside.word(idx);
            flag(word).is_none() && language_before(&inside, idx + 1).is_none()
        });
    let before = NameTokens::of_plain(text[..start].to_owned());
    (is_plain && ends_in_tag(&before, before.len())).then(|| before.end(before.len() - 1))
}

/// A word that is added behind a language, a flag or two letters that may be a language.
fn added_word(text: &str, circumstances: Circumstances) -> Option<usize> {
    let tokens = NameTokens::of_plain(text.to_owned());
    let mut end = tokens.len();
    while end > 0 && is_one_of(tokens.word(end - 1), &ADDED_WORDS) {
        end -= 1;
    }
    if end == tokens.len() || end == 0 {
        return None;
    }
    let cut = tokens.end(end - 1);
    if ends_in_tag(&tokens, end) {
        return Some(cut);
    }
    let clean = CleanName::new(&text[..cut], circumstances.year_last);
    let words = NameWords::new(&clean.text, circumstances);
    is_two_letters(&words, words.tokens.len().checked_sub(1)?).then_some(cut)
}

/// True if the words before `end` end in a language or a flag.
fn ends_in_tag(tokens: &NameTokens, end: usize) -> bool {
    let Some(last) = end.checked_sub(1) else {
        return false;
    };
    flag(tokens.word(last)).is_some() || language_before(tokens, end).is_some()
}
