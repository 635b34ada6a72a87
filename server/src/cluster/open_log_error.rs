//! Reasons why a log is not opened.

use std::io;

use crate::limits::STREAM_NAME_CHARS_MAX;

/// A log could not be opened. A server that does not answer is not among these errors: the calls of
/// the log report it.
#[derive(Debug, thiserror::Error)]
pub enum OpenLogError {
    /// The scheme is missing or unknown.
    #[error(
        "the address of a log begins with nats://, tls:// or postgres://, as in \
         nats://a:4222,b:4222,c:4222"
    )]
    UnknownScheme,
    /// There is no host where one should be.
    #[error("the address of the log names a server without a host: write nats://a:4222,b:4222")]
    NoHost,
    /// The service's client cannot read the address.
    #[error("the address of the log is not valid: {0}")]
    Invalid(String),
    /// The name of the stream cannot be used by all services.
    #[error(
        "{0:?} cannot name a stream: use 1 to {STREAM_NAME_CHARS_MAX} of the characters a-z, 0-9, \
         - and _"
    )]
    StreamName(String),
    /// The client was left out when the program was built.
    #[error("this program was built without {service}: build it with the cargo feature {feature}")]
    LeftOut {
        /// Name of the service.
        service: &'static str,
        /// Feature that brings the client.
        feature: &'static str,
    },
    /// There are no threads for the client.
    #[error("the client of the log could not be started: {0}")]
    Client(#[source] io::Error),
}
