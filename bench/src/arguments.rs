//! Command-line arguments and exit codes that several programs share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tempfile::TempDir;

use crate::catalog::write_file;
use crate::compare::Rig;
use crate::error::{BenchError, Result};
use crate::subcat::Program;

/// Seed of the generated catalog.
pub const SEED: u64 = 42;

/// Arguments of programs that measure the whole service.
#[derive(Debug, Args)]
pub struct ServiceArguments {
    /// Import records (JSON lines); otherwise a catalog is generated.
    #[arg(long)]
    pub catalog: Option<PathBuf>,
    /// Core of the servers.
    #[arg(long, default_value = "0")]
    pub server_core: String,
    /// Core of the load program.
    #[arg(long, default_value = "1")]
    pub load_core: String,
    /// Folder of the programs under measurement.
    #[arg(long, default_value = "target/release")]
    pub programs: PathBuf,
    /// Name of this machine in the folder of the run; otherwise made from its processor.
    #[arg(long)]
    pub machine: Option<String>,
}

impl ServiceArguments {
    /// The given catalog, or a generated one of `records` records in `folder`.
    pub fn catalog(&self, records: u64, folder: &TempDir) -> Result<PathBuf> {
        if let Some(catalog) = &self.catalog {
            return Ok(catalog.clone());
        }
        eprintln!("generating {records} records");
        let path = folder.path().join("catalog.jsonl");
        write_file(&path, SEED, records)?;
        Ok(path)
    }

    /// The service under measurement.
    pub fn service(&self) -> Result<Program> {
        Program::new(&self.programs.join("subcat"))
    }

    /// The floor's program.
    pub fn floor(&self) -> PathBuf {
        self.programs.join("floor")
    }

    /// Parameters of the loads.
    pub fn rig(&self, rounds: usize, seconds: f64) -> Rig {
        Rig {
            load: self.programs.join("load"),
            cores: Some(self.load_core.clone()),
            gives_way: false,
            rounds,
            seconds,
        }
    }
}

/// Arguments of programs that measure sets of queries.
#[derive(Debug, Args)]
pub struct QueryArguments {
    /// Import records as JSON lines.
    #[arg(long)]
    pub catalog: PathBuf,
    /// Most records to read.
    #[arg(long, default_value_t = usize::MAX)]
    pub records: usize,
    /// Queries of each set.
    #[arg(long, default_value_t = 200)]
    pub queries: usize,
    /// Measurements of each query; the median counts.
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// Only sets whose name contains this.
    #[arg(long, default_value = "")]
    pub set: String,
}

/// Exit code of a program; prints the error under the program's name.
pub fn exit_code(program: &str, outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes one file of a run.
pub fn write_page(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(BenchError::on(format!("write {}", path.display())))
}
