//! Loads in turns: every server once, then every server again. Each server follows each other
//! equally often, because work that one puts off takes time from the next.

use std::path::PathBuf;

use serde_json::Value;

use super::outcome::{Cell, Sample};
use crate::child::{Server, output, pinned};
use crate::error::{BenchError, Result};

/// Parameters of the loads.
#[derive(Debug, Clone)]
pub struct Rig {
    /// The load program.
    pub load: PathBuf,
    /// Cores that the load program may use.
    pub cores: Option<String>,
    /// True if the load program does not preempt a server when an answer wakes it
    /// (`SCHED_BATCH`): for loads that share cores with servers.
    pub gives_way: bool,
    /// Rounds.
    pub rounds: usize,
    /// Measured seconds of each load.
    pub seconds: f64,
}

/// One server, and the requests for a work.
#[derive(Debug, Clone, Copy)]
pub struct ServerWork<'a> {
    /// The server.
    pub server: &'a Server,
    /// Request target.
    pub target: &'a str,
    /// Request headers.
    pub headers: &'a [String],
    /// Length of the body.
    pub length: usize,
    /// Threads of the load.
    pub threads: usize,
}

impl Rig {
    /// Runs `load` with these further arguments and returns its report.
    pub fn load(&self, server_work: &ServerWork<'_>, arguments: &[String]) -> Result<Value> {
        let cores = self.cores.as_deref();
        let mut command = if self.gives_way {
            let mut command = pinned("chrt", cores);
            command.args(["--batch", "0"]).arg(&self.load);
            command
        } else {
            pinned(&self.load, cores)
        };
        command.arg(server_work.server.url(server_work.target));
        for header in server_work.headers {
            command.arg("-H").arg(header);
        }
        for pid in &server_work.server.pids {
            command.arg("-p").arg(pid.to_string());
        }
        command.args(arguments).arg("--json");
        let text = output(&mut command)?;
        serde_json::from_str(&text).map_err(BenchError::on("read the report of a load"))
    }

    /// The arguments of a measured load.
    pub fn arguments(&self, server_work: &ServerWork<'_>, connections: usize) -> Vec<String> {
        let warmup = (self.seconds / 4.0).min(1.0);
        let pairs = [
            ("-c", connections.to_string()),
            ("-t", server_work.threads.to_string()),
            ("-s", self.seconds.to_string()),
            ("-w", warmup.to_string()),
            ("--length", server_work.length.to_string()),
        ];
        pairs
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    }
}

/// Rounds of one load over all servers; a cell per server. `settle` makes a server do its deferred
/// work at the end of its turn.
pub fn measure(
    rig: &Rig,
    servers: &[ServerWork<'_>],
    (connections, rate): (usize, Option<f64>),
    settle: &dyn Fn(&Server) -> Result<()>,
) -> Result<Vec<Cell>> {
    let mut cells: Vec<Cell> = servers
        .iter()
        .map(|server_work| Cell {
            server: server_work.server.name.clone(),
            samples: Vec::new(),
        })
        .collect();
    for round in 0..rig.rounds {
        for idx in turns(servers.len(), round) {
            let server_work = &servers[idx];
            let mut arguments = rig.arguments(server_work, connections);
            if let Some(rate) = rate {
                arguments.extend(["--rate".to_owned(), rate.to_string()]);
            }
            let sample = Sample::parse(&rig.load(server_work, &arguments)?)?;
            cells[idx].samples.push(sample);
            settle(server_work.server)?;
        }
    }
    Ok(cells)
}

/// The servers in the order of a round. An even number of them follow each other equally often in
/// as many rounds (a Latin square balanced for what is carried over; Williams 1949).
fn turns(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| {
        let from_first = if place % 2 == 1 {
            place.div_ceil(2)
        } else {
            count - place / 2
        };
        (from_first + round) % count
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_follows_every_other_equally_often() {
        for count in [2, 4, 6] {
            let mut followed = vec![vec![0; count]; count];
            for round in 0..count {
                let order: Vec<usize> = turns(count, round).collect();
                order
                    .windows(2)
                    .for_each(|pair| followed[pair[0]][pair[1]] += 1);
            }
            for (server, others) in followed.iter().enumerate() {
                for (other, times) in others.iter().enumerate() {
                    assert_eq!(*times, usize::from(other != server));
                }
            }
        }
    }
}
