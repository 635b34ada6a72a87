//! Report of a run.

use std::collections::BTreeMap;
use std::fmt;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::connection::Breakage;
use super::plan::Pace;
use crate::process::{CpuTime, Memory};

/// Latencies above this are counted as this: one minute, in ns.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Counts of one thread, or of all.
#[derive(Debug)]
pub struct Counts {
    /// Answers in all, warm-up included.
    pub answers: u64,
    /// Their body bytes.
    pub body_bytes: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Answers with another status than expected.
    pub wrong_status: u64,
    /// Answers with the right status and a body of another length than expected.
    pub wrong_length: u64,
    /// Connections that broke under a request.
    pub broken: u64,
    /// Reason why the first of them broke.
    pub first_breakage: Option<String>,
    /// Open loop: requests that were due and had no answer at the end.
    pub unfinished: u64,
    latency_ns: Histogram<u64>,
    last_status: (u16, u64),
}

impl Counts {
    /// Counts of zero.
    pub(super) fn new() -> Self {
        let latency_ns = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3)
            .expect("the bounds are constants that the histogram allows");
        Self {
            answers: 0,
            body_bytes: 0,
            statuses: BTreeMap::new(),
            wrong_status: 0,
            wrong_length: 0,
            broken: 0,
            first_breakage: None,
            unfinished: 0,
            latency_ns,
            last_status: (0, 0),
        }
    }

    pub(super) fn note_answer(&mut self, status: u16, body_bytes: u64, latency_ns: Option<u64>) {
        self.answers += 1;
        self.body_bytes += body_bytes;
        if self.last_status.0 != status {
            self.settle_status();
            self.last_status.0 = status;
        }
        self.last_status.1 += 1;
        if let Some(latency_ns) = latency_ns {
            self.latency_ns.saturating_record(latency_ns);
        }
    }

    /// Answers mostly repeat the status before: runs of them reach the map at once.
    fn settle_status(&mut self) {
        let (status, count) = std::mem::take(&mut self.last_status);
        if 0 < count {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    pub(super) fn note_broken(&mut self, breakage: &Breakage) {
        self.broken += 1;
        if self.first_breakage.is_none() {
            self.first_breakage = Some(match breakage {
                Breakage::Closed => "closed by the server before the answer was whole".to_owned(),
                Breakage::Head(fault) => fault.to_string(),
                Breakage::Surplus => "bytes came beyond the announced answer".to_owned(),
            });
        }
    }

    pub(super) fn note_unfinished(&mut self, age_ns: u64) {
        self.unfinished += 1;
        self.latency_ns.saturating_record(age_ns);
    }

    /// Adds the counts of another thread.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.settle_status();
        other.settle_status();
        self.answers += other.answers;
        self.body_bytes += other.body_bytes;
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.wrong_status += other.wrong_status;
        self.wrong_length += other.wrong_length;
        self.broken += other.broken;
        self.unfinished += other.unfinished;
        self.first_breakage = self.first_breakage.take().or(other.first_breakage);
        self.latency_ns
            .add(&other.latency_ns)
            .expect("all histograms have the same bounds");
    }

    /// Latency that a share of the measured requests did not exceed, in µs.
    pub fn latency_us(&self, share: f64) -> f64 {
        self.latency_ns.value_at_quantile(share) as f64 / 1000.0
    }

    /// Number of answers and connections that were not as expected.
    pub fn faults(&self) -> u64 {
        self.wrong_status + self.wrong_length + self.broken
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Report {
    /// Pace of the requests.
    pub pace: Pace,
    /// Number of connections.
    pub connections: usize,
    /// Answers within the measurement.
    pub requests: u64,
    /// Duration of the measurement.
    pub seconds: f64,
    /// Processor time of the server's processes in the measurement, and their memory at its end.
    pub server: Option<(CpuTime, Memory)>,
    /// Everything counted.
    pub counts: Counts,
}

impl Report {
    /// Answers per second.
    pub fn requests_per_second(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    /// Processor time of the server per answer, in µs.
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        let (cpu, _) = self.server.as_ref()?;
        Some(cpu.total.as_secs_f64() * 1e6 / self.requests.max(1) as f64)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let counts = &self.counts;
        let server = self.server.as_ref().map(|(cpu, memory)| {
            json!({
                "cpu_us_per_request": self.cpu_us_per_request(),
                "cpu_seconds": cpu.total.as_secs_f64(),
                "user_seconds": cpu.user.as_secs_f64(),
                "system_seconds": cpu.system.as_secs_f64(),
                "resident_bytes": memory.resident_bytes,
                "anonymous_bytes": memory.anonymous_bytes,
                "file_bytes": memory.file_bytes,
            })
        });
        json!({
            "rate": match self.pace { Pace::Closed => None, Pace::Open(rate) => Some(rate) },
            "connections": self.connections,
            "requests": self.requests,
            "seconds": self.seconds,
            "requests_per_second": self.requests_per_second(),
            "latency_us": {
                "p50": counts.latency_us(0.5),
                "p90": counts.latency_us(0.9),
                "p99": counts.latency_us(0.99),
                "p99_9": counts.latency_us(0.999),
                "max": counts.latency_us(1.0),
            },
            "answers": counts.answers,
            "body_bytes": counts.body_bytes,
            "statuses": counts.statuses,
            "wrong_status": counts.wrong_status,
            "wrong_length": counts.wrong_length,
            "broken": counts.broken,
            "first_breakage": counts.first_breakage,
            "unfinished": counts.unfinished,
            "server": server,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let loop_ = match self.pace {
            Pace::Closed => "closed loop".to_owned(),
            Pace::Open(rate) => format!("open loop at {rate}/s"),
        };
        let (requests, seconds) = (self.requests, self.seconds);
        writeln!(
            f,
            "{loop_}, {} connections, {seconds:.2} s",
            self.connections
        )?;
        let rate = self.requests_per_second();
        writeln!(f, "requests  {requests} ({rate:.0}/s)")?;
        write!(f, "latency   ")?;
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            write!(f, "{name} {:.1} µs  ", counts.latency_us(share))?;
        }
        writeln!(f)?;
        if let (Some(us), Some((cpu, memory))) = (self.cpu_us_per_request(), &self.server) {
            let user = cpu.user.as_secs_f64() / (cpu.user + cpu.system).as_secs_f64().max(1e-9);
            writeln!(
                f,
                "server    {us:.2} µs CPU per request, {:.0} % of it user",
                user * 100.0
            )?;
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            let (anonymous, file) = (mib(memory.anonymous_bytes), mib(memory.file_bytes));
            writeln!(
                f,
                "memory    {anonymous:.1} MiB own, {file:.1} MiB mapped files"
            )?;
        }
        write!(f, "answers   ")?;
        for (status, count) in &counts.statuses {
            write!(f, "{count} x {status}  ")?;
        }
        writeln!(f)?;
        write!(
            f,
            "faults    {} wrong status, {} wrong length, {} broken, {} unfinished",
            counts.wrong_status, counts.wrong_length, counts.broken, counts.unfinished
        )?;
        match &counts.first_breakage {
            Some(why) => write!(f, " (first: {why})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let mut one = Counts::new();
        one.note_answer(200, 10, Some(1000));
        one.note_answer(200, 10, None);
        one.note_answer(503, 1, Some(3000));
        let mut two = Counts::new();
        two.note_answer(200, 10, Some(1_000_000));
        two.note_broken(&Breakage::Closed);
        let mut sum = Counts::new();
        sum.merge(one);
        sum.merge(two);
        assert_eq!(sum.statuses, BTreeMap::from([(200, 3), (503, 1)]));
        assert_eq!(sum.answers, 4);
        assert_eq!(sum.body_bytes, 31);
        assert_eq!(sum.faults(), 1);
        assert!(
            (2.9..3.1).contains(&sum.latency_us(0.5)),
            "{}",
            sum.latency_us(0.5)
        );
        assert!((999.0..1001.0).contains(&sum.latency_us(1.0)));
    }
}
