//! The figures as a page and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::machine::Machine;

/// Goal for a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// At most this.
    Most(f64),
    /// At least this.
    Least(f64),
    /// Shown only.
    Open,
}

/// One figure.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Name and unit.
    pub what: String,
    /// The median of the rounds, or the only value.
    pub value: f64,
    /// All values, when there were several.
    pub rounds: Vec<f64>,
    /// Goal.
    pub bar: Bar,
}

/// Latency and cost of one kind of request, one client.
#[derive(Debug, Clone)]
pub struct Latency {
    /// The kind.
    pub what: String,
    /// Requests measured.
    pub requests: u64,
    /// Median latency, µs.
    pub p50_us: f64,
    /// 99th percentile, µs.
    pub p99_us: f64,
    /// Processor time of the server per request, µs.
    pub cpu_us: f64,
    /// Mean length of an answer's body.
    pub body_bytes: f64,
}

/// All figures of a run.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Machine, commit and date.
    pub machine: Machine,
    /// Origin of the records.
    pub source: String,
    /// Records of the catalog.
    pub records: u64,
    /// Figures with goals.
    pub figures: Vec<Figure>,
    /// Requests by kind.
    pub latencies: Vec<Latency>,
}

impl Bar {
    fn shown(self, value: f64) -> String {
        let (sign, bar, is_met) = match self {
            Self::Most(bar) => ("≤", bar, value <= bar),
            Self::Least(bar) => ("≥", bar, bar <= value),
            Self::Open => return String::new(),
        };
        let verdict = if is_met { "met" } else { "**missed**" };
        format!("{sign} {bar}: {verdict}")
    }
}

impl Figures {
    /// The page, in Markdown.
    pub fn to_page(&self) -> String {
        let machine = &self.machine;
        let mut page = format!(
            "# The whole service with {} records\n\n\
             - Machine: {}\n- Commit: {}, {}\n- `scripts/figures`, {}\n\n\
             | figure | value | rounds | bar |\n|---|---|---|---|\n",
            self.records,
            machine.sentence(),
            machine.commit,
            machine.date,
            self.source,
        );
        for figure in &self.figures {
            let rounds: Vec<String> = figure.rounds.iter().map(|v| number(*v)).collect();
            let Figure {
                what, value, bar, ..
            } = figure;
            let (rounds, bar) = (rounds.join(", "), bar.shown(*value));
            writeln!(page, "| {what} | {} | {rounds} | {bar} |", number(*value))
                .expect("a String takes text");
        }
        page.push_str(
            "\n## One client, one connection\n\n\
             The service has one worker on one core, the client is on the other; each request \
             wakes the server's core. The floor, a server that does nothing, is the part of the \
             latency that is the kernel's. Searches are all different and uncached \
             (`cache.search_bytes = 0`) unless the row says cached; answers hold up to 100 \
             items.\n\n\
             | request | requests | p50 µs | p99 µs | server CPU µs | body bytes |\n\
             |---|---|---|---|---|---|\n",
        );
        for row in &self.latencies {
            writeln!(
                page,
                "| {} | {} | {:.0} | {:.0} | {:.1} | {:.0} |",
                row.what, row.requests, row.p50_us, row.p99_us, row.cpu_us, row.body_bytes
            )
            .expect("a String takes text");
        }
        page
    }

    /// The figures as JSON.
    pub fn to_json(&self) -> Value {
        let figures = self.figures.iter().map(|figure| {
            let bar = match figure.bar {
                Bar::Most(bar) => json!({"at_most": bar}),
                Bar::Least(bar) => json!({"at_least": bar}),
                Bar::Open => Value::Null,
            };
            json!({
                "what": figure.what, "value": figure.value, "rounds": figure.rounds, "bar": bar,
            })
        });
        let latencies = self.latencies.iter().map(|row| {
            json!({
                "what": row.what,
                "requests": row.requests,
                "p50_us": row.p50_us,
                "p99_us": row.p99_us,
                "cpu_us": row.cpu_us,
                "body_bytes": row.body_bytes,
            })
        });
        json!({
            "machine": self.machine.to_json(),
            "source": self.source,
            "records": self.records,
            "figures": figures.collect::<Vec<_>>(),
            "one_client": latencies.collect::<Vec<_>>(),
        })
    }
}

fn number(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_checked() {
        assert_eq!(Bar::Most(500.0).shown(500.0), "≤ 500: met");
        assert_eq!(Bar::Most(500.0).shown(501.0), "≤ 500: **missed**");
        assert_eq!(Bar::Least(50.0).shown(49.0), "≥ 50: **missed**");
        assert_eq!(Bar::Open.shown(1.0), "");
    }
}
