//! The comparison as a page and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::search::Times;

use super::contest::{Contest, SetResult};

/// Places of engines in [`Contest::names`].
const OURS: usize = 0;

impl Contest {
    /// The page, in Markdown.
    pub fn to_page(&self, machine: &Machine, source: &str) -> String {
        let (records, active) = self.records;
        let mut page = format!(
            "# Search beside other engines, {records} records\n\n\
             - Machine: {}\n- Commit: {}, {}\n- {source}; {active} of the records are active\n\
             - One thread, everything in memory, CPU time of the thread per query in µs, what \
             reading the clock takes taken off. Round by round each engine runs the whole set in \
             its turn; the median of a query counts. Top {} and exact total.\n\n",
            machine.sentence(),
            machine.commit,
            machine.date,
            super::peer::PAGE,
        );
        self.write_times(&mut page);
        self.write_ratios(&mut page);
        self.write_building(&mut page);
        page
    }

    fn write_times(&self, page: &mut String) {
        page.push_str("## Time of a query, mean / p50 / p99 µs\n\n| set | hits |");
        for name in &self.names {
            let _ = write!(page, " {name} |");
        }
        page.push_str("\n|---|---|");
        page.push_str(&"---|".repeat(self.names.len()));
        for set in &self.sets {
            let _ = write!(page, "\n| {} | {:.0} |", set.name, set.hits);
            for times in &set.times {
                let _ = match times {
                    Some(times) => write!(
                        page,
                        " {:.1} / {:.1} / {:.1} |",
                        times.mean_us(),
                        times.quantile_us(0.5),
                        times.quantile_us(0.99)
                    ),
                    None => write!(page, " |"),
                };
            }
        }
        page.push_str("\n\n");
    }

    fn write_ratios(&self, page: &mut String) {
        page.push_str("## How many times our mean\n\n| set |");
        for name in &self.names[1..] {
            let _ = write!(page, " {name} |");
        }
        page.push_str(" other hits |\n|---|");
        page.push_str(&"---|".repeat(self.names.len()));
        for set in &self.sets {
            let _ = write!(page, "\n| {} |", set.name);
            for engine_idx in 1..self.names.len() {
                let _ = match ratio(set, engine_idx) {
                    Some(ratio) => write!(page, " {ratio:.1} |"),
                    None => write!(page, " |"),
                };
            }
            page.push(' ');
            page.push_str(&self.differences(set));
            page.push_str(" |");
        }
        page.push_str("\n| geometric mean |");
        for engine_idx in 1..self.names.len() {
            let _ = write!(page, " **{:.1}** |", self.geometric_mean(engine_idx));
        }
        page.push_str(" |\n| least |");
        for engine_idx in 1..self.names.len() {
            let least = self.sets.iter().filter_map(|set| ratio(set, engine_idx));
            let _ = write!(page, " {:.1} |", least.fold(f64::INFINITY, f64::min));
        }
        page.push_str(" |\n\n");
    }

    fn differences(&self, set: &SetResult) -> String {
        let differing = self.names[1..].iter().zip(&set.differing);
        let differing = differing.filter(|(_, count)| **count > 0);
        let differing: Vec<String> = differing
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        differing.join(", ")
    }

    fn geometric_mean(&self, engine_idx: usize) -> f64 {
        let ratios = self.sets.iter().filter_map(|set| ratio(set, engine_idx));
        let logs: Vec<f64> = ratios.map(f64::ln).collect();
        (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
    }

    fn write_building(&self, page: &mut String) {
        page.push_str(
            "## Building, per record\n\n\
             | engine | CPU µs | bytes of index | resident memory it added, bytes |\n\
             |---|---|---|---|\n",
        );
        for built in &self.built {
            let _ = writeln!(
                page,
                "| {} | {:.2} | {:.1} | {:.0} |",
                built.name, built.cpu_us, built.index_bytes, built.memory_bytes
            );
        }
        page.push_str(
            "\nOurs includes the stored documents, from which answers are copied; the others \
             hold no documents. Folding is counted for all, parsing for none.\n",
        );
    }

    /// The figures as JSON.
    pub fn to_json(&self, machine: &Machine, source: &str) -> Value {
        let time = |times: &Option<Times>| match times {
            Some(times) => json!({
                "mean_us": times.mean_us(),
                "p50_us": times.quantile_us(0.5),
                "p99_us": times.quantile_us(0.99),
                "max_us": times.quantile_us(1.0),
            }),
            None => Value::Null,
        };
        let set = |set: &SetResult| {
            let engines = self.names.iter().zip(&set.times);
            let engines: serde_json::Map<String, Value> = engines
                .map(|(name, times)| ((*name).to_owned(), time(times)))
                .collect();
            json!({
                "set": set.name,
                "hits": set.hits,
                "differing": set.differing,
                "engines": engines,
            })
        };
        let built = self.built.iter().map(|built| {
            json!({
                "engine": built.name,
                "cpu_us": built.cpu_us,
                "index_bytes": built.index_bytes,
                "memory_bytes": built.memory_bytes,
            })
        });
        json!({
            "machine": machine.to_json(),
            "source": source,
            "records": self.records.0,
            "active": self.records.1,
            "built": built.collect::<Vec<_>>(),
            "sets": self.sets.iter().map(set).collect::<Vec<_>>(),
        })
    }
}

/// An engine's mean as a multiple of ours.
fn ratio(set: &SetResult, engine_idx: usize) -> Option<f64> {
    let ours = set.times[OURS].as_ref()?.mean_us();
    Some(set.times[engine_idx].as_ref()?.mean_us() / ours)
}
