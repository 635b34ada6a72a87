//! The comparison as a page and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::search::Times;

use super::contest::{Contest, Difference, EngineTimes, SetResult, StateResult};

/// Places of engines in [`Contest::names`].
const OURS: usize = 0;

impl Contest {
    /// The page, in Markdown.
    pub fn to_page(&self, machine: &Machine, source: &str) -> String {
        let (records, active) = self.records;
        let mut page = format!(
            "# Search beside other engines, {records} records\n\n\
             - Machine: {}\n- Commit: {}, {}\n- {source}; {active} of the records are active\n\
             - One thread, everything in memory, times of a query in µs, what reading the clocks \
             takes taken off. Round by round each engine runs the whole set in \
             its turn; the median of a query counts. Top {} and exact total.\n\n",
            machine.sentence(),
            machine.commit,
            machine.date,
            super::peer::PAGE,
        );
        if let Some(clean) = self.states.first() {
            self.write_times(&mut page, clean, "CPU time", |times| &times.cpu);
            self.write_times(&mut page, clean, "Wall time", |times| &times.wall);
            self.write_ratios(&mut page, clean);
            self.write_differences(&mut page, clean);
        }
        if let [clean, lived_in @ ..] = &self.states[..]
            && !lived_in.is_empty()
        {
            write_own_states(&mut page, clean, lived_in);
            for engine_idx in 1..self.names.len() {
                self.write_peer_states(&mut page, engine_idx);
            }
        }
        self.write_building(&mut page);
        page
    }

    fn write_times(
        &self,
        page: &mut String,
        state: &StateResult,
        clock: &str,
        of: fn(&EngineTimes) -> &Times,
    ) {
        let _ = write!(
            page,
            "## {clock} of a query, mean / p50 / p99 µs\n\n| set | hits |"
        );
        for name in &self.names {
            let _ = write!(page, " {name} |");
        }
        page.push_str("\n|---|---|");
        page.push_str(&"---|".repeat(self.names.len()));
        for set in &state.sets {
            let _ = write!(page, "\n| {} | {:.0} |", set.name, set.hits);
            for times in &set.times {
                let _ = match times.as_ref().map(of) {
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

    fn write_ratios(&self, page: &mut String, state: &StateResult) {
        page.push_str("## How many times our mean CPU time\n\n| set |");
        for name in &self.names[1..] {
            let _ = write!(page, " {name} |");
        }
        page.push_str(" other hits |\n|---|");
        page.push_str(&"---|".repeat(self.names.len()));
        for set in &state.sets {
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
            let _ = write!(
                page,
                " **{:.1}** |",
                geometric_mean(ratios(state, engine_idx))
            );
        }
        page.push_str(" |\n| least |");
        for engine_idx in 1..self.names.len() {
            let _ = write!(page, " {:.2} |", least(ratios(state, engine_idx)));
        }
        page.push_str(" |\n\n");
    }

    /// Writes the ratios of a peer in each state.
    fn write_peer_states(&self, page: &mut String, engine_idx: usize) {
        let name = self.names[engine_idx];
        let _ = write!(
            page,
            "## Lived in: {name}, how many times our mean CPU time\n\n"
        );
        write_state_names(page, &self.states);
        let Some(clean) = self.states.first() else {
            return;
        };
        for (set_idx, set) in clean.sets.iter().enumerate() {
            if ratio(set, engine_idx).is_none() {
                continue;
            }
            let _ = write!(page, "\n| {} |", set.name);
            for state in &self.states {
                let ratio = ratio(&state.sets[set_idx], engine_idx);
                let _ = write!(page, " {:.1} |", ratio.unwrap_or(f64::NAN));
            }
        }
        page.push_str("\n| geometric mean |");
        for state in &self.states {
            let mean = geometric_mean(ratios(state, engine_idx));
            let _ = write!(page, " **{mean:.1}** |");
        }
        page.push_str("\n| least |");
        for state in &self.states {
            let _ = write!(page, " {:.2} |", least(ratios(state, engine_idx)));
        }
        page.push_str("\n| answers that differ from ours |");
        for state in &self.states {
            let differing = state.sets.iter().map(|set| &set.differing[engine_idx - 1]);
            let _ = write!(page, " {} |", differing.map(Vec::len).sum::<usize>());
        }
        page.push_str("\n\n");
    }

    fn differences(&self, set: &SetResult) -> String {
        let differing = self.names[1..].iter().zip(&set.differing);
        let differing = differing.filter(|(_, differences)| !differences.is_empty());
        let differing: Vec<String> = differing
            .map(|(name, differences)| format!("{name} {}", differences.len()))
            .collect();
        differing.join(", ")
    }

    /// Writes the queries of the last column of the ratios.
    fn write_differences(&self, page: &mut String, state: &StateResult) {
        let mut rows = String::new();
        for set in &state.sets {
            for (name, differences) in self.names[1..].iter().zip(&set.differing) {
                for Difference { text, ours, theirs } in differences {
                    let _ = writeln!(
                        rows,
                        "| {} | `{text}` | {ours} | {name} {theirs} |",
                        set.name
                    );
                }
            }
        }
        if !rows.is_empty() {
            page.push_str(
                "Queries whose hits differ, with the numbers of records that match \
                 (bench/README.md says why):\n\n\
                 | set | query | by our rules | by the peer |\n|---|---|---|---|\n",
            );
            page.push_str(&rows);
            page.push('\n');
        }
    }

    fn write_building(&self, page: &mut String) {
        page.push_str(
            "## Building, per record\n\n\
             | engine | CPU µs | wall µs | bytes of index | resident memory it added, bytes |\n\
             |---|---|---|---|---|\n",
        );
        for built in &self.built {
            let _ = writeln!(
                page,
                "| {} | {:.2} | {:.2} | {:.1} | {:.0} |",
                built.name, built.cpu_us, built.wall_us, built.index_bytes, built.memory_bytes
            );
        }
        page.push_str(
            "\nOurs includes the stored documents, from which answers are copied; the others \
             hold no documents. Folding is counted for all, parsing for none.\n",
        );
    }

    /// The figures as JSON.
    pub fn to_json(&self, machine: &Machine, source: &str) -> Value {
        let clock = |times: &Times| {
            json!({
                "mean_us": times.mean_us(),
                "p50_us": times.quantile_us(0.5),
                "p99_us": times.quantile_us(0.99),
                "max_us": times.quantile_us(1.0),
            })
        };
        let time = |times: &Option<EngineTimes>| match times {
            Some(times) => json!({ "cpu": clock(&times.cpu), "wall": clock(&times.wall) }),
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
                "differing": set.differing.iter().map(Vec::len).collect::<Vec<_>>(),
                "engines": engines,
            })
        };
        let built = self.built.iter().map(|built| {
            json!({
                "engine": built.name,
                "cpu_us": built.cpu_us,
                "wall_us": built.wall_us,
                "index_bytes": built.index_bytes,
                "memory_bytes": built.memory_bytes,
            })
        });
        let states = self.states.iter().map(|result| {
            json!({
                "state": result.state.name,
                "deleted": result.state.deleted,
                "sets": result.sets.iter().map(set).collect::<Vec<_>>(),
            })
        });
        json!({
            "machine": machine.to_json(),
            "source": source,
            "records": self.records.0,
            "active": self.records.1,
            "built": built.collect::<Vec<_>>(),
            "states": states.collect::<Vec<_>>(),
        })
    }
}

/// An engine's mean as a multiple of ours.
fn ratio(set: &SetResult, engine_idx: usize) -> Option<f64> {
    let ours = set.times[OURS].as_ref()?.cpu.mean_us();
    Some(set.times[engine_idx].as_ref()?.cpu.mean_us() / ours)
}

fn ratios(state: &StateResult, engine_idx: usize) -> impl Iterator<Item = f64> {
    let sets = state.sets.iter();
    sets.filter_map(move |set| ratio(set, engine_idx))
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

fn least(ratios: impl Iterator<Item = f64>) -> f64 {
    ratios.fold(f64::INFINITY, f64::min)
}

fn write_state_names(page: &mut String, states: &[StateResult]) {
    page.push_str("| set |");
    for state in states {
        let _ = write!(page, " {} |", state.state.name);
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(states.len()));
}

/// Writes the times of our engine in each state, as multiples of those in the fresh one.
fn write_own_states(page: &mut String, clean: &StateResult, lived_in: &[StateResult]) {
    page.push_str(
        "## Lived in: our mean CPU time, of the clean catalog in µs, then as multiples of it; \
         in brackets p99 in µs\n\nDeleted are records chosen at random, more of them in each \
         state, by all engines. Of eight segments one is a full delta of 4,000 records, six have \
         2,000 to 50,000, the last the others; the peers stay in one segment.\n\n",
    );
    page.push_str("| set | clean |");
    for state in lived_in {
        let _ = write!(page, " {} |", state.state.name);
    }
    page.push_str("\n|---|---|");
    page.push_str(&"---|".repeat(lived_in.len()));
    let own = |set: &SetResult| -> Option<(f64, f64)> {
        let times = &set.times[OURS].as_ref()?.cpu;
        Some((times.mean_us(), times.quantile_us(0.99)))
    };
    for (set_idx, set) in clean.sets.iter().enumerate() {
        let Some((clean_mean, clean_p99)) = own(set) else {
            continue;
        };
        let _ = write!(
            page,
            "\n| {} | {clean_mean:.1} ({clean_p99:.0}) |",
            set.name
        );
        for state in lived_in {
            if let Some((mean, p99)) = own(&state.sets[set_idx]) {
                let _ = write!(page, " {:.2} ({p99:.0}) |", mean / clean_mean);
            }
        }
    }
    page.push_str("\n| geometric mean | |");
    for state in lived_in {
        let pairs = state.sets.iter().zip(&clean.sets);
        let ratios = pairs.filter_map(|(set, clean)| Some(own(set)?.0 / own(clean)?.0));
        let _ = write!(page, " **{:.2}** |", geometric_mean(ratios));
    }
    page.push_str("\n\n");
}
