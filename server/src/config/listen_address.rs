//! The public address: a TCP address, or a Unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Beginning of the address of a Unix socket.
const UNIX: &str = "unix:";

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// An IP address with a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// The TCP address; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// True for a TCP address without a port: the port is not known before the server listens.
    pub fn is_any_port(&self) -> bool {
        self.tcp().is_some_and(|address| address.port() == 0)
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// A text that is neither a TCP address nor the absolute path of a Unix socket.
#[derive(Debug, thiserror::Error)]
#[error("neither an IP address with a port nor unix: with an absolute path")]
pub struct ListenAddressError;

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        match text.strip_prefix(UNIX) {
            // A relative one would depend on where the process was started.
            Some(path) if path.starts_with('/') && !path.ends_with('/') => {
                Ok(Self::Unix(path.into()))
            }
            Some(_) => Err(ListenAddressError),
            None => text.parse().map(Self::Tcp).map_err(|_| ListenAddressError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_tcp_or_a_path() {
        for text in ["127.0.0.1:8080", "[::1]:0", "unix:/run/subcat/subcat.sock"] {
            let address: ListenAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "",
            "localhost:80",
            "127.0.0.1",
            "unix:",
            "unix:a.sock",
            "unix:/run/",
        ] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }
}
