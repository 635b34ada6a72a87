//! Protection against cross-site forms (API.md, 12.2).

use http::HeaderMap;
use http::header::ORIGIN;

/// True if a form was sent from a page of this site.
///
/// `Sec-Fetch-Site` decides if it is there, because scripts cannot set it: `same-origin` or `none`.
/// Otherwise `Origin` must be one of `ours`. A request with neither header, or with one of them
/// twice, is rejected: session cookies alone prove nothing about the page that sent the form.
pub(crate) fn is_ours(headers: &HeaderMap, ours: &[String]) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    match (sites.next(), sites.next()) {
        (Some(site), None) => site == "same-origin" || site == "none",
        (Some(_), Some(_)) => false,
        (None, _) => {
            let mut origins = headers.get_all(ORIGIN).iter();
            let (first, second) = (origins.next(), origins.next());
            let origin = first.and_then(|origin| origin.to_str().ok());
            second.is_none()
                && origin
                    .is_some_and(|origin| ours.iter().any(|our| our.eq_ignore_ascii_case(origin)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)], expected: bool) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let ours = [
            "https://sub.example".to_owned(),
            "http://127.0.0.1:8080".to_owned(),
        ];
        assert_eq!(is_ours(&map, &ours), expected, "{headers:?}");
    }

    #[test]
    fn only_our_own_pages_may_post() {
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "none")], true);
        check(&[("sec-fetch-site", "same-site")], false);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(
            &[
                ("sec-fetch-site", "same-origin"),
                ("sec-fetch-site", "cross-site"),
            ],
            false,
        );
        check(
            &[
                ("sec-fetch-site", "cross-site"),
                ("origin", "https://sub.example"),
            ],
            false,
        );
        check(&[("origin", "https://sub.example")], true);
        check(&[("origin", "http://127.0.0.1:8080")], true);
        check(&[("origin", "http://sub.example")], false);
        check(&[("origin", "https://sub.example.evil")], false);
        check(&[("origin", "null")], false);
        check(
            &[
                ("origin", "https://sub.example"),
                ("origin", "https://evil"),
            ],
            false,
        );
        check(&[("referer", "https://sub.example/keys")], false);
        check(&[], false);
    }
}
