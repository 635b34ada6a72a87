//! Points in time and days, in UTC.

use std::fmt;

use jiff::Span;
use jiff::civil::{Date, DateTime, Time, date};
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;

use crate::limits::{CLOCK_STEP_SECONDS_MAX, TIMESTAMP_SECONDS_MAX, TIMESTAMP_SECONDS_MIN};

/// Seconds since 1970-01-01T00:00:00Z, in the years 0001 to 9999.
///
/// Its text is exactly `YYYY-MM-DDTHH:MM:SSZ` (API.md, answers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A day of UTC: whole days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub u32);

pub(super) const DAY_SECONDS: i64 = 86_400;
const EPOCH: Date = date(1970, 1, 1);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The point in time, when its year is 0001 to 9999.
    pub const fn from_seconds(seconds: i64) -> Option<Self> {
        if TIMESTAMP_SECONDS_MIN <= seconds && seconds <= TIMESTAMP_SECONDS_MAX {
            Some(Self(seconds))
        } else {
            None
        }
    }

    /// Reads a calendar date and time of ISO 8601 with any offset. Fractions of any
    /// length are dropped; without an offset it is UTC; a date alone is its midnight.
    ///
    /// ```
    /// use subcat_engine::Timestamp;
    /// let time = Timestamp::parse("2020-02-29T23:30:00.9-02:00").unwrap();
    /// assert_eq!(time.to_string(), "2020-03-01T01:30:00Z");
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text).or_else(|| Self::read(&with_short_fraction(text)?))
    }

    /// Reads a time with up to nine digits in its fraction, which is what jiff reads.
    fn read(text: &str) -> Option<Self> {
        let pieces = Pieces::parse(text).ok()?;
        // A time zone name would need its rules, which change: only offsets are exact.
        if pieces.time_zone_annotation().is_some() {
            return None;
        }
        let offset = pieces
            .offset()
            .map_or(Offset::UTC, |offset| offset.to_numeric_offset());
        let time = pieces.time().unwrap_or(Time::midnight());
        let local = pieces.date().to_datetime(time);
        let seconds = seconds_since_epoch(local) - i64::from(offset.seconds());
        Self::from_seconds(seconds)
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub const fn seconds(self) -> i64 {
        self.0
    }

    /// Adds `seconds` to this time, limited to the range.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(
            self.0
                .saturating_add(seconds)
                .clamp(TIMESTAMP_SECONDS_MIN, TIMESTAMP_SECONDS_MAX),
        )
    }

    /// Returns true if it is more than a day after another time: a clock that shows it is doubted.
    pub(crate) fn is_far_after(self, other: Self) -> bool {
        other.plus_seconds(CLOCK_STEP_SECONDS_MAX) < self
    }

    /// The day of UTC that holds it; the first day for anything before 1970.
    pub fn day(self) -> Day {
        Day(u32::try_from(self.0.div_euclid(DAY_SECONDS)).unwrap_or(0))
    }

    /// The same time as a date and time of day in UTC. jiff's points in time end some hours before
    /// the year 9999 does; its dates do not.
    fn civil(self) -> DateTime {
        let days = Span::new().days(self.0.div_euclid(DAY_SECONDS));
        let seconds = Span::new().seconds(self.0.rem_euclid(DAY_SECONDS));
        let midnight = EPOCH.checked_add(days).expect("the range is within jiff's");
        let midnight = midnight.to_datetime(Time::midnight());
        midnight
            .checked_add(seconds)
            .expect("a day has 86,400 seconds")
    }
}

/// The text with its fraction cut to nine digits, the maximum of jiff; `None` when the fraction is
/// not longer.
fn with_short_fraction(text: &str) -> Option<String> {
    let (before, fraction) = text.split_at(text.find(['.', ','])? + 1);
    let is_digit = |c: char| c.is_ascii_digit();
    let after = fraction.trim_start_matches(is_digit);
    let digits = &fraction[..fraction.len() - after.len()];
    let short = digits.get(..9).filter(|short| *short != digits)?;
    Some([before, short, after].concat())
}

/// Seconds from the epoch to a date and time of UTC; its fraction is dropped.
fn seconds_since_epoch(at: DateTime) -> i64 {
    let days = at.date().duration_since(EPOCH).as_secs();
    let time = at.time();
    let (hours, minutes) = (i64::from(time.hour()), i64::from(time.minute()));
    days + hours * 3600 + minutes * 60 + i64::from(time.second())
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.civil();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )
    }
}

impl Day {
    /// First second of the day.
    pub fn start(self) -> Timestamp {
        Timestamp(
            (i64::from(self.0) * DAY_SECONDS).clamp(TIMESTAMP_SECONDS_MIN, TIMESTAMP_SECONDS_MAX),
        )
    }

    /// Last second of the day, at which a key that expires on this day does.
    pub fn end(self) -> Timestamp {
        self.start().plus_seconds(DAY_SECONDS - 1)
    }

    /// Reads `YYYY-MM-DD`, from 1970 on.
    pub fn parse(text: &str) -> Option<Self> {
        let date: Date = text.parse().ok()?;
        let is_plain = text.len() == 10;
        let seconds = date.duration_since(EPOCH).as_secs();
        let day = u32::try_from(seconds.div_euclid(DAY_SECONDS)).ok()?;
        if is_plain { Some(Self(day)) } else { None }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.start().civil();
        write!(f, "{:04}-{:02}-{:02}", at.year(), at.month(), at.day())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Option<&str>) {
        let text = Timestamp::parse(input).map(|time| time.to_string());
        assert_eq!(text.as_deref(), expected, "{input}");
    }

    #[test]
    fn reads_offsets_fractions_and_dates() {
        check("2024-05-01T10:00:00Z", Some("2024-05-01T10:00:00Z"));
        check("2024-05-01T10:00:00+02:00", Some("2024-05-01T08:00:00Z"));
        check("2024-05-01T10:00:00.999Z", Some("2024-05-01T10:00:00Z"));
        check(
            "2024-05-01T10:00:00.9999999999Z",
            Some("2024-05-01T10:00:00Z"),
        );
        check(
            "2024-05-01T10:00:00,12345678901234567890+02:00",
            Some("2024-05-01T08:00:00Z"),
        );
        check("2024-05-01T10:00:00.1234567890x", None);
        check("2024-05-01 10:00:00", Some("2024-05-01T10:00:00Z"));
        check("2024-05-01T10:00", Some("2024-05-01T10:00:00Z"));
        check("2024-05-01", Some("2024-05-01T00:00:00Z"));
        check("20240501T100000Z", Some("2024-05-01T10:00:00Z"));
        check("0001-01-01T00:00:00Z", Some("0001-01-01T00:00:00Z"));
        check("1969-12-31T23:59:59.5Z", Some("1969-12-31T23:59:59Z"));
        check("9999-12-31T23:59:59Z", Some("9999-12-31T23:59:59Z"));
        check("9999-12-31T23:59:59-00:01", None);
        check("0001-01-01T00:00:00+00:01", None);
        check("0000-12-31T23:59:59-00:01", Some("0001-01-01T00:00:59Z"));
        check("1969-12-31T23:59:59.5-00:00", Some("1969-12-31T23:59:59Z"));
        check("2024-05-01T10:00:00+02:00[Europe/Madrid]", None);
        check("0000-12-31T23:59:59Z", None);
        check("2024-13-01T10:00:00Z", None);
        check("2023-02-29T00:00:00Z", None);
        check("yesterday", None);
        check("", None);
    }

    #[test]
    fn a_day_ends_in_its_last_second() {
        let day = Day::parse("2027-01-31").unwrap();
        assert_eq!(day.end().to_string(), "2027-01-31T23:59:59Z");
        assert_eq!(day.to_string(), "2027-01-31");
        assert_eq!(day.end().day(), day);
    }
}
