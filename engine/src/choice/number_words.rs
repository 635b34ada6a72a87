//! Words that are a season, an episode or a number (SEARCH.md 7.1 to 7.4), as hand-written scans.

/// A word with a season and episodes: `s01e02`, `1x02x03`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkerWord {
    pub(super) season: u32,
    pub(super) episodes: EpisodeNumbers,
}

/// The first and the largest of the numbers in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EpisodeNumbers {
    pub(super) first: u32,
    pub(super) largest: u32,
}

impl EpisodeNumbers {
    /// A single number.
    pub(super) const fn single(number: u32) -> Self {
        Self {
            first: number,
            largest: number,
        }
    }
}

/// Words before the number of an episode, the longest first.
const EPISODE_WORDS: [&str; 7] = [
    "episodio", "capitulo", "episode", "chapter", "cap", "ep", "e",
];
/// Words before the number of a season, the longest first.
const SEASON_WORDS: [&str; 6] = ["temporada", "season", "temp", "tem", "s", "t"];
const ORDINALS: [&str; 20] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "primera", "segunda", "tercera", "cuarta", "quinta", "sexta", "septima", "octava", "novena",
    "decima",
];

/// The number of a word of digits, up to a maximum of digits.
pub(super) fn number(word: &str, digits_max: usize) -> Option<u32> {
    let is_number =
        (1..=digits_max).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { word.parse().ok() } else { None }
}

/// Reads `[st]N{1,2}x?(e|ep|c)N{1,3}(eN{1,3})*(vN)?` and `N{1,2}xN{1,3}(xN{1,3})*(vN)?`.
pub(super) fn marker(word: &str) -> Option<MarkerWord> {
    let Some(rest) = word.strip_prefix(['s', 't']) else {
        let (season, rest) = take_number(word, 2)?;
        let (first, rest) = take_number(rest.strip_prefix('x')?, 3)?;
        let episodes = further_numbers(first, rest, "x")?;
        return Some(MarkerWord { season, episodes });
    };
    let (season, rest) = take_number(rest, 2)?;
    let rest = rest.strip_prefix('x').unwrap_or(rest);
    let rest = rest
        .strip_prefix("ep")
        .or_else(|| rest.strip_prefix(['e', 'c']))?;
    let (first, rest) = take_number(rest, 3)?;
    let episodes = further_numbers(first, rest, "e")?;
    Some(MarkerWord { season, episodes })
}

/// Reads an episode word and its number, glued together.
pub(super) fn episode_word(word: &str) -> Option<EpisodeNumbers> {
    EPISODE_WORDS.iter().find_map(|prefix| {
        let (first, rest) = take_number(word.strip_prefix(prefix)?, 4)?;
        further_numbers(first, rest, "e")
    })
}

/// Returns true for an episode word that can stand apart from its number.
pub(super) fn is_episode_word(word: &str) -> bool {
    word != "e" && EPISODE_WORDS.contains(&word)
}

/// Reads `(eN{1,3})+`.
pub(super) fn further_episodes(word: &str) -> Option<EpisodeNumbers> {
    let (first, rest) = take_number(word.strip_prefix('e')?, 3)?;
    let mut numbers = EpisodeNumbers::single(first);
    let rest = take_further(&mut numbers, rest, "e")?;
    rest.is_empty().then_some(numbers)
}

/// Reads a season word and its number, glued together.
pub(super) fn season_word(word: &str) -> Option<u32> {
    SEASON_WORDS
        .iter()
        .find_map(|prefix| number(word.strip_prefix(prefix)?, 2))
}

/// Returns true for a season word that can stand before its number, apart from it.
pub(super) fn is_season_word(word: &str) -> bool {
    !matches!(word, "s" | "t") && SEASON_WORDS.contains(&word)
}

/// Returns true for a season word that can stand after its number.
pub(super) fn is_full_season_word(word: &str) -> bool {
    matches!(word, "season" | "temporada")
}

/// Reads an ordinal: `2nd`, `1a`, `second`, `primera`.
pub(super) fn ordinal(word: &str) -> Option<u32> {
    if let Some(idx) = ORDINALS.iter().position(|ordinal| *ordinal == word) {
        return u32::try_from(idx % 10 + 1).ok();
    }
    let (number, ending) = take_number(word, 2)?;
    let is_ending =
        (1..=3).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_lowercase());
    is_ending.then_some(number)
}

/// The largest of several numbers up to the end of a word, perhaps with a version after them.
fn further_numbers(first: u32, rest: &str, joint: &str) -> Option<EpisodeNumbers> {
    let mut numbers = EpisodeNumbers::single(first);
    let rest = take_further(&mut numbers, rest, joint)?;
    let is_version = |rest: &str| {
        let digit = rest.strip_prefix('v');
        digit.is_some_and(|digit| number(digit, 1).is_some())
    };
    (rest.is_empty() || is_version(rest)).then_some(numbers)
}

fn take_further<'a>(
    numbers: &mut EpisodeNumbers,
    mut rest: &'a str,
    joint: &str,
) -> Option<&'a str> {
    while let Some(digits) = rest.strip_prefix(joint) {
        let (number, after) = take_number(digits, 3)?;
        numbers.largest = numbers.largest.max(number);
        rest = after;
    }
    Some(rest)
}

/// The digits at the start of a text, up to a maximum, and the rest.
fn take_number(text: &str, digits_max: usize) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits_max < digits {
        return None;
    }
    let (digits, rest) = text.split_at(digits);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_rule_7_1_markers() {
        let read =
            |word| marker(word).map(|it| [it.season, it.episodes.first, it.episodes.largest]);
        assert_eq!(read("s01e02"), Some([1, 2, 2]));
        assert_eq!(read("t1xep02"), Some([1, 2, 2]));
        assert_eq!(read("s1c100v2"), Some([1, 100, 100]));
        assert_eq!(read("s01e02e03"), Some([1, 2, 3]));
        assert_eq!(read("1x02x04x03"), Some([1, 2, 4]));
        for word in [
            "s01",
            "s001e01",
            "s01e1234",
            "1x",
            "s01e02x03",
            "s01e02v",
            "s01e02v12",
            "x1",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
    }

    #[test]
    fn search_rule_7_2_words_of_episodes_and_seasons() {
        assert_eq!(episode_word("cap102"), Some(EpisodeNumbers::single(102)));
        assert_eq!(episode_word("e1234"), Some(EpisodeNumbers::single(1234)));
        assert_eq!(
            episode_word("ep1e2v3"),
            Some(EpisodeNumbers {
                first: 1,
                largest: 2
            })
        );
        assert_eq!(episode_word("episode"), None);
        assert_eq!(season_word("temporada2"), Some(2));
        assert_eq!(season_word("t02"), Some(2));
        assert_eq!(season_word("s2014"), None);
        assert_eq!(ordinal("2nd"), Some(2));
        assert_eq!(ordinal("decima"), Some(10));
        assert_eq!(ordinal("2"), None);
        assert_eq!(
            further_episodes("e3e4"),
            Some(EpisodeNumbers {
                first: 3,
                largest: 4
            })
        );
    }
}
