//! Names of releases: a `query` value read as one (SEARCH.md 4.8).

use crate::model::Year;
use crate::text::parse_year;

use super::ParsedText;

/// A `query` value read as the name of a release.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseName<'a> {
    name: Vec<&'a str>,
    years: Vec<Year>,
    tail: Vec<&'a str>,
}

impl<'a> ReleaseName<'a> {
    /// Reads a `query` value; `None` when it cannot be the name of a release.
    ///
    /// Source: SEARCH.md 4.8.
    pub(crate) fn of(text: &ParsedText<'a>) -> Option<Self> {
        let words = text.words();
        let episode_idx = text.markers().episode.map(|marker| marker.word_idx);
        if episode_idx == Some(0) {
            return None;
        }
        let years_end = episode_idx.unwrap_or(words.len());
        let is_year = |idx: usize| idx < years_end && parse_year(words[idx]).is_some();
        let is_mark = |idx: usize| Some(idx) == episode_idx || is_year(idx);
        let name_end = match (1..words.len()).find(|&idx| is_mark(idx)) {
            Some(first_mark) => first_mark,
            None if is_year(0) => 1,
            None => return None,
        };
        let (name, rest) = words.split_at(name_end);
        let (mut years, mut tail) = (Vec::new(), Vec::new());
        for (idx, word) in (name_end..).zip(rest) {
            if Some(idx) == episode_idx {
                continue;
            }
            match parse_year(word).filter(|_| is_year(idx)) {
                Some(year) => years.push(year),
                None => tail.push(*word),
            }
        }
        years.sort_unstable();
        years.dedup();
        Some(Self {
            name: name.to_vec(),
            years,
            tail,
        })
    }

    /// Words of the title: one or more.
    pub(crate) fn name(&self) -> &[&'a str] {
        &self.name
    }

    /// The years among the marks, each once, ascending.
    pub(crate) fn years(&self) -> &[Year] {
        &self.years
    }

    /// The words after the name that are not marks.
    pub(crate) fn tail(&self) -> &[&'a str] {
        &self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::SearchText;

    /// `expected` is name, years and tail, separated by bars.
    fn check(value: &str, expected: Option<&str>) {
        let text = SearchText::query(value).unwrap().unwrap();
        let parsed = ParsedText::of_query(&text, None);
        let read = ReleaseName::of(&parsed).map(|read| {
            let years: Vec<String> = read.years().iter().map(|y| y.get().to_string()).collect();
            let parts = [
                read.name().join(" "),
                years.join(" "),
                read.tail().join(" "),
            ];
            parts.join("|")
        });
        assert_eq!(read.as_deref(), expected, "{value}");
    }

    #[test]
    fn search_rule_4_8_a_value_is_read_as_the_name_of_a_release() {
        check(
            "The.Matrix.1999.1080p.BluRay.x264-GRP.srt",
            Some("the matrix|1999|1080p bluray x264 grp srt"),
        );
        check("1923.S01E02.2022.720p", Some("1923||2022 720p"));
        check(
            "Blade.Runner.2049.2017.mkv",
            Some("blade runner|2017 2049|mkv"),
        );
        check("1917.1080p", Some("1917||1080p"));
        check("1917", Some("1917||"));
        check("1917 2019 2019", Some("1917|2019|"));
        check("lost s01 s01e02 2004", Some("lost||s01e02 2004"));
        check("lost s00e01 s02 x", Some("lost s00e01||x"));
        check("Lost 2004 S01E02 x", Some("lost|2004|x"));
        check("S01E02.720p", None);
        check("s01 2004 x", None);
        check("The.Matrix.1080p", None);
        check("lost 1899 x", None);
        check("lost 2101 x", None);
        check("lost 02001", None);
    }
}
