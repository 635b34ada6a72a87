//! A process without a file descriptor left: a test of its own, as the limit is the process's.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use http::request::Parts;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use subcat_server::runtime::{
    Body, ConnectionEnds, Content, Handler, HandlerOutcome, RequestBody, Workers,
};
use subcat_tests::io_backend::{each_io, listen_settings};
use subcat_tests::raw::Client;

struct Hello;

impl Handler for Hello {
    type Connection = ();

    fn connect(&self, _: ConnectionEnds) {}

    fn handle(&self, (): &mut (), _: &mut Parts, _: RequestBody) -> HandlerOutcome {
        HandlerOutcome::Now(http::Response::new(Body::from(Content::Bytes(
            "hello".into(),
        ))))
    }

    fn reject(&self, _: SocketAddr) -> bytes::Bytes {
        bytes::Bytes::new()
    }

    fn tick(&self) {}
}

/// API.md 11.1: who is connected is served, and who comes later is served when there is room.
#[test]
fn running_out_of_descriptors_is_survived() {
    for io in each_io().iter().copied() {
        let workers = Workers::start(listen_settings(io, 1000), vec![Hello]).unwrap();
        let mut first = Client::connect(workers.address());
        assert_eq!(first.get("/", None).text(), "hello");

        let open_count = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        let whole = getrlimit(Resource::Nofile);
        let narrow = Rlimit {
            current: Some(open_count + 20),
            ..whole
        };
        setrlimit(Resource::Nofile, narrow).unwrap();
        // Both ends are ours: each connection takes two descriptors, until there are none.
        let mut crowd = Vec::new();
        while let Ok(stream) = TcpStream::connect(workers.address()) {
            crowd.push(stream);
        }
        assert!(9 < crowd.len());
        assert_eq!(first.get("/", None).text(), "hello");
        drop(crowd);
        let mut later = Client::connect(workers.address());
        assert_eq!(later.get("/", None).text(), "hello");
        setrlimit(Resource::Nofile, whole).unwrap();
        workers.stop(Duration::from_secs(5));
    }
}
