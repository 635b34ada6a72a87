//! Values from the text of the file, a variable or a flag.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde_json::{Value, json};
use url::Url;

/// Stores a value that was read, if it was valid.
pub(super) fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

/// The value with this name.
pub(super) fn choose<T: Copy>(text: &str, names: &[(&str, T)]) -> Option<T> {
    let (_, value) = names.iter().find(|(name, _)| *name == text)?;
    Some(*value)
}

/// The name of a value, as [`choose`] reads it.
pub(super) fn named<T: Copy + PartialEq>(value: T, names: &[(&str, T)]) -> Value {
    let name = names.iter().find(|(_, known)| *known == value);
    json!(name.map(|(name, _)| *name))
}

/// A value that is read as its type reads it.
pub(super) fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Reads a number between two others, both included.
pub(super) fn number<T: Copy + FromStr + PartialOrd>(min: T, max: T) -> impl Fn(&str) -> Option<T> {
    move |text| parsed(text).filter(|number| min <= *number && *number <= max)
}

/// A number of bytes, with an optional unit of KiB, MiB or GiB.
pub(super) fn bytes(text: &str) -> Option<usize> {
    const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    for (unit, shift) in UNITS {
        if let Some(count) = text.strip_suffix(unit) {
            let count: usize = count.trim_end().parse().ok()?;
            return count.checked_mul(1 << shift);
        }
    }
    text.parse().ok()
}

/// Networks, separated by commas; a bare address is a network of one. An IPv4 network that is
/// written as IPv6 is IPv4, as the addresses of clients are. Refused are a network with address
/// bits beyond its prefix and the whole Internet: both are mistakes, and every host in such a
/// network could name any address as that of a client.
pub(super) fn networks(text: &str) -> Option<Vec<IpNet>> {
    let mut networks = Vec::new();
    for name in text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let address = || name.parse::<IpAddr>().ok().map(IpNet::from);
        let network = name.parse::<IpNet>().ok().or_else(address)?;
        if network.addr() != network.network() || network.prefix_len() == 0 {
            return None;
        }
        networks.push(canonical(network)?);
    }
    Some(networks)
}

/// The IPv4 network inside one of `::ffff:0:0/96`, or the network itself; `None` for one that holds
/// all of IPv4.
fn canonical(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(v6) = network else {
        return Some(network);
    };
    match (v6.addr().to_ipv4_mapped(), v6.prefix_len().checked_sub(96)) {
        (Some(_), Some(0) | None) => None,
        (Some(v4), Some(prefix_len)) => IpNet::new(v4.into(), prefix_len).ok(),
        (None, _) => Some(network),
    }
}

/// An origin in its normal form: nothing, or scheme and host with an optional port, without a slash
/// at the end.
pub(super) fn origin_url(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let url = web_url(text)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    Some(Some(url.origin().ascii_serialization()))
}

/// An upstream URL in its normal form: nothing, or a URL with the placeholder in its path or query.
/// In the host the placeholder would let a release id choose the server.
pub(super) fn upstream_url(text: &str) -> Option<Option<String>> {
    const PLACEHOLDER: &str = "{source_release_id}";
    /// Stands for the placeholder, because the normal form of a path encodes its braces.
    const STAND_IN: &str = "source-release-id-00";
    if text.is_empty() {
        return Some(None);
    }
    if text.to_ascii_lowercase().contains(STAND_IN) {
        return None;
    }
    let url = web_url(&text.replace(PLACEHOLDER, STAND_IN))?;
    let is_in = |part: Option<&str>| part.is_some_and(|part| part.contains(STAND_IN));
    let is_after_host = is_in(Some(url.path())) || is_in(url.query());
    if is_after_host && !is_in(url.host_str()) && url.fragment().is_none() {
        Some(Some(url.as_str().replace(STAND_IN, PLACEHOLDER)))
    } else {
        None
    }
}

/// The base of a URL in its normal form: nothing, or scheme, host and perhaps a path, without a
/// slash at the end.
pub(super) fn base_url(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let url = web_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    Some(Some(url.as_str().trim_end_matches('/').to_owned()))
}

/// An absolute URL of the web, without a user name. A text that a browser would correct is refused.
pub(super) fn web_url(text: &str) -> Option<Url> {
    let (_, rest) = text.split_once("://")?;
    let is_corrected = |c: char| c.is_whitespace() || c.is_control() || "\\\"<>^`".contains(c);
    if rest.starts_with('/') || text.contains(is_corrected) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    if is_web && url.has_host() && is_anonymous && !rest.starts_with('@') {
        Some(url)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_those_that_addresses_are_compared_with() {
        let names = |text: &str| {
            let networks = networks(text)?;
            Some(networks.iter().map(IpNet::to_string).collect::<Vec<_>>())
        };
        let read = names("10.0.0.0/8, 127.0.0.1,fd00::/8").unwrap();
        assert_eq!(read, ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"]);
        let mapped = names("::ffff:10.0.0.1, ::ffff:10.0.0.0/104").unwrap();
        assert_eq!(mapped, ["10.0.0.1/32", "10.0.0.0/8"]);
        assert_eq!(names("").unwrap(), Vec::<String>::new());
        for text in [
            "10.0.0.1/8",
            "fd00::1/8",
            "0.0.0.0/0",
            "::/0",
            "::ffff:0:0/96",
            "::ffff:10.0.0.1/104",
            "10.0.0.0/33",
            "proxy",
        ] {
            assert_eq!(networks(text), None, "{text}");
        }
    }

    #[test]
    fn urls_are_kept_in_their_normal_form() {
        let some = |text: &str| Some(Some(text.to_owned()));
        for (text, expected) in [
            ("https://sub.example", some("https://sub.example")),
            ("HTTPS://Sub.Example:443/", some("https://sub.example")),
            ("http://sub.example:8080", some("http://sub.example:8080")),
            ("http://[::1]:80/", some("http://[::1]")),
            (
                "https://subtítulos.example",
                some("https://xn--subttulos-j5a.example"),
            ),
            ("", Some(None)),
            ("https://sub.example//", None),
            ("https://sub.example/?a", None),
            ("https://sub.example/#a", None),
            ("https://me@sub.example", None),
            ("https://@sub.example", None),
            ("https://sub .example", None),
            ("https:sub.example", None),
            ("https:///sub.example", None),
            ("https://sub\\.example", None),
            ("ftp://sub.example", None),
            ("sub.example", None),
        ] {
            assert_eq!(
                super::super::public_url::public_url(text),
                expected,
                "{text}"
            );
        }
        let id = "{source_release_id}";
        for (text, expected) in [
            (
                format!("HTTP://U.example:80/f/{id}.srt"),
                format!("http://u.example/f/{id}.srt"),
            ),
            (
                format!("http://u.example?id={id}&t=A/b"),
                format!("http://u.example/?id={id}&t=A/b"),
            ),
        ] {
            assert_eq!(upstream_url(&text), some(&expected));
            assert_eq!(
                upstream_url(&expected),
                some(&expected),
                "it is its own normal form"
            );
        }
        for text in [
            "http://u.example/",
            "http://{source_release_id}.example/",
            "http://{source_release_id}.example/{source_release_id}",
            "http://u.example:{source_release_id}/",
            "http://u.example/#{source_release_id}",
            "http://me:word@u.example/{source_release_id}",
        ] {
            assert_eq!(upstream_url(text), None, "{text}");
        }
        assert_eq!(
            base_url("HTTPS://C.example/otlp/"),
            some("https://c.example/otlp")
        );
    }
}
