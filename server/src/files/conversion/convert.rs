//! A text in one of four formats, written anew (API.md 17.10 and 17.16).

use std::borrow::Cow;
use std::fmt::Write;

use super::cue::{TextCue, clean_text, in_order, lines};
use super::subrip::{blocks, timing};
use super::time::write_time;
use super::vtt_text::vtt_text;
use super::{microdvd, ssa, webvtt};
use crate::request::TextFormat;

/// Reason why a text cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// The text has none of the known formats.
    #[error("the format of the text is not known")]
    UnknownFormat,
    /// More than half of the lines with an arrow are not timing lines.
    #[error("most timing lines cannot be read")]
    Timing,
    /// The frames of a text have no rate.
    #[error("the text names no frame rate")]
    FrameRate,
    /// No cue remains.
    #[error("the text has no cues")]
    NoCues,
}

/// A decoded text in another format, or anew in its own.
///
/// Cost: linear in the text but for the sorting of its cues.
///
/// ```
/// use subcat_server::files::convert;
/// use subcat_server::request::TextFormat;
/// let srt = "1\r\n0:1 --> 0:2,5\r\n<B>Hola</B> & adiós\r\n";
/// let vtt = "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<b>Hola</b> &amp; adiós\n\n";
/// assert_eq!(convert(srt, TextFormat::Vtt).unwrap(), vtt);
/// ```
pub fn convert(text: &str, format: TextFormat) -> Result<String, ConversionError> {
    let original = text.trim_start_matches(|c| is_removed(c) || is_space(c));
    let text = without_controls(text);
    let beginning = text.trim_start_matches(is_space);
    if beginning.starts_with("WEBVTT") {
        if format == TextFormat::Vtt {
            return Ok(original.to_owned());
        }
        let mut cues = blocks(beginning, true).ok_or(ConversionError::Timing)?;
        for cue in &mut cues {
            cue.text = webvtt::plain_text(&cue.text);
        }
        return written(in_order(cues), format);
    }
    let cues = if lines(&text).any(ssa::is_events) {
        ssa::cues(&text)
    } else if lines(&text).any(|line| timing(line).is_some()) {
        in_order(blocks(&text, false).ok_or(ConversionError::Timing)?)
    } else if lines(&text).any(|line| microdvd::frame_line(line).is_some()) {
        in_order(microdvd::cues(&text).ok_or(ConversionError::FrameRate)?)
    } else {
        return Err(ConversionError::UnknownFormat);
    };
    written(cues, format)
}

/// Returns true for blanks and line ends.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Returns true for control characters but tab and line ends, and for U+FEFF.
const fn is_removed(c: char) -> bool {
    c == '\u{FEFF}' || (c < ' ' && !is_space(c))
}

/// The text without control characters but tab and line ends, and without U+FEFF.
fn without_controls(text: &str) -> Cow<'_, str> {
    if text.contains(is_removed) {
        text.replace(is_removed, "").into()
    } else {
        text.into()
    }
}

fn written(cues: Vec<TextCue>, format: TextFormat) -> Result<String, ConversionError> {
    let mut out = String::new();
    let mut number = 0;
    for cue in cues {
        match format {
            TextFormat::Srt => {
                number += 1;
                writeln!(out, "{number}").expect("a String takes all text");
                push_times(&mut out, &cue, ',');
                push_lines(&mut out, "", &cue.text);
            }
            TextFormat::Vtt => {
                let rewritten = vtt_text(&cue.text);
                let text = clean_text(&rewritten.text);
                if text.is_empty() {
                    continue;
                }
                if out.is_empty() {
                    out.push_str("WEBVTT\n\n");
                }
                push_times(&mut out, &cue, '.');
                let settings = if rewritten.is_at_top { " line:0" } else { "" };
                push_lines(&mut out, settings, &text);
            }
        }
    }
    if out.is_empty() {
        Err(ConversionError::NoCues)
    } else {
        Ok(out)
    }
}

fn push_times(out: &mut String, cue: &TextCue, mark: char) {
    write_time(out, cue.start_ms, mark);
    out.push_str(" --> ");
    write_time(out, cue.end_ms, mark);
}

/// The end of a timing line, the lines of the cue, and an empty one.
fn push_lines(out: &mut String, settings: &str, text: &str) {
    for part in [settings, "\n", text, "\n\n"] {
        out.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, srt: &str, vtt: &str) {
        assert_eq!(convert(text, TextFormat::Srt).as_deref(), Ok(srt), "{text}");
        assert_eq!(convert(text, TextFormat::Vtt).as_deref(), Ok(vtt), "{text}");
    }

    #[test]
    fn api_rule_17_10_the_format_is_told_by_the_text() {
        check(
            "\u{FEFF}1\r\n0:1 --> 0:2\r\n{\\an8}a\u{1}\r\n",
            "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}a\n\n",
            "WEBVTT\n\n00:00:01.000 --> 00:00:02.000 line:0\na\n\n",
        );
        check(
            "{1}{1}25\n{25}{50}a|b",
            "1\n00:00:01,000 --> 00:00:02,000\na\nb\n\n",
            "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\na\nb\n\n",
        );
        check(
            "[Script Info]\n [events] \nDialogue: 0,0:0:1,0:0:2,D,,0,0,0,,a\n",
            "1\n00:00:01,000 --> 00:00:02,000\na\n\n",
            "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\na\n\n",
        );
        check(
            "\u{FEFF}\u{1} \nWEBVTT x\n\nSTYLE\na\n\nid\n0:1.0 --> 0:2.0 line:1\n<c>a\u{7}</c>\n\n",
            "1\n00:00:01,000 --> 00:00:02,000\na\n\n",
            "WEBVTT x\n\nSTYLE\na\n\nid\n0:1.0 --> 0:2.0 line:1\n<c>a\u{7}</c>\n\n",
        );
    }

    #[test]
    fn api_rule_17_10_what_cannot_be_converted_is_an_error() {
        let error = |text| convert(text, TextFormat::Srt).unwrap_err();
        assert_eq!(error(""), ConversionError::UnknownFormat);
        assert_eq!(error("[1][2]mpl"), ConversionError::UnknownFormat);
        assert_eq!(error("{1}{2}Hola"), ConversionError::FrameRate);
        assert_eq!(error("0:1 --> 0:2\n\n"), ConversionError::NoCues);
        assert_eq!(
            error("0:1 --> 0:2\na\nx-->\ny-->\n"),
            ConversionError::Timing
        );
    }

    #[test]
    fn api_rule_17_16_hours_have_two_digits_or_more() {
        check(
            "100:00:00,5 --> 101:00:00\na",
            "1\n100:00:00,500 --> 101:00:00,000\na\n\n",
            "WEBVTT\n\n100:00:00.500 --> 101:00:00.000\na\n\n",
        );
    }
}
