//! Cues, and the rules for cues of all formats (API.md 17.15).

/// A text with its display time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextCue {
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    /// Lines, separated by `\n`.
    pub(super) text: String,
}

/// The blanks of a text.
pub(super) const BLANKS: [char; 2] = [' ', '\t'];

/// The lines of a text, which end with CR LF, CR or LF.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(['\r', '\n']) else {
            rest = None;
            return Some(text);
        };
        let after = &text[end..];
        let after = after.strip_prefix("\r\n").unwrap_or(&after[1..]);
        rest = Some(after);
        Some(&text[..end])
    })
}

/// Trimmed lines, without empty ones and lines with an arrow; an empty text if no line remains.
pub(super) fn clean_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in lines(text) {
        let line = line.trim_matches(BLANKS);
        if line.is_empty() || line.contains("-->") {
            continue;
        }
        if !clean.is_empty() {
            clean.push('\n');
        }
        clean.push_str(line);
    }
    clean
}

/// Cues with lines that end after they start, by their start.
pub(super) fn in_order(cues: impl IntoIterator<Item = TextCue>) -> Vec<TextCue> {
    let clean = cues.into_iter().map(|cue| TextCue {
        text: clean_text(&cue.text),
        ..cue
    });
    let mut kept: Vec<TextCue> = clean
        .filter(|cue| !cue.text.is_empty() && cue.start_ms < cue.end_ms)
        .collect();
    kept.sort_by_key(|cue| cue.start_ms);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        let all: Vec<&str> = lines("a\r\nb\rc\n\nd\r").collect();
        assert_eq!(all, ["a", "b", "c", "", "d", ""]);
    }

    #[test]
    fn api_rule_17_15_lines_and_cues_are_cleaned_and_sorted() {
        let cue = |start_ms, end_ms, text: &str| TextCue {
            start_ms,
            end_ms,
            text: text.to_owned(),
        };
        let cues = [
            cue(5, 6, "b"),
            cue(1, 9, " a \n\n x --> y\n\tc"),
            cue(5, 7, "d"),
            cue(2, 2, "e"),
            cue(3, 4, " \n"),
        ];
        let kept = in_order(cues);
        assert_eq!(kept, [cue(1, 9, "a\nc"), cue(5, 6, "b"), cue(5, 7, "d")]);
    }
}
