//! The two languages of the pages, and their formats of numbers and times.

use std::time::Duration;

use subcat_engine::{Day, Timestamp};

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lang {
    En,
    Es,
}

const MONTHS_EN: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const MONTHS_ES: [&str; 12] = [
    "ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic",
];

impl Lang {
    /// `en` or `es`.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Es => "es",
        }
    }

    /// Parses `en` or `es`.
    pub(crate) fn parse(code: &str) -> Option<Self> {
        match code {
            "en" => Some(Self::En),
            "es" => Some(Self::Es),
            _ => None,
        }
    }

    /// The language that an `Accept-Language` header prefers; of two with the same quality the
    /// first; English if it names neither.
    pub(crate) fn negotiate(accept_language: &str) -> Self {
        let mut best = (Self::En, 0.0);
        for range in accept_language.split(',') {
            let (tag, params) = range.split_once(';').unwrap_or((range, ""));
            let primary = tag.trim().split('-').next().unwrap_or("");
            // A quality that cannot be parsed counts as 0, that is, as unwanted.
            let quality = match params.trim().strip_prefix("q=") {
                Some(number) => number.trim().parse().unwrap_or(0.0),
                None => 1.0,
            };
            if let Some(lang) = Self::parse(&primary.to_ascii_lowercase())
                && best.1 < quality
            {
                best = (lang, quality);
            }
        }
        best.0
    }

    /// The text in this language. The two versions of a text stand side by side, so that neither is
    /// forgotten when the other one changes.
    pub(crate) const fn t(self, en: &'static str, es: &'static str) -> &'static str {
        match self {
            Self::En => en,
            Self::Es => es,
        }
    }

    /// A whole number with separated thousands.
    pub(crate) fn number(self, number: u64) -> String {
        let digits = number.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (digit_idx, digit) in digits.char_indices() {
            let left_count = digits.len() - digit_idx;
            // Spanish leaves numbers of four digits whole.
            let is_grouped = self == Self::En || 4 < digits.len();
            if digit_idx != 0 && left_count.is_multiple_of(3) && is_grouped {
                text.push(if self == Self::En { ',' } else { '.' });
            }
            text.push(digit);
        }
        text
    }

    /// A whole percentage: `68%`, `68 %`.
    pub(crate) fn percent(self, percent: u64) -> String {
        match self {
            Self::En => format!("{percent}%"),
            Self::Es => format!("{percent} %"),
        }
    }

    /// A size in bytes, in the largest unit that leaves at least 1, with one decimal. Its space
    /// breaks no line.
    pub(crate) fn bytes(self, bytes: u64) -> String {
        const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
        if bytes < 1024 {
            return format!("{bytes}\u{a0}B");
        }
        // Tenths as whole numbers, in 128 bits: exact up to the largest size.
        let (mut tenths, mut unit_idx) = (u128::from(bytes) * 10 / 1024, 0);
        while 10_240 <= tenths && unit_idx + 1 < UNITS.len() {
            tenths /= 1024;
            unit_idx += 1;
        }
        let point = self.t(".", ",");
        format!(
            "{}{point}{}\u{a0}{}",
            tenths / 10,
            tenths % 10,
            UNITS[unit_idx]
        )
    }

    /// A day of UTC: `3 May 2026`, `3 may 2026`.
    pub(crate) fn day(self, day: Day) -> String {
        self.written_day(&day.to_string())
    }

    /// The day of a time, in UTC.
    pub(crate) fn date(self, time: Timestamp) -> String {
        // From the text, as `Day` counts from 1970 and there are older films.
        self.written_day(&time.to_string()[..10])
    }

    /// A day that is given as `YYYY-MM-DD`.
    fn written_day(self, text: &str) -> String {
        let mut parts = text.split('-');
        let year = parts.next().unwrap_or("");
        let month_idx = parts.next().and_then(|month| month.parse::<usize>().ok());
        let date = parts.next().unwrap_or("").trim_start_matches('0');
        let months = match self {
            Self::En => MONTHS_EN,
            Self::Es => MONTHS_ES,
        };
        let month = month_idx.and_then(|month| months.get(month.wrapping_sub(1)));
        format!("{date} {} {year}", month.copied().unwrap_or(""))
    }

    /// Microseconds, from a thousand on as milliseconds: `250 µs`, `2.5 ms`.
    pub(crate) fn microseconds(self, us: u64) -> String {
        match (us / 1_000, us % 1_000 / 100) {
            (0, _) => format!("{us} µs"),
            (ms, 0) => format!("{} ms", self.number(ms)),
            (ms, tenths) => format!("{}{}{tenths} ms", self.number(ms), self.t(".", ",")),
        }
    }

    /// A length of time in its largest unit: `42 s`, `5 min`, `3 h`, `2 days`.
    pub(crate) fn span(self, time: Duration) -> String {
        let seconds = time.as_secs();
        match seconds {
            0..60 => format!("{seconds} s"),
            60..3_600 => format!("{} min", seconds / 60),
            3_600..172_800 => format!("{} h", seconds / 3_600),
            _ => format!("{} {}", seconds / 86_400, self.t("days", "días")),
        }
    }

    /// The distance of an earlier time: `3 min ago`, `hace 2 días`. Two months and more are given
    /// in months and years.
    pub(crate) fn ago(self, time: Timestamp, now: Timestamp) -> String {
        const MONTH_DAYS: u64 = 30;
        let seconds = u64::try_from(now.seconds().saturating_sub(time.seconds())).unwrap_or(0);
        let days = seconds / 86_400;
        let span = match days {
            _ if seconds < 60 => return self.t("just now", "ahora mismo").to_owned(),
            0..60 => self.span(Duration::from_secs(seconds)),
            60..730 => format!("{} {}", days / MONTH_DAYS, self.t("months", "meses")),
            _ => format!("{} {}", days / 365, self.t("years", "años")),
        };
        match self {
            Self::En => format!("{span} ago"),
            Self::Es => format!("hace {span}"),
        }
    }

    /// A time to the minute: `3 May 2026, 09:05`.
    pub(crate) fn moment(self, time: Timestamp) -> String {
        let text = time.to_string();
        let clock = text.get(11..16).unwrap_or("");
        format!("{}, {clock}", self.date(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: Lang) {
        assert_eq!(Lang::negotiate(header), expected, "{header}");
    }

    #[test]
    fn the_preferred_language_is_chosen() {
        check("es", Lang::Es);
        check("es-MX,es;q=0.9,en;q=0.8", Lang::Es);
        check("en-GB,en;q=0.9,es;q=0.8", Lang::En);
        check("fr,es;q=0.5,en;q=0.3", Lang::Es);
        check("ES-419", Lang::Es);
        check("fr, de", Lang::En);
        check("en;q=0, es;q=0.1", Lang::Es);
        check("es;q=0", Lang::En);
        check("es;q=nonsense, ;;, ,", Lang::En);
        check("", Lang::En);
    }

    #[test]
    fn numbers_and_times_follow_the_language() {
        assert_eq!(Lang::En.number(1_234_567), "1,234,567");
        assert_eq!(Lang::En.number(1_234), "1,234");
        assert_eq!(Lang::Es.number(1_234), "1234");
        assert_eq!(Lang::Es.number(12_345), "12.345");
        assert_eq!(Lang::En.number(0), "0");
        assert_eq!(
            [Lang::En, Lang::Es].map(|it| it.percent(68)),
            ["68%", "68 %"]
        );
        assert_eq!(Lang::En.bytes(1023), "1023\u{a0}B");
        assert_eq!(Lang::En.bytes(1536), "1.5\u{a0}KB");
        assert_eq!(Lang::Es.bytes(5 << 30), "5,0\u{a0}GB");
        let span = |seconds| Lang::Es.span(Duration::from_secs(seconds));
        assert_eq!([span(59), span(60), span(7_200)], ["59 s", "1 min", "2 h"]);
        assert_eq!([span(172_799), span(172_800)], ["47 h", "2 días"]);
        let time = Timestamp::parse("2026-05-03T09:05:59Z").unwrap();
        assert_eq!(Lang::En.moment(time), "3 May 2026, 09:05");
        assert_eq!(Lang::Es.moment(time), "3 may 2026, 09:05");
        let ago = |days: i64, seconds: i64| {
            Lang::Es.ago(time.plus_seconds(-days * 86_400 - seconds), time)
        };
        assert_eq!(ago(0, 59), "ahora mismo");
        assert_eq!(ago(0, 180), "hace 3 min");
        assert_eq!(ago(3, 0), "hace 3 días");
        assert_eq!(ago(75, 0), "hace 2 meses");
        assert_eq!(ago(800, 0), "hace 2 años");
        assert_eq!(ago(-1, 0), "ahora mismo");
        let old = Timestamp::parse("1931-01-02T00:00:00Z").unwrap();
        assert_eq!(Lang::En.date(old), "2 Jan 1931");
        let durations = [250, 1_000, 2_500, 48_210].map(|us| Lang::Es.microseconds(us));
        assert_eq!(durations, ["250 µs", "1 ms", "2,5 ms", "48,2 ms"]);
    }
}
