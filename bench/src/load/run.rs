//! Runs a plan: starts the threads, times the measurement, adds up the counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::driver::{Completed, Driver, Shared};
use super::plan::{Extent, Plan};
use super::report::{Counts, Report};
use crate::error::{BenchError, Result};
use crate::process::{CpuTime, cpu_time, memory};

/// Interval at which the timer checks if a thread has given up.
const GLANCE: Duration = Duration::from_millis(50);

/// Carries out a plan. Cost: the plan's extent; a server that stops answering ends it after 10 s.
pub fn run(plan: &Plan) -> Result<Report> {
    if plan.requests.is_empty() || plan.connections < plan.threads || plan.threads == 0 {
        let what = "a load needs a request, a thread and a connection per thread";
        return Err(BenchError::new(what));
    }
    let is_counted = matches!(plan.extent, Extent::Count(_));
    let shared = Shared {
        origin: Instant::now(),
        measured_from_ns: AtomicU64::new(if is_counted { 0 } else { u64::MAX }),
        is_over: AtomicBool::new(false),
    };
    let completed: Vec<Completed> = (0..plan.threads).map(|_| Completed::default()).collect();
    let mut drivers = Vec::new();
    for (idx, completed) in completed.iter().enumerate() {
        drivers.push(Driver::connect(plan, &shared, completed, idx)?);
    }
    let start = Mark::now(plan, &completed)?;
    thread::scope(|scope| {
        let threads: Vec<_> = drivers
            .into_iter()
            .map(|driver| {
                let shared = &shared;
                scope.spawn(move || {
                    let counts = driver.run();
                    if counts.is_err() {
                        shared.is_over.store(true, Ordering::Relaxed);
                    }
                    counts
                })
            })
            .collect();
        let times = match plan.extent {
            Extent::Count(_) => None,
            Extent::Time { warmup, measured } => {
                Some(measure(plan, &shared, &completed, (warmup, measured)))
            }
        };
        let mut counts = Counts::new();
        for thread in threads {
            let part = thread
                .join()
                .map_err(|_| BenchError::new("a load thread panicked"))?;
            counts.merge(part?);
        }
        let (start, end) = match times {
            Some(times) => times?,
            None => (start, Mark::now(plan, &completed)?),
        };
        report(plan, &start, &end, counts)
    })
}

/// Waits for warm-up and measurement, then ends the run.
fn measure(
    plan: &Plan,
    shared: &Shared,
    completed: &[Completed],
    (warmup, measured): (Duration, Duration),
) -> Result<(Mark, Mark)> {
    sleep(shared, warmup);
    let marks = Mark::now(plan, completed).and_then(|start| {
        let from_ns = shared.now_ns();
        shared.measured_from_ns.store(from_ns, Ordering::Relaxed);
        sleep(shared, measured);
        Ok((start, Mark::now(plan, completed)?))
    });
    shared.is_over.store(true, Ordering::Relaxed);
    marks
}

fn sleep(shared: &Shared, time: Duration) {
    let start = Instant::now();
    while !shared.is_over.load(Ordering::Relaxed) {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(GLANCE));
    }
}

/// Counters at one moment.
struct Mark {
    at: Instant,
    cpu: CpuTime,
    completed: u64,
}

impl Mark {
    fn now(plan: &Plan, completed: &[Completed]) -> Result<Self> {
        Ok(Self {
            cpu: cpu_time(&plan.watched)?,
            completed: completed.iter().map(|c| c.0.load(Ordering::Relaxed)).sum(),
            at: Instant::now(),
        })
    }
}

fn report(plan: &Plan, start: &Mark, end: &Mark, counts: Counts) -> Result<Report> {
    let server = if plan.watched.is_empty() {
        None
    } else {
        Some((end.cpu.since(start.cpu), memory(&plan.watched)?))
    };
    Ok(Report {
        pace: plan.pace,
        connections: plan.connections,
        requests: end.completed - start.completed,
        seconds: end.at.duration_since(start.at).as_secs_f64(),
        server,
        counts,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;
    use crate::floor::{Canned, serve};
    use crate::load::{Expectation, Order, Pace, Url, hold_idle};

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

    /// A server that gives `answer` until the test's process ends.
    fn server(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(&listener, &Canned::bytes(answer.to_vec())));
        address
    }

    fn plan(server: SocketAddr, extent: Extent, pace: Pace) -> Plan {
        let url = Url::parse(&format!("http://{server}/a")).unwrap();
        Plan {
            server,
            requests: vec![Plan::request(server, &url.target, &[]).unwrap()],
            order: Order::RoundRobin,
            connections: 5,
            threads: 2,
            pace,
            extent,
            expectation: Expectation {
                status: 200,
                body_bytes: Some(5),
            },
            watched: vec![std::process::id()],
        }
    }

    #[test]
    fn a_counted_load_asks_exactly_so_often() {
        for pace in [Pace::Closed, Pace::Open(50_000.0)] {
            let report = run(&plan(server(ANSWER), Extent::Count(1001), pace)).unwrap();
            assert_eq!(report.requests, 1001, "{pace:?}");
            assert_eq!(report.counts.answers, 1001);
            assert_eq!(report.counts.body_bytes, 5005);
            assert_eq!(report.counts.faults(), 0);
            assert_eq!(report.counts.unfinished, 0);
            assert!(0.0 < report.counts.latency_us(0.5));
        }
    }

    #[test]
    fn a_timed_load_measures_its_time() {
        let extent = Extent::Time {
            warmup: Duration::from_millis(20),
            measured: Duration::from_millis(100),
        };
        let report = run(&plan(server(ANSWER), extent, Pace::Open(2000.0))).unwrap();
        assert!((0.1..5.0).contains(&report.seconds), "{}", report.seconds);
        assert!(0 < report.requests);
        assert!(report.requests <= report.counts.answers);
        assert!(report.cpu_us_per_request().is_some());
    }

    #[test]
    fn unexpected_answers_are_counted() {
        let wrong = b"HTTP/1.1 503 No\r\ncontent-length: 5\r\n\r\nhello";
        let report = run(&plan(server(wrong), Extent::Count(10), Pace::Closed)).unwrap();
        assert_eq!(report.counts.wrong_status, 10);
        let short = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhell";
        let report = run(&plan(server(short), Extent::Count(10), Pace::Closed)).unwrap();
        assert_eq!(report.counts.wrong_length, 10);
    }

    /// A server that stalls for 200 ms delays every request that falls due meanwhile.
    #[test]
    fn open_loop_latency_counts_from_when_a_request_was_due() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stalled = thread::spawn(move || {
            // The server does not accept: the requests of the one connection wait.
            thread::sleep(Duration::from_millis(200));
            thread::spawn(move || serve(&listener, &Canned::bytes(ANSWER.to_vec())));
        });
        let mut plan = plan(address, Extent::Count(100), Pace::Open(1000.0));
        (plan.connections, plan.threads) = (1, 1);
        let report = run(&plan).unwrap();
        stalled.join().unwrap();
        // The median request was due at 50 ms and answered after 200 ms.
        let p50 = report.counts.latency_us(0.5);
        assert!(100_000.0 < p50, "{p50}");
    }

    #[test]
    fn idle_connections_are_held() {
        let server = server(ANSWER);
        let request = Plan::request(server, "/a", &[]).unwrap();
        let watched = [std::process::id()];
        let report = hold_idle(server, &request, 20, Duration::ZERO, &watched).unwrap();
        assert_eq!(report.connections, 20);
    }

    #[test]
    fn nobody_there_is_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert!(run(&plan(address, Extent::Count(1), Pace::Closed)).is_err());
    }
}
