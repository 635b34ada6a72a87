//! Machine, commit and date of a run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::child::output;
use crate::error::{BenchError, Result};

/// The machine, the kernel and the commit of a run.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Name of the folder of its runs: processor and count of cores.
    pub name: String,
    /// Model name of the processor.
    pub processor: String,
    /// Number of its cores that this system has.
    pub cores: usize,
    /// Memory, in GiB, rounded.
    pub memory_gib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The commit that was measured; `+` behind it means changed files.
    pub commit: String,
    /// The day, UTC, `2026-11-21`.
    pub date: String,
}

impl Machine {
    /// This machine, today; `name` replaces the name made from the processor.
    pub fn here(name: Option<&str>) -> Result<Self> {
        let cpuinfo = read("/proc/cpuinfo")?;
        let processor = field(&cpuinfo, "model name")
            .unwrap_or("unknown")
            .to_owned();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let memory_kib: u64 = field(&read("/proc/meminfo")?, "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse().ok())
            .unwrap_or(0);
        Ok(Self {
            name: name.map_or_else(|| folder_name(&processor, cores), str::to_owned),
            processor,
            cores,
            memory_gib: (memory_kib + (1 << 19)) >> 20,
            kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            commit: commit()?,
            date: output(Command::new("date").args(["-u", "+%F"]))?
                .trim()
                .to_owned(),
        })
    }

    /// The folder of today's runs here, made if it is missing.
    pub fn folder(&self) -> Result<PathBuf> {
        let folder = PathBuf::from(format!("bench/runs/{}-{}", self.date, self.name));
        fs::create_dir_all(&folder)
            .map_err(BenchError::on(format!("make {}", folder.display())))?;
        Ok(folder)
    }

    /// As one sentence.
    pub fn sentence(&self) -> String {
        let Self {
            processor,
            cores,
            memory_gib,
            kernel,
            ..
        } = self;
        format!("{processor}, {cores} cores, {memory_gib} GiB, Linux {kernel}")
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "date": self.date,
            "commit": self.commit,
            "processor": self.processor,
            "cores": self.cores,
            "memory_gib": self.memory_gib,
            "kernel": self.kernel,
        })
    }
}

fn commit() -> Result<String> {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments));
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let mark = if changes.is_empty() { "" } else { "+" };
    Ok(format!("{}{mark}", commit.trim()))
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(BenchError::on(format!("read {path}")))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim())
}

fn folder_name(processor: &str, cores: usize) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric();
    let words = processor
        .split(|c| !is_kept(c))
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(3).map(str::to_ascii_lowercase).collect();
    format!("{}-{cores}-cores", words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_processors() {
        assert_eq!(folder_name("AMD EPYC", 2), "amd-epyc-2-cores");
        let name = folder_name("Intel(R) Xeon(R) Processor @ 2.50GHz", 4);
        assert_eq!(name, "intel-r-xeon-4-cores");
    }

    #[test]
    fn reads_fields() {
        assert_eq!(
            field("a\t: 1\nmodel name\t: X Y\n", "model name"),
            Some("X Y")
        );
        assert_eq!(field("a: 1", "b"), None);
    }
}
