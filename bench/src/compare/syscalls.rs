//! System calls per request, counted by strace over a fixed number of requests.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::rounds::{Rig, ServerWork};
use crate::error::{BenchError, Result};

/// Requests that are counted.
const REQUESTS: u64 = 20_000;

/// Calls per request of one server under 64 connections, the most frequent first, without those
/// that happen less than once in 200 requests. `None` when strace is not installed.
pub fn calls_per_request(
    rig: &Rig,
    server_work: &ServerWork<'_>,
    folder: &Path,
) -> Result<Option<Vec<(String, f64)>>> {
    let summary = folder.join("strace");
    let mut command = Command::new("strace");
    command.args(["-c", "-f", "-o"]).arg(&summary);
    for pid in &server_work.server.pids {
        command.args(["-p", &pid.to_string()]);
    }
    let spawned = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
    let Ok(mut strace) = spawned else {
        return Ok(None);
    };
    let messages = strace.stderr.take().expect("the messages are piped above");
    let mut messages = BufReader::new(messages).lines();
    // strace prints the process that it is attached to once it counts.
    let is_attached = messages
        .next()
        .is_some_and(|line| line.is_ok_and(|line| line.contains("attached")));
    let outcome = if is_attached {
        rig.load(server_work, &["-n".to_owned(), REQUESTS.to_string()])
            .map(drop)
    } else {
        Err(BenchError::new(
            "strace may not watch the server: run this as its owner or as root",
        ))
    };
    if let Some(pid) = Pid::from_raw(strace.id().cast_signed()) {
        kill_process(pid, Signal::INT).map_err(BenchError::on("end strace"))?;
    }
    strace.wait().map_err(BenchError::on("end strace"))?;
    outcome?;
    let text = fs::read_to_string(&summary).map_err(BenchError::on("read strace's summary"))?;
    Ok(Some(parse(&text, REQUESTS)))
}

fn parse(summary: &str, requests: u64) -> Vec<(String, f64)> {
    let mut calls = Vec::new();
    for line in summary.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, count, .., name] = fields.as_slice() else {
            continue;
        };
        let Ok(count) = count.parse::<u64>() else {
            continue;
        };
        let each = count as f64 / requests as f64;
        if *name != "total" && 0.005 <= each {
            calls.push(((*name).to_owned(), each));
        }
    }
    calls.sort_by(|a, b| b.1.total_cmp(&a.1));
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_summary() {
        let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 52.12    0.104862           5     20000           sendto
 45.00    0.090540           4     20100       100 recvfrom
  2.88    0.005794          10        20           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.201196           5     40120       100 total
";
        let calls = parse(summary, 20_000);
        let expected = [("recvfrom".to_owned(), 1.005), ("sendto".to_owned(), 1.0)];
        assert_eq!(calls, expected);
    }
}
