//! Loads in turns: every server once, then every server again, in an order drawn anew each time:
//! what one leaves to be done (writes to disk, say) takes time from the next.

use std::path::PathBuf;

use serde_json::Value;

use super::outcome::{Cell, Sample};
use crate::child::{Server, output, pinned};
use crate::failure::{Failure, Result};
use crate::random::Random;

/// Of the order of turns.
const SEED: u64 = 42;

/// How loads are made.
#[derive(Debug, Clone)]
pub struct Rig {
    /// The load program.
    pub load: PathBuf,
    /// The cores it may use.
    pub cores: Option<String>,
    /// Whether it never takes a core from a server that is at work there (`SCHED_BATCH`): for
    /// loads that share cores with servers, as each answer would hand the core to who gets it.
    pub gives_way: bool,
    /// Rounds.
    pub rounds: usize,
    /// Measured seconds of each load.
    pub seconds: f64,
}

/// One server, and how a work is asked of it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The server.
    pub server: &'a Server,
    /// What is asked.
    pub target: &'a str,
    /// With these headers.
    pub headers: &'a [String],
    /// Length of the body.
    pub length: usize,
    /// Threads of the load.
    pub threads: usize,
}

impl Rig {
    /// What `load` reports with these further arguments.
    pub fn load(&self, asked: &Asked<'_>, arguments: &[String]) -> Result<Value> {
        let cores = self.cores.as_deref();
        let mut command = if self.gives_way {
            let mut command = pinned("chrt", cores);
            command.args(["--batch", "0"]).arg(&self.load);
            command
        } else {
            pinned(&self.load, cores)
        };
        command.arg(asked.server.url(asked.target));
        for header in asked.headers {
            command.arg("-H").arg(header);
        }
        for pid in &asked.server.pids {
            command.arg("-p").arg(pid.to_string());
        }
        command.args(arguments).arg("--json");
        let text = output(&mut command)?;
        serde_json::from_str(&text).map_err(Failure::on("read the report of a load"))
    }

    /// The arguments of a measured load.
    pub fn arguments(&self, asked: &Asked<'_>, connections: usize) -> Vec<String> {
        let warmup = (self.seconds / 4.0).min(1.0);
        let pairs = [
            ("-c", connections.to_string()),
            ("-t", asked.threads.to_string()),
            ("-s", self.seconds.to_string()),
            ("-w", warmup.to_string()),
            ("--length", asked.length.to_string()),
        ];
        pairs
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    }
}

/// Rounds of one load over all servers; a cell per server.
pub fn measure(
    rig: &Rig,
    servers: &[Asked<'_>],
    connections: usize,
    rate: Option<f64>,
) -> Result<Vec<Cell>> {
    let mut cells: Vec<Cell> = servers
        .iter()
        .map(|asked| Cell {
            server: asked.server.name.clone(),
            samples: Vec::new(),
        })
        .collect();
    let mut random = Random::new(SEED);
    let mut order: Vec<usize> = (0..servers.len()).collect();
    for _ in 0..rig.rounds {
        shuffle(&mut order, &mut random);
        for &idx in &order {
            let asked = &servers[idx];
            let mut arguments = rig.arguments(asked, connections);
            if let Some(rate) = rate {
                arguments.extend(["--rate".to_owned(), rate.to_string()]);
            }
            let sample = Sample::parse(&rig.load(asked, &arguments)?)?;
            cells[idx].samples.push(sample);
        }
    }
    Ok(cells)
}

/// Every order is as likely as another (Fisher and Yates).
fn shuffle(order: &mut [usize], random: &mut Random) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_its_turn_in_every_place() {
        let mut random = Random::new(SEED);
        let mut order = [0, 1, 2, 3];
        let mut places = [[0; 4]; 4];
        for _ in 0..1_000 {
            shuffle(&mut order, &mut random);
            for (place, server) in order.into_iter().enumerate() {
                places[server][place] += 1;
            }
        }
        for server in places {
            assert_eq!(server.iter().sum::<usize>(), 1_000);
            assert!(server.iter().all(|turns| (200..300).contains(turns)));
        }
    }
}
