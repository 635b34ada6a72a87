//! Beginning of the URLs in answers below an address (API.md 20.7).

use http::header::HOST;
use http::{HeaderMap, HeaderValue};

use crate::config::Config;

/// Facts of a request that decide how the URLs in its answer begin.
pub(super) struct ReachedBy<'a> {
    pub(super) config: &'a Config,
    pub(super) headers: &'a HeaderMap,
    /// True if the request came from a trusted proxy.
    pub(super) is_proxied: bool,
}

impl ReachedBy<'_> {
    /// `public_url` where the request was sent to it, or came through a proxy that forwards; else
    /// scheme and `Host` of the request.
    pub(super) fn base_url(&self) -> String {
        let host = self.host();
        if let Some(url) = &self.config.public_url {
            let is_forwarded = self.is_proxied && self.headers.contains_key("x-forwarded-for");
            if is_forwarded || host.is_some_and(|host| is_host_of(host, url)) {
                return url.clone();
            }
        }
        let scheme = if self.is_https() { "https" } else { "http" };
        match host {
            Some(host) => format!("{scheme}://{host}"),
            None => format!("{scheme}://{}", self.config.listen),
        }
    }

    /// `Host`, if its characters are those of hosts: it is written into answers.
    fn host(&self) -> Option<&str> {
        let host = self.headers.get(HOST).map(HeaderValue::to_str)?.ok()?;
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        Some(host).filter(|host| !host.is_empty() && host.chars().all(is_host))
    }

    fn is_https(&self) -> bool {
        let scheme = self.headers.get("x-forwarded-proto");
        let is_https = |scheme: &HeaderValue| scheme.as_bytes().eq_ignore_ascii_case(b"https");
        self.is_proxied && scheme.is_some_and(is_https)
    }
}

/// True if host and port are those of a URL; without a port it is the default of the URL's scheme.
fn is_host_of(host: &str, url: &str) -> bool {
    let (default_port, rest) = match url.split_once("://") {
        Some(("https", rest)) => ("443", rest),
        Some((_, rest)) => ("80", rest),
        None => return false,
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let (name, port) = split_port(authority);
    let (asked_name, asked_port) = split_port(host);
    asked_name.eq_ignore_ascii_case(name)
        && asked_port.unwrap_or(default_port) == port.unwrap_or(default_port)
}

/// A host and its port; an address of IPv6 keeps its brackets.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(public_url: Option<&str>, fields: &[(&'static str, &str)], expected: &str) {
        let config = Config {
            public_url: public_url.map(str::to_owned),
            ..Config::default()
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let reached = ReachedBy {
            config: &config,
            headers: &headers,
            is_proxied: headers.contains_key("x-proxy"),
        };
        assert_eq!(reached.base_url(), expected, "{public_url:?} {fields:?}");
    }

    #[test]
    fn rule_20_7_without_a_public_url_it_is_the_host_of_the_request() {
        check(None, &[("host", "nas:8080")], "http://nas:8080");
        check(None, &[("host", "[::1]:80")], "http://[::1]:80");
        let forwarded = [("host", "s.example"), ("x-forwarded-proto", "https")];
        check(None, &forwarded, "http://s.example");
        let proxied = [forwarded[0], forwarded[1], ("x-proxy", "")];
        check(None, &proxied, "https://s.example");
        check(None, &[], "http://127.0.0.1:8080");
        check(None, &[("host", "a\"b")], "http://127.0.0.1:8080");
    }

    #[test]
    fn rule_20_7_the_public_url_is_for_requests_that_came_by_it() {
        let url = Some("https://subs.example");
        check(url, &[("host", "subs.example")], "https://subs.example");
        check(url, &[("host", "SUBS.example:443")], "https://subs.example");
        check(
            url,
            &[("host", "subs.example:80")],
            "http://subs.example:80",
        );
        check(url, &[("host", "nas:8080")], "http://nas:8080");
        let forwarded = [("host", "inner"), ("x-forwarded-for", "192.0.2.1")];
        check(url, &forwarded, "http://inner");
        let proxied = [forwarded[0], forwarded[1], ("x-proxy", "")];
        check(url, &proxied, "https://subs.example");
        let plain = Some("http://subs.example:8080");
        check(
            plain,
            &[("host", "subs.example:8080")],
            "http://subs.example:8080",
        );
        check(plain, &[("host", "subs.example")], "http://subs.example");
    }
}
