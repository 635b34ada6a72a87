//! Title keys, which are equal for titles that are written in other ways (SEARCH.md 1.7).

use super::character::has_number;
use super::fold::{fold, words};

/// Words that are left out wherever they stand.
const CONJUNCTIONS: [&str; 2] = ["and", "y"];
/// Words that are left out in front.
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
/// the folded text does not tell.
pub(crate) fn is_elided(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix(['l', 'L']);
    rest.is_some_and(|rest| rest.starts_with(is_apostrophe))
}

/// The title key of a folded text.
pub(crate) fn folded_title_key(folded: &str, is_elided: bool) -> String {
    match folded.strip_prefix('l').filter(|_| is_elided) {
        Some(rest) => key(&format!("l {}", fold(rest))),
        None => key(folded),
    }
}

fn key(folded: &str) -> String {
    let joined = with_initials_joined(folded);
    let is_kept = |word: &&str| !CONJUNCTIONS.contains(word);
    let kept = || words(&joined).filter(is_kept);
    let key: String = kept()
        .skip_while(|word| FIRST_WORDS.contains(word))
        .collect();
    if key.is_empty() {
        joined.replace(' ', "")
    } else {
        key
    }
}

/// The words, runs of single letters being one word.
fn with_initials_joined(folded: &str) -> String {
    // All characters of folded text are letters or numbers.
    let is_letter = |word: &str| word.chars().count() == 1 && !has_number(word);
    let mut joined = String::with_capacity(folded.len());
    let mut is_after_letter = false;
    for word in words(folded) {
        let is_initial = is_letter(word);
        if !joined.is_empty() && !(is_initial && is_after_letter) {
            joined.push(' ');
        }
        joined.push_str(word);
        is_after_letter = is_initial;
    }
    joined
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
        }
    }
}
