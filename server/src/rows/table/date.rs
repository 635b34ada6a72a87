//! Dates of tables (API.md 13.9).

use subcat_engine::Timestamp;

use crate::limits::UNIX_DIGITS_MIN;

/// Order of day and month in dates that begin with neither the year nor one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// Day, month, year.
    DayFirst,
    /// Month, day, year.
    MonthFirst,
}

/// A cell of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateCell {
    /// Null: zeros, too.
    Empty,
    /// A point in time.
    Time(Timestamp),
    /// A date with an unknown order of day and month.
    NeedsOrder,
    /// Not a date.
    Unreadable,
}

/// Reads a cell of a date.
pub(super) fn date(cell: &str, order: Option<DateOrder>) -> DateCell {
    let cell = cell.trim();
    let has_digits = cell.bytes().any(|byte| byte.is_ascii_digit());
    if has_digits && !cell.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
        return DateCell::Empty;
    }
    let read = |time: Option<Timestamp>| time.map_or(DateCell::Unreadable, DateCell::Time);
    let (whole, fraction) = cell.split_once('.').unwrap_or((cell, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits(whole) && is_digits(fraction) {
        return match whole.len() {
            8 if fraction.trim_matches('0').is_empty() => read(compact_date(whole)),
            UNIX_DIGITS_MIN..=12 => read(whole.parse().ok().and_then(Timestamp::from_seconds)),
            _ => DateCell::Unreadable,
        };
    }
    let (day, time) = split_time(cell);
    match day.split(['/', '-', '.']).collect::<Vec<_>>()[..] {
        [year, month, day] if year.len() == 4 => {
            // ISO 8601, or else the same with slashes or points: `2010/05/03`.
            let iso = Timestamp::parse(cell);
            read(iso.or_else(|| at(&[year, month, day], time)))
        }
        [first, second, year] if year.len() == 4 => match order {
            _ if ![first, second, year].into_iter().all(is_digits) => DateCell::Unreadable,
            None => DateCell::NeedsOrder,
            Some(DateOrder::DayFirst) => read(at(&[year, second, first], time)),
            Some(DateOrder::MonthFirst) => read(at(&[year, first, second], time)),
        },
        _ => read(Timestamp::parse(cell)),
    }
}

fn compact_date(digits: &str) -> Option<Timestamp> {
    at(&[&digits[..4], &digits[4..6], &digits[6..]], "")
}

/// The date and the time of a cell.
fn split_time(cell: &str) -> (&str, &str) {
    let end = cell.find([' ', 'T', 't']).unwrap_or(cell.len());
    let (day, time) = cell.split_at(end);
    let day = day.trim_end_matches(',');
    (day, time.trim_start_matches(['T', 't']).trim())
}

/// The time `1:45 PM`, `13:45`, `13:45:10` of the day with this year, month and day.
fn at(day: &[&str; 3], time: &str) -> Option<Timestamp> {
    let [year, month, day] = day;
    let is_short = |part: &str| (1..=2).contains(&part.len());
    if !is_short(month) || !is_short(day) {
        return None;
    }
    let time = if time.is_empty() {
        "0:00".to_owned()
    } else {
        clock_time(time)?
    };
    let (hour, rest) = time.split_once(':')?;
    let iso = format!("{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{rest}");
    Timestamp::parse(&iso)
}

/// A time of 24 hours.
fn clock_time(time: &str) -> Option<String> {
    let upper = time.to_ascii_uppercase();
    let half = |sign: &str| upper.strip_suffix(sign).map(str::trim_end);
    let (time, hours) = match (half("AM"), half("PM")) {
        (Some(time), _) => (time, 0),
        (_, Some(time)) => (time, 12),
        _ => return Some(upper),
    };
    let (hour, rest) = time.split_once(':')?;
    let hour: u8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    Some(format!("{}:{rest}", hour % 12 + hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cell: &str, order: Option<DateOrder>, expected: &str) {
        let read = match date(cell, order) {
            DateCell::Time(time) => time.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(read, expected, "{cell}");
    }

    #[test]
    fn dates_are_read_in_every_form() {
        check("2009-07-05T02:00:00+02:00", None, "2009-07-05T00:00:00Z");
        check("2010-05-03 12:00:00", None, "2010-05-03T12:00:00Z");
        check("2010/05/03", None, "2010-05-03T00:00:00Z");
        check("2010/5/3 7:05", None, "2010-05-03T07:05:00Z");
        check("20100503", None, "2010-05-03T00:00:00Z");
        check("1246752000", None, "2009-07-05T00:00:00Z");
        check("1246752000.75", None, "2009-07-05T00:00:00Z");
        check("0000-00-00 00:00:00", None, "Empty");
        check("0", None, "Empty");
        check("ayer", None, "Unreadable");
        check("2010", None, "Unreadable");
        check("2010-13-01", None, "Unreadable");
    }

    #[test]
    fn other_dates_need_an_order() {
        let (day, month) = (Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst));
        check("7/20/2012 1:45 PM", None, "NeedsOrder");
        check("7/20/2012 1:45 PM", month, "2012-07-20T13:45:00Z");
        check("7/20/2012 12:05 AM", month, "2012-07-20T00:05:00Z");
        check("7/20/2012", day, "Unreadable");
        check("05/07/2009", day, "2009-07-05T00:00:00Z");
        check("05.07.2009 10:11:12", day, "2009-07-05T10:11:12Z");
        check("7/20/2012 13:45 PM", month, "Unreadable");
        check("a/b/2012", None, "Unreadable");
    }
}
