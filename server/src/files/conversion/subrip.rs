//! `SubRip`, and the blocks of timing lines that WebVTT shares with it (API.md 17.11).

use super::cue::{BLANKS, TextCue, lines};
use super::time::take_time;

/// A timing line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timing {
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
}

/// Reads a timing line: time, arrow, time.
pub(super) fn timing(line: &str) -> Option<Timing> {
    let (start_ms, rest) = take_time(line.trim_start_matches(BLANKS))?;
    let rest = rest.trim_start_matches(BLANKS).strip_prefix("-->")?;
    let (end_ms, rest) = take_time(rest.trim_start_matches(BLANKS))?;
    if rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '.')) {
        return None;
    }
    Some(Timing { start_ms, end_ms })
}

/// The cues of a text; `None` when more than half of its arrows are not in a timing line. With
/// `ends_at_blank` the text of a cue ends at a blank line, too.
pub(super) fn blocks(text: &str, ends_at_blank: bool) -> Option<Vec<TextCue>> {
    let mut reader = CueReader {
        ends_at_blank,
        ..CueReader::default()
    };
    for line in lines(text) {
        reader.read(line);
    }
    reader.finish();
    if reader.arrows_count < 2 * reader.unread_count {
        return None;
    }
    Some(reader.cues)
}

/// State between two lines.
#[derive(Default)]
struct CueReader<'a> {
    ends_at_blank: bool,
    cues: Vec<TextCue>,
    timing: Option<Timing>,
    /// Lines of the cue that began last.
    text: Vec<&'a str>,
    /// Lines with an arrow, and those of them that are not timing lines.
    arrows_count: usize,
    unread_count: usize,
}

impl<'a> CueReader<'a> {
    fn read(&mut self, line: &'a str) {
        if line.contains("-->") {
            self.drop_number();
            self.finish();
            self.timing = timing(line);
            self.arrows_count += 1;
            self.unread_count += usize::from(self.timing.is_none());
            return;
        }
        let is_blank = line.trim_matches(BLANKS).is_empty();
        if is_blank && self.ends_at_blank {
            self.finish();
        } else if self.timing.is_some() {
            self.text.push(line);
        }
    }

    /// Removes the number of the next cue, which only blank lines separate from its timing line.
    fn drop_number(&mut self) {
        let is_text = |line: &&str| !line.trim_matches(BLANKS).is_empty();
        let Some(last) = self.text.iter().rposition(is_text) else {
            return;
        };
        let number = self.text[last].trim_matches(BLANKS);
        if number.bytes().all(|byte| byte.is_ascii_digit()) {
            self.text.truncate(last);
        }
    }

    /// Ends the cue that began last.
    fn finish(&mut self) {
        if let Some(timing) = self.timing.take() {
            self.cues.push(TextCue {
                start_ms: timing.start_ms,
                end_ms: timing.end_ms,
                text: self.text.join("\n"),
            });
        }
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_rule_17_11_timing_lines() {
        let read = |line| timing(line).map(|it| [it.start_ms, it.end_ms]);
        assert_eq!(read("00:00:01,000 --> 00:00:02,5"), Some([1_000, 2_500]));
        assert_eq!(read(" \t0:1-->0:2 X1:40"), Some([1_000, 2_000]));
        assert_eq!(read("0:1 --> 0:2,1234"), None);
        assert_eq!(read("0:1 --> 0:2:3:4"), None);
        assert_eq!(read("x 0:1 --> 0:2"), None);
        assert_eq!(read("0:1 -> 0:2"), None);
    }

    fn texts(text: &str, ends_at_blank: bool) -> Option<Vec<String>> {
        let cues = blocks(text, ends_at_blank)?;
        Some(cues.into_iter().map(|cue| cue.text).collect())
    }

    #[test]
    fn api_rule_17_11_the_text_goes_on_to_the_next_arrow() {
        let text = "1\n0:1 --> 0:2\na\n\nb\n2\n\n0:3 --> 0:4\n3\nc\n5";
        assert_eq!(texts(text, false).unwrap(), ["a\n\nb", "3\nc\n5"]);
        assert_eq!(texts(text, true).unwrap(), ["a", "3\nc\n5"]);
    }

    #[test]
    fn api_rule_17_11_half_of_the_arrows_may_be_unread() {
        let half = "0:1 --> 0:2\na\nx --> y\nb\n";
        assert_eq!(texts(half, false).unwrap(), ["a"]);
        assert_eq!(texts(&format!("{half}z --> z\n"), false), None);
    }
}
