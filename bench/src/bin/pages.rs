//! `pages`: latency of the web interface, and how its sign-ins slow the API down.

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
use subcat_bench::arguments::{SEED, exit_code};
use subcat_bench::catalog::write_file;
use subcat_bench::error::{BenchError, Result};
use subcat_bench::machine::Machine;
use subcat_bench::subcat::Program;
use subcat_server::runtime::Priority;

/// Searches a second during sign-ins: few enough that they never wait for each other.
const SEARCHES_PER_SECOND: u32 = 200;
const PASSWORD: &str = "correct horse";
/// Browsers that sign in, each on its own connection: while one waits, the others continue.
const LANES_COUNT: u32 = 50;

/// Requests a list of keys, then searches with and without sign-ins at the same time.
#[derive(Parser)]
struct Arguments {
    /// Keys of the account whose list is requested.
    #[arg(long, default_value_t = 1_000)]
    keys: usize,
    /// Requests for the list.
    #[arg(long, default_value_t = 2_000)]
    lists: usize,
    /// Sign-ins a second.
    #[arg(long, default_value_t = 50)]
    sign_ins: u32,
    /// Rounds; in each, searches run once alone and once during sign-ins.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Seconds of one run: with 15 rounds, a minute of sign-ins in all.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Records of the generated catalog.
    #[arg(long, default_value_t = 20_000)]
    records: u64,
    /// Folder of the program under measurement.
    #[arg(long, default_value = "target/release")]
    programs: PathBuf,
}

fn main() -> ExitCode {
    let report = run(&Arguments::parse());
    exit_code("pages", report.map(|report| println!("{report}")))
}

fn run(arguments: &Arguments) -> Result<String> {
    let machine = Machine::here(None)?;
    let folder = tempfile::tempdir().map_err(BenchError::on("make a temporary folder"))?;
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
    for lane in 0..LANES_COUNT {
        let mut browser = Browser::new(server.address, &lane_address(lane))?;
        browser.post("/signup", &lane_account(lane))?;
    }
    let (mut all_alone, mut all_beside) = (histogram(), histogram());
    let (mut ratios, mut signed_in) = (Vec::new(), 0);
    for round in 0..arguments.rounds {
        // The order alternates, so that neither always follows the other.
        let mut one = None;
        if round % 2 == 0 {
            one = Some(searches(server.address, &api_key, arguments)?);
        }
        let (beside, count) = searches_beside_sign_ins(server.address, &api_key, arguments)?;
        let alone = match one {
            Some(alone) => alone,
            None => searches(server.address, &api_key, arguments)?,
        };
        put(&mut report, "searches alone", &alone);
        put(&mut report, "searches beside sign-ins", &beside);
        let p99 = |times: &Histogram<u64>| times.value_at_quantile(0.99) as f64;
        ratios.push(p99(&beside) / p99(&alone));
        all_alone += &alone;
        all_beside += &beside;
        signed_in += count;
    }
    put(&mut report, "all searches alone", &all_alone);
    put(&mut report, "all searches beside sign-ins", &all_beside);
    ratios.sort_by(f64::total_cmp);
    let at = |share: usize| ratios.get(ratios.len() * share / 4).copied();
    let [low, median, high] = [1, 2, 3].map(|share| at(share).unwrap_or(f64::NAN));
    let seconds = arguments.rounds as u64 * arguments.seconds;
    let asked = u64::from(arguments.sign_ins) * seconds;
    writeln!(
        report,
        "sign-ins in {seconds} s: {asked} due, {signed_in} succeeded\n\
         p99 beside / alone, median of the rounds: {median:.3}, middle half {low:.3} to {high:.3}"
    )
    .expect("a String takes everything");
    Ok(report)
}

fn lane_address(lane: u32) -> String {
    format!("198.51.100.{lane}")
}

fn lane_account(lane: u32) -> String {
    format!("email=lane{lane}%40example.com&password={PASSWORD}")
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

/// Microseconds up to a minute: bounded, because saturating records do not grow a histogram.
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
        let status = browser.post("/keys", &format!("name=key+{number}&scope=search"))?;
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
    // Real clients run on other machines: here they must not wait for the service's threads. A
    // refused priority only makes the measurement noisier.
    let _ = Priority::Prompt.enter();
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

/// The same during sign-ins at their own pace; also returns how many sign-ins succeeded.
fn searches_beside_sign_ins(
    server: SocketAddr,
    api_key: &str,
    arguments: &Arguments,
) -> Result<(Histogram<u64>, u64)> {
    let (is_over, signed_in) = (AtomicBool::new(false), AtomicU64::new(0));
    let times = thread::scope(|scope| {
        for lane in 0..LANES_COUNT {
            let (is_over, signed_in) = (&is_over, &signed_in);
            let pace = Duration::from_secs(u64::from(LANES_COUNT)) / arguments.sign_ins;
            scope.spawn(move || {
                // Real browsers run on other machines: here they yield to the measured client.
                // A refused priority only makes the measurement noisier.
                let _ = Priority::Low.enter();
                // Their sign-ins are due one after the other, not all at once.
                thread::sleep(pace * lane / LANES_COUNT);
                if let Err(error) = sign_ins(server, lane, pace, (is_over, signed_in)) {
                    eprintln!("pages: {error}");
                }
            });
        }
        let times = searches(server, api_key, arguments);
        is_over.store(true, Ordering::Relaxed);
        times
    });
    Ok((times?, signed_in.load(Ordering::Relaxed)))
}

/// One account's sign-ins, one every `pace`, until the run ends.
fn sign_ins(
    server: SocketAddr,
    lane: u32,
    pace: Duration,
    (is_over, signed_in): (&AtomicBool, &AtomicU64),
) -> Result<()> {
    let mut browser = Browser::new(server, &lane_address(lane))?;
    let account = lane_account(lane);
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
        Err(BenchError::new(otherwise))
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
        let stream = TcpStream::connect(server).map_err(BenchError::on("connect"))?;
        stream
            .set_nodelay(true)
            .map_err(BenchError::on("set an option"))?;
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
        let (status, cookie) = answer.map_err(BenchError::on(format!("{method} {target}")))?;
        if !cookie.is_empty() {
            cookie.trim().clone_into(&mut self.cookie);
        }
        Ok(status)
    }
}
