//! The address of a log: which service holds it, and where.

use std::sync::Arc;

use subcat_engine::Log;

use super::exchange::Exchange;
#[cfg(feature = "nats")]
use super::nats_exchange;
#[cfg(feature = "nats")]
use super::nats_log::NatsLog;
use super::open_log_error::OpenLogError;
#[cfg(feature = "postgres")]
use super::postgres_exchange;
#[cfg(feature = "postgres")]
use super::postgres_log::PostgresLog;
use crate::limits::STREAM_NAME_CHARS_MAX;

/// Service that holds a log, and its place. May hold a password: it is not to be shown.
#[derive(Clone, PartialEq, Eq)]
pub enum LogAddress {
    /// Servers of one NATS cluster, each with a scheme, and a user if the address names one.
    Nats(Vec<String>),
    /// A URL of PostgreSQL. May name several hosts; the primary among them is used.
    Postgres(String),
}

impl LogAddress {
    /// Reads an address: `nats://a:4222,b:4222` or `postgres://user@a,b/database`.
    pub fn parse(text: &str) -> Result<Self, OpenLogError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(OpenLogError::UnknownScheme);
        };
        match scheme {
            "nats" | "tls" => Self::parse_servers(scheme, rest),
            "postgres" | "postgresql" => Ok(Self::Postgres(text.to_owned())),
            _ => Err(OpenLogError::UnknownScheme),
        }
    }

    fn parse_servers(scheme: &str, rest: &str) -> Result<Self, OpenLogError> {
        // The user of the first server is the user of all, unless they name their own.
        let first = rest.split(',').next().unwrap_or_default();
        let user = first.rsplit_once('@').map(|(user, _)| user);
        let mut servers = Vec::new();
        for server in rest.split(',') {
            let server = server.trim().trim_end_matches('/');
            let (_, server) = server.split_once("://").unwrap_or(("", server));
            let (own_user, host) = match server.rsplit_once('@') {
                Some((own_user, host)) => (Some(own_user), host),
                None => (user, server),
            };
            if host.is_empty() || host.starts_with(':') {
                return Err(OpenLogError::NoHost);
            }
            servers.push(match own_user {
                Some(user) => format!("{scheme}://{user}@{host}"),
                None => format!("{scheme}://{host}"),
            });
        }
        Ok(Self::Nats(servers))
    }
}

/// Opens the log `stream` at an address. Whether it answers is not asked.
pub fn open_log(address: &str, stream: &str) -> Result<Arc<dyn Log>, OpenLogError> {
    check_stream(stream)?;
    match LogAddress::parse(address)? {
        #[cfg(feature = "nats")]
        LogAddress::Nats(servers) => Ok(Arc::new(NatsLog::open(&servers, stream)?)),
        #[cfg(not(feature = "nats"))]
        LogAddress::Nats(_) => Err(NATS_LEFT_OUT),
        #[cfg(feature = "postgres")]
        LogAddress::Postgres(url) => Ok(Arc::new(PostgresLog::open(&url, stream)?)),
        #[cfg(not(feature = "postgres"))]
        LogAddress::Postgres(_) => Err(POSTGRES_LEFT_OUT),
    }
}

/// Opens the exchange of messages beside the log `stream` at an address. Whether it answers is not
/// asked.
pub fn open_exchange(address: &str, stream: &str) -> Result<Arc<dyn Exchange>, OpenLogError> {
    check_stream(stream)?;
    match LogAddress::parse(address)? {
        #[cfg(feature = "nats")]
        LogAddress::Nats(servers) => Ok(Arc::new(nats_exchange::open(&servers, stream)?)),
        #[cfg(not(feature = "nats"))]
        LogAddress::Nats(_) => Err(NATS_LEFT_OUT),
        #[cfg(feature = "postgres")]
        LogAddress::Postgres(url) => Ok(Arc::new(postgres_exchange::open(&url, stream)?)),
        #[cfg(not(feature = "postgres"))]
        LogAddress::Postgres(_) => Err(POSTGRES_LEFT_OUT),
    }
}

#[cfg(not(feature = "nats"))]
const NATS_LEFT_OUT: OpenLogError = OpenLogError::LeftOut {
    service: "NATS",
    feature: "nats",
};

#[cfg(not(feature = "postgres"))]
const POSTGRES_LEFT_OUT: OpenLogError = OpenLogError::LeftOut {
    service: "PostgreSQL",
    feature: "postgres",
};

fn check_stream(stream: &str) -> Result<(), OpenLogError> {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if stream.is_empty() || STREAM_NAME_CHARS_MAX < stream.len() || !stream.bytes().all(is_allowed)
    {
        return Err(OpenLogError::StreamName(stream.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Vec<String> {
        match LogAddress::parse(text) {
            Ok(LogAddress::Nats(servers)) => servers,
            Ok(LogAddress::Postgres(url)) => panic!("{url}"),
            Err(error) => panic!("{error}"),
        }
    }

    fn refused(address: &str, stream: &str) -> String {
        match open_log(address, stream) {
            Ok(_) => panic!("{address} was opened"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn servers_share_scheme_and_user() {
        assert_eq!(servers("nats://a:4222"), ["nats://a:4222"]);
        assert_eq!(servers("nats://a,b:1/"), ["nats://a", "nats://b:1"]);
        assert_eq!(servers("tls://a,tls://b"), ["tls://a", "tls://b"]);
        assert_eq!(
            servers("nats://u:p@a,b,v:q@c"),
            ["nats://u:p@a", "nats://u:p@b", "nats://v:q@c"]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("kafka://a", "s").contains("begins with nats://"));
        assert!(refused("a:4222", "s").contains("begins with nats://"));
        assert!(refused("nats://", "s").contains("without a host"));
        assert!(refused("nats://a,,b", "s").contains("without a host"));
        assert!(refused("nats://a", "S").contains("cannot name a stream"));
        assert!(refused("nats://a", "").contains("cannot name a stream"));
        assert!(refused("nats://a", &"s".repeat(33)).contains("cannot name a stream"));
    }

    #[test]
    #[cfg(all(feature = "nats", feature = "postgres"))]
    fn an_invalid_address_is_refused_without_its_password() {
        for address in ["nats://u:hush@a:port", "postgres://u:hush@a:port/db"] {
            let refused = refused(address, "s");
            assert!(refused.contains("not valid"), "{refused}");
            assert!(!refused.contains("hush"), "{refused}");
        }
    }
}
