//! The `Authorization` header and the text of API keys.

use std::sync::LazyLock;

use regex::bytes::Regex;
use subcat_server::auth::{api_key_partial, api_key_text, is_api_key_text};
use subcat_server::request::bearer_token;

use crate::choices::Choices;

/// The token of a header is what the grammar says: a scheme in any case, one space, one token.
pub fn bearer(data: &[u8]) {
    static GRAMMAR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\A(?i-u:bearer)\x20([\x21-\x7E]+)\z").expect("the pattern is well formed")
    });
    let captures = GRAMMAR.captures(data);
    let expected = captures
        .and_then(|captures| captures.get(1))
        .map(|token| token.as_bytes());
    assert_eq!(bearer_token(data).map(str::as_bytes), expected, "{data:?}");
    if let Some(token) = bearer_token(data) {
        is_api_key_text(token.as_bytes());
    }
}

/// A key is recognised by its checksum, a key with one wrong character is not, and lists never
/// show the secret part.
pub fn api_key(data: &[u8]) {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    is_api_key_text(data);
    let mut choices = Choices::from_bytes(data);
    let random = [(); 32].map(|()| choices.pick(DIGITS));
    let text = api_key_text(&random);
    assert!(is_api_key_text(text.as_bytes()), "{text}");
    let mut wrong = text.clone().into_bytes();
    let at = choices.below(wrong.len());
    let other = choices.byte();
    if wrong[at] != other {
        wrong[at] = other;
        assert!(!is_api_key_text(&wrong), "{text} with {other} at {at}");
    }
    assert!(!is_api_key_text(&text.as_bytes()[1..]));
    let partial = api_key_partial(&text);
    assert_eq!(partial.chars().count(), 13, "{partial}");
    assert!(!partial.contains(&text[8..38]));
}
