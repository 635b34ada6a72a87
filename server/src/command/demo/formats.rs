//! Formats of subtitle files: cues to text, and text to bytes.

use serde::Deserialize;

use super::script::Cue;

/// Encoding of the characters of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Encoding {
    /// UTF-8, lines end with LF.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-8 with a byte order mark, lines end with CRLF.
    #[serde(rename = "utf-8-bom")]
    Utf8Bom,
    /// Windows code page 1252, lines end with CRLF, as older players expect.
    #[serde(rename = "windows-1252")]
    Windows1252,
}

impl Encoding {
    /// Encodes a text with LF at the end of each line.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf8Bom => format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes(),
            Self::Windows1252 => text
                .replace('\n', "\r\n")
                .chars()
                .map(windows_1252)
                .collect(),
        }
    }
}

/// The byte of a character: Latin-1, and those of 0x80..0xa0 that the scenes use.
fn windows_1252(c: char) -> u8 {
    match c {
        '…' => 0x85,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '–' => 0x96,
        '—' => 0x97,
        _ => u8::try_from(c).unwrap_or(b'?'),
    }
}

/// SubRip: number, times, lines, an empty line.
pub(super) fn srt(cues: &[Cue]) -> String {
    let mut out = String::new();
    for (idx, cue) in cues.iter().enumerate() {
        let (start, end) = (clock(cue.start_ms, ','), clock(cue.end_ms, ','));
        let text = cue.text.replace('|', "\n");
        out.push_str(&format!("{}\n{start} --> {end}\n{text}\n\n", idx + 1));
    }
    out
}

/// MicroDVD: frames at 25 per second, which the first line states.
pub(super) fn microdvd(cues: &[Cue]) -> String {
    let mut out = "{1}{1}25.000\n".to_owned();
    for cue in cues {
        out.push_str(&format!(
            "{{{}}}{{{}}}{}\n",
            cue.start_ms / 40,
            cue.end_ms / 40,
            cue.text
        ));
    }
    out
}

/// Advanced SubStation Alpha: one style, one event a cue.
pub(super) fn ass(cues: &[Cue]) -> String {
    let mut out = "[Script Info]\n\
        ScriptType: v4.00+\n\
        PlayResX: 1280\n\
        PlayResY: 720\n\
        WrapStyle: 0\n\
        \n\
        [V4+ Styles]\n\
        Format: Name, Fontname, Fontsize, PrimaryColour, OutlineColour, BackColour, Bold, Italic, \
        BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding\n\
        Style: Default,Arial,48,&H00FFFFFF,&H00000000,&H80000000,0,0,1,2,1,2,60,60,40,1\n\
        \n\
        [Events]\n\
        Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        .to_owned();
    for cue in cues {
        // Hours have one digit here, and seconds two decimals.
        let (start, end) = (clock(cue.start_ms, '.'), clock(cue.end_ms, '.'));
        let (start, end) = (&start[1..start.len() - 1], &end[1..end.len() - 1]);
        let text = cue.text.replace('|', "\\N");
        out.push_str(&format!(
            "Dialogue: 0,{start},{end},Default,,0,0,0,,{text}\n"
        ));
    }
    out
}

/// `HH:MM:SS,mmm` with the given decimal mark.
fn clock(ms: u64, mark: char) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!(
        "{hours:02}:{minutes:02}:{seconds:02}{mark}{:03}",
        ms % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cues() -> Vec<Cue> {
        let cue = |start_ms, end_ms, text: &str| Cue {
            start_ms,
            end_ms,
            text: text.to_owned(),
        };
        vec![
            cue(1_000, 3_040, "¿Quién?|Yo."),
            cue(3_661_007, 3_662_000, "—Adiós…"),
        ]
    }

    #[test]
    fn srt_has_numbers_times_and_lines() {
        assert_eq!(
            srt(&cues()),
            "1\n00:00:01,000 --> 00:00:03,040\n¿Quién?\nYo.\n\n\
             2\n01:01:01,007 --> 01:01:02,000\n—Adiós…\n\n"
        );
    }

    #[test]
    fn microdvd_counts_frames() {
        assert_eq!(
            microdvd(&cues()),
            "{1}{1}25.000\n{25}{76}¿Quién?|Yo.\n{91525}{91550}—Adiós…\n"
        );
    }

    #[test]
    fn ass_ends_with_events() {
        let text = ass(&cues());
        assert!(text.starts_with("[Script Info]\nScriptType: v4.00+\n"));
        assert!(
            text.contains("\nDialogue: 0,0:00:01.00,0:00:03.04,Default,,0,0,0,,¿Quién?\\NYo.\n")
        );
        assert!(text.ends_with("Dialogue: 0,1:01:01.00,1:01:02.00,Default,,0,0,0,,—Adiós…\n"));
    }

    #[test]
    fn encodings_differ_in_bytes_and_line_ends() {
        assert_eq!(Encoding::Utf8.encode("ñ\n"), "ñ\n".as_bytes());
        assert_eq!(Encoding::Utf8Bom.encode("ñ\n"), b"\xef\xbb\xbf\xc3\xb1\r\n");
        assert_eq!(Encoding::Windows1252.encode("—ñ…\n"), b"\x97\xf1\x85\r\n");
    }
}
