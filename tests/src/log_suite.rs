//! Rules of a shared log, which every service that holds one must keep.
//!
//! Each rule takes a function that opens one more handle to the same log, as another node would.
#![expect(clippy::unwrap_used, reason = "a rule that is broken fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use subcat_engine::{AppendError, Log, LogEntry, LogState, ReadError};

use crate::log_services::Service;

/// Opens a handle to the log.
pub type OpenLog<'a> = &'a (dyn Fn() -> Arc<dyn Log> + Sync);

/// Epoch of every log that [`fresh`] makes.
pub const EPOCH: u64 = 7;
/// Bytes that a reader asks for at once.
pub const READ_BYTES: usize = 4 << 20;
/// Bytes of the largest entry.
const BODY_BYTES_MAX: usize = 512 << 10;
/// Time in which a service is back.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest time of a call: the limit of 5 seconds, and what a busy machine adds.
const CALL_LIMIT: Duration = Duration::from_secs(8);

/// All rules that need no outage.
pub fn keeps_the_rules(open: OpenLog<'_>) {
    is_nothing_before_it_is_made(open);
    is_empty_at_first(open);
    numbers_entries_from_one(open);
    reads_in_pieces(open);
    keeps_every_byte(open);
    orders_concurrent_writers(open);
    shows_no_gap_while_it_grows(open);
    drops_what_is_not_needed(open);
    is_made_anew(open);
    is_created_once(open);
    refuses_other_epochs(open);
    is_made_anew_under_writers(open);
    wakes_those_who_wait(open);
}

/// A log made anew.
pub fn fresh(open: OpenLog<'_>) -> Arc<dyn Log> {
    let log = open();
    let until = Instant::now() + PATIENCE;
    loop {
        match log.reset(EPOCH) {
            Ok(()) => return log,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Every entry after `after`, read as a node does.
pub fn read_all(log: &dyn Log, after: u64) -> Vec<LogEntry> {
    let mut entries = Vec::new();
    loop {
        let position = after + entries.len() as u64;
        let read = log.read(position, READ_BYTES).unwrap();
        if read.is_empty() {
            return entries;
        }
        ensure_contiguous(position, &read);
        entries.extend(read);
    }
}

fn ensure_contiguous(after: u64, entries: &[LogEntry]) {
    for (seq, entry) in (after + 1..).zip(entries) {
        assert_eq!(entry.seq, seq, "a gap after {after}");
    }
}

fn truncated_at(read: Result<Vec<LogEntry>, ReadError>) -> u64 {
    match read {
        Err(ReadError::Truncated { oldest }) => oldest,
        other => panic!("{other:?}"),
    }
}

fn is_nothing_before_it_is_made(open: OpenLog<'_>) {
    let log = open();
    let nothing = LogState {
        epoch: 0,
        oldest: 1,
        last: 0,
    };
    assert_eq!(log.state().unwrap(), nothing);
    let appended = log.append(EPOCH, b"early");
    assert!(matches!(appended, Err(AppendError::NoLog)), "{appended:?}");
    let read = log.read(0, READ_BYTES);
    assert!(matches!(read, Err(ReadError::NoLog)), "{read:?}");
}

fn is_empty_at_first(open: OpenLog<'_>) {
    let log = fresh(open);
    let state = log.state().unwrap();
    assert_eq!((state.oldest, state.last), (1, 0));
    for _ in 0..3 {
        assert_eq!(log.read(0, READ_BYTES).unwrap(), []);
    }
    log.truncate(0).unwrap();
    log.truncate(5).unwrap();
    assert_eq!(log.state().unwrap(), state, "there is nothing to drop");
}

fn numbers_entries_from_one(open: OpenLog<'_>) {
    let (log, other) = (fresh(open), open());
    for seq in 1..=20 {
        let writer = if seq % 2 == 0 { &log } else { &other };
        assert_eq!(
            writer.append(EPOCH, format!("{seq}").as_bytes()).unwrap(),
            seq
        );
    }
    for after in [0, 1, 7, 19] {
        let entries = read_all(&*other, after);
        assert_eq!(entries.len() as u64, 20 - after);
        for entry in entries {
            assert_eq!(entry.body, format!("{}", entry.seq).as_bytes());
        }
    }
    assert_eq!(log.read(20, READ_BYTES).unwrap(), []);
    assert_eq!(log.state().unwrap().last, 20);
}

fn reads_in_pieces(open: OpenLog<'_>) {
    let log = fresh(open);
    let body = |seq: u64| vec![seq as u8; BODY_BYTES_MAX];
    for seq in 1..=9 {
        assert_eq!(log.append(EPOCH, &body(seq)).unwrap(), seq);
    }
    for bytes_max in [0, 1, BODY_BYTES_MAX / 2] {
        assert_eq!(log.read(3, bytes_max).unwrap().len(), 1, "{bytes_max}");
    }
    let read = log.read(0, 2 * BODY_BYTES_MAX).unwrap();
    assert!((1..=3).contains(&read.len()), "{}", read.len());
    for entry in read_all(&*log, 0) {
        assert!(entry.body == body(entry.seq), "{}", entry.seq);
    }
    let small = log.append(EPOCH, b"small").unwrap();
    assert_eq!(log.read(small - 1, 1).unwrap()[0].body, b"small");
}

fn keeps_every_byte(open: OpenLog<'_>) {
    let log = fresh(open);
    let bodies: [Vec<u8>; 4] = [
        (0..=255).collect(),
        vec![0; 3],
        Vec::new(),
        b"\r\n\\x00'\"".to_vec(),
    ];
    for body in &bodies {
        log.append(EPOCH, body).unwrap();
    }
    let read = read_all(&*log, 0).into_iter().map(|entry| entry.body);
    assert_eq!(read.collect::<Vec<_>>(), bodies);
}

fn orders_concurrent_writers(open: OpenLog<'_>) {
    const EACH: usize = 60;
    let (log, other) = (fresh(open), open());
    let mut acknowledged = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let log = if writer % 2 == 0 { &log } else { &other };
                scope.spawn(move || write(&**log, writer, EACH))
            })
            .collect();
        let written = writers.into_iter().map(|writer| writer.join().unwrap());
        written.flatten().collect::<Vec<_>>()
    });
    acknowledged.sort_by_key(|entry| entry.seq);
    assert_eq!(acknowledged.len(), 4 * EACH);
    assert!(read_all(&*log, 0) == acknowledged);
    assert!(read_all(&*other, 0) == acknowledged);
    assert!(read_all(&*open(), 0) == acknowledged);
}

/// Appends entries; returns those that were acknowledged, and checks that the numbers rise.
fn write(log: &dyn Log, writer: usize, count: usize) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = Vec::new();
    for place in 0..count {
        let body = format!("{writer} {place} {}", "x".repeat(place * 31)).into_bytes();
        let seq = log.append(EPOCH, &body).unwrap();
        assert!(entries.last().is_none_or(|entry| entry.seq < seq));
        entries.push(LogEntry { seq, body });
    }
    entries
}

fn shows_no_gap_while_it_grows(open: OpenLog<'_>) {
    const EACH: usize = 60;
    let (log, other) = (fresh(open), open());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = [&log, &other]
            .map(|log| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut position = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let read = log.read(position, READ_BYTES).unwrap();
                        ensure_contiguous(position, &read);
                        position += read.len() as u64;
                        log.wait(position, Duration::from_millis(20));
                    }
                })
            })
            .into_iter()
            .collect();
        let writers: Vec<_> = [(0, &log), (1, &other), (2, &other)]
            .into_iter()
            .map(|(writer, log)| scope.spawn(move || write(&**log, writer, EACH)))
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

fn drops_what_is_not_needed(open: OpenLog<'_>) {
    let (log, other) = (fresh(open), open());
    for seq in 1..=6 {
        assert_eq!(log.append(EPOCH, b"entry").unwrap(), seq);
    }
    log.truncate(3).unwrap();
    let state = other.state().unwrap();
    assert_eq!((state.oldest, state.last), (4, 6));
    for after in [0, 2] {
        assert_eq!(truncated_at(other.read(after, READ_BYTES)), 4);
    }
    assert_eq!(read_all(&*other, 3).len(), 3);
    assert_eq!(read_all(&*other, 5).len(), 1);
    log.truncate(2).unwrap();
    assert_eq!(log.state().unwrap(), state, "it was dropped before");
    // No number is left out, whatever is dropped.
    log.truncate(100).unwrap();
    let state = other.state().unwrap();
    assert_eq!((state.oldest, state.last), (7, 6));
    assert_eq!(other.read(6, READ_BYTES).unwrap(), []);
    assert_eq!(truncated_at(other.read(4, READ_BYTES)), 7);
    assert_eq!(other.append(EPOCH, b"next").unwrap(), 7);
    assert_eq!(read_all(&*log, 6).len(), 1);
}

fn is_made_anew(open: OpenLog<'_>) {
    let (log, other) = (fresh(open), open());
    for _ in 0..3 {
        log.append(EPOCH, b"old").unwrap();
    }
    assert_eq!(read_all(&*other, 0).len(), 3);
    log.reset(EPOCH + 5).unwrap();
    let expected = LogState {
        epoch: EPOCH + 5,
        oldest: 1,
        last: 0,
    };
    assert_eq!(other.state().unwrap(), expected);
    assert_eq!(other.read(0, READ_BYTES).unwrap(), []);
    assert_eq!(other.append(EPOCH + 5, b"new").unwrap(), 1);
    assert_eq!(read_all(&*log, 0)[0].body, b"new");
}

fn is_created_once(open: OpenLog<'_>) {
    let (log, other) = (fresh(open), open());
    assert_eq!(log.append(EPOCH, b"kept").unwrap(), 1);
    assert!(other.create(EPOCH + 1).is_err());
    assert_eq!(other.state().unwrap().epoch, EPOCH);
    assert_eq!(read_all(&*log, 0)[0].body, b"kept");
    assert_eq!(log.append(EPOCH, b"more").unwrap(), 2);
}

fn refuses_other_epochs(open: OpenLog<'_>) {
    let (log, other) = (fresh(open), open());
    assert_eq!(log.append(EPOCH, b"mine").unwrap(), 1);
    for epoch in [0, EPOCH - 1, EPOCH + 1] {
        assert_eq!(refusing_epoch(log.append(epoch, b"not mine")), EPOCH);
    }
    log.reset(EPOCH + 1).unwrap();
    // It does not know yet.
    assert_eq!(refusing_epoch(other.append(EPOCH, b"late")), EPOCH + 1);
    assert_eq!(log.append(EPOCH + 1, b"first").unwrap(), 1);
    assert_eq!(refusing_epoch(other.append(EPOCH, b"later")), EPOCH + 1);
    let read = read_all(&*log, 0).into_iter().map(|entry| entry.body);
    assert_eq!(read.collect::<Vec<_>>(), [b"first"]);
}

/// Nodes that a new log leaves behind append nothing to it, however close they come.
fn is_made_anew_under_writers(open: OpenLog<'_>) {
    let (log, others) = (fresh(open), [open(), open(), open()]);
    thread::scope(|scope| {
        let writers = others.each_ref().map(|other| {
            scope.spawn(|| {
                let until = Instant::now() + PATIENCE;
                loop {
                    let appended = other.append(EPOCH, b"old");
                    if let Err(AppendError::OtherEpoch { epoch }) = appended {
                        return epoch;
                    }
                    assert!(Instant::now() < until, "{appended:?}");
                }
            })
        });
        while log.state().unwrap().last < 20 {}
        log.reset(EPOCH + 1).unwrap();
        for seq in 1..=20 {
            assert_eq!(log.append(EPOCH + 1, b"new").unwrap(), seq);
        }
        for writer in writers {
            assert_eq!(writer.join().unwrap(), EPOCH + 1);
        }
    });
    let read = read_all(&*log, 0);
    assert!(read.iter().all(|entry| entry.body == b"new"));
    assert_eq!(read.len(), 20);
}

fn refusing_epoch(appended: Result<u64, AppendError>) -> u64 {
    match appended {
        Err(AppendError::OtherEpoch { epoch }) => epoch,
        other => panic!("{other:?}"),
    }
}

fn wakes_those_who_wait(open: OpenLog<'_>) {
    let (log, other) = (fresh(open), open());
    log.append(EPOCH, b"first").unwrap();
    let began = Instant::now();
    other.wait(1, Duration::from_millis(300));
    assert!(began.elapsed() < Duration::from_secs(2), "nothing comes");
    let woken = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            // It may return early.
            while other.read(1, READ_BYTES).unwrap().is_empty() {
                other.wait(1, Duration::from_secs(30));
            }
            Instant::now()
        });
        thread::sleep(Duration::from_millis(300));
        log.append(EPOCH, b"second").unwrap();
        let appended = Instant::now();
        waiting.join().unwrap().saturating_duration_since(appended)
    });
    assert!(woken < Duration::from_secs(2), "{woken:?}");
}

/// While nothing answers calls fail within their limits; afterwards the log is whole and goes on.
pub fn outlives_an_outage(open: OpenLog<'_>, service: &mut dyn Service) {
    let log = fresh(open);
    let other = open();
    let mut acknowledged = write(&*log, 0, 20);
    assert_eq!(read_all(&*other, 0).len(), 20);
    service.kill();
    // What was under way while it died may have been stored. A killed server takes a moment to
    // close its connections, and the end of one shows at the next call.
    let dead = Instant::now() + CALL_LIMIT;
    while !matches!(
        timed(|| log.append(EPOCH, b"perhaps")),
        Err(AppendError::Unavailable(_))
    ) {
        assert!(Instant::now() < dead, "a killed server goes on");
    }
    let appended = timed(|| log.append(EPOCH, b"never"));
    assert!(
        matches!(appended, Err(AppendError::Unavailable(_))),
        "{appended:?}"
    );
    for log in [&log, &other] {
        let read = timed(|| log.read(20, READ_BYTES));
        assert!(matches!(read, Err(ReadError::Unavailable(_))), "{read:?}");
        assert!(timed(|| log.state()).is_err());
        let began = Instant::now();
        log.wait(20, Duration::from_millis(200));
        assert!(began.elapsed() < Duration::from_secs(2));
    }
    service.start();
    acknowledged.push(insist(&*log, b"back"));
    acknowledged.push(insist(&*other, b"and on"));
    let read = read_all(&*open(), 0);
    assert!(read.iter().all(|entry| entry.body != b"never"));
    ensure_acknowledged(&read, &acknowledged);
    assert!(read_all(&*other, 0) == read);
}

fn timed<T>(call: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = call();
    assert!(began.elapsed() < CALL_LIMIT, "{:?}", began.elapsed());
    done
}

/// Appends the same bytes until they are acknowledged, as a node does.
pub fn insist(log: &dyn Log, body: &[u8]) -> LogEntry {
    let until = Instant::now() + PATIENCE;
    loop {
        match log.append(EPOCH, body) {
            Ok(seq) => {
                let body = body.to_vec();
                return LogEntry { seq, body };
            }
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Every acknowledged entry is where its number says.
pub fn ensure_acknowledged(read: &[LogEntry], acknowledged: &[LogEntry]) {
    for entry in acknowledged {
        let found = &read[entry.seq as usize - 1];
        assert!(found == entry, "{} was lost", entry.seq);
    }
}
