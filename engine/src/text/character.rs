//! Folding of one character: steps 1 to 4 of SEARCH.md 1.
//!
//! Every step before the episode words treats one character at a time. Canonical reordering, the
//! one part of NFKD that does not, only moves marks, and marks are deleted. So the folding of a
//! text is the folding of its characters one after another, and each is computed only once.

use std::borrow::Cow;
use std::iter;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::{DecomposingNormalizer, DecomposingNormalizerBorrowed};
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

/// Characters below this have their folding in a table of 113 KB: all scripts of Europe, the Near
/// East and India, punctuation, and kana.
const TABLE_END: u32 = 0x3100;
/// Characters beyond the table that fold to themselves: no look-up is needed for them.
const IDEOGRAPHS: RangeInclusive<char> = '\u{4E00}'..='\u{9FFF}';

const NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizer::new_nfkd();
const CASES: CaseMapperBorrowed<'static> = CaseMapper::new();
const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> =
    CodePointMapData::<GeneralCategory>::new();

/// A folding of at most seven bytes.
#[derive(Clone, Copy, Default)]
struct Short {
    length: u8,
    bytes: [u8; 7],
}

static TABLE: LazyLock<Vec<Option<Short>>> = LazyLock::new(|| {
    let below_end = (0..TABLE_END).filter_map(char::from_u32);
    below_end.map(short).collect()
});

fn short(character: char) -> Option<Short> {
    let mut text = String::new();
    work_out(character, &mut |letter| text.push(letter));
    let mut short = Short {
        length: u8::try_from(text.len()).ok()?,
        ..Short::default()
    };
    let bytes = short.bytes.get_mut(..text.len())?;
    bytes.copy_from_slice(text.as_bytes());
    Some(short)
}

/// Calls `each` with the folding of `character`: letters and numbers, and a space for everything
/// that separates words. Apostrophes, format characters and marks have no folding.
///
/// Cost: a table look-up for most scripts, several look-ups in the tables of ICU for the others.
pub(crate) fn fold_character(character: char, each: &mut impl FnMut(char)) {
    if IDEOGRAPHS.contains(&character) {
        each(character);
        return;
    }
    // ICU takes several look-ups in tries for a letter: the table holds their result for nearly all
    // text. A folding of more than seven bytes is computed each time.
    let Some(Some(short)) = TABLE.get(u32::from(character) as usize) else {
        work_out(character, each);
        return;
    };
    let bytes = &short.bytes[..usize::from(short.length)];
    let text = str::from_utf8(bytes).expect("the table was made of text");
    text.chars().for_each(each);
}

/// SEARCH.md 1, steps 1 to 4, for one character.
fn work_out(character: char, each: &mut impl FnMut(char)) {
    let is_format = CATEGORIES.get(character) == GeneralCategory::Format;
    if is_apostrophe(character) || is_format {
        return;
    }
    for part in NFKD.normalize_iter(iter::once(character)) {
        if GeneralCategoryGroup::Mark.contains(CATEGORIES.get(part)) {
            continue;
        }
        let mut utf8 = [0; 4];
        let folded = CASES.fold_string(part.encode_utf8(&mut utf8));
        for letter in folded.chars().filter(|&letter| !is_apostrophe(letter)) {
            each(if is_word_character(letter) {
                letter
            } else {
                ' '
            });
        }
    }
}

/// A text in its compatibility decomposition (NFKD), without marks: `é` becomes `e`.
///
/// ```
/// use subcat_engine::without_accents;
/// assert_eq!(without_accents("El Niño – Ⅷ"), "El Nino – VIII");
/// ```
pub fn without_accents(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let decomposed = NFKD.normalize_iter(text.chars());
    let is_mark = |c: &char| GeneralCategoryGroup::Mark.contains(CATEGORIES.get(*c));
    decomposed.filter(|c| !is_mark(c)).collect()
}

/// SEARCH.md 1.1.
fn is_apostrophe(character: char) -> bool {
    matches!(
        character,
        '\u{27}'
            | '\u{60}'
            | '\u{B4}'
            | '\u{2BB}'
            | '\u{2BC}'
            | '\u{2018}'
            | '\u{2019}'
            | '\u{201B}'
            | '\u{2032}'
    )
}

/// SEARCH.md 1.4: a letter (L) or a number (N).
fn is_word_character(character: char) -> bool {
    let category = CATEGORIES.get(character);
    is_number(character) || GeneralCategoryGroup::Letter.contains(category)
}

/// True if a word has a number character (N): no typos are allowed in it (SEARCH.md 4.6).
pub fn has_number(word: &str) -> bool {
    word.chars().any(is_number)
}

fn is_number(character: char) -> bool {
    GeneralCategoryGroup::Number.contains(CATEGORIES.get(character))
}
