//! Folding, which makes two spellings of a title equal (SEARCH.md 1).

use std::fmt::Write;

use super::character::fold_character;
use super::episode_word::{EpisodeWord, Piece, attached_episode, is_further, spaced_episode};

/// The Unicode version of the data that folding uses: that of the locked ICU4X crates.
pub const UNICODE_VERSION: &str = "18.0.0";

/// Changes whenever the folding of any character does: an index built with another fingerprint is
/// rebuilt. A test computes it from the folding of every character.
pub const FOLDING_FINGERPRINT: u64 = 0xAB86_E2D1_44EA_A4AD;

/// Folds a text: its words, without case, accents and punctuation, joined by single spaces, with
/// episodes written in one way.
///
/// Cost: linear in the text, about 3 ns a byte of Spanish on the 2.5 GHz build machine; one
/// allocation.
/// Source: SEARCH.md 1.
///
/// ```
/// use subcat_engine::fold;
/// assert_eq!(fold("Schindler's List"), "schindlers list");
/// assert_eq!(fold("El Niño_2.0"), "el nino 2 0");
/// assert_eq!(fold("Lost - 1x02"), "lost s01e02");
/// ```
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

/// Appends the folding of `text` to `out`, which keeps its content.
///
/// ```
/// use subcat_engine::internals::fold_into;
/// let mut out = String::from(">");
/// fold_into("¿Qué?", &mut out);
/// assert_eq!(out, ">que");
/// ```
pub fn fold_into(text: &str, out: &mut String) {
    let mut writer = WordWriter::new(out);
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_alphanumeric() {
            // Most text is runs of ASCII letters: they are copied whole, then put in lower case.
            let run_bytes = alphanumeric_run(&bytes[at..]);
            writer.push_ascii(&text[at..at + run_bytes]);
            at += run_bytes;
        } else if byte.is_ascii() {
            // An apostrophe is deleted: it does not end the word.
            if !is_ascii_apostrophe(byte) {
                writer.end_word();
            }
            at += 1;
        } else {
            let character = text[at..].chars().next().expect("a character begins here");
            if character == '×' {
                writer.push_cross();
            } else {
                fold_character(character, &mut |letter| writer.push_folded(letter));
            }
            at += character.len_utf8();
        }
    }
    writer.end_word();
}

/// The words of a folded text, in order. A folded text that is empty has none.
///
/// ```
/// use subcat_engine::{fold, words};
/// let folded = fold("El Niño");
/// assert_eq!(words(&folded).collect::<Vec<_>>(), ["el", "nino"]);
/// ```
pub fn words(folded: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    folded.split(' ').filter(|word| !word.is_empty())
}

/// Count of ASCII letters and digits at the start of `bytes`.
fn alphanumeric_run(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric());
    end.unwrap_or(bytes.len())
}

/// The apostrophes of SEARCH.md 1.1 that are ASCII.
const fn is_ascii_apostrophe(byte: u8) -> bool {
    matches!(byte, b'\'' | b'`')
}

/// Writes words joined by single spaces, and episode words in one way as each word ends.
struct WordWriter<'a> {
    out: &'a mut String,
    /// Start of the folded text in `out`.
    text_start: usize,
    /// Start of the word that is being written.
    word_start: Option<usize>,
    /// True after a digit and `×`: an `x` if a digit follows.
    is_crossed: bool,
    last: LastWord,
}

/// State of step 5: the kind of the last word.
#[derive(Clone, Copy)]
enum LastWord {
    Other,
    /// A season that begins at this byte: an episode's number would make it an episode.
    Season {
        start: usize,
        season: u32,
    },
    /// A season that begins at this byte, and the word `e` or `ep`.
    SeasonAndWord {
        start: usize,
        season: u32,
    },
    /// An episode: further ones are dropped.
    Episode,
}

impl<'a> WordWriter<'a> {
    fn new(out: &'a mut String) -> Self {
        Self {
            text_start: out.len(),
            out,
            word_start: None,
            is_crossed: false,
            last: LastWord::Other,
        }
    }

    /// A run of ASCII letters and digits.
    fn push_ascii(&mut self, run: &str) {
        self.take_cross(run.as_bytes()[0].is_ascii_digit());
        self.begin_word();
        let start = self.out.len();
        self.out.push_str(run);
        self.out[start..].make_ascii_lowercase();
    }

    /// A letter or number of folded text, or the space that separates words.
    fn push_folded(&mut self, character: char) {
        if character == ' ' {
            self.end_word();
        } else {
            self.take_cross(character.is_ascii_digit());
            self.begin_word();
            self.out.push(character);
        }
    }

    /// `×`, which is an `x` between two digits (SEARCH.md 1.4).
    fn push_cross(&mut self) {
        let is_after_digit = self.word_start.is_some()
            && !self.is_crossed
            && self.out.ends_with(|last: char| last.is_ascii_digit());
        if is_after_digit {
            self.is_crossed = true;
        } else {
            self.end_word();
        }
    }

    /// Writes or drops the `×` before a character.
    #[inline]
    fn take_cross(&mut self, is_before_digit: bool) {
        if !self.is_crossed {
            return;
        }
        self.is_crossed = false;
        if is_before_digit {
            self.out.push('x');
        } else {
            self.end_word();
        }
    }

    fn begin_word(&mut self) {
        if self.word_start.is_none() {
            if self.text_start < self.out.len() {
                self.out.push(' ');
            }
            self.word_start = Some(self.out.len());
        }
    }

    /// SEARCH.md 1.5, for the word that ends here, if one does.
    fn end_word(&mut self) {
        self.is_crossed = false;
        let Some(start) = self.word_start.take() else {
            return;
        };
        // Step 5 works word by word from left to right, and a word depends on the last ones only.
        // So it is done here, in one pass, and the text is never read again.
        let last = std::mem::replace(&mut self.last, LastWord::Other);
        self.last = self
            .after_season(start, last)
            .unwrap_or_else(|| self.alone(start));
    }

    /// The word that begins at `start` and belongs to the last one.
    fn after_season(&mut self, start: usize, last: LastWord) -> Option<LastWord> {
        let word = &self.out[start..];
        match last {
            LastWord::Other => None,
            LastWord::Season { start, season } if matches!(word, "e" | "ep") => {
                Some(LastWord::SeasonAndWord { start, season })
            }
            LastWord::Season { start, season } => {
                let episode = attached_episode(word)?;
                Some(self.episode(start, season, episode))
            }
            LastWord::SeasonAndWord { start, season } => {
                let episode = spaced_episode(word)?;
                Some(self.episode(start, season, episode))
            }
            LastWord::Episode => is_further(word).then(|| {
                // The space before it is removed as well; there is one, because an episode precedes
                // it.
                self.out.truncate(start - 1);
                LastWord::Episode
            }),
        }
    }

    /// The word that begins at `start`, by itself.
    fn alone(&mut self, start: usize) -> LastWord {
        match Piece::parse(&self.out[start..]) {
            Some(Piece::Season { season, is_short }) => {
                if is_short {
                    self.rewrite(start, season, None);
                }
                LastWord::Season { start, season }
            }
            Some(Piece::Episode(word)) => {
                self.rewrite(start, word.season, word.episode);
                LastWord::Episode
            }
            None => LastWord::Other,
        }
    }

    fn episode(&mut self, start: usize, season: u32, episode: u32) -> LastWord {
        self.rewrite(start, season, Some(episode));
        LastWord::Episode
    }

    /// Writes an episode word over everything from `start` on.
    fn rewrite(&mut self, start: usize, season: u32, episode: Option<u32>) {
        self.out.truncate(start);
        write!(self.out, "{}", EpisodeWord { season, episode }).expect("a String takes all text");
    }
}

#[cfg(test)]
mod tests {
    use icu_casemap::CaseMapper;
    use icu_normalizer::DecomposingNormalizer;
    use icu_properties::CodePointMapData;
    use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
    use proptest::prelude::*;
    use xxhash_rust::xxh3::Xxh3;

    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(fold(input), expected, "{input:?}");
    }

    /// SEARCH.md 1, steps 1 to 4, each applied to the whole text.
    fn fold_step_by_step(text: &str) -> String {
        let categories = CodePointMapData::<GeneralCategory>::new();
        let is_apostrophe = |c: &char| "'`´ʻʼ‘’‛′".contains(*c);
        let is_mark = |c: &char| GeneralCategoryGroup::Mark.contains(categories.get(*c));
        let is_format = |c: &char| categories.get(*c) == GeneralCategory::Format;
        let is_kept = |c: &char| {
            GeneralCategoryGroup::Letter.contains(categories.get(*c))
                || GeneralCategoryGroup::Number.contains(categories.get(*c))
        };
        let dropped = |c: &char| !is_apostrophe(c) && !is_format(c);
        let step_1: String = text.chars().filter(dropped).collect();
        let decomposed = DecomposingNormalizer::new_nfkd()
            .normalize(&step_1)
            .into_owned();
        let step_2: String = decomposed.chars().filter(|c| !is_mark(c)).collect();
        let folded = CaseMapper::new().fold_string(&step_2).into_owned();
        let step_3: String = folded.chars().filter(|c| !is_apostrophe(c)).collect();
        let kept: Vec<char> = step_3.chars().collect();
        let is_digit = |at: Option<usize>| {
            at.and_then(|at| kept.get(at))
                .is_some_and(char::is_ascii_digit)
        };
        let mut spaced = String::new();
        for (at, c) in kept.iter().enumerate() {
            let is_cross = *c == '×' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
            if is_cross {
                spaced.push('x');
            } else if is_kept(c) {
                spaced.push(*c);
            } else {
                spaced.push(' ');
            }
        }
        spaced
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn search_rule_1_examples() {
        check("Schindler's List", "schindlers list");
        check("El Niño_2.0", "el nino 2 0");
        check("Straße", "strasse");
        check("½", "1 2");
        check("Lost - 1x02", "lost s01e02");
        check("Lost S01 E02", "lost s01e02");
        check("æ ø ł đ ı", "æ ø ł đ ı");
        check("Æ Ø Ł Đ I", "æ ø ł đ i");
    }

    #[test]
    fn search_rule_1_1_apostrophes_and_format_characters_vanish() {
        for apostrophe in "'`´ʻʼ‘’‛′".chars() {
            check(&format!("O{apostrophe}Brien"), "obrien");
        }
        check("''", "");
        check("'n'", "n");
        check("rock ' roll", "rock roll");
        check("co\u{AD}operate", "cooperate");
        check("a\u{200B}b\u{200D}c\u{FEFF}d\u{2060}e", "abcde");
        check("\u{202E}abc\u{202C}", "abc");
        check("a\u{2028}b", "a b");
        check("it\u{2033}s", "its");
    }

    #[test]
    fn search_rule_1_2_marks_vanish() {
        check("Amélie", "amelie");
        check("Ame\u{301}lie", "amelie");
        check("Pokémon: ¡Ñandú!", "pokemon nandu");
        check("ἄνθρωπος", "ανθρωποσ");
        check("Йй Ёё", "ии ее");
        check("हिन्दी", "हनद");
        check("ガ", "カ");
        check("한", "\u{1112}\u{1161}\u{11AB}");
        check("\u{301}", "");
        check("a \u{301} b", "a b");
    }

    #[test]
    fn search_rule_1_2_compatibility_forms_are_taken_apart() {
        check("ﬁlm", "film");
        check("Ｆｕｌｌ　ｗｉｄｔｈ", "full width");
        check("x²", "x2");
        check("Ⅳ", "iv");
        check("№ 1", "no 1");
        check("3½", "31 2");
        check("①②", "12");
        check("…", "");
        check("ŉ", "n");
        check("Rocky Ⅱ", "rocky ii");
        check("㎏", "kg");
        check("＇", "");
        check("a＇b", "ab");
        check("a\u{1FEF}b", "ab");
        check("a\u{384}b", "a b");
    }

    #[test]
    fn search_rule_1_3_case_folds_in_full() {
        check("GROẞ groß", "gross gross");
        check("ΣΑΣ σας", "σασ σασ");
        check("İstanbul", "istanbul");
        check("ISPARTA ısparta", "isparta ısparta");
        check("և", "եւ");
        check("Ǆ ǅ ǆ", "dz dz dz");
        check("Ꭰ ꭰ", "Ꭰ Ꭰ");
    }

    #[test]
    fn search_rule_1_4_all_else_separates() {
        check(
            "  spider-man:  far_from/home!! ",
            "spider man far from home",
        );
        check("a\tb\r\nc\u{A0}d", "a b c d");
        check("a+b=c", "a b c");
        check("R$ 5€", "r 5");
        check("🎬 film 🎬", "film");
        check("٢٠٠١ 二〇〇一", "٢٠٠١ 二〇〇一");
        check("!!!", "");
        check("", "");
        check("a\u{0}b\u{7F}c", "a b c");
        check("a\u{10FFFF}b", "a b");
    }

    #[test]
    fn search_rule_1_5_episodes_are_written_in_one_way() {
        check("s1e2", "s01e02");
        check("S1E002", "s01e02");
        check("4x100", "s04e100");
        check("s0 e2", "s00e02");
        check("s1", "s01");
        check("S01", "s01");
        check("season s1 finale", "season s01 finale");
        check("S01.E02", "s01e02");
        check("s1-e2", "s01e02");
        check("1x02", "s01e02");
        check("10x002", "s10e02");
        check("1x1080", "s01e1080");
        check("01X2", "01x2");
        check("100x02", "100x02");
        check("1920x1080", "1920x1080");
        check("s001e02", "s01e02");
        check("S2014E18", "s2014e18");
        check("S2014 E18", "s2014e18");
        check("s2014", "s2014");
        check("Lost T01E02", "lost s01e02");
        check("Lost T01 E02", "lost t01 e02");
        check("Lost S01.Ep02", "lost s01e02");
        check("s1x2", "s01e02");
        check("s1 x2", "s01e02");
        check("s1 x264", "s01 x264");
        check("s1 xe264", "s01e264");
        check("s1 ep 12", "s01e12");
        check("s1 e 12e13 x", "s01e12 x");
        check("s1 e lost", "s01 e lost");
        check("s1 e s2e3", "s01 e s02e03");
        check("Lost 1×02", "lost s01e02");
        check("1920×1080", "1920x1080");
        check("2×", "2");
        check("a×2 2×a", "a 2 2 a");
        check("1××2", "1 2");
        check("1×'02", "s01e02");
        check("1×２", "1x2");
        check("s1e0002", "s01e02");
        check("s1e100000", "s1e100000");
        check("s100", "s100");
        check("e02", "e02");
        check("xs1e2", "xs1e2");
        check("s1e2x", "s1e2x");
        check("Ｓ０１Ｅ０２", "s01e02");
        check("ſ1e2", "s01e02");
        check("s1é2", "s01e02");
        check("s1'e2", "s01e02");
        check("s¹e²", "s01e02");
        check("s٠١e٠٢", "s٠١e٠٢");
    }

    #[test]
    fn search_rule_1_5_further_episode_numbers_are_dropped() {
        check("S01E02E03", "s01e02");
        check("S01E02-E03", "s01e02");
        check("S01E02 e3 E04 e005", "s01e02");
        check("S01E02E03-E04", "s01e02");
        check("1x02 e3", "s01e02");
        check("1x02-03", "s01e02 03");
        check("1x02e03", "s01e02");
        check("1x02x03", "s01e02");
        check("s1e2x3", "s01e02");
        check("s1 e2 e3 lost", "s01e02 lost");
        check("s1 e2 e3 s4", "s01e02 s04");
        check("s1e2 e3000", "s01e02");
        check("s1e2 x3", "s01e02 x3");
        check("s1e2 the e3", "s01e02 the e3");
        check("s1e2 e3e4", "s01e02");
        check("s1 e2e3", "s01e02");
        check("s1e2 s1e3 e4", "s01e02 s01e03");
    }

    #[test]
    fn search_rule_1_5_goes_from_left_to_right() {
        check("s1 s2 e3", "s01 s02e03");
        check("e1 s2", "e1 s02");
        check("s1 e2 s3", "s01e02 s03");
        check("s1 e2 s3 e4", "s01e02 s03e04");
        check("s1 1x02", "s01 s01e02");
        check("e2 e3", "e2 e3");
        check("s1 x e2", "s01 x e2");
        check("s1 e2 x e3", "s01e02 x e3");
    }

    #[test]
    fn appending_looks_at_the_appended_text_only() {
        let mut out = String::from("lost s01");
        fold_into("E02 x", &mut out);
        assert_eq!(out, "lost s01e02 x");
        fold_into(" ", &mut out);
        assert_eq!(out, "lost s01e02 x");
    }

    /// Fails when the locked ICU4X crates bring another version of Unicode. Put the new fingerprint
    /// and version in then: indexes built with the old one are rebuilt.
    #[test]
    fn the_fingerprint_is_that_of_every_character() {
        let mut hash = Xxh3::new();
        for character in '\0'..=char::MAX {
            let folded = fold(character.encode_utf8(&mut [0; 4]));
            hash.update(folded.as_bytes());
            hash.update(b"\n");
        }
        assert_eq!(hash.digest(), FOLDING_FINGERPRINT, "{:#x}", hash.digest());
    }

    #[test]
    fn every_character_folds_as_the_rule_says_and_folds_to_itself() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let folded = fold(&text);
            // U+33A8 is `m∕s²`, and `s2` is a season: step 5 is for the fold to do.
            let rewritten = fold(&fold_step_by_step(&text));
            assert_eq!(folded, rewritten, "U+{:04X}", u32::from(character));
            assert_eq!(fold(&folded), folded, "U+{:04X}", u32::from(character));
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            4 => "[sStTeEpxX0-9× ]{1,4}",
            2 => "[a-zA-Z0-9' .-]{1,8}",
            2 => "[áÉñÜßøæıİſ’´½²ⅣﬁŉΣς\u{301}\u{308}\u{AD}\u{200D}\u{A0}]{1,3}",
            1 => any::<String>(),
        ];
        prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_text_folds_as_the_rule_says(text in any_text()) {
            // Folding what steps 1 to 4 leave does step 5 alone: see the two tests below.
            prop_assert_eq!(fold(&text), fold(&fold_step_by_step(&text)));
        }

        #[test]
        fn folding_twice_is_folding_once(text in any_text()) {
            let folded = fold(&text);
            prop_assert_eq!(fold(&folded), folded);
        }

        #[test]
        fn words_are_joined_by_single_spaces(text in any_text()) {
            let folded = fold(&text);
            prop_assert_eq!(words(&folded).collect::<Vec<_>>().join(" "), folded);
        }

        #[test]
        fn episode_words_are_fixed_points(season in 0_u32..100, episode in 0_u32..10_000) {
            let word = EpisodeWord { season, episode: Some(episode) };
            let folded = fold(&format!("{season}x{episode:02}"));
            prop_assert_eq!(&folded, &word.to_string());
            prop_assert_eq!(EpisodeWord::parse(&folded), Some(word));
            prop_assert_eq!(&fold(&format!("S{season} E{episode}")), &folded);
        }
    }
}
