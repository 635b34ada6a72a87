//! `load`: requests to a server on this machine, and their cost for it.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use subcat_bench::error::{BenchError, Result};
use subcat_bench::load::{Expectation, Extent, IdleReport, Order, Pace, Plan, Url, hold_idle, run};

/// Load over keep-alive connections: closed loop, or open loop with --rate.
#[derive(Parser)]
struct Arguments {
    /// `http://127.0.0.1:PORT/target`; only loopback addresses.
    url: String,
    /// Connections in all.
    #[arg(short, long, default_value = "64")]
    connections: NonZeroUsize,
    /// Threads that carry them.
    #[arg(short, long, default_value = "1")]
    threads: NonZeroUsize,
    /// Measured seconds.
    #[arg(short, long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds of load before the measurement.
    #[arg(short, long, default_value_t = 1.0)]
    warmup: f64,
    /// Exact number of requests instead of a time; all are measured.
    #[arg(short = 'n', long)]
    count: Option<u64>,
    /// Open loop: requests per second, due at even intervals.
    #[arg(short, long)]
    rate: Option<f64>,
    /// A request header, `Name: value`; may be repeated.
    #[arg(short = 'H', long)]
    header: Vec<String>,
    /// A file of request targets, one a line; they replace the URL's.
    #[arg(long)]
    targets: Option<PathBuf>,
    /// Picks targets at random by this seed instead of in turn.
    #[arg(long)]
    seed: Option<u64>,
    /// Status that every answer must have.
    #[arg(long, default_value_t = 200)]
    status: u16,
    /// Length that every body must have.
    #[arg(long)]
    length: Option<u64>,
    /// A process of the server: its processor time and memory are reported; may be repeated.
    #[arg(short, long)]
    pid: Vec<u32>,
    /// Instead of load: number of idle connections to hold; reports the memory of each.
    #[arg(long, requires = "pid")]
    idle: Option<usize>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.idle {
        Some(count) => idle(&arguments, count),
        None => load(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn load(arguments: &Arguments) -> Result<ExitCode> {
    let report = run(&plan(arguments)?)?;
    if arguments.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
    let is_clean = report.counts.faults() == 0;
    Ok(if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn idle(arguments: &Arguments, count: usize) -> Result<ExitCode> {
    let url = Url::parse(&arguments.url)?;
    let request = Plan::request(url.server, &url.target, &arguments.header)?;
    let quiet = Duration::from_secs(1);
    let report: IdleReport = hold_idle(url.server, &request, count, quiet, &arguments.pid)?;
    if arguments.json {
        println!("{:#}", report.to_json());
    } else {
        let (count, each) = (report.connections, report.bytes_each());
        println!("{count} idle connections, {each:.0} resident bytes each");
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &Arguments) -> Result<Plan> {
    let url = Url::parse(&arguments.url)?;
    let targets = match &arguments.targets {
        None => vec![url.target],
        Some(path) => {
            let on = format!("read {}", path.display());
            let text = fs::read_to_string(path).map_err(BenchError::on(on))?;
            text.lines().map(str::to_owned).collect()
        }
    };
    let mut requests = Vec::with_capacity(targets.len());
    for target in &targets {
        requests.push(Plan::request(url.server, target, &arguments.header)?);
    }
    Ok(Plan {
        server: url.server,
        requests,
        order: arguments.seed.map_or(Order::RoundRobin, Order::Seeded),
        connections: arguments.connections.get(),
        threads: arguments.threads.get(),
        pace: match arguments.rate {
            None => Pace::Closed,
            Some(rate) if 0.0 < rate => Pace::Open(rate),
            Some(_) => return Err(BenchError::new("--rate must be above 0")),
        },
        extent: match arguments.count {
            Some(count) => Extent::Count(count),
            None => Extent::Time {
                warmup: seconds(arguments.warmup)?,
                measured: seconds(arguments.seconds)?,
            },
        },
        expectation: Expectation {
            status: arguments.status,
            body_bytes: arguments.length,
        },
        watched: arguments.pid.clone(),
    })
}

fn seconds(seconds: f64) -> Result<Duration> {
    let is_bounded = (0.0..=3600.0).contains(&seconds);
    if !is_bounded {
        return Err(BenchError::new("times are from 0 to 3600 seconds"));
    }
    Ok(Duration::from_secs_f64(seconds))
}
