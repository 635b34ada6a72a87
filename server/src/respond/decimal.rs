//! Integers as header values, without an allocation for small ones.

use bytes::Bytes;
use http::HeaderValue;

/// How many integers are kept as finished text.
const READY_COUNT: usize = 1024;
const READY_DIGITS: usize = 4;

const READY: [[u8; READY_DIGITS]; READY_COUNT] = ready();

/// The integers, right-aligned.
const fn ready() -> [[u8; READY_DIGITS]; READY_COUNT] {
    let mut table = [[b'0'; READY_DIGITS]; READY_COUNT];
    let mut number = 0;
    while number < READY_COUNT {
        let mut rest = number;
        let mut place = READY_DIGITS;
        while 0 < place {
            place -= 1;
            table[number][place] = b"0123456789"[rest % 10];
            rest /= 10;
        }
        number += 1;
    }
    table
}

static READY_TEXT: [[u8; READY_DIGITS]; READY_COUNT] = READY;

/// An integer as a header value. Cost: no allocation below 1024, one above.
pub(super) fn decimal(number: u64) -> HeaderValue {
    let ready = usize::try_from(number)
        .ok()
        .and_then(|number_idx| READY_TEXT.get(number_idx));
    let Some(digits) = ready else {
        let mut digits = itoa::Buffer::new();
        let digits = Bytes::copy_from_slice(digits.format(number).as_bytes());
        return HeaderValue::from_maybe_shared(digits).expect("digits are allowed in a field");
    };
    let zeros_count = digits.iter().take_while(|digit| **digit == b'0').count();
    let text = &digits[zeros_count.min(READY_DIGITS - 1)..];
    HeaderValue::from_static(std::str::from_utf8(text).expect("digits are ASCII"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_is_its_text() {
        for number in (0..2000).chain([1_700_000_000, u64::MAX]) {
            assert_eq!(decimal(number), number.to_string());
        }
    }
}
