//! Messages between nodes over real services: those of one come at another within a second.

use std::thread;
use std::time::{Duration, Instant};

use subcat_engine::NodeId;
use subcat_server::cluster::{MessageKind, open_exchange, open_log};
use subcat_tests::log_services::{Nats, Postgres};

/// Time in which a message comes.
const SOON: Duration = Duration::from_secs(1);
/// Time in which the first connection is made.
const PATIENCE: Duration = Duration::from_secs(30);

fn passes_messages(address: &str) {
    let log = open_log(address, "rules").unwrap_or_else(|error| panic!("{error}"));
    let until = Instant::now() + PATIENCE;
    while let Err(error) = log.reset(1) {
        assert!(Instant::now() < until, "{error}");
        thread::sleep(Duration::from_millis(100));
    }
    let open = || open_exchange(address, "rules").unwrap_or_else(|error| panic!("{error}"));
    let (one, other) = (open(), open());
    let comes = |body: &[u8], limit: Duration| {
        let until = Instant::now() + limit;
        while Instant::now() < until {
            one.publish(NodeId(u64::MAX), MessageKind::Round, body.to_vec());
            thread::sleep(Duration::from_millis(50));
            if other.take().iter().any(|came| came == body) {
                return true;
            }
        }
        false
    };
    assert!(comes(b"first", PATIENCE), "{address}: no connection");
    for number in 0..5_u8 {
        one.publish(NodeId(u64::MAX), MessageKind::Round, vec![number]);
        let began = Instant::now();
        while !other.take().iter().any(|came| *came == [number]) {
            assert!(began.elapsed() < SOON, "{address}: {number}");
            thread::sleep(Duration::from_millis(5));
        }
        eprintln!("{:?}", began.elapsed());
    }
    // Of two kinds neither replaces the other.
    let (mut came, began) = (Vec::new(), Instant::now());
    one.publish(NodeId(u64::MAX), MessageKind::Round, b"all".to_vec());
    one.publish(
        NodeId(u64::MAX),
        MessageKind::ShortRound,
        b"a part".to_vec(),
    );
    while !came.contains(&b"all".to_vec()) || !came.contains(&b"a part".to_vec()) {
        assert!(began.elapsed() < SOON, "{address}: {came:?}");
        thread::sleep(Duration::from_millis(5));
        came.extend(other.take());
    }
    // A node that starts later hears what is said from then on, in messages as large as they get.
    let late = open();
    let body = vec![7; 500_025];
    let began = Instant::now();
    while !late.take().contains(&body) {
        one.publish(NodeId(u64::MAX), MessageKind::Round, body.clone());
        assert!(began.elapsed() < PATIENCE, "{address}: too large");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn messages_pass_over_nats() {
    let Some(nats) = Nats::start(1) else { return };
    passes_messages(&nats.address());
}

#[test]
fn messages_pass_over_postgres() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    passes_messages(&postgres.address());
}

/// Times that this thread has given up its processor to wait for something.
fn waits_count() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("a thread has it");
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let count = count.expect("every kernel counts them").trim();
    count.parse().expect("it is a number")
}

/// Waits of this thread while it passes 100 messages to a fresh exchange without a server.
fn waits_without_server(address: &str) -> u64 {
    let exchange = open_exchange(address, "rules").unwrap_or_else(|error| panic!("{error}"));
    let before = waits_count();
    for _ in 0..100 {
        exchange.publish(NodeId(1), MessageKind::Round, b"nowhere".to_vec());
        assert!(exchange.take().is_empty());
    }
    waits_count() - before
}

/// Waits are counted, which take no longer on a slow machine. A lock that the task of the exchange
/// holds just then is one, too: of several exchanges it is enough that one makes no call wait.
#[test]
fn an_exchange_without_a_server_does_not_wait() {
    for address in ["nats://127.0.0.1:9", "postgres://subcat@127.0.0.1:9/x"] {
        let waits: Vec<u64> = (0..20).map(|_| waits_without_server(address)).collect();
        assert!(waits.contains(&0), "{address}: {waits:?}");
    }
    assert!(open_exchange("kafka://a", "rules").is_err());
    assert!(open_exchange("nats://a", "not allowed").is_err());
}
