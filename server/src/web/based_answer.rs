//! Answers below a base path. Pages are written as if the service were alone on its host; here,
//! and only here, their links, redirects and cookies get the base.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Response};

use super::frame::answer::PageBody;

/// Attributes that hold addresses. Texts cannot contain them, because quotes in texts are escaped.
const ADDRESS_ATTRIBUTES: [&str; 5] = ["href", "src", "action", "formaction", "data-run"];

/// Prefix of the names of cookies that browsers keep for one host and every path.
const HOST_PREFIX: &str = "__Host-";
/// Prefix of the names of cookies that browsers keep for one path.
const SECURE_PREFIX: &str = "__Secure-";

/// Gives cookies of a request below a base the names that the pages know.
pub(crate) fn rename_cookies(headers: &mut HeaderMap) {
    for value in headers.iter_mut().filter(|(name, _)| *name == COOKIE) {
        let Ok(text) = value.1.to_str() else {
            continue;
        };
        let renamed = text.replace(SECURE_PREFIX, HOST_PREFIX);
        if let Ok(renamed) = HeaderValue::try_from(renamed) {
            *value.1 = renamed;
        }
    }
}

/// Puts `base` before the addresses of an answer.
pub(crate) fn put_below(response: &mut Response<PageBody>, base: &str) {
    let headers = response.headers_mut();
    if let Some(location) = headers.get(LOCATION)
        && location.as_bytes().starts_with(b"/")
        && let Ok(text) = location.to_str()
        && let Ok(based) = HeaderValue::try_from(format!("{base}{text}"))
    {
        headers.insert(LOCATION, based);
    }
    for (_, value) in headers.iter_mut().filter(|(name, _)| *name == SET_COOKIE) {
        if let Ok(text) = value.to_str()
            && let Ok(based) = HeaderValue::try_from(cookie_below(text, base))
        {
            *value = based;
        }
    }
    let content_type = headers.get(CONTENT_TYPE);
    let is_html = content_type.is_some_and(|it| it.as_bytes().starts_with(b"text/html"));
    if let (true, PageBody::Bytes(bytes)) = (is_html, response.body())
        && let Ok(html) = std::str::from_utf8(bytes)
    {
        *response.body_mut() = PageBody::Bytes(Bytes::from(html_below(html, base)));
    }
}

fn cookie_below(cookie: &str, base: &str) -> String {
    let path = format!("; Path={base};");
    let based = cookie.replacen("; Path=/;", &path, 1);
    match based.strip_prefix(HOST_PREFIX) {
        Some(rest) => format!("{SECURE_PREFIX}{rest}"),
        None => based,
    }
}

fn html_below(html: &str, base: &str) -> String {
    let mut based = String::with_capacity(html.len() + html.len() / 16);
    let mut copied = 0;
    for (at, _) in html.match_indices('/') {
        if is_address_start(&html[..at]) {
            based.push_str(&html[copied..at]);
            based.push_str(base);
            copied = at;
        }
    }
    based.push_str(&html[copied..]);
    based
}

/// True if the address of an attribute follows.
fn is_address_start(before: &str) -> bool {
    if before.ends_with(" content=\"0;url=") {
        return true;
    }
    let Some(before) = before.strip_suffix("=\"") else {
        return false;
    };
    ADDRESS_ATTRIBUTES.iter().any(|name| {
        let rest = before.strip_suffix(name);
        rest.is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_whitespace()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_attributes_get_the_base() {
        let check = |html: &str, expected: &str| assert_eq!(html_below(html, "/subs"), expected);
        check("<a href=\"/\">/keys</a>", "<a href=\"/subs/\">/keys</a>");
        check(
            "<form method=\"post\" action=\"/keys/7\"><a\nhref=\"/x/y\">",
            "<form method=\"post\" action=\"/subs/keys/7\"><a\nhref=\"/subs/x/y\">",
        );
        check(
            "<meta http-equiv=\"refresh\" content=\"0;url=/keys\">",
            "<meta http-equiv=\"refresh\" content=\"0;url=/subs/keys\">",
        );
        for unchanged in [
            "<a href=\"https://imdb.example/x/\">",
            "<a href=\"#part\"> href=&#34;/x",
            "<p title=\"/keys\" data-href=\"/x\">1/2</p>",
            "",
        ] {
            check(unchanged, unchanged);
        }
    }

    #[test]
    fn cookies_get_the_base_as_their_path() {
        let check = |cookie, expected| assert_eq!(cookie_below(cookie, "/subs"), expected);
        check(
            "lang=es; Path=/; Max-Age=1; HttpOnly",
            "lang=es; Path=/subs; Max-Age=1; HttpOnly",
        );
        check(
            "__Host-subcat-session=a; Path=/; Max-Age=1; Secure",
            "__Secure-subcat-session=a; Path=/subs; Max-Age=1; Secure",
        );
        let mut headers = HeaderMap::new();
        let sent = "lang=es; __Secure-subcat-session=a";
        headers.insert(COOKIE, HeaderValue::from_static(sent));
        rename_cookies(&mut headers);
        assert_eq!(headers[COOKIE], "lang=es; __Host-subcat-session=a");
    }

    #[test]
    fn redirects_on_this_site_get_the_base() {
        let check = |location, expected: &str| {
            let mut response = Response::new(PageBody::Bytes(Bytes::new()));
            let value = HeaderValue::from_static(location);
            response.headers_mut().insert(LOCATION, value);
            put_below(&mut response, "/subs");
            assert_eq!(response.headers()[LOCATION], expected);
        };
        check("/", "/subs/");
        check("/keys?x=/y", "/subs/keys?x=/y");
        check("https://other.example/", "https://other.example/");
    }
}
