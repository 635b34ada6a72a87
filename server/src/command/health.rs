//! `subcat health`: whether the server of these settings answers, for supervisors of containers.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::error::{CommandError, SubjectError};
use super::output::print;
use super::subcommand::Subcommand;
use crate::limits::HEALTH_BYTES_MAX;

/// Time limit of the connection, and of each read.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Ask the server on the admin address if it answers reads; status 1 if not
#[derive(Debug, Args)]
pub(super) struct HealthArguments {}

impl Subcommand for HealthArguments {
    const NAME: &'static str = "health";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let address = reachable(context.effective(&[])?.config.admin);
        let answer = ask(address)
            .map_err(|error| SubjectError::new(format!("no answer on {address}"), error))?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        print(body)?;
        if head.starts_with("HTTP/1.1 200 ") {
            Ok(())
        } else {
            Err(CommandError::Reported(1))
        }
    }
}

/// An address for reaching a server on this machine that listens on `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(HEALTH_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_address_is_asked_on_this_machine() {
        for (listen, expected) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("10.0.0.1:1", "10.0.0.1:1"),
        ] {
            let address = reachable(listen.parse().unwrap());
            assert_eq!(address.to_string(), expected);
        }
    }
}
