//! Takes the figures: imports, starts, kills, asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::pieces::import_pieces;
use super::report::{Bar, Figure, Figures, Latency};
use crate::child::{Server, pinned};
use crate::compare::{Rig, ServerWork, median};
use crate::error::{BenchError, Result};
use crate::fetch::fetch;
use crate::machine::Machine;
use crate::past;
use crate::process::memory;
use crate::queries::{QuerySet, query_sets};
use crate::search::Deletion;
use crate::subcat::Program;

/// Searches are made from the catalog by this seed.
const SEED: u64 = 42;
/// Different searches of each kind.
const QUERIES_PER_KIND: usize = 300;
/// Requests of a kind that repeats.
const REPEATS: usize = 20_000;
/// Bytes of the file that is downloaded.
const FILE_BYTES: usize = 40 * 1024;

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service.
    pub program: Program,
    /// The floor's program.
    pub floor: PathBuf,
    /// Parameters of the loads; their rounds are also those of imports.
    pub rig: Rig,
    /// The core of the server.
    pub core: String,
    /// Import records.
    pub catalog: PathBuf,
    /// Description of the records, for the page.
    pub source: String,
    /// Starts of each kind.
    pub starts: usize,
    /// Records deleted after the import; in pieces before the newest records come.
    pub deleted: Deletion,
    /// True if the catalog is then imported anew, by and by: the index has seven segments and a
    /// delta.
    pub in_pieces: bool,
}

/// Takes all figures; progress goes to standard error.
pub fn take(settings: &Settings, machine: Machine) -> Result<Figures> {
    let folder = TempDir::with_prefix("subcat-figures-")
        .map_err(BenchError::on("make a temporary folder"))?;
    let data = folder.path().join("data");
    let mut figures = Figures {
        machine,
        source: settings.source.clone(),
        records: 0,
        figures: Vec::new(),
        latencies: Vec::new(),
    };
    import(settings, &data, &mut figures)?;
    if settings.in_pieces {
        fs::remove_dir_all(&data).map_err(BenchError::on("empty the data directory"))?;
        eprintln!("importing the catalog in pieces");
        let deleted = import_pieces(&data, &settings.catalog, settings.deleted)?;
        figures.push("records deleted", vec![deleted as f64], Bar::Open);
    } else {
        delete(settings, &data, &mut figures)?;
    }
    count_segments(settings, &data, "", &mut figures)?;
    let api_key = settings.program.api_key(&data)?;
    eprintln!("making searches");
    let sets = query_sets(&settings.catalog, SEED, QUERIES_PER_KIND)?;
    let taker = Taker {
        settings,
        folder: folder.path(),
        data,
        headers: vec![Program::authorization(&api_key)],
        sets,
    };
    taker.starts(&mut figures)?;
    taker.memory(&mut figures)?;
    taker.floor(&mut figures)?;
    taker.searches(&mut figures)?;
    // The service makes a segment file of the delta within a second of a search.
    count_segments(settings, &taker.data, " after the searches", &mut figures)?;
    taker.cached(&mut figures)?;
    Ok(figures)
}

/// Notes how many segments a data directory has, and how many records of them the delta.
fn count_segments(
    settings: &Settings,
    data: &Path,
    when: &str,
    figures: &mut Figures,
) -> Result<()> {
    let stats = settings.program.stats(data)?;
    let counts = [
        ("segment files", "file_segments"),
        ("records in the delta", "delta_records"),
    ];
    for (what, name) in counts {
        let count = stats[name].as_f64().unwrap_or(f64::NAN);
        figures.push(&format!("{what}{when}"), vec![count], Bar::Open);
    }
    Ok(())
}

fn import(settings: &Settings, data: &Path, figures: &mut Figures) -> Result<()> {
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let mut refused = 0;
    for round in 0..settings.rig.rounds {
        eprintln!("import {} of {}", round + 1, settings.rig.rounds);
        if data.exists() {
            fs::remove_dir_all(data).map_err(BenchError::on("empty the data directory"))?;
        }
        let import = settings.program.import(data, &settings.catalog)?;
        figures.records = import.inserted;
        refused = import.refused;
        wall.push(import.inserted as f64 / import.wall.as_secs_f64());
        cpu.push(import.inserted as f64 / import.cpu.as_secs_f64().max(1e-9));
    }
    figures.push("import, lines refused", vec![refused as f64], Bar::Open);
    figures.push("import, records per second", wall, Bar::Least(50_000.0));
    figures.push(
        "import, records per second of processor time",
        cpu,
        Bar::Open,
    );
    Ok(())
}

fn delete(settings: &Settings, data: &Path, figures: &mut Figures) -> Result<()> {
    if settings.deleted == Deletion::Count(0) {
        return Ok(());
    }
    let engine = past::open(data)?;
    let deleted = past::delete(&engine, settings.deleted)?;
    engine
        .close()
        .map_err(BenchError::on("close the data directory"))?;
    figures.push("records deleted", vec![deleted as f64], Bar::Open);
    Ok(())
}

impl Figures {
    fn push(&mut self, what: &str, rounds: Vec<f64>, bar: Bar) {
        self.figures.push(Figure {
            what: what.to_owned(),
            value: median(rounds.clone()),
            rounds,
            bar,
        });
    }
}

struct Taker<'a> {
    settings: &'a Settings,
    folder: &'a Path,
    data: PathBuf,
    headers: Vec<String>,
    sets: Vec<QuerySet>,
}

impl Taker<'_> {
    fn serve(&self, cores: Option<&str>, settings: &[(&str, &str)]) -> Result<Server> {
        self.settings
            .program
            .serve("subcat", &self.data, cores, settings)
    }

    fn one_worker(&self, settings: &[(&str, &str)]) -> Result<Server> {
        let mut all = vec![("workers", "1")];
        all.extend_from_slice(settings);
        self.serve(Some(&self.settings.core), &all)
    }

    fn title_words(&self) -> &QuerySet {
        let set = self.sets.iter().find(|set| set.name == "title words");
        set.expect("the kind is one of the constants")
    }

    /// Milliseconds from starting the program to a whole search answer.
    fn first_answer(&self, idx: usize) -> Result<(Server, f64)> {
        let targets = &self.title_words().targets;
        let start = Instant::now();
        let server = self.serve(None, &[])?;
        loop {
            let answer = fetch(server.address, &targets[idx % targets.len()], &self.headers)?;
            match answer.status {
                200 => break,
                503 if start.elapsed() < Duration::from_secs(60) => {}
                status => {
                    let what = format!("the first search was answered with {status}");
                    return Err(BenchError::new(what));
                }
            }
        }
        Ok((server, start.elapsed().as_secs_f64() * 1e3))
    }

    fn starts(&self, figures: &mut Figures) -> Result<()> {
        eprintln!("starting and stopping, starting and killing");
        let (mut clean, mut killed) = (Vec::new(), Vec::new());
        let (mut server, _) = self.first_answer(0)?;
        server.stop()?;
        for round in 1..=self.settings.starts {
            let (mut server, ms) = self.first_answer(round)?;
            clean.push(ms);
            server.kill()?;
            let (mut server, ms) = self.first_answer(round + self.settings.starts)?;
            killed.push(ms);
            server.stop()?;
        }
        let bar = Bar::Most(500.0);
        figures.push(
            "start to first answered search after a clean stop, ms",
            clean,
            bar,
        );
        figures.push(
            "start to first answered search after kill -9, ms",
            killed,
            bar,
        );
        Ok(())
    }

    fn memory(&self, figures: &mut Figures) -> Result<()> {
        eprintln!("memory");
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let (server, _) = self.first_answer(0)?;
        let fresh = memory(&server.pids)?;
        for set in &self.sets {
            self.ask(&server, set, set.targets.len())?;
        }
        let used = memory(&server.pids)?;
        let own = [mib(fresh.anonymous_bytes), mib(used.anonymous_bytes)];
        figures.push(
            "own memory after the first answer, MiB",
            vec![own[0]],
            Bar::Open,
        );
        figures.push(
            "own memory after all searches, MiB",
            vec![own[1]],
            Bar::Most(600.0),
        );
        let mapped = mib(used.file_bytes);
        figures.push(
            "mapped files resident after all searches, MiB",
            vec![mapped],
            Bar::Open,
        );
        let on_disk = mib(folder_bytes(&self.data)?);
        figures.push("data directory, MiB", vec![on_disk], Bar::Open);
        Ok(())
    }

    /// Sends `count` requests of a set in turn on one connection; returns the report of the load.
    fn ask(&self, server: &Server, set: &QuerySet, count: usize) -> Result<Value> {
        self.ask_over(1, server, set, count)
    }

    fn ask_over(
        &self,
        connections: usize,
        server: &Server,
        set: &QuerySet,
        count: usize,
    ) -> Result<Value> {
        let path = self.folder.join("targets");
        fs::write(&path, set.targets.join("\n")).map_err(BenchError::on("write the requests"))?;
        let server_work = ServerWork {
            server,
            target: "/",
            headers: &self.headers,
            length: 0,
            threads: 1,
        };
        let arguments = [
            "-c".to_owned(),
            connections.to_string(),
            "-n".to_owned(),
            count.to_string(),
            "--targets".to_owned(),
            path.display().to_string(),
        ];
        self.settings.rig.load(&server_work, &arguments)
    }

    fn latency(&self, server: &Server, set: &QuerySet, count: usize) -> Result<Latency> {
        eprintln!("{}", set.name);
        let report = self.ask(server, set, count)?;
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        Ok(Latency {
            what: set.name.clone(),
            requests: report["requests"].as_u64().unwrap_or(0),
            p50_us: number(&report["latency_us"]["p50"]),
            p99_us: number(&report["latency_us"]["p99"]),
            cpu_us: number(&report["server"]["cpu_us_per_request"]),
            body_bytes: number(&report["body_bytes"]) / count as f64,
        })
    }

    fn floor(&self, figures: &mut Figures) -> Result<()> {
        let cores = Some(self.settings.core.as_str());
        let mut command = pinned(&self.settings.floor, cores);
        let server = Server::start("floor", command.args(["--bytes", "2048"]))?;
        let set = QuerySet {
            name: "the floor, 2 KB".to_owned(),
            targets: vec!["/".to_owned()],
        };
        figures
            .latencies
            .push(self.latency(&server, &set, REPEATS)?);
        Ok(())
    }

    fn searches(&self, figures: &mut Figures) -> Result<()> {
        let server = self.one_worker(&[("cache.search_bytes", "0")])?;
        for set in &self.sets {
            self.ask(&server, set, set.targets.len() / 10)?;
            figures
                .latencies
                .push(self.latency(&server, set, set.targets.len())?);
        }
        let plain = self.sets.iter().filter(|set| !set.name.starts_with("f: "));
        let mut mixed: Vec<&String> = Vec::new();
        for idx in 0..QUERIES_PER_KIND {
            mixed.extend(plain.clone().filter_map(|set| set.targets.get(idx)));
        }
        let all = QuerySet {
            name: "all kinds without filters, mixed".to_owned(),
            targets: mixed.into_iter().cloned().collect(),
        };
        let row = self.latency(&server, &all, all.targets.len())?;
        let what = "uncached search at the socket, one client, p50 µs";
        figures.push(what, vec![row.p50_us], Bar::Most(300.0));
        figures.latencies.push(row);
        // A lone client's request also includes waking the core: cost is measured under load.
        let set = self.title_words();
        let report = self.ask_over(64, &server, set, set.targets.len() * 10)?;
        let cpu_us = &report["server"]["cpu_us_per_request"];
        let cpu_us = cpu_us.as_f64().unwrap_or(f64::NAN);
        let what = "uncached search at the socket, title words, 64 clients, server CPU µs";
        figures.push(what, vec![cpu_us], Bar::Most(100.0));
        Ok(())
    }

    /// Searches from the cache, records, and a file from the cache.
    fn cached(&self, figures: &mut Figures) -> Result<()> {
        let file = self.folder.join("file.srt");
        let cue = "1\n00:00:01,000 --> 00:00:02,000\nla casa del norte no tiene puertas\n\n";
        let text: String = cue.chars().cycle().take(FILE_BYTES).collect();
        fs::write(&file, text).map_err(BenchError::on("write the file"))?;
        let upstream = Server::start(
            "upstream",
            pinned(&self.settings.floor, None).arg("--file").arg(&file),
        )?;
        let url = upstream.url("/{source_release_id}");
        let server = self.one_worker(&[("upstream.url", &url)])?;
        let id = self.downloadable(&server)?;
        let set = |name: &str, targets: Vec<String>| QuerySet {
            name: name.to_owned(),
            targets,
        };
        let searches = self.title_words().targets[..10].to_vec();
        let sets = [
            set("title words, cached", searches),
            set("record", vec![format!("/api/subtitles/{id}")]),
            set(
                "download of 40 KB, cached",
                vec![format!("/api/subtitles/{id}/download")],
            ),
        ];
        for set in &sets {
            self.ask(&server, set, REPEATS / 20)?;
            figures.latencies.push(self.latency(&server, set, REPEATS)?);
        }
        Ok(())
    }

    /// A record whose file the service can fetch; it is cached afterwards.
    fn downloadable(&self, server: &Server) -> Result<String> {
        for target in &self.title_words().targets {
            let answer = fetch(server.address, target, &self.headers)?;
            let list: Value = serde_json::from_slice(&answer.body)
                .map_err(BenchError::on(format!("read the answer to {target}")))?;
            let Some(id) = list["items"][0]["id"].as_str() else {
                continue;
            };
            let target = format!("/api/subtitles/{id}/download");
            if fetch(server.address, &target, &self.headers)?.status == 200 {
                return Ok(id.to_owned());
            }
        }
        Err(BenchError::new(
            "no record of the catalog could be downloaded",
        ))
    }
}

fn folder_bytes(folder: &Path) -> Result<u64> {
    let on = || BenchError::on(format!("read {}", folder.display()));
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(on())? {
        let entry = entry.map_err(on())?;
        let metadata = entry.metadata().map_err(on())?;
        bytes += if metadata.is_dir() {
            folder_bytes(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}
