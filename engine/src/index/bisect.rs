//! Binary search over positions.

/// First position of a range for which `is_before` is false. It must be true for all positions
/// below.
#[inline]
pub(crate) fn partition(
    mut from: usize,
    mut to: usize,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    while from < to {
        let middle = from + (to - from) / 2;
        if is_before(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// Same result as [`partition`], found faster when it is near the start of the range.
#[inline]
pub(crate) fn gallop(from: usize, to: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while step <= to - low && is_before(low + step - 1) {
        low += step;
        step *= 2;
    }
    partition(low, to.min(low + step), is_before)
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
