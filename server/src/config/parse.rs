//! Values from text, as they stand in the file, a variable or a flag.

use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use ipnet::IpNet;
use serde_json::{Value, json};

/// Stores a value that was read, if it was valid.
pub(super) fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

/// The value whose name the text is.
pub(super) fn choose<T: Copy>(text: &str, names: &[(&str, T)]) -> Option<T> {
    let (_, value) = names.iter().find(|(name, _)| *name == text)?;
    Some(*value)
}

/// The name of a value, as [`choose`] reads it.
pub(super) fn named<T: Copy + PartialEq>(value: T, names: &[(&str, T)]) -> Value {
    let name = names.iter().find(|(_, known)| *known == value);
    json!(name.map(|(name, _)| *name))
}

/// A number between two others, both included.
pub(super) fn number<T: Copy + FromStr + PartialOrd>(text: &str, min: T, max: T) -> Option<T> {
    let number: T = text.parse().ok()?;
    if min <= number && number <= max {
        Some(number)
    } else {
        None
    }
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

/// Networks, separated by commas; a bare address is a network of one.
pub(super) fn networks(text: &str) -> Option<Vec<IpNet>> {
    let mut networks = Vec::new();
    for name in text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let address = || name.parse::<IpAddr>().ok().map(IpNet::from);
        networks.push(name.parse::<IpNet>().ok().or_else(address)?);
    }
    Some(networks)
}

/// A public URL: nothing, or scheme and host with an optional port. A slash at the end is dropped.
pub(super) fn public_url(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let url = text.strip_suffix('/').unwrap_or(text);
    let uri = web_uri(url)?;
    let is_bare = uri.path() == "/" && uri.query().is_none() && !url.ends_with('/');
    if is_bare {
        Some(Some(url.to_owned()))
    } else {
        None
    }
}

/// An upstream URL: nothing, or one whose path or query holds the placeholder. In the host it would
/// let a release id choose the server.
pub(super) fn upstream_url(text: &str) -> Option<Option<String>> {
    const PLACEHOLDER: &str = "{source_release_id}";
    if text.is_empty() {
        return Some(None);
    }
    let uri = web_uri(&text.replace(PLACEHOLDER, "0"))?;
    let host_end = text.find("://")? + 3 + uri.authority()?.as_str().len();
    let is_in_path = text.get(host_end..)?.contains(PLACEHOLDER);
    if is_in_path && !text.contains('#') {
        Some(Some(text.to_owned()))
    } else {
        None
    }
}

/// An absolute URI of the web, without a user name.
fn web_uri(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    let is_anonymous = !uri.authority()?.as_str().contains('@');
    if is_web && has_host && is_anonymous {
        Some(uri)
    } else {
        None
    }
}
