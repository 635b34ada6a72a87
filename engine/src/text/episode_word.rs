//! Words that name an episode or a season: step 5 of SEARCH.md 1.

use std::fmt;

/// A season, or an episode of a season, as a word of folded text: `s01`, `s01e02`.
///
/// Seasons are 0 to 9999, episodes 0 to 99999. Zero is a number here (`s00e01`, a special), and so
/// is one that no record can have; only a marker needs numbers that records have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpisodeWord {
    /// The season.
    pub season: u32,
    /// The episode; none for a season.
    pub episode: Option<u32>,
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
            Piece::Season {
                season,
                is_short: true,
            } => Some(Self {
                season,
                episode: None,
            }),
            Piece::Episode(word) => Some(word),
            Piece::Season { .. } => None,
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

/// A word that step 5 rewrites by itself, in the spelling of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// `s1`; only one of two digits is a season by itself, but `s2014` and `e18` are an episode.
    Season {
        /// The season.
        season: u32,
        /// True for one or two digits.
        is_short: bool,
    },
    /// `s1e2`, `t1e2`, `s1.ep2`, `1x02`, with or without further episodes attached.
    Episode(EpisodeWord),
}

impl Piece {
    /// Reads a word. Cost: a byte or two of most other words.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        match bytes.first()? {
            first @ (b's' | b't') => Self::parse_marked(&bytes[1..], *first == b's'),
            b'0'..=b'9' => Self::parse_cross(bytes),
            _ => None,
        }
    }

    /// Reads the rest of `s1` or `s1e2`, after its letter.
    fn parse_marked(bytes: &[u8], is_season_letter: bool) -> Option<Self> {
        let (season, rest) = number(bytes, 1, 4)?;
        if rest.is_empty() {
            let is_short = bytes.len() <= 2;
            return is_season_letter.then_some(Self::Season { season, is_short });
        }
        let (episode, rest) = episode_after_season(rest)?;
        Self::episode(season, episode, rest)
    }

    /// `1x02`.
    fn parse_cross(bytes: &[u8]) -> Option<Self> {
        let (season, rest) = number(bytes, 1, 2)?;
        let (episode, rest) = number(rest.strip_prefix(b"x")?, 2, 4)?;
        Self::episode(season, episode, rest)
    }

    fn episode(season: u32, episode: u32, rest: &[u8]) -> Option<Self> {
        let word = EpisodeWord {
            season,
            episode: Some(episode),
        };
        are_further(rest, true).then_some(Self::Episode(word))
    }
}

/// The episode of a word directly after a season: `e02`, `xep2`, `x2`, with or without further ones
/// attached.
pub(super) fn attached_episode(word: &str) -> Option<u32> {
    let bytes = word.as_bytes();
    let crossed = || number(bytes.strip_prefix(b"x")?, 1, 2);
    let (episode, rest) =
        numbered_episode(bytes.strip_prefix(b"x").unwrap_or(bytes)).or_else(crossed)?;
    are_further(rest, true).then_some(episode)
}

/// The episode of a word after a season and the word `e` or `ep`.
pub(super) fn spaced_episode(word: &str) -> Option<u32> {
    let (episode, rest) = number(word.as_bytes(), 1, 5)?;
    are_further(rest, true).then_some(episode)
}

/// True for a word of further episodes after an episode: `e03`, `e03ep04`.
pub(super) fn is_further(word: &str) -> bool {
    !word.is_empty() && are_further(word.as_bytes(), false)
}

/// `x?(e|ep|x)` and a number, at the start of what follows a season.
fn episode_after_season(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let crossed = || {
        let rest = bytes.strip_prefix(b"xx");
        number(rest.or_else(|| bytes.strip_prefix(b"x"))?, 1, 5)
    };
    numbered_episode(bytes.strip_prefix(b"x").unwrap_or(bytes)).or_else(crossed)
}

/// `e` or `ep` and a number, at the start of `bytes`.
fn numbered_episode(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let rest = bytes.strip_prefix(b"e")?;
    number(rest.strip_prefix(b"p").unwrap_or(rest), 1, 5)
}

/// True if `bytes` are numbers of further episodes, or nothing; `x` may stand before one, too.
fn are_further(mut bytes: &[u8], allows_cross: bool) -> bool {
    while !bytes.is_empty() {
        let crossed = bytes.strip_prefix(b"x").filter(|_| allows_cross);
        let further = numbered_episode(bytes).or_else(|| number(crossed?, 1, 5));
        let Some((_, rest)) = further else {
            return false;
        };
        bytes = rest;
    }
    true
}

/// The number at the start of `bytes` if it has `digits_min` to `digits_max` digits, and the rest.
fn number(bytes: &[u8], digits_min: usize, digits_max: usize) -> Option<(u32, &[u8])> {
    let digits_count = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(digits_min..=digits_max).contains(&digits_count) {
        return None;
    }
    let (digits, rest) = bytes.split_at(digits_count);
    // Up to five digits: no overflow.
    let value = digits
        .iter()
        .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Option<(u32, Option<u32>)>) {
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
        check("s001e02", Some((1, Some(2))));
        check("s2014e18", Some((2014, Some(18))));
        check("s01e12345", Some((1, Some(12345))));
        check("t01e02", Some((1, Some(2))));
        check("s01ep02", Some((1, Some(2))));
        check("s01x02", Some((1, Some(2))));
        check("s01xe02", Some((1, Some(2))));
        check("s01xx2", Some((1, Some(2))));
        check("s01e02x03ep4", Some((1, Some(2))));
        check("1x02x03", Some((1, Some(2))));
        check("1x02e03", Some((1, Some(2))));
        check("1x0200", Some((1, Some(200))));
        check("s01e123456", None);
        check("s20141e1", None);
        check("s2014", None);
        check("t01", None);
        check("s01e", None);
        check("s01e02x", None);
        check("s01e02e", None);
        check("se02", None);
        check("s", None);
        check("e02", None);
        check("1x2", None);
        check("100x02", None);
        check("1x02000", None);
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

    #[test]
    fn reads_what_follows_a_season() {
        assert_eq!(attached_episode("e02"), Some(2));
        assert_eq!(attached_episode("xep2"), Some(2));
        assert_eq!(attached_episode("x2"), Some(2));
        assert_eq!(attached_episode("e02e03x4"), Some(2));
        for other in ["x264", "e", "x", "2", "e2a", "p2", ""] {
            assert_eq!(attached_episode(other), None, "{other}");
        }
        assert_eq!(spaced_episode("02"), Some(2));
        assert_eq!(spaced_episode("02e03"), Some(2));
        assert_eq!(spaced_episode("123456"), None);
        assert!(is_further("e3ep4"));
        for other in ["", "x3", "e", "e3x4", "3"] {
            assert!(!is_further(other), "{other}");
        }
    }
}
