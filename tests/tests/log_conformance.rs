//! Logs of a cluster, in memory and over real services, against the rules that all must keep.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use subcat_engine::internals::{LogFault, MemoryLog};
use subcat_engine::{AppendError, Log, ReadError};
use subcat_server::cluster::open_log;
use subcat_tests::log_services::{Nats, Postgres};
use subcat_tests::log_suite::{
    EPOCH, READ_BYTES, ensure_acknowledged, fresh, insist, keeps_the_rules, outlives_an_outage,
    read_all,
};

fn opener(address: String) -> impl Fn() -> Arc<dyn Log> + Sync {
    move || open_log(&address, "rules").unwrap_or_else(|error| panic!("{address}: {error}"))
}

/// Waits until a service answers.
fn ready(open: impl Fn() -> Arc<dyn Log>) {
    ready_after(&*open(), |_| ());
}

/// Waits until the log answers, and looks at each error before that.
fn ready_after(log: &dyn Log, look: impl Fn(&str)) {
    let until = Instant::now() + Duration::from_secs(60);
    while let Err(error) = log.state() {
        assert!(Instant::now() < until, "{error}");
        look(&error.to_string());
    }
}

#[test]
fn a_log_in_memory_keeps_the_rules() {
    let log = Arc::new(MemoryLog::default());
    keeps_the_rules(&|| Arc::clone(&log) as Arc<dyn Log>);
}

#[test]
fn a_fault_happens_once() {
    let log = MemoryLog::default();
    log.reset(EPOCH).unwrap();
    log.fail_next(LogFault::Unavailable);
    let appended = log.append(EPOCH, b"refused");
    assert!(matches!(appended, Err(AppendError::Unavailable(_))));
    for (fault, last) in [(LogFault::LostUnknown, 0), (LogFault::StoredUnknown, 1)] {
        log.fail_next(fault);
        let appended = log.append(EPOCH, b"perhaps");
        assert!(matches!(appended, Err(AppendError::Unknown(_))));
        assert_eq!(log.state().unwrap().last, last);
    }
    assert_eq!(log.append(EPOCH, b"stored").unwrap(), 2);
}

#[test]
fn a_log_in_nats_keeps_the_rules() {
    let Some(nats) = Nats::start(1) else { return };
    let open = opener(nats.address());
    ready(&open);
    keeps_the_rules(&open);
}

/// A client is connected a moment before it knows the version of its server: an early question
/// waits for that, too.
#[test]
fn nats_is_asked_when_its_version_is_known() {
    let Some(nats) = Nats::start(1) else { return };
    let open = opener(nats.address());
    ready(&open);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..100 {
                    // A busy machine may take longer than a question waits for a connection.
                    ready_after(&*open(), |error| {
                        assert!(!error.contains("too old"), "{error}");
                    });
                }
            });
        }
    });
}

#[test]
fn a_log_in_nats_outlives_an_outage() {
    let Some(mut nats) = Nats::start(1) else {
        return;
    };
    let open = opener(nats.address());
    outlives_an_outage(&open, &mut nats);
}

/// One address of three servers is usual, and they keep three copies all the same.
#[test]
fn nats_keeps_as_many_copies_as_its_servers_can() {
    for (servers, copies) in [(1, 1), (3, 3)] {
        let Some(nats) = Nats::start(servers) else {
            return;
        };
        let address = nats.address();
        let open = opener(address.split(',').next().unwrap().to_owned());
        ready(&open);
        let log = open();
        assert_eq!(log.copies(), None, "nothing was asked yet");
        let until = Instant::now() + Duration::from_secs(60);
        while let Err(error) = log.create(EPOCH) {
            // The servers are about to find each other.
            assert!(Instant::now() < until, "{error}");
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(log.copies(), Some(copies));
        let other = open();
        assert_eq!(other.state().unwrap().epoch, EPOCH);
        assert_eq!(other.copies(), Some(copies), "of {servers} servers");
    }
}

#[test]
fn a_log_in_postgres_keeps_the_rules() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let open = opener(postgres.address());
    ready(&open);
    keeps_the_rules(&open);
}

#[test]
fn a_log_in_postgres_outlives_an_outage() {
    let Some(mut postgres) = Postgres::start() else {
        return;
    };
    let open = opener(postgres.address());
    outlives_an_outage(&open, &mut postgres);
}

/// Without its standby nothing is acknowledged: not an entry that an administrator gave up waiting
/// for, though it is committed on the primary, and none behind an entry that waits.
#[test]
fn postgres_without_its_standby_acknowledges_nothing() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let open = opener(postgres.address());
    let (log, other) = (fresh(&open), open());
    assert_eq!(log.append(EPOCH, b"before").unwrap(), 1);
    assert_eq!(other.append(EPOCH, b"before").unwrap(), 2);
    postgres.run("ALTER SYSTEM SET synchronous_standby_names = 'away'");
    postgres.run("SELECT pg_reload_conf()");
    thread::sleep(Duration::from_millis(500));
    let given_up = thread::scope(|scope| {
        let appending = scope.spawn(|| log.append(EPOCH, b"given up"));
        thread::sleep(Duration::from_secs(1));
        postgres.run(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        );
        appending.join().unwrap()
    });
    assert!(
        matches!(given_up, Err(AppendError::Unknown(_))),
        "{given_up:?}"
    );
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| log.append(EPOCH, b"first"));
        thread::sleep(Duration::from_millis(500));
        let second = other.append(EPOCH, b"second");
        (first.join().unwrap(), second)
    });
    assert!(matches!(first, Err(AppendError::Unknown(_))), "{first:?}");
    assert!(
        matches!(second, Err(AppendError::Unavailable(_))),
        "{second:?}"
    );
    postgres.run("ALTER SYSTEM RESET synchronous_standby_names");
    postgres.run("SELECT pg_reload_conf()");
    let after = insist(&*log, b"after");
    let read = read_all(&*other, 0);
    ensure_acknowledged(&read, &[after]);
    assert!(read.iter().all(|entry| entry.body != b"second"));
}

#[test]
fn an_unreachable_server_is_told_within_the_limits() {
    for address in ["nats://127.0.0.1:9", "postgres://subcat@127.0.0.1:9/x"] {
        let log = open_log(address, "rules").unwrap_or_else(|error| panic!("{error}"));
        let within = |limit_seconds: u64, what: &str, ask: &dyn Fn() -> bool| {
            let began = Instant::now();
            assert!(ask(), "{address}: {what}");
            let took = began.elapsed();
            assert!(
                took < Duration::from_secs(limit_seconds),
                "{what}: {took:?}"
            );
        };
        within(10, "append", &|| {
            let appended = log.append(EPOCH, b"nowhere");
            matches!(appended, Err(AppendError::Unavailable(_)))
        });
        // Entries have the time that a slow link needs for them.
        within(15, "read", &|| log.read(0, READ_BYTES).is_err());
        within(10, "state", &|| log.state().is_err());
        log.wait(0, Duration::from_millis(100));
    }
}

/// The leader of three servers is killed while a node writes: nothing acknowledged is lost.
#[test]
fn a_killed_leader_of_nats_loses_nothing() {
    const ENTRIES: usize = 2_000;
    let Some(mut nats) = Nats::start(3) else {
        return;
    };
    let open = opener(nats.address());
    ready(&open);
    let log = fresh(&open);
    let writer = Arc::clone(&log);
    let writing = thread::spawn(move || {
        let bodies = (0..ENTRIES).map(|place| format!("{place:05}").into_bytes());
        bodies
            .map(|body| insist(&*writer, &body))
            .collect::<Vec<_>>()
    });
    while log.state().map_or(0, |state| state.last) < ENTRIES as u64 / 3 {
        thread::sleep(Duration::from_millis(5));
    }
    let leader = nats.leader();
    nats.kill_one(leader);
    let acknowledged = writing.join().unwrap();
    nats.start_one(leader);
    let read = read_all(&*open(), 0);
    ensure_acknowledged(&read, &acknowledged);
    // Repeated ones aside, they are in the order in which they were written.
    let mut bodies: Vec<_> = read.into_iter().map(|entry| entry.body).collect();
    bodies.dedup();
    assert!(bodies.is_sorted());
    assert_eq!(bodies.len(), ENTRIES);
}

/// Without a majority the log has no leader. It is there all the same, and nobody is told that it
/// is not; of one that was never made everybody is.
#[test]
fn a_log_of_nats_without_a_leader_is_told_from_none() {
    let Some(mut nats) = Nats::start(3) else {
        return;
    };
    let open = opener(nats.address());
    ready(&open);
    let log = fresh(&open);
    assert_eq!(log.append(EPOCH, b"before").unwrap(), 1);
    let leader = nats.leader();
    let left = (0..3).find(|place| *place != leader).unwrap();
    for place in (0..3).filter(|place| *place != left) {
        nats.kill_one(place);
    }
    let until = Instant::now() + Duration::from_secs(60);
    let mut reasons = Vec::new();
    // While it is known of the loss and after, as long as an election takes.
    while Instant::now() < until {
        match log.append(EPOCH, b"without a leader") {
            Err(AppendError::Unavailable(reason)) => reasons.push(reason),
            Err(AppendError::Unknown(_)) => {}
            other => panic!("{other:?}"),
        }
        match log.read(1, READ_BYTES) {
            Err(ReadError::Unavailable(_)) | Ok(_) => {}
            Err(other) => panic!("{other:?}"),
        }
        if reasons.iter().filter(|it| it.contains("no leader")).count() == 3 {
            break;
        }
    }
    assert!(
        reasons.iter().any(|it| it.contains("no leader")),
        "{reasons:?}"
    );
    assert!(
        !reasons.iter().any(|it| it.contains("there is no log")),
        "{reasons:?}"
    );
}
