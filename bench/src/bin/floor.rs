//! `floor`: one canned answer to every request, the cheapest server possible.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use subcat_bench::arguments::exit_code;
use subcat_bench::error::{BenchError, Result};
use subcat_bench::floor::{Canned, serve, serve_by_tokio_uring};

/// Answers every request with the same bytes, on this machine only.
#[derive(Parser)]
struct Arguments {
    /// Listening address; with port 0, a free port is taken and printed.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A file with the whole answer: status line, headers, empty line and body.
    #[arg(long, conflicts_with = "file")]
    answer: Option<PathBuf>,
    /// A file that is the body; sendfile sends it after a plain head.
    #[arg(long)]
    file: Option<PathBuf>,
    /// With --file: a header of the answer, `Name: value`.
    #[arg(long)]
    header: Vec<String>,
    /// Without --answer and --file: the length of a body of spaces.
    #[arg(long, default_value_t = 2048)]
    bytes: usize,
    /// I/O backend of the sockets.
    #[arg(long, value_enum, default_value_t = Io::Epoll)]
    io: Io,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Io {
    Epoll,
    TokioUring,
}

fn main() -> ExitCode {
    exit_code("floor", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.listen.ip().is_loopback() {
        return Err(BenchError::new("--listen must be a loopback address"));
    }
    let canned = canned(arguments)?;
    let listener = TcpListener::bind(arguments.listen)
        .map_err(BenchError::on(format!("listen on {}", arguments.listen)))?;
    let address = listener
        .local_addr()
        .map_err(BenchError::on("own address"))?;
    println!("listening on http://{address}");
    match arguments.io {
        Io::Epoll => serve(&listener, &canned),
        Io::TokioUring => serve_by_tokio_uring(listener, canned),
    }
}

fn canned(arguments: &Arguments) -> Result<Canned> {
    if let Some(path) = &arguments.answer {
        let bytes = fs::read(path).map_err(BenchError::on(format!("read {}", path.display())))?;
        return Ok(Canned::bytes(bytes));
    }
    let Some(path) = &arguments.file else {
        let mut answer = head(&arguments.header, arguments.bytes as u64);
        answer.resize(answer.len() + arguments.bytes, b' ');
        return Ok(Canned::bytes(answer));
    };
    let file = File::open(path).map_err(BenchError::on(format!("open {}", path.display())))?;
    let metadata = file
        .metadata()
        .map_err(BenchError::on("size of the file"))?;
    Canned::file(head(&arguments.header, metadata.len()), file)
}

fn head(headers: &[String], body_bytes: u64) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}
