//! The service under measurement, run as an operator runs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::child::{Server, output, pinned};
use crate::error::{BenchError, Result};
use crate::process::children_cpu_time;

/// The program `subcat`.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
}

/// Results of an import.
#[derive(Debug, Clone, Copy)]
pub struct Import {
    /// Records that were imported.
    pub inserted: u64,
    /// Lines that were rejected.
    pub refused: u64,
    /// From start to end of the program.
    pub wall: Duration,
    /// Processor time of the program.
    pub cpu: Duration,
}

impl Program {
    /// The program at this path.
    pub fn new(path: &Path) -> Result<Self> {
        if !path.is_file() {
            let what = format!("{} is missing: cargo build --release", path.display());
            return Err(BenchError::new(what));
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// A command on one data directory; settings of the environment do not reach it.
    fn command(&self, data: &Path, cores: Option<&str>) -> Command {
        let mut command = pinned(&self.path, cores);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SUBCAT_") {
                command.env_remove(name);
            }
        }
        command.env("SUBCAT_DATA", data);
        command
    }

    /// Imports a file of records into a data directory that no server has open.
    pub fn import(&self, data: &Path, file: &Path) -> Result<Import> {
        let mut command = self.command(data, None);
        command.arg("import").arg(file).arg("--json");
        let (start, cpu_start) = (Instant::now(), children_cpu_time()?);
        let answer = json(&output(&mut command)?)?;
        let count = |name: &str| answer[name].as_u64().unwrap_or(0);
        Ok(Import {
            inserted: count("inserted"),
            refused: count("refused"),
            wall: start.elapsed(),
            cpu: children_cpu_time()?.saturating_sub(cpu_start),
        })
    }

    /// Creates an API key whose limit no load reaches, and returns its text.
    pub fn api_key(&self, data: &Path) -> Result<String> {
        let mut command = self.command(data, None);
        command.args(["key", "create", "--name", "bench", "--json"]);
        command.args(["--limit", "4294967295/86400"]);
        let answer = json(&output(&mut command)?)?;
        let key = answer["key"].as_str();
        key.map(str::to_owned)
            .ok_or_else(|| BenchError::new("key create printed no key"))
    }

    /// Requests the statistics of a data directory: for them, the service aggregates its download
    /// counts.
    pub fn stats(&self, data: &Path) -> Result<Value> {
        let mut command = self.command(data, None);
        json(&output(command.args(["stats", "--json"]))?)
    }

    /// Serves a data directory on free ports with these settings (`io`, `epoll`).
    pub fn serve(
        &self,
        name: &str,
        data: &Path,
        cores: Option<&str>,
        settings: &[(&str, &str)],
    ) -> Result<Server> {
        let mut command = self.command(data, cores);
        command.arg("serve");
        let all = [
            ("listen", "127.0.0.1:0"),
            ("admin", "127.0.0.1:0"),
            ("connections.max", "30000"),
            ("connections.max_per_address", "30000"),
            ("log.level", "warn"),
        ];
        for (setting, value) in all.iter().chain(settings) {
            let variable = format!("SUBCAT_{}", setting.replace('.', "_").to_uppercase());
            command.env(variable, value);
        }
        Server::start(name, &mut command)
    }

    /// `Authorization` with this key.
    pub fn authorization(api_key: &str) -> String {
        format!("Authorization: Bearer {api_key}")
    }
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(BenchError::on(format!("read {text:?} as JSON")))
}
