//! Words that name an episode or a season: step 5 of SEARCH.md 1.

use std::fmt;

/// A season, or an episode of a season, as a word of folded text: `s01`, `s01e02`.
///
/// Seasons are 0 to 99, episodes 0 to 999. Zero is a number here (`s00e01`, a special); only a
/// marker needs numbers of at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpisodeWord {
    /// The season.
    pub season: u16,
    /// The episode; none for a season.
    pub episode: Option<u16>,
}

impl EpisodeWord {
    /// Reads a word of folded text.
    ///
    /// ```
    /// use subcat_engine::internals::EpisodeWord;
    /// let word = EpisodeWord::parse("s01e02").unwrap();
    /// assert_eq!((word.season, word.episode), (1, Some(2)));
    /// assert_eq!(EpisodeWord::parse("s01").unwrap().episode, None);
    /// assert!(EpisodeWord::parse("lost").is_none());
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        match Piece::parse(word)? {
            Piece::Season(season) => Some(Self {
                season,
                episode: None,
            }),
            Piece::Episode(word) => Some(word),
            Piece::Further(_) => None,
        }
    }
}

impl fmt::Display for EpisodeWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{:02}", self.season)?;
        match self.episode {
            Some(episode) => write!(f, "e{episode:02}"),
            None => Ok(()),
        }
    }
}

/// A word that step 5 rewrites, in the spelling of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// `s1`.
    Season(u16),
    /// `s1e2`, with or without further `e` numbers attached, or `1x02`.
    Episode(EpisodeWord),
    /// `e2`: an episode after `s1`, dropped after an episode.
    Further(u16),
}

impl Piece {
    /// Reads a word. Cost: two bytes of any other word.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        match bytes.first()? {
            b's' => Self::parse_after_s(&bytes[1..]),
            b'e' => {
                let (number, rest) = number(&bytes[1..], 1, 3)?;
                if rest.is_empty() {
                    Some(Self::Further(number))
                } else {
                    None
                }
            }
            b'0'..=b'9' => Self::parse_cross(bytes),
            _ => None,
        }
    }

    /// Reads the rest of `s1` or `s1e2`, after its `s`.
    fn parse_after_s(bytes: &[u8]) -> Option<Self> {
        let (season, rest) = number(bytes, 1, 2)?;
        if rest.is_empty() {
            return Some(Self::Season(season));
        }
        let (episode, mut rest) = e_number(rest)?;
        while !rest.is_empty() {
            (_, rest) = e_number(rest)?;
        }
        Some(Self::Episode(EpisodeWord {
            season,
            episode: Some(episode),
        }))
    }

    /// `1x02`.
    fn parse_cross(bytes: &[u8]) -> Option<Self> {
        let (season, rest) = number(bytes, 1, 2)?;
        let (episode, rest) = number(rest.strip_prefix(b"x")?, 2, 3)?;
        if !rest.is_empty() {
            return None;
        }
        Some(Self::Episode(EpisodeWord {
            season,
            episode: Some(episode),
        }))
    }
}

/// The number after an `e` at the start of `bytes`, and the rest.
fn e_number(bytes: &[u8]) -> Option<(u16, &[u8])> {
    number(bytes.strip_prefix(b"e")?, 1, 3)
}

/// The number at the start of `bytes` if it has `digits_min` to `digits_max` digits, and the rest.
fn number(bytes: &[u8], digits_min: usize, digits_max: usize) -> Option<(u16, &[u8])> {
    let digits_count = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(digits_min..=digits_max).contains(&digits_count) {
        return None;
    }
    let (digits, rest) = bytes.split_at(digits_count);
    // At most three digits: no overflow.
    let value = digits
        .iter()
        .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Option<(u16, Option<u16>)>) {
        let word = EpisodeWord::parse(input);
        assert_eq!(
            word.map(|word| (word.season, word.episode)),
            expected,
            "{input}"
        );
    }

    #[test]
    fn reads_seasons_and_episodes_only() {
        check("s01e02", Some((1, Some(2))));
        check("s1e2", Some((1, Some(2))));
        check("s99e999", Some((99, Some(999))));
        check("s00e00", Some((0, Some(0))));
        check("s01", Some((1, None)));
        check("s1e2e3e4", Some((1, Some(2))));
        check("1x02", Some((1, Some(2))));
        check("01x002", Some((1, Some(2))));
        check("s001e02", None);
        check("s01e2002", None);
        check("s01e", None);
        check("s01e02x", None);
        check("s01e02e", None);
        check("se02", None);
        check("s", None);
        check("e02", None);
        check("1x2", None);
        check("100x02", None);
        check("1x0200", None);
        check("1x02e03", None);
        check("x02", None);
        check("1999", None);
        check("", None);
    }

    #[test]
    fn writes_two_digits_at_least() {
        let word = |season, episode| EpisodeWord { season, episode }.to_string();
        assert_eq!(word(1, Some(2)), "s01e02");
        assert_eq!(word(4, Some(100)), "s04e100");
        assert_eq!(word(0, Some(0)), "s00e00");
        assert_eq!(word(12, None), "s12");
    }
}
