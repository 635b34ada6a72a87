//! `log_speed`: how fast each log of a cluster is here.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use subcat_engine::Log;
use subcat_engine::internals::MemoryLog;
use subcat_server::cluster::open_log;
use subcat_tests::log_services::{Nats, Postgres};
use subcat_tests::log_suite::{EPOCH, READ_BYTES, fresh, read_all};

/// Appends a second by one writer and by four, bytes a second of a replay, the time until another
/// node hears of an entry.
fn measure(name: &str, open: &(dyn Fn() -> Arc<dyn Log> + Sync)) {
    let log = fresh(open);
    let body: Vec<u8> = (0..16 << 10).map(|place| (place * 31) as u8).collect();
    for writers in [1, 4] {
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..writers {
                scope.spawn(|| {
                    for _ in 0..500 {
                        log.append(EPOCH, &body).unwrap();
                    }
                });
            }
        });
        let rate = f64::from(500 * writers) / began.elapsed().as_secs_f64();
        println!("{name}: {writers} writers of 16 KiB: {rate:.0} appends/s");
    }
    let began = Instant::now();
    let read = read_all(&*log, 0);
    let seconds = began.elapsed().as_secs_f64();
    let megabytes = (read.len() * body.len()) as f64 / 1e6;
    println!(
        "{name}: replay {:.0} MB/s, {:.0} entries/s",
        megabytes / seconds,
        read.len() as f64 / seconds
    );
    let last = read.len() as u64;
    let began = Instant::now();
    for _ in 0..500 {
        assert!(log.read(last, READ_BYTES).unwrap().is_empty());
    }
    println!("{name}: a read of nothing {:?}", began.elapsed() / 500);
    let other = open();
    let mut delays: Vec<Duration> = (last..last + 100)
        .map(|after| {
            thread::scope(|scope| {
                let heard = scope.spawn(|| {
                    while other.read(after, READ_BYTES).unwrap().is_empty() {
                        other.wait(after, Duration::from_secs(5));
                    }
                    Instant::now()
                });
                thread::sleep(Duration::from_millis(15));
                let began = Instant::now();
                log.append(EPOCH, b"news").unwrap();
                heard.join().unwrap().saturating_duration_since(began)
            })
        })
        .collect();
    delays.sort();
    println!(
        "{name}: from append to another node p50 {:?} p99 {:?}",
        delays[50], delays[98]
    );
}

fn opener(address: String) -> impl Fn() -> Arc<dyn Log> + Sync {
    move || open_log(&address, "speed").unwrap_or_else(|error| panic!("{address}: {error}"))
}

fn main() {
    let memory = Arc::new(MemoryLog::default());
    measure("memory", &|| Arc::clone(&memory) as Arc<dyn Log>);
    for count in [1, 3] {
        if let Some(nats) = Nats::start(count) {
            measure(&format!("NATS of {count}"), &opener(nats.address()));
        }
    }
    if let Some(postgres) = Postgres::start() {
        measure("PostgreSQL", &opener(postgres.address()));
    }
}
