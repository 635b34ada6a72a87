//! Times of cues.

/// A time of `SubRip`, WebVTT or SSA in milliseconds, and the rest of the text: `[H:]M:S[,F]`, with
/// 1 to 3 digits of hours and of a fraction behind a comma or point, and 1 or 2 of the others.
///
/// Source: API.md 17.11.
pub(super) fn take_time(text: &str) -> Option<(u64, &str)> {
    let (first, rest) = take_number(text, 3)?;
    let (second, rest) = take_number(rest.strip_prefix(':')?, 2)?;
    let third = rest.strip_prefix(':').and_then(|rest| take_number(rest, 2));
    let (hours, minutes, seconds, rest) = match third {
        Some((third, rest)) => (first.value, second.value, third.value, rest),
        None if first.digits_count <= 2 => (0, first.value, second.value, rest),
        None => return None,
    };
    let fraction = rest
        .strip_prefix([',', '.'])
        .and_then(|rest| take_number(rest, 3));
    let (milliseconds, rest) = match fraction {
        Some((number, rest)) => (number.value * [1000, 100, 10, 1][number.digits_count], rest),
        None => (0, rest),
    };
    let seconds = (hours * 60 + minutes) * 60 + seconds;
    Some((seconds * 1000 + milliseconds, rest))
}

/// A number of a few digits.
struct ShortNumber {
    value: u64,
    digits_count: usize,
}

/// The digits at the start of a text, up to a maximum, and the rest of the text.
fn take_number(text: &str, digits_max: usize) -> Option<(ShortNumber, &str)> {
    let digits = text.bytes().take(digits_max);
    let digits_count = digits.take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits_count);
    let value = digits.parse().ok()?;
    Some((
        ShortNumber {
            value,
            digits_count,
        },
        rest,
    ))
}

/// A time in its written form, with this mark before the milliseconds.
pub(super) fn write_time(out: &mut String, milliseconds: u64, mark: char) {
    use std::fmt::Write;
    let (seconds, fraction) = (milliseconds / 1000, milliseconds % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(
        out,
        "{hours:02}:{minutes:02}:{seconds:02}{mark}{fraction:03}"
    )
    .expect("a String takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u64, &str)>) {
        assert_eq!(take_time(text), expected, "{text}");
    }

    #[test]
    fn api_rule_17_11_times() {
        check("00:00:01,500 x", Some((1_500, " x")));
        check("1:2:3.5", Some((3_723_500, "")));
        check("02:03", Some((123_000, "")));
        check("100:00:00,05", Some((360_000_050, "")));
        check("00:00:01,5000", Some((1_500, "0")));
        check("00:00:01,", Some((1_000, ",")));
        check("00:00:99", Some((99_000, "")));
        check("100:00", None);
        check("1000:00:00", None);
        check("00", None);
        check("", None);
        check("ñ", None);
    }
}
