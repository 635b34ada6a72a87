//! Results of a comparison.

use serde_json::{Value, json};

use crate::error::{BenchError, Result};
use crate::machine::Machine;

/// One load on one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Processor time of the server per request, µs.
    pub cpu_us: f64,
    /// Answers per second.
    pub per_second: f64,
    /// Latency that half of the requests did not exceed, µs.
    pub p50_us: f64,
    /// Latency that 99 of 100 requests did not exceed, µs.
    pub p99_us: f64,
    /// Latency that 999 of 1000 requests did not exceed, µs.
    pub p99_9_us: f64,
}

impl Sample {
    /// Sample from the output of `load --json`.
    pub fn parse(report: &Value) -> Result<Self> {
        let number = |value: &Value, name: &str| {
            let number = value[name].as_f64();
            number.ok_or_else(|| BenchError::new(format!("the load program gave no {name}")))
        };
        let latency = &report["latency_us"];
        Ok(Self {
            cpu_us: number(&report["server"], "cpu_us_per_request")?,
            per_second: number(report, "requests_per_second")?,
            p50_us: number(latency, "p50")?,
            p99_us: number(latency, "p99")?,
            p99_9_us: number(latency, "p99_9")?,
        })
    }

    fn to_json(self) -> Value {
        json!({
            "cpu_us": self.cpu_us,
            "per_second": self.per_second,
            "p50_us": self.p50_us,
            "p99_us": self.p99_us,
            "p99_9_us": self.p99_9_us,
        })
    }
}

/// One server's samples of one work, one per round.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The server.
    pub server: String,
    /// Its rounds.
    pub samples: Vec<Sample>,
}

impl Cell {
    /// The median of one figure over the rounds.
    pub fn median(&self, figure: fn(&Sample) -> f64) -> f64 {
        median(self.samples.iter().map(figure).collect())
    }

    /// The first quartile of one figure over the rounds: occasional disturbances of the machine
    /// are in the other rounds.
    pub fn quiet(&self, figure: fn(&Sample) -> f64) -> f64 {
        let mut numbers: Vec<f64> = self.samples.iter().map(figure).collect();
        numbers.sort_by(f64::total_cmp);
        let quarter = numbers.len().saturating_sub(1) / 4;
        numbers.get(quarter).copied().unwrap_or(f64::NAN)
    }
}

/// One work under one load, on every server.
#[derive(Debug, Clone)]
pub struct Row {
    /// Name of the work.
    pub work: String,
    /// Description of the work.
    pub what: String,
    /// Connections.
    pub connections: usize,
    /// Open loop: requests per second; `None` in a closed loop.
    pub rate: Option<f64>,
    /// Multiple of nginx's CPU time (open loop: p99) that is allowed, if this row has a bar.
    pub bar: Option<f64>,
    /// One per server.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Cell of a server.
    pub fn cell(&self, server: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.server == server)
    }

    /// A server's figure as a multiple of `base`'s: median of the rounds' ratios, because the two
    /// loads of one round saw the same machine.
    pub fn ratio(&self, server: &str, base: &str, figure: fn(&Sample) -> f64) -> Option<f64> {
        let (ours, theirs) = (self.cell(server)?, self.cell(base)?);
        let pairs = ours.samples.iter().zip(&theirs.samples);
        let ratios: Vec<f64> = pairs.map(|(a, b)| figure(a) / figure(b)).collect();
        (!ratios.is_empty()).then(|| median(ratios))
    }

    /// The same ratio for the first quartiles of both servers.
    pub fn quiet_ratio(&self, server: &str, base: &str, figure: fn(&Sample) -> f64) -> Option<f64> {
        Some(self.cell(server)?.quiet(figure) / self.cell(base)?.quiet(figure))
    }

    fn to_json(&self) -> Value {
        let cells = self.cells.iter().map(|cell| {
            json!({
                "server": cell.server,
                "cpu_us": cell.median(|s| s.cpu_us),
                "per_second": cell.median(|s| s.per_second),
                "p50_us": cell.median(|s| s.p50_us),
                "p99_us": cell.median(|s| s.p99_us),
                "p99_quiet_us": cell.quiet(|s| s.p99_us),
                "p99_9_us": cell.median(|s| s.p99_9_us),
                "cpu_to_nginx": self.ratio(&cell.server, "nginx", |s| s.cpu_us),
                "p99_to_nginx": self.ratio(&cell.server, "nginx", |s| s.p99_us),
                "rounds": cell.samples.iter().map(|s| s.to_json()).collect::<Vec<_>>(),
            })
        });
        json!({
            "work": self.work,
            "what": self.what,
            "connections": self.connections,
            "rate": self.rate,
            "bar": self.bar,
            "servers": cells.collect::<Vec<_>>(),
        })
    }
}

/// System calls of one server on one work.
#[derive(Debug, Clone)]
pub struct Calls {
    /// Description of the work.
    pub what: String,
    /// The server.
    pub server: String,
    /// Name and count per request of each call, the most frequent first.
    pub counts: Vec<(String, f64)>,
}

impl Calls {
    /// Calls per request in all.
    pub fn total(&self) -> f64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    fn to_json(&self) -> Value {
        let mut by_name = serde_json::Map::new();
        for (name, count) in &self.counts {
            by_name.insert(name.clone(), json!(count));
        }
        json!({
            "work": self.what,
            "server": self.server,
            "per_request": self.total(),
            "calls": by_name,
        })
    }
}

/// A whole comparison.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Machine, commit and date.
    pub machine: Machine,
    /// nginx's version.
    pub nginx: String,
    /// Rounds, and seconds of each load.
    pub rounds: (usize, f64),
    /// Closed loop, one worker.
    pub closed: Vec<Row>,
    /// Open loop at half of nginx's saturation.
    pub open: Vec<Row>,
    /// Closed loop, unpinned: the service with one worker and with two.
    pub workers: Vec<Row>,
    /// Resident bytes of an idle connection, by server, and how many there were.
    pub idle: (usize, Vec<(String, f64)>),
    /// System calls per request.
    pub calls: Vec<Calls>,
}

impl Outcome {
    /// The comparison as JSON.
    pub fn to_json(&self) -> Value {
        let rows = |rows: &[Row]| rows.iter().map(Row::to_json).collect::<Vec<_>>();
        let idle = self.idle.1.iter().map(|(server, bytes)| {
            json!({"server": server, "bytes_each": bytes, "connections": self.idle.0})
        });
        json!({
            "machine": self.machine.to_json(),
            "nginx": self.nginx,
            "rounds": self.rounds.0,
            "seconds": self.rounds.1,
            "closed": rows(&self.closed),
            "open": rows(&self.open),
            "workers": rows(&self.workers),
            "idle": idle.collect::<Vec<_>>(),
            "system_calls": self.calls.iter().map(Calls::to_json).collect::<Vec<_>>(),
        })
    }
}

/// The middle of some numbers; of an even count, the mean of the two in the middle.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match (numbers.get(middle), numbers.len() % 2) {
        (None, _) => f64::NAN,
        (Some(number), 1) => *number,
        (Some(number), _) => (numbers[middle - 1] + number) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_quarter_of_the_rounds_is_quieter() {
        let cell = |rounds: &[f64]| Cell {
            server: "s".to_owned(),
            samples: rounds
                .iter()
                .map(|p99_us| Sample {
                    cpu_us: 1.0,
                    per_second: 1.0,
                    p50_us: 1.0,
                    p99_us: *p99_us,
                    p99_9_us: 1.0,
                })
                .collect(),
        };
        let quiet = |rounds: &[f64]| cell(rounds).quiet(|s| s.p99_us);
        assert_eq!(quiet(&[50.0, 10.0, 40.0, 20.0, 30.0]), 20.0);
        assert_eq!(quiet(&[9000.0, 7.0]), 7.0);
        assert!(quiet(&[]).is_nan());
    }

    #[test]
    fn ratios_compare_within_a_round() {
        let cell = |server: &str, cpu: [f64; 3]| Cell {
            server: server.to_owned(),
            samples: cpu
                .map(|cpu_us| Sample {
                    cpu_us,
                    per_second: 1.0,
                    p50_us: 1.0,
                    p99_us: 1.0,
                    p99_9_us: 1.0,
                })
                .to_vec(),
        };
        let row = Row {
            work: "w".to_owned(),
            what: "w".to_owned(),
            connections: 1,
            rate: None,
            bar: None,
            cells: vec![
                cell("nginx", [10.0, 20.0, 30.0]),
                cell("ours", [5.0, 18.0, 24.0]),
            ],
        };
        assert_eq!(row.ratio("ours", "nginx", |s| s.cpu_us), Some(0.8));
        assert_eq!(row.ratio("floor", "nginx", |s| s.cpu_us), None);
    }
}
