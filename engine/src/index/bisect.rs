//! Binary search over positions.

use std::convert::Infallible;

/// First position of a range for which `is_before` is false. It must be true for all positions
/// below.
#[inline]
pub(crate) fn partition(from: usize, to: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let Ok(found) = try_partition(from, to, |at| Ok::<_, Infallible>(is_before(at)));
    found
}

/// Same result as [`partition`], found faster when it is near the start of the range.
#[inline]
pub(crate) fn gallop(from: usize, to: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let Ok(found) = try_gallop(from, to, |at| Ok::<_, Infallible>(is_before(at)));
    found
}

/// Same as [`gallop`], by a question that may fail.
#[inline]
pub(crate) fn try_gallop<E>(
    from: usize,
    to: usize,
    is_before: impl Fn(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut low, mut step) = (from, 1);
    while step <= to - low && is_before(low + step - 1)? {
        low += step;
        step *= 2;
    }
    try_partition(low, to.min(low + step), is_before)
}

/// Same as [`partition`], by a question that may fail.
#[inline]
pub(crate) fn try_partition<E>(
    mut from: usize,
    mut to: usize,
    is_before: impl Fn(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    while from < to {
        let middle = from + (to - from) / 2;
        if is_before(middle)? {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_the_first_position_that_is_not_before() {
        for to in 0..40 {
            for from in 0..=to {
                for first in from..=to {
                    assert_eq!(partition(from, to, |at| at < first), first);
                    assert_eq!(gallop(from, to, |at| at < first), first);
                }
            }
        }
    }
}
