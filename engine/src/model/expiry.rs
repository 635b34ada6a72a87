//! Requested expiry of an API key, before it is a point in time.

use super::timestamp::{DAY_SECONDS, Day, Timestamp};

/// Expiry of a new API key: never, after a time, or at one.
///
/// ```
/// use subcat_engine::{Expiry, Timestamp};
/// let now = Timestamp::parse("2026-11-21T10:00:00Z").unwrap();
/// let expires_at = Expiry::parse("30d").unwrap().resolve(now);
/// assert_eq!(expires_at, Ok(Timestamp::parse("2026-12-21T10:00:00Z")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The key never expires.
    Never,
    /// The key expires this number of seconds after it was made.
    AfterSeconds(i64),
    /// The key expires at 23:59:59 UTC of this day.
    EndOf(Day),
    /// The key expires at this second.
    At(Timestamp),
}

/// An expiry that has passed: the key would never be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is in the past")]
pub struct ExpiryPassed(pub Timestamp);

impl Expiry {
    /// Reads `never`, a number of days, hours or seconds such as `30d`, `12h` and `90s`, or a date
    /// such as `2027-01-31`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "never" {
            return Some(Self::Never);
        }
        if let Some(day) = Day::parse(text) {
            return Some(Self::EndOf(day));
        }
        for (unit, seconds) in [("d", DAY_SECONDS), ("h", 3_600), ("s", 1)] {
            let Some(count) = text.strip_suffix(unit) else {
                continue;
            };
            let count: u32 = count.parse().ok()?;
            if count != 0 {
                return Some(Self::AfterSeconds(i64::from(count) * seconds));
            }
        }
        None
    }

    /// Expiry after a number of days; 0 stands for never.
    pub const fn after_days(days: u32) -> Self {
        match days {
            0 => Self::Never,
            days => Self::AfterSeconds(days as i64 * DAY_SECONDS),
        }
    }

    /// First second at which a key made at `now` is expired; none means never.
    ///
    /// Errors: that second is not after `now`.
    pub fn resolve(self, now: Timestamp) -> Result<Option<Timestamp>, ExpiryPassed> {
        let expires_at = match self {
            Self::Never => return Ok(None),
            Self::AfterSeconds(seconds) => now.plus_seconds(seconds),
            Self::EndOf(day) => day.end(),
            Self::At(at) => at,
        };
        if now < expires_at {
            Ok(Some(expires_at))
        } else {
            Err(ExpiryPassed(expires_at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_a_span_a_date_or_never() {
        let now = Timestamp::parse("2026-11-21T10:00:00Z").unwrap();
        let check = |text: &str, expected: Option<&str>| {
            let at = Expiry::parse(text).unwrap().resolve(now).unwrap();
            assert_eq!(at.map(|at| at.to_string()).as_deref(), expected, "{text}");
        };
        check("never", None);
        check("30d", Some("2026-12-21T10:00:00Z"));
        check("12h", Some("2026-11-21T22:00:00Z"));
        check("90s", Some("2026-11-21T10:01:30Z"));
        check("2027-01-31", Some("2027-01-31T23:59:59Z"));
        check("2026-11-21", Some("2026-11-21T23:59:59Z"));
        check("4294967295d", Some("9999-12-31T23:59:59Z"));
        for text in [
            "",
            "0",
            "0d",
            "-1d",
            "1w",
            "d",
            "1.5d",
            "2027-02-30",
            "tomorrow",
        ] {
            assert_eq!(Expiry::parse(text), None, "{text}");
        }
        assert_eq!(Expiry::after_days(0), Expiry::Never);
        assert_eq!(Expiry::after_days(2), Expiry::parse("2d").unwrap());
    }

    #[test]
    fn an_expiry_that_has_come_is_refused() {
        let now = Timestamp::parse("2026-11-21T10:00:00Z").unwrap();
        let next = now.plus_seconds(1);
        assert_eq!(Expiry::At(next).resolve(now), Ok(Some(next)));
        assert_eq!(Expiry::At(now).resolve(now), Err(ExpiryPassed(now)));
        let yesterday = Expiry::parse("2026-11-20").unwrap();
        assert!(yesterday.resolve(now).is_err());
    }
}
