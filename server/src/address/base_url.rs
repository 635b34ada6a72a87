//! Beginning of the URLs in answers below an address (API.md 20.7).

use std::net::SocketAddr;

use http::header::HOST;
use http::{HeaderMap, HeaderValue};

use crate::config::Config;

/// Place of the addresses under which a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPlace {
    /// The root of the host.
    Root,
    /// The base path, which the target of the request has lost.
    Base,
}

/// Facts of a request that decide how the URLs in its answer begin.
pub(super) struct ReachedBy<'a> {
    pub(super) config: &'a Config,
    pub(super) headers: &'a HeaderMap,
    /// True if the request came from a trusted proxy.
    pub(super) is_proxied: bool,
    /// True if the request came by a Unix socket.
    pub(super) is_local: bool,
    /// The address that was reached; none of a Unix socket.
    pub(super) reached: Option<SocketAddr>,
    pub(super) place: AddressPlace,
}

impl ReachedBy<'_> {
    /// Appends `public_url` where the request was sent to it, came through a proxy that forwards,
    /// or by a Unix socket; else scheme and `Host` of the request, and the base path if the request
    /// had it.
    pub(super) fn write_base_url(&self, out: &mut String) {
        let host = self.host();
        if let Some(url) = &self.config.public_url {
            let is_forwarded = self.is_proxied && self.headers.contains_key("x-forwarded-for");
            let is_forwarded = is_forwarded || self.is_local;
            if is_forwarded || host.is_some_and(|host| is_host_of(host, url)) {
                out.push_str(url);
                return;
            }
        }
        out.push_str(if self.is_https() { "https" } else { "http" });
        out.push_str("://");
        match (host, self.reached) {
            (Some(host), _) => out.push_str(host),
            (None, Some(reached)) => out.push_str(&reached.to_string()),
            (None, None) => out.push_str("localhost"),
        }
        if self.place == AddressPlace::Base {
            out.push_str(self.config.base_path());
        }
    }

    /// `Host`, if it has only characters of hosts: it is written into answers.
    fn host(&self) -> Option<&str> {
        let host = self.headers.get(HOST).map(HeaderValue::to_str)?.ok()?;
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        Some(host).filter(|host| !host.is_empty() && host.bytes().all(is_host))
    }

    fn is_https(&self) -> bool {
        let is_https = |scheme: &HeaderValue| scheme.as_bytes().eq_ignore_ascii_case(b"https");
        let scheme = || self.headers.get("x-forwarded-proto");
        self.is_proxied && scheme().is_some_and(is_https)
    }
}

/// True if a URL has this host and port. The default port is that of the URL's scheme.
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

    /// Checks the beginning of URLs; fields that begin with `x-test-` say how the request came.
    fn check(public_url: Option<&str>, fields: &[(&'static str, &str)], expected: &str) {
        let config = Config {
            public_url: public_url.map(str::to_owned),
            ..Config::default()
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let is_local = headers.contains_key("x-test-socket");
        let is_below = headers.contains_key("x-test-base");
        let reached = ReachedBy {
            config: &config,
            headers: &headers,
            is_proxied: is_local || headers.contains_key("x-test-proxy"),
            is_local,
            reached: (!is_local).then(|| "192.0.2.9:8080".parse().unwrap()),
            place: if is_below {
                AddressPlace::Base
            } else {
                AddressPlace::Root
            },
        };
        let mut written = String::new();
        reached.write_base_url(&mut written);
        assert_eq!(written, expected, "{public_url:?} {fields:?}");
    }

    const PROXY: (&str, &str) = ("x-test-proxy", "");
    const SOCKET: (&str, &str) = ("x-test-socket", "");
    const BASE: (&str, &str) = ("x-test-base", "");
    const HTTPS: (&str, &str) = ("x-forwarded-proto", "https");
    const FORWARDED: (&str, &str) = ("x-forwarded-for", "192.0.2.1");

    #[test]
    fn rule_20_7_without_a_public_url_it_is_the_host_of_the_request() {
        check(None, &[("host", "nas:8080")], "http://nas:8080");
        check(None, &[("host", "[::1]:80")], "http://[::1]:80");
        let host = ("host", "s.example");
        check(None, &[host, HTTPS], "http://s.example");
        check(None, &[host, HTTPS, PROXY], "https://s.example");
        check(None, &[host, HTTPS, SOCKET], "https://s.example");
        check(None, &[], "http://192.0.2.9:8080");
        check(None, &[HTTPS, PROXY], "https://192.0.2.9:8080");
        check(None, &[("host", "a\"b")], "http://192.0.2.9:8080");
        check(None, &[SOCKET], "http://localhost");
    }

    #[test]
    fn rule_20_7_the_public_url_is_for_requests_that_came_by_it() {
        let url = Some("https://subs.example");
        check(url, &[("host", "subs.example")], "https://subs.example");
        check(url, &[("host", "SUBS.example:443")], "https://subs.example");
        let other_port = ("host", "subs.example:80");
        check(url, &[other_port], "http://subs.example:80");
        check(url, &[("host", "nas:8080")], "http://nas:8080");
        let inner = ("host", "inner");
        check(url, &[inner, FORWARDED], "http://inner");
        check(url, &[inner, FORWARDED, PROXY], "https://subs.example");
        check(url, &[inner, PROXY], "http://inner");
        check(url, &[inner, SOCKET], "https://subs.example");
        check(url, &[SOCKET], "https://subs.example");
        let plain = Some("http://subs.example:8080");
        let host = ("host", "subs.example:8080");
        check(plain, &[host], "http://subs.example:8080");
        check(plain, &[("host", "subs.example")], "http://subs.example");
    }

    #[test]
    fn rule_20_7_the_base_path_is_that_of_the_url_or_of_the_request() {
        let url = Some("https://media.example/tools/subs");
        let host = ("host", "media.example");
        check(url, &[host], "https://media.example/tools/subs");
        check(url, &[host, BASE], "https://media.example/tools/subs");
        let other = ("host", "nas:8080");
        check(url, &[other], "http://nas:8080");
        check(url, &[other, BASE], "http://nas:8080/tools/subs");
        check(url, &[BASE], "http://192.0.2.9:8080/tools/subs");
        check(url, &[SOCKET], "https://media.example/tools/subs");
    }
}
