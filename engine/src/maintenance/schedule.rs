//! Times of the next runs of tasks, by a clock that may be set.

/// Returns true if something that comes every `period_seconds` is due: from `next_at` on, and if
/// that lies further ahead than a period. Then the clock was wrong at the last run, and waiting for
/// that second might take years.
pub(super) fn is_due(now: i64, next_at: i64, period_seconds: i64) -> bool {
    next_at <= now || now.saturating_add(period_seconds) < next_at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_by_a_clock_that_was_ahead_keeps_no_later_one_waiting() {
        let now = 1_700_000_000;
        for (next_at, expected) in [
            (0, true),
            (now, true),
            (now + 1, false),
            (now + 60, false),
            (now + 61, true),
            (i64::MAX, true),
        ] {
            assert_eq!(is_due(now, next_at, 60), expected, "{next_at}");
        }
    }
}
