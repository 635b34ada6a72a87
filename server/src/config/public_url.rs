//! The public URL: how users reach the service, perhaps below a path.

use super::parse::web_url;

/// A public URL in its normal form: nothing, or scheme and host with an optional port and an
/// optional path, without a slash at the end. The path is shown in commands to paste into a shell,
/// in pages and in cookies: it has plain characters only. The API is reached at the root, too, so
/// its own words are no base.
pub(super) fn public_url(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let url = web_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    let path = url.path().strip_suffix('/').unwrap_or(url.path());
    let is_plain = |segment: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        !segment.is_empty() && segment.chars().all(is_plain)
    };
    let mut segments = path.split('/').skip(1);
    let is_of_api = matches!(segments.clone().next(), Some("api" | "a"));
    if is_of_api || !segments.all(is_plain) {
        return None;
    }
    let origin = url.origin().ascii_serialization();
    Some(Some(format!("{origin}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Option<&str>>) {
        let expected = expected.map(|url| url.map(str::to_owned));
        assert_eq!(public_url(text), expected, "{text}");
    }

    #[test]
    fn public_urls_have_a_host_and_perhaps_a_path() {
        check("https://subs.example", Some(Some("https://subs.example")));
        check("https://subs.example/", Some(Some("https://subs.example")));
        check("", Some(None));
        let below = Some(Some("https://media.example:8443/tools/subs"));
        check("HTTPS://Media.example:8443/tools/subs", below);
        check("https://media.example:8443/tools/subs/", below);
        for refused in ["a", "a/b", "api", "x//y", "x?y", "x y", "x'", "%20"] {
            check(&format!("https://subs.example/{refused}"), None);
        }
        check("https://subs.example//", None);
        check("https://me:pw@subs.example", None);
        check("ftp://subs.example", None);
        check("subs.example", None);
    }
}
