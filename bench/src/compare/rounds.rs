//! Loads in turns: every server once, then every server again.

use std::path::PathBuf;

use serde_json::Value;

use super::outcome::{Cell, Sample};
use crate::child::{Server, output, pinned};
use crate::failure::{Failure, Result};

/// How loads are made.
#[derive(Debug, Clone)]
pub struct Rig {
    /// The load program.
    pub load: PathBuf,
    /// The cores it may use.
    pub cores: Option<String>,
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
        let mut command = pinned(&self.load, self.cores.as_deref());
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
    for _ in 0..rig.rounds {
        for (asked, cell) in servers.iter().zip(&mut cells) {
            let mut arguments = rig.arguments(asked, connections);
            if let Some(rate) = rate {
                arguments.extend(["--rate".to_owned(), rate.to_string()]);
            }
            cell.samples
                .push(Sample::parse(&rig.load(asked, &arguments)?)?);
        }
    }
    Ok(cells)
}
