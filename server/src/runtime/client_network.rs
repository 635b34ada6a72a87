//! The network of a client: the unit of limits per address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 address: one customer has all addresses of a /64, so a
/// limit for each of them would be no limit.
///
/// IPv4 addresses, also those in IPv6 (mapped, or behind NAT64), are numbers below 2^32. They lie
/// in `::/32`, which is not assigned to anyone, so they never equal a /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork(u64);

/// `64:ff9b::/96`, the way from networks without IPv4 to IPv4 (RFC 6052, 2.1).
const NAT64: [u8; 12] = [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0];

impl ClientNetwork {
    /// The network of an address.
    ///
    /// ```
    /// use subcat_server::runtime::ClientNetwork;
    /// let of = |text: &str| ClientNetwork::of(text.parse().unwrap());
    /// assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
    /// assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    /// assert_eq!(of("64:ff9b::192.0.2.1"), of("192.0.2.1"));
    /// assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    /// ```
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(u64::from(v4.to_bits())),
            IpAddr::V6(v6) => {
                let [network @ .., a, b, c, d] = v6.octets();
                if network == NAT64 {
                    return Self(u64::from(Ipv4Addr::new(a, b, c, d).to_bits()));
                }
                let prefix = v6.to_bits() >> 64;
                Self(u64::try_from(prefix).expect("64 of 128 bits are left"))
            }
        }
    }

    /// The network as a number.
    pub fn bits(self) -> u64 {
        self.0
    }
}

/// The first address of the network, without a prefix length.
impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u32::try_from(self.0) {
            Ok(v4) => Ipv4Addr::from_bits(v4).fmt(f),
            Err(_) => Ipv6Addr::from_bits(u128::from(self.0) << 64).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> ClientNetwork {
        ClientNetwork::of(text.parse().unwrap())
    }

    #[test]
    fn an_address_is_itself_or_its_slash_64() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("64:ff9b::192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("64:ff9b::192.0.2.1"), network("64:ff9b::192.0.2.2"));
        assert_eq!(network("64:ff9b:1::1"), network("64:ff9b:1::2"));
        assert_eq!(network("2001:db8::1").to_string(), "2001:db8::");
        assert_eq!(network("::ffff:192.0.2.1").to_string(), "192.0.2.1");
    }
}
