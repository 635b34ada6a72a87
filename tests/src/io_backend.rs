//! I/O backends that this machine allows.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use subcat_server::config::{Connections, Io};
use subcat_server::runtime::{
    Body, ConnectionCounts, ConnectionEnds, Content, Handler, HandlerOutcome, ListenSettings,
    RequestBody, Workers,
};

/// I/O backends that this kernel allows. Prints a warning if io_uring is not available, because
/// the workers would fall back to epoll without one.
pub fn each_io() -> &'static [Io] {
    static ALLOWED: OnceLock<Vec<Io>> = OnceLock::new();
    ALLOWED.get_or_init(|| {
        if driven_by(Io::IoUring) == Io::IoUring {
            return vec![Io::Epoll, Io::IoUring];
        }
        // The test harness keeps what `println` says of tests that pass.
        let refusal = "SKIPPED: io_uring is refused here";
        writeln!(std::io::stderr(), "{refusal}").expect("it can be said");
        vec![Io::Epoll]
    })
}

/// I/O backend that `SUBCAT_TEST_IO` (`epoll` or `io_uring`) names, if this kernel allows it;
/// otherwise the default setting.
pub fn chosen_io() -> Io {
    match std::env::var("SUBCAT_TEST_IO").as_deref() {
        Err(_) => Io::Auto,
        Ok("epoll") => Io::Epoll,
        Ok("io_uring") => *each_io().last().expect("epoll is always there"),
        Ok(other) => panic!("SUBCAT_TEST_IO is epoll or io_uring, not {other}"),
    }
}

/// Settings for any free port of this machine and this number of connections, from one address
/// too.
pub fn listen_settings(io: Io, connections_max: usize) -> ListenSettings {
    ListenSettings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
        io,
        connections: Connections {
            max: connections_max,
            max_per_address: connections_max,
        },
        proxies: Vec::new(),
        counts: Arc::new(ConnectionCounts::default()),
    }
}

/// I/O backend that a server chooses with this setting.
fn driven_by(io: Io) -> Io {
    let Ok(workers) = Workers::start(listen_settings(io, 1), vec![Silent]) else {
        // A ring was asked for, and this kernel allows none.
        return Io::Epoll;
    };
    let driven_by = workers.io();
    workers.stop(Duration::ZERO);
    driven_by
}

/// A handler that is never called.
struct Silent;

impl Handler for Silent {
    type Connection = ();

    fn connect(&self, _: ConnectionEnds) {}

    fn handle(&self, (): &mut (), _: &mut Parts, _: RequestBody) -> HandlerOutcome {
        HandlerOutcome::Now(http::Response::new(Body::from(Content::Empty)))
    }

    fn reject(&self, _: SocketAddr) -> Bytes {
        Bytes::new()
    }

    fn tick(&self) {}
}
