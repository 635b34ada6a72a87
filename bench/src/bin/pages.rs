//! `pages`: what the web interface takes, and what its sign-ins take from the API.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use hdrhistogram::Histogram;
use subcat_bench::catalog::write_file;
use subcat_bench::failure::{Failure, Result};
use subcat_bench::machine::Machine;
use subcat_bench::subcat::Program;

/// Of the generated catalog.
const SEED: u64 = 42;
/// Searches a second while sign-ins go on: few enough that they never wait for each other.
const SEARCHES_PER_SECOND: u32 = 200;
const PASSWORD: &str = "correct horse";

/// Asks for a list of keys, then searches with and without sign-ins beside it.
#[derive(Parser)]
struct Arguments {
    /// Keys of the account whose list is asked for.
    #[arg(long, default_value_t = 1_000)]
    keys: usize,
    /// How often the list is asked for.
    #[arg(long, default_value_t = 2_000)]
    lists: usize,
    /// Sign-ins a second.
    #[arg(long, default_value_t = 50)]
    sign_ins: u32,
    /// Rounds; in each, searches run once alone and once beside sign-ins.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of one run.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Records of the generated catalog.
    #[arg(long, default_value_t = 20_000)]
    records: u64,
    /// Folder of the program under measurement.
    #[arg(long, default_value = "target/release")]
    programs: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("pages: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<String> {
    let machine = Machine::here(None)?;
    let folder = tempfile::tempdir().map_err(Failure::on("make a temporary folder"))?;
    let catalog = folder.path().join("catalog.jsonl");
    write_file(&catalog, SEED, arguments.records)?;
    let data = folder.path().join("data");
    let program = Program::new(&arguments.programs.join("subcat"))?;
    program.import(&data, &catalog)?;
    let api_key = program.api_key(&data)?;
    let settings = [
        ("accounts.registration", "open"),
        ("trusted_proxies", "127.0.0.0/8"),
    ];
    let server = program.serve("subcat", &data, None, &settings)?;
    let mut report = format!("{}\n\n", machine.sentence());
    let lists = key_lists(server.address, arguments)?;
    put(
        &mut report,
        &format!("key list, {} keys", arguments.keys),
        &lists,
    );
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let mut signed_in = 0;
    for _ in 0..arguments.rounds {
        alone.push(searches(server.address, &api_key, arguments)?);
        let (found, count) = searches_beside_sign_ins(server.address, &api_key, arguments)?;
        beside.push(found);
        signed_in += count;
    }
    for (name, runs) in [
        ("searches alone", &alone),
        ("searches beside sign-ins", &beside),
    ] {
        for one in runs {
            put(&mut report, name, one);
        }
    }
    let ratio = median_p99(&beside) / median_p99(&alone);
    writeln!(report, "sign-ins that succeeded: {signed_in}").expect("a String takes everything");
    writeln!(report, "p99 beside / alone, medians: {ratio:.3}").expect("a String takes everything");
    Ok(report)
}

fn put(report: &mut String, name: &str, times: &Histogram<u64>) {
    let quantile = |share: f64| times.value_at_quantile(share);
    writeln!(
        report,
        "{name}: n {}, p50 {} us, p99 {} us, max {} us",
        times.len(),
        quantile(0.5),
        quantile(0.99),
        times.max(),
    )
    .expect("a String takes everything");
}

fn median_p99(runs: &[Histogram<u64>]) -> f64 {
    let mut values: Vec<u64> = runs.iter().map(|one| one.value_at_quantile(0.99)).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0) as f64
}

/// Microseconds up to a minute: a bound, since saturating records do not grow a histogram.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("three digits are within what it takes")
}

/// Times of `GET /keys` on one connection, in microseconds.
fn key_lists(server: SocketAddr, arguments: &Arguments) -> Result<Histogram<u64>> {
    let mut browser = Browser::new(server, "192.0.2.1")?;
    let account = format!("email=keys%40example.com&password={PASSWORD}");
    browser.post("/signup", &account)?;
    browser.post("/signin", &account)?;
    for number in 0..arguments.keys {
        let status = browser.post("/keys", &format!("name=key+{number}"))?;
        expect(status == 200, "a key was not made")?;
    }
    let mut times = histogram();
    for _ in 0..arguments.lists {
        let began = Instant::now();
        let status = browser.get("/keys")?;
        times.saturating_record(micros(began.elapsed()));
        expect(status == 200, "the list was not shown")?;
    }
    Ok(times)
}

/// Times of searches at a steady pace, from when each was due, in microseconds.
fn searches(server: SocketAddr, api_key: &str, arguments: &Arguments) -> Result<Histogram<u64>> {
    let mut client = Browser::new(server, "192.0.2.2")?;
    let (mut times, began) = (histogram(), Instant::now());
    let pause = Duration::from_secs(1) / SEARCHES_PER_SECOND;
    for number in 0..u32::try_from(arguments.seconds).unwrap_or(1) * SEARCHES_PER_SECOND {
        let due = began + pause * number;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let target = format!("/api/subtitles/search?query=the+{}", 1950 + number % 70);
        let authorization = format!("Authorization: Bearer {api_key}\r\n");
        let status = client.ask("GET", &target, &authorization, "")?;
        times.saturating_record(micros(due.elapsed()));
        expect(status == 200, "a search was refused")?;
    }
    Ok(times)
}

/// The same while sign-ins come at their own pace; how many of them succeeded.
fn searches_beside_sign_ins(
    server: SocketAddr,
    api_key: &str,
    arguments: &Arguments,
) -> Result<(Histogram<u64>, u64)> {
    let (is_over, signed_in) = (AtomicBool::new(false), AtomicU64::new(0));
    let lanes_count = 8;
    let times = thread::scope(|scope| {
        for lane in 0..lanes_count {
            let (is_over, signed_in) = (&is_over, &signed_in);
            let pace = Duration::from_secs(u64::from(lanes_count)) / arguments.sign_ins;
            scope.spawn(move || {
                if let Err(failure) = sign_ins(server, lane, pace, (is_over, signed_in)) {
                    eprintln!("pages: {failure}");
                }
            });
        }
        let times = searches(server, api_key, arguments);
        is_over.store(true, Ordering::Relaxed);
        times
    });
    Ok((times?, signed_in.load(Ordering::Relaxed)))
}

/// One account's sign-ins, one every `pace`, until it is over.
fn sign_ins(
    server: SocketAddr,
    lane: u32,
    pace: Duration,
    (is_over, signed_in): (&AtomicBool, &AtomicU64),
) -> Result<()> {
    let mut browser = Browser::new(server, &format!("198.51.100.{lane}"))?;
    let account = format!("email=lane{lane}%40example.com&password={PASSWORD}");
    browser.post("/signup", &account)?;
    let began = Instant::now();
    for number in 0_u32.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep((began + pace * number).saturating_duration_since(Instant::now()));
        browser.cookie.clear();
        let status = browser.post("/signin", &account)?;
        signed_in.fetch_add(u64::from(status == 303), Ordering::Relaxed);
    }
    Ok(())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn expect(is_so: bool, otherwise: &str) -> Result<()> {
    if is_so {
        Ok(())
    } else {
        Err(Failure::new(otherwise))
    }
}

/// One connection that keeps its session cookie.
struct Browser {
    stream: BufReader<TcpStream>,
    origin: String,
    address: String,
    cookie: String,
}

impl Browser {
    /// A connection of the client that a proxy says has this address.
    fn new(server: SocketAddr, address: &str) -> Result<Self> {
        let stream = TcpStream::connect(server).map_err(Failure::on("connect"))?;
        stream
            .set_nodelay(true)
            .map_err(Failure::on("set an option"))?;
        Ok(Self {
            stream: BufReader::new(stream),
            origin: server.to_string(),
            address: address.to_owned(),
            cookie: String::new(),
        })
    }

    fn get(&mut self, target: &str) -> Result<u16> {
        self.ask("GET", target, "", "")
    }

    fn post(&mut self, target: &str, form: &str) -> Result<u16> {
        let headers = "Content-Type: application/x-www-form-urlencoded\r\n\
                       Sec-Fetch-Site: same-origin\r\n";
        let form = form.replace(' ', "+");
        self.ask("POST", target, headers, &form)
    }

    fn ask(&mut self, method: &str, target: &str, headers: &str, body: &str) -> Result<u16> {
        let (origin, address, cookie) = (&self.origin, &self.address, &self.cookie);
        let length = body.len();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {origin}\r\nX-Forwarded-For: {address}\r\n\
             Cookie: {cookie}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        let exchange = |stream: &mut BufReader<TcpStream>| -> std::io::Result<(u16, String)> {
            stream.get_mut().write_all(request.as_bytes())?;
            let (mut status, mut cookie, mut length) = (0, String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line)?;
                let line = line.trim_end();
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                match name.to_ascii_lowercase().as_str() {
                    "" => break,
                    "content-length" => length = value.trim().parse().unwrap_or(0),
                    "set-cookie" => value
                        .split(';')
                        .next()
                        .unwrap_or("")
                        .clone_into(&mut cookie),
                    _ if status == 0 => {
                        let word = line.split(' ').nth(1).unwrap_or("");
                        status = word.parse().unwrap_or(0);
                    }
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            Ok((status, cookie))
        };
        let answer = exchange(&mut self.stream);
        let (status, cookie) = answer.map_err(Failure::on(format!("{method} {target}")))?;
        if !cookie.is_empty() {
            cookie.trim().clone_into(&mut self.cookie);
        }
        Ok(status)
    }
}
