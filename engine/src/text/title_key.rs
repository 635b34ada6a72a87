//! Title keys, which are equal for titles with different spellings (SEARCH.md 1.7).

use std::cmp::Ordering;

use super::character::has_number;
use super::fold::fold;

/// Words that are left out wherever they stand.
const CONJUNCTIONS: [&str; 2] = ["and", "y"];
/// Words that are left out at the beginning.
const FIRST_WORDS: [&str; 9] = ["the", "el", "la", "los", "las", "le", "les", "l", "marvels"];

/// The title key of a text.
///
/// Source: SEARCH.md 1.7.
///
/// ```
/// use subcat_engine::internals::title_key;
/// assert_eq!(title_key("S.W.A.T."), "swat");
/// assert_eq!(title_key("L'auberge espagnole"), "aubergeespagnole");
/// ```
pub fn title_key(text: &str) -> String {
    folded_title_key(&fold(text), is_elided(text))
}

/// True if the text begins with an `l` and an apostrophe: a word of its own in the title key, which
/// the folded text does not show.
pub(crate) fn is_elided(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix(['l', 'L']);
    rest.is_some_and(|rest| rest.starts_with(is_apostrophe))
}

/// The title key of a folded text.
pub(crate) fn folded_title_key(folded: &str, is_elided: bool) -> String {
    let key: Vec<u8> = match elided(folded, is_elided) {
        Some(text) => key_bytes(&text).collect(),
        None => key_bytes(folded).collect(),
    };
    String::from_utf8(key).expect("whole words are joined")
}

/// Compares the title key of a folded text with another key. Cost: linear in the equal bytes of the
/// text; no key is made.
pub(crate) fn compare_title_key(folded: &str, is_elided: bool, key: &str) -> Ordering {
    match elided(folded, is_elided) {
        Some(text) => key_bytes(&text).cmp(key.bytes()),
        None => key_bytes(folded).cmp(key.bytes()),
    }
}

/// The folded text with its first letter as a word, if an apostrophe stands behind it.
fn elided(folded: &str, is_elided: bool) -> Option<String> {
    let rest = folded.strip_prefix('l').filter(|_| is_elided)?;
    Some(format!("l {}", fold(rest)))
}

fn key_bytes(folded: &str) -> impl Iterator<Item = u8> {
    let kept = || {
        let others = pieces(folded).filter(|piece| !is_one_of(piece, &CONJUNCTIONS));
        others.skip_while(|piece| is_one_of(piece, &FIRST_WORDS))
    };
    let leaves_nothing = kept().next().is_none();
    let all = pieces(folded).filter(move |_| leaves_nothing);
    let pieces = kept().chain(all);
    pieces.flat_map(str::bytes).filter(|byte| *byte != b' ')
}

/// The words; a run of single letters, with the spaces in it, is one.
fn pieces(folded: &str) -> impl Iterator<Item = &str> {
    let mut rest = folded;
    std::iter::from_fn(move || {
        let (word, mut after) = split_word(rest)?;
        let mut piece_bytes = word.len();
        if is_letter(word) {
            while let Some((letter, others)) = split_word(after).filter(|(next, _)| is_letter(next))
            {
                piece_bytes += 1 + letter.len();
                after = others;
            }
        }
        let piece = &rest[..piece_bytes];
        rest = after;
        Some(piece)
    })
}

/// The first word of a folded text, and the text behind it.
fn split_word(folded: &str) -> Option<(&str, &str)> {
    if folded.is_empty() {
        return None;
    }
    // Words are short: a search for a space costs more than a look at each byte.
    match folded.bytes().position(|byte| byte == b' ') {
        Some(end) => Some((&folded[..end], &folded[end + 1..])),
        None => Some((folded, "")),
    }
}

/// True for a word of one letter: all characters of folded text are letters or numbers.
fn is_letter(word: &str) -> bool {
    word.len() <= char::MAX.len_utf8() && word.chars().count() == 1 && !has_number(word)
}

/// True if the piece, without its spaces, is one of these words.
fn is_one_of(piece: &str, listed: &[&str]) -> bool {
    // Only a run of single letters has spaces, the first behind its first letter. The listed words
    // are ASCII.
    let is_run = piece.as_bytes().get(1) == Some(&b' ');
    if !is_run {
        return listed.contains(&piece);
    }
    let letters = || piece.bytes().filter(|byte| *byte != b' ');
    listed.iter().any(|word| letters().eq(word.bytes()))
}

/// The apostrophes of SEARCH.md 1.1.
fn is_apostrophe(character: char) -> bool {
    "'`´ʻʼ‘’‛′".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_rule_1_7_title_keys() {
        for (title, key) in [
            ("S.W.A.T.", "swat"),
            ("SWAT", "swat"),
            ("Superman & Lois", "supermanlois"),
            ("Superman y Lois", "supermanlois"),
            ("Superman and Lois", "supermanlois"),
            ("L'auberge espagnole", "aubergeespagnole"),
            ("l’auberge espagnole", "aubergeespagnole"),
            ("Lauberge espagnole", "laubergeespagnole"),
            ("Spider-Man", "spiderman"),
            ("Marvel's The Avengers", "avengers"),
            ("The The", "thethe"),
            ("The", "the"),
            ("Y", "y"),
            ("X y Z", "xyz"),
            ("L.A. Confidential", "confidential"),
            ("La La Land", "land"),
            ("Él", "el"),
            ("L'", "l"),
            ("And the", "andthe"),
            ("24", "24"),
            ("2 0", "20"),
            ("Dark and the Night", "darkthenight"),
            ("", ""),
        ] {
            assert_eq!(title_key(title), key, "{title}");
            let (folded, is_elided) = (fold(title), is_elided(title));
            for other in ["", "aubergeespagnole", "swat", "the"] {
                let order = compare_title_key(&folded, is_elided, other);
                assert_eq!(order, key.cmp(other), "{title} {other}");
            }
        }
    }
}
