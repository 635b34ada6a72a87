//! Address of the client, behind proxies.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

/// The client's address: the peer's, or, behind a trusted proxy, the last one in
/// `X-Forwarded-For` that is not a trusted proxy (API.md, rate limit). Everything to the left of an
/// item that is not an address is ignored. The unspecified address is that of the peers of a Unix
/// socket, which are trusted.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.to_canonical();
    let is_believed = client.is_unspecified() || !trusted.is_empty() && is_trusted(&client);
    if !is_believed {
        return client;
    }
    for value in headers.get_all("x-forwarded-for").iter().rev() {
        for item in value.as_bytes().rsplit(|byte| *byte == b',') {
            let Some(address) = forwarded(item) else {
                return client;
            };
            client = address;
            if !is_trusted(&client) {
                return client;
            }
        }
    }
    client
}

/// One address, with or without a port.
fn forwarded(item: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(item).ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>();
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    address
        .or_else(|_| with_port())
        .ok()
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for value in forwarded {
            let value = HeaderValue::from_str(value).unwrap();
            headers.append("x-forwarded-for", value);
        }
        let found = client_address(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{forwarded:?}");
    }

    #[test]
    fn believes_trusted_proxies_only() {
        check("192.0.2.1", &["198.51.100.7"], "192.0.2.1");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["198.51.100.7"], "198.51.100.7");
        check("::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7");
        // Of a Unix socket.
        check("::", &["198.51.100.7"], "198.51.100.7");
        check("::", &["198.51.100.7, 10.0.0.1"], "198.51.100.7");
        check("::", &["1.1.1.1, 198.51.100.7"], "198.51.100.7");
        check("::", &[], "::");
    }

    #[test]
    fn takes_the_last_address_that_is_not_a_proxy() {
        check("10.0.0.1", &["1.1.1.1, 2.2.2.2, 10.9.9.9"], "2.2.2.2");
        check("10.0.0.1", &["1.1.1.1", "2.2.2.2,10.9.9.9"], "2.2.2.2");
        check("10.0.0.1", &["10.1.1.1, 10.2.2.2"], "10.1.1.1");
        check("10.0.0.1", &["2.2.2.2, unknown"], "10.0.0.1");
        check("10.0.0.1", &["2.2.2.2, unknown, 10.3.3.3"], "10.3.3.3");
    }

    #[test]
    fn reads_ports_and_brackets() {
        check("10.0.0.1", &["198.51.100.7:4711"], "198.51.100.7");
        check("fd00::1", &["[2001:db8::7]:4711"], "2001:db8::7");
        check("fd00::1", &["[2001:db8::7]"], "2001:db8::7");
        check("fd00::1", &["2001:db8::7"], "2001:db8::7");
    }
}
