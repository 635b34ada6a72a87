//! A small vocabulary of similar words, so that matches, ties, typos and markers really occur.

use crate::choices::Choices;

/// Words of titles, in the various spellings that people use.
pub(crate) const TITLE_WORDS: &[&str] = &[
    "lost",
    "Last",
    "lots",
    "loss",
    "losts",
    "the",
    "a",
    "of",
    "Blade",
    "Runner",
    "Runners",
    "run",
    "runing",
    "2049",
    "1917",
    "24",
    "2001",
    "1899",
    "02001",
    "S01",
    "s1",
    "E02",
    "e3",
    "S01E02",
    "1x02",
    "s1e2e3",
    "S00E01",
    "s2",
    "S02E03",
    "s99e999",
    "Niño",
    "nino",
    "ninos",
    "Schindler's",
    "Schindlers",
    "shcindlers",
    "Sherlock",
    "Sherlok",
    "Shrelock",
    "sherlocks",
    "Straße",
    "strasse",
    "ﬁlm",
    "film",
    "films",
    "½",
    "tt12345",
    "tt0012345",
    "Él",
    "élan",
    "映画",
    "映",
    "über",
    "Interstellar",
    "Interstelar",
    "Intersetllar",
    "interstelarr",
    "x",
    "xx",
    "²",
    "IV",
    "İstanbul",
    "ıstanbul",
    "한국",
    "हिन्दी",
    "o'clock",
    "ǆungla",
    "Ⅳ",
    "breaking2",
    "breakin",
    "s010",
    "S01E021x",
    "s020",
    "s1x",
    "breaking",
    "breakign",
    "æon",
    "Σας",
];

/// Words of descriptions, in addition to those of titles.
const DESCRIPTION_WORDS: &[&str] = &[
    "720p",
    "webrip",
    "castellano",
    "España",
    "Latino",
    "México",
    "subs",
    "s01e02",
    "S02",
    "2004",
    "x264",
    "Ibérica",
    "argentina",
    "14.03.2019",
    "5 mar 2004",
    "2049",
    "temporada",
    "e2",
    "s1",
];

const SEPARATORS: &[&str] = &[
    " ", " ", " ", "-", ".", ": ", "_", "", "'", "\u{200D}", "\r\n",
];

/// Some words of titles, joined in any way.
pub(crate) fn title_text(choices: &mut Choices<'_>, words_max: usize) -> String {
    text(choices, words_max, &[TITLE_WORDS])
}

/// Some words of titles or descriptions, joined in any way.
pub(crate) fn description_text(choices: &mut Choices<'_>, words_max: usize) -> String {
    text(choices, words_max, &[DESCRIPTION_WORDS, TITLE_WORDS])
}

fn text(choices: &mut Choices<'_>, words_max: usize, lists: &[&[&str]]) -> String {
    let mut text = String::new();
    for word_idx in 0..=choices.below(words_max) {
        if 0 < word_idx {
            text.push_str(choices.pick(SEPARATORS));
        }
        let list = choices.pick(lists);
        text.push_str(choices.pick(list));
        if choices.one_in(40) {
            text.push(choices.character());
        }
    }
    text
}

/// Words of a release's name after its marker, some of which no record has, and a file ending.
pub(crate) fn release_tail(choices: &mut Choices<'_>) -> String {
    const TAIL_WORDS: &[&str] = &[
        "720p", "WEBRip", "x264", "NF", "BluRay", "1080p", "WEB-DL", "2004", "S02", "extended",
        "web", "BDRip", "hevc",
    ];
    const GROUPS: &[&str] = &[
        "-subs",
        "-Lost",
        "-LOL",
        "-x264",
        "",
        "-LOL[TGx]",
        "-subs-xpost",
    ];
    const ENDINGS: &[&str] = &["", ".srt", ".mkv", ".720p"];
    let mut tail = String::new();
    for _ in 0..choices.below(5) {
        tail.push('.');
        tail.push_str(choices.pick(TAIL_WORDS));
    }
    tail.push_str(choices.pick(GROUPS));
    tail.push_str(choices.pick(ENDINGS));
    tail
}

/// 7 to 10 words that may have typos; a request may have 8 (SEARCH.md 4.6).
pub(crate) fn long_words(choices: &mut Choices<'_>) -> String {
    const LONG_WORDS: &[&str] = &[
        "Blade",
        "Runner",
        "Sherlock",
        "Interstellar",
        "breaking",
        "strasse",
        "Schindlers",
        "ıstanbul",
    ];
    let words_count = 7 + choices.below(4);
    let words: Vec<&str> = (0..words_count).map(|_| choices.pick(LONG_WORDS)).collect();
    words.join(" ")
}

/// The text with one to three letters inserted, deleted, replaced or swapped.
pub(crate) fn with_typos(choices: &mut Choices<'_>, text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=choices.below(3) {
        let at = choices.below(letters.len().clamp(1, 256));
        let letter = choices.pick(&['e', 's', 'o', 'l', 'n', 'é']);
        match choices.below(4) {
            0 if 2 <= letters.len() => letters.swap(at, at.max(1) - 1),
            1 if at < letters.len() => letters[at] = letter,
            2 if 2 <= letters.len() => {
                letters.remove(at);
            }
            _ => letters.insert(at.min(letters.len()), letter),
        }
    }
    letters.into_iter().collect()
}

/// A part of the text between any two characters.
pub(crate) fn part(choices: &mut Choices<'_>, text: &str) -> String {
    let letters_count = text.chars().count().clamp(1, 256);
    let start = choices.below(letters_count);
    let kept_count = 1 + choices.below(letters_count - start);
    text.chars().skip(start).take(kept_count).collect()
}
