//! A comparison from its first step to its last.

use std::fs;
use std::path::{Path, PathBuf};

use super::nginx::Nginx;
use super::outcome::{Calls, Outcome, Row};
use super::rounds::{Rig, ServerWork, measure};
use super::stage::{Prepared, Stage};
use super::syscalls::calls_per_request;
use super::works::Kind;
use crate::child::{Server, pinned};
use crate::error::{BenchError, Result};
use crate::machine::Machine;
use crate::subcat::Program;

/// Connections of the open loop, of two workers and of the counted system calls.
const CONNECTIONS: usize = 64;
/// Works whose latency under half load is compared, and which two workers share.
const SPREAD: [&str; 2] = ["search", "file-40k"];
/// Duration of the open loop as a multiple of the other loads, and the most seconds of one turn.
/// A pause of the machine determines the p99 of a round, so a few long rounds would measure pauses
/// instead of servers.
const OPEN_TIMES: f64 = 8.0;
const OPEN_SECONDS_MAX: f64 = 1.0;
/// p99 under half load, as a multiple of nginx's.
const P99_BAR: f64 = 1.2;
/// CPU time per request of two workers, as a multiple of one's.
const WORKERS_BAR: f64 = 1.1;
/// Name of the second nginx.
pub(super) const AGAIN: &str = "nginx again";
const BACKENDS: [&str; 2] = ["epoll", "io_uring"];

/// Settings of a comparison.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service.
    pub program: Program,
    /// The floor's program.
    pub floor: PathBuf,
    /// Parameters of the loads.
    pub rig: Rig,
    /// Import records to load before those of the works.
    pub catalog: Option<PathBuf>,
    /// The core of every server.
    pub core: String,
    /// Idle connections to hold; 0 skips that step.
    pub idle: usize,
    /// Only this work, without the steps for two workers and idle connections.
    pub only: Option<String>,
}

/// Carries out a comparison; progress goes to standard error.
pub fn conduct(settings: &Settings, machine: Machine) -> Result<Outcome> {
    eprintln!("preparing catalog, files and answers");
    let stage = Stage::set_up(&settings.program, settings.catalog.as_deref())?;
    let works = stage.prepare(settings.only.as_deref())?;
    if works.is_empty() {
        return Err(BenchError::new("--only names no work"));
    }
    let bench = Bench::start(settings, &stage, &works)?;
    let mut outcome = Outcome {
        machine,
        nginx: Nginx::version()?,
        rounds: (settings.rig.rounds, settings.rig.seconds),
        closed: bench.closed()?,
        open: Vec::new(),
        workers: Vec::new(),
        idle: (settings.idle, Vec::new()),
        calls: bench.calls()?,
    };
    outcome.open = bench.open(&outcome.closed)?;
    drop(bench);
    if settings.only.is_some() {
        return Ok(outcome);
    }
    outcome.workers = workers(settings, &stage, &works)?;
    if 0 < settings.idle {
        outcome.idle.1 = idle(settings, &stage, &works)?;
    }
    Ok(outcome)
}

/// Servers on one core, and the floor of each work.
struct Bench<'a> {
    settings: &'a Settings,
    works: &'a [Prepared],
    folder: &'a Path,
    floors: Vec<Server>,
    nginx: Nginx,
    /// A second nginx: its difference from the first in the open loop is noise.
    again: Nginx,
    backends: Vec<(Server, PathBuf)>,
}

impl<'a> Bench<'a> {
    fn start(settings: &'a Settings, stage: &'a Stage, works: &'a [Prepared]) -> Result<Self> {
        let mut floors = Vec::new();
        for prepared in works {
            floors.push(floor(settings, stage, prepared)?);
        }
        let mut backends = Vec::new();
        for io in BACKENDS {
            let data = stage.copy_data(io)?;
            let server_work = [("workers", "1"), ("io", io)];
            let core = Some(settings.core.as_str());
            let server = settings.program.serve(io, &data, core, &server_work)?;
            backends.push((server, data));
        }
        Ok(Self {
            settings,
            works,
            folder: stage.folder(),
            floors,
            nginx: nginx("nginx", settings, stage, works)?,
            again: nginx(AGAIN, settings, stage, works)?,
            backends,
        })
    }

    /// Every server of one work.
    fn server_work<'b>(&'b self, idx: usize, target: &'b str) -> Vec<ServerWork<'b>> {
        let prepared = &self.works[idx];
        let floor = ServerWork {
            target: "/",
            ..of_service(&self.floors[idx], prepared)
        };
        let peer = of_nginx(&self.nginx, target, prepared);
        let backends = self.backends.iter();
        let backends = backends.map(|(server, _)| of_service(server, prepared));
        [floor, peer].into_iter().chain(backends).collect()
    }

    /// The servers of the open loop.
    fn timed_works<'b>(&'b self, idx: usize, target: &'b str) -> Vec<ServerWork<'b>> {
        let prepared = &self.works[idx];
        let peers = [&self.nginx, &self.again].map(|nginx| of_nginx(nginx, target, prepared));
        let backends = self.backends.iter();
        let backends = backends.map(|(server, _)| of_service(server, prepared));
        peers.into_iter().chain(backends).collect()
    }

    /// Counts are aggregated ten seconds after the downloads: not in the next server's turn.
    fn settle(&self, server: &Server) -> Result<()> {
        let mut ours = self.backends.iter();
        if let Some((_, data)) = ours.find(|(own, _)| own.name == server.name) {
            self.settings.program.stats(data)?;
        }
        Ok(())
    }

    fn closed(&self) -> Result<Vec<Row>> {
        let settle = |server: &Server| self.settle(server);
        let mut rows = Vec::new();
        for (idx, prepared) in self.works.iter().enumerate() {
            let work = &prepared.work;
            let target = Nginx::target(prepared);
            for (place, &connections) in work.connections.iter().enumerate() {
                eprintln!("{}, {connections} connections", work.what);
                let server_work = self.server_work(idx, &target);
                rows.push(Row {
                    work: work.name.to_owned(),
                    what: work.what.to_owned(),
                    connections,
                    rate: None,
                    bar: (place == 0).then_some(work.bar),
                    cells: measure(
                        &self.settings.rig,
                        &server_work,
                        (connections, None),
                        &settle,
                    )?,
                });
            }
        }
        Ok(rows)
    }

    fn open(&self, closed: &[Row]) -> Result<Vec<Row>> {
        let rig = &self.settings.rig;
        let seconds = rig.seconds.min(OPEN_SECONDS_MAX);
        let rig = Rig {
            rounds: (rig.rounds as f64 * OPEN_TIMES * rig.seconds / seconds).ceil() as usize,
            seconds,
            ..rig.clone()
        };
        let settle = |server: &Server| self.settle(server);
        let mut rows = Vec::new();
        for (idx, prepared) in self.works.iter().enumerate() {
            let work = &prepared.work;
            let is_at = |row: &&Row| row.work == work.name && row.connections == CONNECTIONS;
            let saturated = closed.iter().find(is_at).and_then(|row| row.cell("nginx"));
            let Some(saturated) = saturated.filter(|_| SPREAD.contains(&work.name)) else {
                continue;
            };
            let rate = (saturated.median(|s| s.per_second) / 2.0).floor();
            eprintln!("{}, open loop at {rate}/s", work.what);
            let target = Nginx::target(prepared);
            let server_work = self.timed_works(idx, &target);
            rows.push(Row {
                work: work.name.to_owned(),
                what: work.what.to_owned(),
                connections: CONNECTIONS,
                rate: Some(rate),
                bar: Some(P99_BAR),
                cells: measure(&rig, &server_work, (CONNECTIONS, Some(rate)), &settle)?,
            });
        }
        Ok(rows)
    }

    fn calls(&self) -> Result<Vec<Calls>> {
        let mut all = Vec::new();
        for (idx, prepared) in self.works.iter().enumerate() {
            if prepared.work.bytes > 1024 * 1024 {
                continue;
            }
            eprintln!("{}, system calls", prepared.work.what);
            let target = Nginx::target(prepared);
            for server_work in self.server_work(idx, &target) {
                let Some(counts) =
                    calls_per_request(&self.settings.rig, &server_work, self.folder)?
                else {
                    eprintln!("strace is not installed: system calls are not counted");
                    return Ok(Vec::new());
                };
                all.push(Calls {
                    what: prepared.work.what.to_owned(),
                    server: server_work.server.name.clone(),
                    counts,
                });
            }
        }
        Ok(all)
    }
}

/// A floor with the bytes of one work.
fn floor(settings: &Settings, stage: &Stage, prepared: &Prepared) -> Result<Server> {
    let work = &prepared.work;
    let mut command = pinned(&settings.floor, Some(settings.core.as_str()));
    if work.kind == Kind::Json {
        let mut answer = b"HTTP/1.1 200 OK\r\n".to_vec();
        for header in &prepared.answer.headers {
            if !header.to_ascii_lowercase().starts_with("connection:") {
                answer.extend_from_slice(header.as_bytes());
                answer.extend_from_slice(b"\r\n");
            }
        }
        answer.extend_from_slice(b"\r\n");
        answer.extend_from_slice(&prepared.answer.body);
        let path = stage.folder().join(format!("{}.answer", work.name));
        fs::write(&path, answer).map_err(BenchError::on(format!("write {}", path.display())))?;
        command.arg("--answer").arg(path);
    } else {
        let file = stage.file(work);
        let is_variant = work.kind == Kind::Gzip;
        let file = if is_variant {
            file.with_extension("srt.gz")
        } else {
            file
        };
        command.arg("--file").arg(file);
        for header in &prepared.answer.headers {
            let name = header.to_ascii_lowercase();
            if !name.starts_with("content-length:") && !name.starts_with("connection:") {
                command.arg("--header").arg(header);
            }
        }
    }
    Server::start("floor", &mut command)
}

/// nginx on the core of the servers.
fn nginx(name: &str, settings: &Settings, stage: &Stage, works: &[Prepared]) -> Result<Nginx> {
    let home = (name, stage.folder());
    Nginx::of_works(home, works, Some(&settings.core), 1)
}

/// The service and nginx with one worker and with two, on the same free cores as the load.
///
/// The load has a thread for each worker: a single one would migrate between cores and displace
/// both workers. It runs at low priority, because one worker on a core without load is compared
/// with two workers that share theirs with it.
fn workers(settings: &Settings, stage: &Stage, works: &[Prepared]) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    let mut peers = Vec::new();
    for (name, peer, count) in [
        ("1 worker", "nginx, 1 worker", 1),
        ("2 workers", "nginx, 2 workers", 2),
    ] {
        let data = stage.copy_data(&format!("workers-{count}"))?;
        let workers = count.to_string();
        let server_work = [("workers", workers.as_str())];
        servers.push((
            count,
            settings.program.serve(name, &data, None, &server_work)?,
        ));
        let nginx = Nginx::of_works((peer, stage.folder()), works, None, count)?;
        peers.push((count, nginx));
    }
    let rig = Rig {
        cores: None,
        gives_way: true,
        ..settings.rig.clone()
    };
    let mut rows = Vec::new();
    for prepared in works.iter().filter(|p| SPREAD.contains(&p.work.name)) {
        eprintln!("{}, one worker and two", prepared.work.what);
        let target = Nginx::target(prepared);
        let services = servers.iter().map(|(threads, server)| ServerWork {
            threads: *threads,
            ..of_service(server, prepared)
        });
        let peers = peers.iter().map(|(threads, nginx)| ServerWork {
            threads: *threads,
            ..of_nginx(nginx, &target, prepared)
        });
        let server_work: Vec<ServerWork<'_>> = services.chain(peers).collect();
        rows.push(Row {
            work: prepared.work.name.to_owned(),
            what: prepared.work.what.to_owned(),
            connections: CONNECTIONS,
            rate: None,
            bar: Some(WORKERS_BAR),
            cells: measure(&rig, &server_work, (CONNECTIONS, None), &|_| Ok(()))?,
        });
    }
    Ok(rows)
}

fn of_nginx<'a>(nginx: &'a Nginx, target: &'a str, prepared: &'a Prepared) -> ServerWork<'a> {
    ServerWork {
        target,
        ..of_service(&nginx.server, prepared)
    }
}

fn of_service<'a>(server: &'a Server, prepared: &'a Prepared) -> ServerWork<'a> {
    ServerWork {
        server,
        target: &prepared.target,
        headers: &prepared.headers,
        length: prepared.answer.body.len(),
        threads: 1,
    }
}

/// Memory of idle connections, on servers that have served nothing else.
fn idle(settings: &Settings, stage: &Stage, works: &[Prepared]) -> Result<Vec<(String, f64)>> {
    eprintln!("{} idle connections", settings.idle);
    let prepared = &works[0];
    let arguments = ["--idle".to_owned(), settings.idle.to_string()];
    let core = Some(settings.core.as_str());
    let mut all = Vec::new();
    let mut hold = |server_work: &ServerWork<'_>| -> Result<()> {
        settings
            .rig
            .load(server_work, &["-n".to_owned(), "100".to_owned()])?;
        let report = settings.rig.load(server_work, &arguments)?;
        let bytes = report["bytes_each"].as_f64().unwrap_or(f64::NAN);
        all.push((server_work.server.name.clone(), bytes));
        Ok(())
    };
    let nginx = nginx("nginx", settings, stage, works)?;
    let target = Nginx::target(prepared);
    hold(&of_nginx(&nginx, &target, prepared))?;
    drop(nginx);
    for io in BACKENDS {
        let data = stage.copy_data(&format!("idle-{io}"))?;
        let server_work = [("workers", "1"), ("io", io)];
        let server = settings.program.serve(io, &data, core, &server_work)?;
        hold(&of_service(&server, prepared))?;
    }
    Ok(all)
}
