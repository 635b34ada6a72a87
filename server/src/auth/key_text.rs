//! The text of an API key: `sct_`, 32 random base62 digits, 6 digits of checksum.

use std::borrow::Cow;
use std::ops::Range;

use sha2::{Digest, Sha256};

/// Prefix of every key, which secret scanners search for.
pub(crate) const API_KEY_PREFIX: &str = "sct_";
/// Digits in the order of their value (API.md, keys).
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_DIGITS: usize = 32;
const CHECK_DIGITS: usize = 6;
const BODY_BYTES: usize = API_KEY_PREFIX.len() + RANDOM_DIGITS;
const TEXT_BYTES: usize = BODY_BYTES + CHECK_DIGITS;

/// The text of a new API key from 32 random base62 digits: `sct_`, the digits, and six digits of
/// the CRC-32 (IEEE) of the preceding text, most significant first (API.md, keys).
///
/// Panics if a byte of `random` is not a base62 digit: a programmer's mistake.
pub fn api_key_text(random: &[u8; 32]) -> String {
    let mut text = String::with_capacity(TEXT_BYTES);
    text.push_str(API_KEY_PREFIX);
    for digit in random {
        assert!(DIGITS.contains(digit), "a key is made of base62 digits");
        text.push(char::from(*digit));
    }
    for digit in check_digits(text.as_bytes()) {
        text.push(char::from(digit));
    }
    text
}

/// The text of a new API key, with digits drawn from the kernel.
pub fn new_api_key_text() -> String {
    let mut digits = [0; RANDOM_DIGITS];
    for digit in &mut digits {
        *digit = random_digit();
    }
    api_key_text(&digits)
}

/// A random digit, each as likely as any other: the bytes 248 to 255, which would make the first
/// eight digits likelier, are drawn again.
fn random_digit() -> u8 {
    loop {
        let mut byte = [0];
        getrandom::fill(&mut byte).expect("the kernel gives randomness once it is up");
        let [value] = byte;
        if value < 4 * 62 {
            return DIGITS[usize::from(value % 62)];
        }
    }
}

/// Returns true if a text has the shape and the checksum of a key. Cost: one CRC, no look-up.
pub fn is_api_key_text(text: &[u8]) -> bool {
    if text.len() != TEXT_BYTES || !text.starts_with(API_KEY_PREFIX.as_bytes()) {
        return false;
    }
    let (body, check) = text.split_at(BODY_BYTES);
    let digits = &body[API_KEY_PREFIX.len()..];
    digits.iter().all(u8::is_ascii_alphanumeric) && check == check_digits(body)
}

/// A text with each key in it cut to its prefix, for parts of a request that are shown or logged.
///
/// ```
/// use subcat_server::auth::without_keys;
/// assert_eq!(without_keys("/catalog?query=lost"), "/catalog?query=lost");
/// ```
pub fn without_keys(text: &str) -> Cow<'_, str> {
    let Some(found) = find_key(text) else {
        return Cow::Borrowed(text);
    };
    let mut clean = String::with_capacity(text.len());
    let (mut rest, mut next) = (text, Some(found));
    while let Some(key) = next {
        clean.push_str(&rest[..key.start]);
        clean.push_str(API_KEY_PREFIX);
        clean.push('…');
        rest = &rest[key.end..];
        next = find_key(rest);
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Place of the first text of a key's shape, whatever its checksum and however it is
/// percent-encoded.
fn find_key(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find_map(|start| Some(start..key_end(bytes, start)?))
}

/// End of the key that begins here.
fn key_end(bytes: &[u8], start: usize) -> Option<usize> {
    let prefix = API_KEY_PREFIX.as_bytes();
    let mut at = start;
    for idx in 0..TEXT_BYTES {
        let (byte, next) = decoded_byte(bytes, at)?;
        let is_right = match prefix.get(idx) {
            Some(expected) => byte == *expected,
            None => byte.is_ascii_alphanumeric(),
        };
        if !is_right {
            return None;
        }
        at = next;
    }
    Some(at)
}

/// The byte at a place, percent-encoded or not, and the place after it.
fn decoded_byte(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let digit = |idx: usize| char::from(*bytes.get(idx)?).to_digit(16);
    let byte = *bytes.get(at)?;
    if byte == b'%'
        && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
    {
        return Some((u8::try_from(16 * high + low).ok()?, at + 3));
    }
    Some((byte, at + 1))
}

/// SHA-256 of a key's text: the only stored form of a key. Session secrets are stored in the same
/// form.
pub fn api_key_digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The form of a key in lists: `sct_AbCd…wXyZ`.
pub fn api_key_partial(text: &str) -> String {
    let head = text.get(..API_KEY_PREFIX.len() + 4).unwrap_or_default();
    let tail_start = text.len().saturating_sub(4).max(head.len());
    let tail = text.get(tail_start..).unwrap_or_default();
    format!("{head}…{tail}")
}

fn check_digits(body: &[u8]) -> [u8; CHECK_DIGITS] {
    let mut rest = crc32fast::hash(body);
    let mut digits = [b'0'; CHECK_DIGITS];
    for digit in digits.iter_mut().rev() {
        let value = usize::try_from(rest % 62).expect("below 62");
        *digit = DIGITS[value];
        rest /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &[u8; 32] = b"AbCd0000000000000000000000000wXy";

    #[test]
    fn a_key_carries_its_checksum() {
        let text = api_key_text(RANDOM);
        assert_eq!(text.len(), 42);
        assert!(text.starts_with("sct_AbCd"));
        assert!(is_api_key_text(text.as_bytes()));
        // CRC-32 of "sct_" and the digits, worked out with zlib and written in base 62.
        assert_eq!(&text[36..], check_by_hand(&text[..36]));
    }

    /// The same number in base 62, most significant first, by repeated division of powers.
    fn check_by_hand(body: &str) -> String {
        let crc = u64::from(crc32fast::hash(body.as_bytes()));
        let digit = |power: u32| {
            let value = crc / 62_u64.pow(power) % 62;
            char::from(DIGITS[usize::try_from(value).unwrap()])
        };
        (0..6).rev().map(digit).collect()
    }

    #[test]
    fn the_checksum_is_the_ieee_one() {
        // The check value of CRC-32/ISO-HDLC: 0xCBF43926 = 3421780262, in base 62 "3jZPM6".
        let digits = check_digits(b"123456789");
        let value = digits.iter().fold(0_u64, |sum, digit| {
            let place = DIGITS.iter().position(|known| known == digit).unwrap();
            sum * 62 + u64::try_from(place).unwrap()
        });
        assert_eq!(value, 0xCBF4_3926);
    }

    #[test]
    fn new_keys_are_valid_and_unlike_each_other() {
        let texts: std::collections::HashSet<String> =
            (0..100).map(|_| new_api_key_text()).collect();
        assert_eq!(texts.len(), 100);
        assert!(texts.iter().all(|text| is_api_key_text(text.as_bytes())));
        let digits = texts.iter().flat_map(|text| text.bytes().skip(4).take(32));
        let seen: std::collections::HashSet<u8> = digits.collect();
        assert_eq!(seen.len(), 62);
    }

    #[test]
    fn typos_are_refused() {
        let text = api_key_text(RANDOM);
        for idx in 0..text.len() {
            let mut typo = text.clone().into_bytes();
            typo[idx] = if typo[idx] == b'7' { b'8' } else { b'7' };
            assert!(!is_api_key_text(&typo), "at {idx}");
        }
        assert!(!is_api_key_text(&text.as_bytes()[..41]));
        assert!(!is_api_key_text(b""));
        assert!(!is_api_key_text(format!("{text}0").as_bytes()));
    }

    #[test]
    fn rule_20_5_keys_are_cut_wherever_they_stand() {
        let key = api_key_text(RANDOM);
        let check = |text: String, expected: &str| assert_eq!(without_keys(&text), expected);
        check(
            format!("/x/a/{key}/manifest.json"),
            "/x/a/sct_…/manifest.json",
        );
        check(format!("{key}{key}"), "sct_…sct_…");
        check(format!("/b/sct%5f{}/x%5F", &key[4..]), "/b/sct_…/x%5F");
        let encoded: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        check(format!("ñ{encoded}%"), "ñsct_…%");
        check(format!("%{key}%7"), "%sct_…%7");
        check(format!("sct_{key}"), "sct_sct_…");
        check(format!("ñ{}", &key[..41]), &format!("ñ{}", &key[..41]));
        check(
            format!("sct_{}", "ñ".repeat(40)),
            &format!("sct_{}", "ñ".repeat(40)),
        );
    }

    #[test]
    fn lists_show_the_ends_only() {
        let text = api_key_text(RANDOM);
        let expected = format!("sct_AbCd…{}", &text[38..]);
        assert_eq!(api_key_partial(&text), expected);
        assert_eq!(api_key_partial("short"), "…hort");
    }

    #[test]
    fn the_digest_is_sha_256() {
        let digest = api_key_digest("abc");
        assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
