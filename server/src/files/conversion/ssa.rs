//! SSA and ASS: the dialogue lines of a script (API.md 17.13).

use std::collections::HashMap;

use super::cue::{BLANKS, TextCue, in_order, lines};
use super::time::take_time;

/// ScriptColumns of a script without a format line.
const DEFAULT_COLUMNS: ScriptColumns = ScriptColumns {
    count: 10,
    start: 1,
    end: 2,
    text: 9,
};

/// Places of the columns that count.
#[derive(Debug, Clone, Copy)]
struct ScriptColumns {
    count: usize,
    start: usize,
    end: usize,
    text: usize,
}

impl ScriptColumns {
    /// Reads the columns after `Format:`; `None` when one is missing.
    fn parse(format: &str) -> Option<Self> {
        let names: Vec<&str> = format
            .split(',')
            .map(|name| name.trim_matches(BLANKS))
            .collect();
        let place = |wanted: &str| {
            let is_wanted = |name: &&str| name.eq_ignore_ascii_case(wanted);
            names.iter().position(is_wanted)
        };
        Some(Self {
            count: names.len(),
            start: place("start")?,
            end: place("end")?,
            text: place("text")?,
        })
    }

    /// Reads the fields after `Dialogue:`; the last column takes the rest.
    fn cue(self, dialogue: &str) -> Option<TextCue> {
        let fields: Vec<&str> = dialogue.splitn(self.count, ',').collect();
        if fields.len() < self.count {
            return None;
        }
        Some(TextCue {
            start_ms: whole_time(fields[self.start])?,
            end_ms: whole_time(fields[self.end])?,
            text: marked_up(fields[self.text])?,
        })
    }
}

fn whole_time(field: &str) -> Option<u64> {
    let (time, rest) = take_time(field.trim_matches(BLANKS))?;
    if rest.is_empty() { Some(time) } else { None }
}

/// Returns true for the line that begins the dialogue.
pub(super) fn is_events(line: &str) -> bool {
    line.trim_matches(BLANKS).eq_ignore_ascii_case("[events]")
}

/// The cues of a script, those that repeat a text while it is shown joined to it.
pub(super) fn cues(text: &str) -> Vec<TextCue> {
    let mut columns = Some(DEFAULT_COLUMNS);
    let mut is_in_events = false;
    let mut cues = Vec::new();
    for line in lines(text) {
        let line = line.trim_matches(BLANKS);
        if line.starts_with('[') && line.ends_with(']') {
            is_in_events = is_events(line);
        } else if is_in_events {
            if let Some(format) = after(line, "format:") {
                columns = ScriptColumns::parse(format);
            } else if let Some(dialogue) = after(line, "dialogue:")
                && let Some(columns) = columns
            {
                cues.extend(columns.cue(dialogue));
            }
        }
    }
    joined(in_order(cues))
}

/// Rest of a line behind a prefix in any case.
fn after<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = line.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Joins a cue to an earlier one of the same text that has not ended before its start.
fn joined(cues: Vec<TextCue>) -> Vec<TextCue> {
    let mut kept: Vec<TextCue> = Vec::with_capacity(cues.len());
    let mut last_of: HashMap<String, usize> = HashMap::new();
    for cue in cues {
        match last_of.get(&cue.text) {
            Some(&idx) if cue.start_ms <= kept[idx].end_ms => {
                kept[idx].end_ms = kept[idx].end_ms.max(cue.end_ms);
            }
            _ => {
                last_of.insert(cue.text.clone(), kept.len());
                kept.push(cue);
            }
        }
    }
    kept
}

/// A text with tags in place of its override codes; `None` when only tags remain.
fn marked_up(text: &str) -> Option<String> {
    let mut writer = TaggedWriter::default();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '\\']) {
        writer.push(&rest[..at]);
        rest = &rest[at..];
        if let Some(block_end) = rest.starts_with('{').then(|| rest.find('}')).flatten() {
            writer.read_codes(&rest[1..block_end]);
            rest = &rest[block_end + 1..];
            continue;
        }
        let (shown, length) = match rest.as_bytes() {
            [b'\\', b'N' | b'n', ..] => ("\n", 2),
            [b'\\', b'h', ..] => (" ", 2),
            _ => (&rest[..1], 1),
        };
        writer.push(shown);
        rest = &rest[length..];
    }
    writer.push(rest);
    writer.finish()
}

/// Writes text, and tags that enclose it properly.
#[derive(Default)]
struct TaggedWriter {
    out: String,
    /// Open tags, in opening order.
    open: Vec<char>,
    has_text: bool,
    is_drawing: bool,
    /// True if the first alignment is at the top.
    is_at_top: Option<bool>,
}

impl TaggedWriter {
    fn push(&mut self, text: &str) {
        if !self.is_drawing {
            self.out.push_str(text);
            self.has_text |= text.contains(|c: char| c != '\n' && !BLANKS.contains(&c));
        }
    }

    /// Reads the codes of a block.
    fn read_codes(&mut self, block: &str) {
        for code in block.split('\\').skip(1) {
            let name_end = code.find(|c: char| c.is_ascii_digit() || c == '-');
            let (name, rest) = code.split_at(name_end.unwrap_or(code.len()));
            let Some(is_zero) = leading_number_is_zero(rest) else {
                continue;
            };
            match (name, is_zero) {
                ("b" | "i" | "u", true) => self.close(name.as_bytes()[0].into()),
                ("b" | "i" | "u", false) => self.open(name.as_bytes()[0].into()),
                ("p", is_zero) => self.is_drawing = !is_zero,
                ("an" | "a", _) if self.is_at_top.is_none() => {
                    let end = rest.find(|c: char| !c.is_ascii_digit());
                    let number = &rest[..end.unwrap_or(rest.len())];
                    self.is_at_top = Some(is_top(name, number));
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, tag: char) {
        if !self.open.contains(&tag) {
            self.open.push(tag);
            self.out.extend(['<', tag, '>']);
        }
    }

    /// Closes a tag. Tags opened later are closed before it, and opened again behind it.
    fn close(&mut self, tag: char) {
        let Some(idx) = self.open.iter().position(|open| *open == tag) else {
            return;
        };
        let later = self.open.split_off(idx);
        for open in later.iter().rev() {
            self.out.extend(['<', '/', *open, '>']);
        }
        for open in &later[1..] {
            self.open(*open);
        }
    }

    fn finish(mut self) -> Option<String> {
        if !self.has_text {
            return None;
        }
        for open in self.open.iter().rev() {
            self.out.extend(['<', '/', *open, '>']);
        }
        if self.is_at_top == Some(true) {
            self.out.insert_str(0, "{\\an8}");
        }
        Some(self.out)
    }
}

/// Returns true for the alignments at the top of the picture.
fn is_top(name: &str, number: &str) -> bool {
    match name {
        "an" => matches!(number, "7" | "8" | "9"),
        _ => matches!(number, "5" | "6" | "7"),
    }
}

/// Returns true if a text begins with a zero; `None` when it begins with no number.
fn leading_number_is_zero(text: &str) -> Option<bool> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let digits = &digits[..end.unwrap_or(digits.len())];
    if digits.is_empty() {
        return None;
    }
    Some(digits.bytes().all(|byte| byte == b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(marked_up(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn api_rule_17_13_codes_become_tags() {
        check("{\\i1}Hola{\\i0}\\Ntú\\hy", Some("<i>Hola</i>\ntú y"));
        check(
            "{\\b700\\bord2\\i1}a{\\b0}b",
            Some("<b><i>a</i></b><i>b</i>"),
        );
        check("{\\i1}{\\i1}a", Some("<i>a</i>"));
        check("{\\i1}\\N{\\i0}", None);
        check("{\\p1}m 0 0{\\p0}a{\\pos(1,2)}", Some("a"));
        check("{\\p1}m 0 0", None);
        check("a{\\an8}b{\\an2}", Some("{\\an8}ab"));
        check("{\\an2}a{\\an8}b", Some("ab"));
        check("{\\a6}a", Some("{\\an8}a"));
        check("{\\a10\\alpha&HFF&}a", Some("a"));
        check("{comment}a {b", Some("a {b"));
        check("a\\b", Some("a\\b"));
    }

    fn shown(text: &str) -> Vec<(u64, u64, String)> {
        let shown = |cue: TextCue| (cue.start_ms, cue.end_ms, cue.text);
        cues(text).into_iter().map(shown).collect()
    }

    #[test]
    fn api_rule_17_13_columns_and_joined_cues() {
        let script = "[Events]\nDialogue: 0,0:00:01.00,0:00:02.50,D,,0,0,0,,Uno, dos\n\
                      dialogue: 0,0:00:02.50,0:00:03.00,D,,0,0,0,,Uno, dos\n\
                      Dialogue: 0,x,0:00:03.00,D,,0,0,0,,no\nDialogue: 0,0:00:01.00\n\
                      [Fonts]\nDialogue: 0,0:00:02.50,0:00:03.00,D,,0,0,0,,no\n";
        assert_eq!(shown(script), [(1_000, 3_000, "Uno, dos".to_owned())]);
        let other = "[EVENTS]\nFormat: Start, End, Text\nDialogue: 0:1,0:2,a,b\n";
        assert_eq!(shown(other), [(1_000, 2_000, "a,b".to_owned())]);
        let without = "[Events]\nFormat: Start, Text\nDialogue: 0:1,0:2,a,b\n";
        assert_eq!(shown(without), []);
    }
}
