//! The parts of a name that are removed before it is read: ids, sites, groups (NAMES.md N1).

use std::ops::Range;

use super::tokens::{NameTokens, brackets, ends_in_dash, is_blank, is_dash, plain};
use super::word_class::year;

/// Names of catalogs and of editions that a bracket may begin with.
const BRACKET_NAMES: [&str; 4] = ["imdb", "tmdb", "tvdb", EDITION];
const EDITION: &str = "edition";
/// Last labels of the domains of sites.
const SITE_LABELS: [&str; 8] = ["com", "net", "org", "info", "tv", "cc", "to", "io"];

/// A name with blanks in place of the removed parts.
#[derive(Debug, Clone)]
pub(crate) struct CleanName {
    pub(crate) text: String,
    /// Ids of the catalog, distinct, in lower case.
    pub(crate) ids: Vec<String>,
    /// True if a group stood in front.
    pub(crate) has_group: bool,
    /// True if it has an id of any catalog.
    pub(crate) has_id: bool,
}

impl CleanName {
    /// Removes everything but a last `(N)`, which [`CleanName::without_copy`] removes.
    pub(crate) fn new(name: &str, year_last: u32) -> Self {
        let mut clean = Self {
            text: plain(name),
            ids: Vec::new(),
            has_group: false,
            has_id: false,
        };
        if clean.text.contains(['(', '[', '{']) {
            clean.remove_named_brackets();
        }
        clean.remove_ids();
        clean.remove_empty_brackets();
        clean.remove_site();
        clean.remove_group(year_last);
        clean
    }

    /// The text without `(N)` at its end, which a second download of a file adds.
    pub(crate) fn without_copy(&self) -> Option<String> {
        let trimmed = self.text.trim_end_matches(|c| is_blank(c) || is_dash(c));
        let start = trimmed.strip_suffix(')').and_then(|text| {
            let number = text
                .char_indices()
                .next_back()
                .filter(|(_, c)| c.is_ascii_digit());
            let (at, _) = number?;
            text[..at].strip_suffix('(').map(str::len)
        })?;
        let mut text = self.text.clone();
        let end = text.len();
        blank(&mut text, start..end);
        Some(text)
    }

    fn remove_named_brackets(&mut self) {
        for pair in brackets(&self.text) {
            let content = self.text[pair.start + 1..pair.end - 1].trim_start();
            let lower = content.to_lowercase();
            let is_named = BRACKET_NAMES.iter().any(|name| {
                lower.strip_prefix(name).is_some_and(|rest| {
                    let rest = rest.strip_prefix("id").unwrap_or(rest);
                    rest.starts_with(['-', '=', ':'])
                })
            });
            if is_named {
                self.take_ids(pair.clone());
                self.has_id |= !lower.starts_with(EDITION);
                self.remove(pair);
            }
        }
    }

    fn remove_ids(&mut self) {
        if self
            .text
            .as_bytes()
            .windows(2)
            .any(|two| two.eq_ignore_ascii_case(b"tt"))
        {
            self.take_ids(0..self.text.len());
        }
    }

    /// Notes the ids in a part of the text, and blanks them.
    fn take_ids(&mut self, range: Range<usize>) {
        let tokens = NameTokens::of_plain(self.text[range.clone()].to_owned());
        for idx in 0..tokens.len() {
            let word = tokens.word(idx);
            let digits = word.strip_prefix("tt");
            if digits.is_some_and(is_number_of_id) {
                if self.ids.iter().all(|id| id != word) {
                    self.ids.push(word.to_owned());
                }
                self.has_id = true;
                let start = range.start;
                self.remove(start + tokens.start(idx)..start + tokens.end(idx));
            }
        }
    }

    /// Blanks a part, and a dot directly before it, which would else be the dot of an abbreviation
    /// before a blank (N9): the title of `Heat.tt0113277` is not `Heat.`. `E.T.` keeps its own.
    fn remove(&mut self, range: Range<usize>) {
        let dot = self.text[..range.start].strip_suffix('.').filter(|before| {
            let mut last = before.chars().rev();
            (0..2).all(|_| last.next().is_some_and(char::is_alphanumeric))
        });
        let start = dot.map_or(range.start, str::len);
        blank(&mut self.text, start..range.end);
    }

    fn remove_empty_brackets(&mut self) {
        // Inner brackets come first: the outer bracket of empty ones is empty by its turn.
        for pair in brackets(&self.text) {
            if self.text[pair.start + 1..pair.end - 1].trim().is_empty() {
                blank(&mut self.text, pair);
            }
        }
    }

    fn remove_site(&mut self) {
        let start = self.front();
        let rest = &self.text[start..];
        if rest
            .get(..4)
            .is_some_and(|www| www.eq_ignore_ascii_case("www."))
            && let Some(blank_at) = rest.find(char::is_whitespace)
        {
            blank(&mut self.text, start..start + blank_at);
            return;
        }
        if let Some(pair) = self.front_bracket(&['(', '[', '{'])
            && is_site(self.text[pair.start + 1..pair.end - 1].trim())
        {
            blank(&mut self.text, pair);
            return;
        }
        let dash = rest
            .char_indices()
            .find(|(at, c)| is_blank(*c) && ends_in_dash(&rest[..at + c.len_utf8()]));
        if let Some((dash_end, _)) = dash {
            let before = rest[..dash_end]
                .trim_end_matches(is_blank)
                .trim_end_matches(is_dash);
            let site = before.trim_end_matches(is_blank);
            if is_site(site) {
                let end = start + site.len();
                blank(&mut self.text, start..end);
            }
        }
    }

    fn remove_group(&mut self, year_last: u32) {
        let Some(pair) = self.front_bracket(&['[']) else {
            return;
        };
        let content = NameTokens::of_plain(self.text[pair.clone()].to_owned());
        let has_year = (0..content.len()).any(|idx| year(content.word(idx), year_last).is_some());
        let is_all = !self.text[pair.end..].contains(char::is_alphanumeric);
        if !has_year && !is_all {
            blank(&mut self.text, pair);
            self.has_group = true;
        }
    }

    /// Byte of the first character that is neither blank nor dash.
    fn front(&self) -> usize {
        let rest = self.text.trim_start_matches(|c| is_blank(c) || is_dash(c));
        self.text.len() - rest.len()
    }

    fn front_bracket(&self, opening: &[char]) -> Option<Range<usize>> {
        let start = self.front();
        if !self.text[start..].starts_with(opening) {
            return None;
        }
        brackets(&self.text)
            .into_iter()
            .find(|pair| pair.start == start)
    }
}

/// True for the digits of an id.
fn is_number_of_id(digits: &str) -> bool {
    // Ten digits may exceed 32 bits: they are not parsed.
    (6..=10).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `example.com`, `www.example.de`.
fn is_site(text: &str) -> bool {
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let Some((before, last)) = text.rsplit_once('.') else {
        return false;
    };
    let is_known = SITE_LABELS
        .iter()
        .any(|label| label.eq_ignore_ascii_case(last));
    let is_www = before
        .get(..4)
        .is_some_and(|www| www.eq_ignore_ascii_case("www."));
    (is_known || is_www) && is_label(last) && before.split('.').all(is_label)
}

/// Overwrites a range with blanks: all other bytes keep their places.
pub(crate) fn blank(text: &mut String, range: Range<usize>) {
    let blanks = " ".repeat(range.len());
    text.replace_range(range, &blanks);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str, ids: &[&str]) {
        let clean = CleanName::new(name, 2027);
        let text = clean.without_copy().unwrap_or_else(|| clean.text.clone());
        let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown, expected, "{name:?}");
        assert_eq!(clean.ids, ids, "{name:?}");
    }

    #[test]
    fn n1_ids_and_brackets_are_removed() {
        check(
            "Dark (2017) {imdb-tt5753856}",
            "Dark (2017)",
            &["tt5753856"],
        );
        check("Dark [imdbid-tt5753856] x", "Dark x", &["tt5753856"]);
        check("Dark {edition-Final Cut}", "Dark", &[]);
        check("Dark {tmdb=12}", "Dark", &[]);
        check("Dark [tt0068646]", "Dark", &["tt0068646"]);
        check("Dark.tt0068646.x", "Dark .x", &["tt0068646"]);
        check("E.T.{imdb-tt0083866}", "E.T.", &["tt0083866"]);
        check("Dark tt12345", "Dark tt12345", &[]);
        check("Dark ([ ]) x", "Dark x", &[]);
        check("A tt0068646 tt0068647", "A", &["tt0068646", "tt0068647"]);
    }

    #[test]
    fn n1_sites_and_groups_are_removed_in_front() {
        check("[www.example.com] - Heat", "- Heat", &[]);
        check("www.example.org - Heat", "- Heat", &[]);
        check("[ example.net ] Heat", "Heat", &[]);
        check("example.tv - Heat", "- Heat", &[]);
        check("[Grp] Heat", "Heat", &[]);
        check("【Grp】Heat", "Heat", &[]);
        check("[example.com] [Grp] Heat", "Heat", &[]);
        check("[2009] Heat", "[2009] Heat", &[]);
        check("[Heat]", "[Heat]", &[]);
        check("Heat.com", "Heat.com", &[]);
    }

    #[test]
    fn n1_the_number_of_a_second_download_is_removed() {
        check("Heat (1995) (2)", "Heat (1995)", &[]);
        check("Heat (1995) (2).", "Heat (1995)", &[]);
        check("Heat (12)", "Heat (12)", &[]);
    }
}
