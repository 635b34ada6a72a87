//! Marks of a part of a work: `CD1`, `Parte dos`, `1 of 2` (SEARCH.md 7.10).

use super::number_words::number;
use super::path_words::PathWords;

const PART_WORDS: [&str; 9] = [
    "cd", "disc", "disk", "disco", "dvd", "vol", "part", "parte", "pt",
];
const PART_NUMBERS: [&str; 15] = [
    "i", "ii", "iii", "iv", "v", "one", "two", "three", "four", "five", "uno", "dos", "tres",
    "cuatro", "cinco",
];
const PART_ORDINALS: [&str; 5] = ["primera", "segunda", "tercera", "cuarta", "quinta"];

/// The marks of a text, their words joined.
pub(super) fn part_marks(words: &PathWords) -> Vec<String> {
    (0..words.len())
        .filter_map(|idx| mark_at(words, idx))
        .collect()
}

fn mark_at(words: &PathWords, idx: usize) -> Option<String> {
    let (word, next) = (words.word(idx), words.word(idx + 1));
    if is_glued(word) || is_count(word) {
        return Some(word.to_owned());
    }
    let is_named = PART_WORDS.contains(&word) && is_part_number(next);
    let is_ordinal = PART_ORDINALS.contains(&word) && next == "parte";
    if is_named || is_ordinal {
        return Some(format!("{word}{next}"));
    }
    let last = words.word(idx + 2);
    let is_count =
        number(word, 1).is_some() && matches!(next, "of" | "de") && number(last, 1).is_some();
    is_count.then(|| format!("{word}{next}{last}"))
}

/// Returns true for `cd1`, `parteuno`, but not for the sizes of a DVD.
fn is_glued(word: &str) -> bool {
    let has_number = |part: &&str| word.strip_prefix(*part).is_some_and(is_part_number);
    !matches!(word, "dvd5" | "dvd9") && PART_WORDS.iter().any(has_number)
}

fn is_part_number(word: &str) -> bool {
    number(word, 1).is_some() || PART_NUMBERS.contains(&word)
}

/// Returns true for `1of2`.
fn is_count(word: &str) -> bool {
    let Some((first, second)) = word.split_once("of") else {
        return false;
    };
    number(first, 1).is_some() && number(second, 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(part_marks(&PathWords::of(text)), expected, "{text}");
    }

    #[test]
    fn search_rule_7_10_marks_of_parts() {
        check("Faro.cd1", &["cd1"]);
        check("Faro CD 1", &["cd1"]);
        check("Faro parteuno", &["parteuno"]);
        check("Faro.pt.iv", &["ptiv"]);
        check("Faro (1 de 2)", &["1de2"]);
        check("Faro 1of2", &["1of2"]);
        check("Segunda parte", &["segundaparte"]);
        check("Faro.DVD5.DVD9", &[]);
        check("Faro Part IX Part Six Vol A Parte 10", &[]);
    }
}
