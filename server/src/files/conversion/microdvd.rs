//! `MicroDVD`: `{from}{to}text` in frames (API.md 17.14).

use super::cue::{BLANKS, TextCue, lines};
use crate::limits::{FRAME_DIGITS_MAX, FRAME_RATE_DIGITS_MAX, FRAME_TEXT_MS_MAX};

/// A line of a frame file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameLine<'a> {
    start: u64,
    end: Option<u64>,
    text: &'a str,
}

/// Reads a line, if it is one of frames.
pub(super) fn frame_line(line: &str) -> Option<FrameLine<'_>> {
    let rest = line.trim_matches(BLANKS).strip_prefix('{')?;
    let (start, rest) = rest.split_once('}')?;
    let (end, text) = rest.strip_prefix('{')?.split_once('}')?;
    let end = if end.is_empty() {
        None
    } else {
        Some(frame(end)?)
    };
    Some(FrameLine {
        start: frame(start)?,
        end,
        text,
    })
}

fn frame(digits: &str) -> Option<u64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && digits.len() <= FRAME_DIGITS_MAX {
        digits.parse().ok()
    } else {
        None
    }
}

/// Frames in a second, exactly as the file writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FrameRate {
    /// The rate as a fraction: its digits without the point, over a power of ten.
    digits: u128,
    scale: u128,
}

impl FrameRate {
    /// Reads `23.976`, `23,976` or `25 fps`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(BLANKS);
        let digits_end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
        let (number, unit) = text.split_at(digits_end.unwrap_or(text.len()));
        let unit = unit.trim_start_matches(BLANKS);
        if !unit.is_empty() && !unit.eq_ignore_ascii_case("fps") {
            return None;
        }
        let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || 9 < whole.len() {
            return None;
        }
        if FRAME_RATE_DIGITS_MAX < fraction.len() {
            return None;
        }
        let scale = 10_u128.pow(fraction.len() as u32);
        let digits = whole.parse::<u128>().ok()? * scale + fraction.parse::<u128>().ok()?;
        let is_rate = (10 * scale..=120 * scale).contains(&digits);
        is_rate.then_some(Self { digits, scale })
    }

    /// Milliseconds of a number of frames, half up.
    fn milliseconds(self, frames: u64) -> u64 {
        let thousandths = u128::from(frames) * 1000 * self.scale;
        // At ten frames a second the largest number of frames is far from the bound of u64.
        ((2 * thousandths + self.digits) / (2 * self.digits)) as u64
    }
}

/// The cues of a text; `None` when its first frame line names no frame rate.
pub(super) fn cues(text: &str) -> Option<Vec<TextCue>> {
    let frame_lines: Vec<FrameLine<'_>> = lines(text).filter_map(frame_line).collect();
    let (first, rest) = frame_lines.split_first()?;
    let rate = FrameRate::parse(first.text)?;
    let mut starts: Vec<u64> = frame_lines.iter().map(|line| line.start).collect();
    starts.sort_unstable();
    let cue_of = |line: &FrameLine<'_>| {
        let start_ms = rate.milliseconds(line.start);
        let later = starts.partition_point(|start| *start <= line.start);
        let end_ms = match (line.end, starts.get(later)) {
            (Some(end), _) => rate.milliseconds(end),
            (None, Some(next)) => rate.milliseconds(*next).min(start_ms + FRAME_TEXT_MS_MAX),
            (None, None) => start_ms + FRAME_TEXT_MS_MAX,
        };
        TextCue {
            start_ms,
            end_ms,
            text: marked_up(line.text),
        }
    };
    Some(rest.iter().map(cue_of).collect())
}

/// Tags of a line, from the outermost to the innermost.
const TAGS: [char; 3] = ['b', 'i', 'u'];

/// The lines of a text with tags in place of control codes.
fn marked_up(text: &str) -> String {
    let mut for_all = [false; 3];
    let read: Vec<TaggedLine> = text
        .split('|')
        .map(|line| TaggedLine::read(line, &mut for_all))
        .collect();
    let mut out = String::with_capacity(text.len());
    for line in &read {
        let is_set = |idx: &usize| line.tags[*idx] || for_all[*idx];
        let set: Vec<char> = (0..TAGS.len())
            .filter(is_set)
            .map(|idx| TAGS[idx])
            .collect();
        if !line.text.trim_matches(BLANKS).is_empty() {
            out.extend(set.iter().flat_map(|tag| ['<', *tag, '>']));
            out.push_str(line.text.trim_matches(BLANKS));
            out.extend(set.iter().rev().flat_map(|tag| ['<', '/', *tag, '>']));
        }
        out.push('\n');
    }
    out
}

/// A line without control codes, and the tags that they set for it.
struct TaggedLine {
    text: String,
    tags: [bool; 3],
}

impl TaggedLine {
    fn read(line: &str, for_all: &mut [bool; 3]) -> Self {
        let mut tags = [false; 3];
        let mut text = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(open) = rest.find('{') {
            let Some(code) = control_code(&rest[open..]) else {
                text.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
                continue;
            };
            text.push_str(&rest[..open]);
            rest = &rest[open + code.len()..];
            let target = match code.as_bytes()[1] {
                b'y' => &mut tags,
                b'Y' => &mut *for_all,
                _ => continue,
            };
            for value in code[3..code.len() - 1].split(',') {
                let value = value.trim_matches(BLANKS);
                let named = |tag: &char| value.eq_ignore_ascii_case(&tag.to_string());
                if let Some(idx) = TAGS.iter().position(named) {
                    target[idx] = true;
                }
            }
        }
        text.push_str(rest);
        Self { text, tags }
    }
}

/// `{letter:…}` at the start of a text.
fn control_code(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let is_code = bytes.get(1)?.is_ascii_alphabetic() && *bytes.get(2)? == b':';
    if !is_code {
        return None;
    }
    let end = text.find('}')?;
    Some(&text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<Vec<(u64, u64, String)>> {
        let cues = cues(text)?;
        let shown = |cue: TextCue| (cue.start_ms, cue.end_ms, cue.text.trim().to_owned());
        Some(cues.into_iter().map(shown).collect())
    }

    #[test]
    fn api_rule_17_14_frames_become_milliseconds() {
        let cues = shown("{1}{1}23.976\n {25}{50}Hola|tú \n{100}{}x\n{90}{}y\nno\n").unwrap();
        let expected = [
            (1_043, 2_085, "Hola\ntú".to_owned()),
            (4_171, 9_171, "x".to_owned()),
            (3_754, 4_171, "y".to_owned()),
        ];
        assert_eq!(cues, expected);
        assert_eq!(shown("{1}{1}25 fps\n{1}{2}a").unwrap()[0].0, 40);
        assert_eq!(shown("{1}{1}29,97FPS\n{1}{2}a").unwrap()[0].0, 33);
        for text in [
            "{1}{1}9.9",
            "{1}{1}121",
            "{1}{1}Hola",
            "{1}{1}",
            "",
            "{1}{1}25.x",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
        assert!(frame_line("{1234567890}{1}a").is_none());
        assert!(frame_line("{}{1}a").is_none());
    }

    #[test]
    fn api_rule_17_14_codes_set_tags() {
        let text = |line: &str| marked_up(line).trim_end().to_owned();
        assert_eq!(text("{y:i}a|b"), "<i>a</i>\nb");
        assert_eq!(
            text("{Y:i,b}a|{y:u}b"),
            "<b><i>a</i></b>\n<b><i><u>b</u></i></b>"
        );
        assert_eq!(text("{c:$0000ff}a{1}"), "a{1}");
        assert_eq!(text("{y:"), "{y:");
    }
}
