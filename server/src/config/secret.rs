//! Secrets among the settings, and the text in their place.

use std::borrow::Cow;

/// Text in place of a secret.
const HIDDEN: &str = "set (hidden)";
/// Schemes of URLs that are shown with their host.
const SCHEMES: [&str; 6] = ["http", "https", "nats", "tls", "postgres", "postgresql"];

/// Permission to show the secrets among the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// A secret is replaced by a text: it is set.
    Hidden,
    /// The caller may read the sources of the settings anyway.
    Shown,
}

/// The text in place of a secret value: that it is set, and scheme and host if it is a URL.
pub(super) fn hidden(value: &str) -> String {
    match scheme_and_host(value) {
        Some(address) => format!("{HIDDEN}, {address}"),
        None => HIDDEN.to_owned(),
    }
}

/// A value that is not a secret by its setting, as messages show it. A URL with a user name has a
/// password, whatever setting it was meant for.
pub(super) fn without_password(value: &str) -> Cow<'_, str> {
    if value.contains("://") && value.contains('@') {
        Cow::Owned(hidden(value))
    } else {
        Cow::Borrowed(value)
    }
}

/// Scheme and host of a URL; `None` if it is not certain where its secret begins.
pub fn scheme_and_host(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority_end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(authority_end);
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => host,
        // A password with a slash in it would look like a host and a path.
        None if after.contains('@') => return None,
        None => authority,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[],".contains(c);
    let is_shown = SCHEMES.contains(&scheme.as_str()) && !host.is_empty();
    (is_shown && host.chars().all(is_plain)).then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_and_a_url_shows_scheme_and_host() {
        for (value, expected) in [
            ("hush", "set (hidden)"),
            ("AKIA/x+y=", "set (hidden)"),
            (
                "https://u.example/hush/{source_release_id}?token=hush#hush",
                "set (hidden), https://u.example",
            ),
            (
                "HTTPS://u.example:8443?hush",
                "set (hidden), https://u.example:8443",
            ),
            (
                "nats://hush:hush@a:4222,b:4222",
                "set (hidden), nats://a:4222,b:4222",
            ),
            ("nats://a:1,hush:hush@b:2", "set (hidden), nats://b:2"),
            (
                "postgres://hush@[::1]:5432/hush",
                "set (hidden), postgres://[::1]:5432",
            ),
            ("postgres://u:hush/hush@db/x", "set (hidden)"),
            ("http://u:hu?sh@db/x", "set (hidden)"),
            ("natz://u:hush@db", "set (hidden)"),
            ("http://hush hush/", "set (hidden)"),
            ("http:///hush", "set (hidden)"),
            ("://hush", "set (hidden)"),
        ] {
            assert_eq!(hidden(value), expected, "{value}");
        }
    }

    #[test]
    fn a_password_is_hidden_in_any_setting() {
        assert_eq!(without_password("a@b"), "a@b");
        assert_eq!(
            without_password("https://sub.example/x"),
            "https://sub.example/x"
        );
        let shown = without_password("https://me:hush@sub.example");
        assert_eq!(shown, "set (hidden), https://sub.example");
    }
}
