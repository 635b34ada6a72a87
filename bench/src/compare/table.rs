//! A comparison as a page: one table per question, each figure with its goal.

use std::fmt::Write as _;

use super::conduct::AGAIN;
use super::outcome::{Cell, Outcome, Row, Sample};

/// The servers of a row, in the order of columns.
const COLUMNS: [&str; 4] = ["floor", "nginx", "epoll", "io_uring"];
/// Backend that must reach the goals: `io = auto` chooses it if the kernel allows a ring.
const AUTO_BACKEND: &str = "io_uring";

/// The page of a comparison, in Markdown.
pub fn table(outcome: &Outcome) -> String {
    let mut page = String::new();
    head(&mut page, outcome);
    closed(&mut page, outcome);
    throughput(&mut page, outcome);
    open(&mut page, outcome);
    workers(&mut page, outcome);
    idle(&mut page, outcome);
    calls(&mut page, outcome);
    page
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn head(page: &mut String, outcome: &Outcome) {
    let machine = &outcome.machine;
    let (rounds, seconds) = outcome.rounds;
    line(
        page,
        "# Serving, beside nginx and the floor of this kernel\n",
    );
    line(page, &format!("- Machine: {}", machine.sentence()));
    line(
        page,
        &format!("- Commit: {}, {}", machine.commit, machine.date),
    );
    line(
        page,
        &format!("- nginx {}; `scripts/compare-serving`", outcome.nginx),
    );
    let text = format!(
        "- {rounds} rounds of {seconds} s per load, the servers in turns, each after each \
         other equally often; medians; ratios are the \
         median of the rounds' ratios"
    );
    line(page, &text);
    line(
        page,
        "- Every server has one worker on core 0, the load program is on core 1 (but for the two \
         workers below). The service does \
         all its work: key, limits, counters, headers. nginx returns the same bytes and headers \
         from its configuration (`return 200`), or sends the same files (sendfile, tcp_nopush, \
         open_file_cache, gzip_static). The floor is an epoll loop that sends a canned answer and \
         parses nothing.\n",
    );
    line(page, "![CPU time per request](serving.svg)\n");
}

fn closed(page: &mut String, outcome: &Outcome) {
    line(page, "## CPU time of the server per request, µs\n");
    line(
        page,
        "| work | connections | floor | nginx | epoll | io_uring | io_uring to nginx | bar |",
    );
    line(page, "|---|---|---|---|---|---|---|---|");
    for row in &outcome.closed {
        let mut text = format!("| {} | {} |", row.what, row.connections);
        for server in COLUMNS {
            push(&mut text, row.cell(server), |s| s.cpu_us, 2);
        }
        let ratio = row.ratio(AUTO_BACKEND, "nginx", |s| s.cpu_us);
        write!(text, " {} | {} |", shown(ratio), bar(row, ratio)).expect("a String takes text");
        line(page, &text);
    }
    line(page, "");
}

fn throughput(page: &mut String, outcome: &Outcome) {
    line(page, "## Requests per second and latency\n");
    line(
        page,
        "Latency is p50 / p99 / p99.9 in µs; the closed loop keeps the server saturated.\n",
    );
    line(
        page,
        "| work | connections | server | requests/s | latency |",
    );
    line(page, "|---|---|---|---|---|");
    for row in &outcome.closed {
        for cell in &row.cells {
            let text = format!(
                "| {} | {} | {} | {:.0} | {} |",
                row.what,
                row.connections,
                cell.server,
                cell.median(|s| s.per_second),
                latency(cell),
            );
            line(page, &text);
        }
    }
    line(page, "");
}

fn open(page: &mut String, outcome: &Outcome) {
    if outcome.open.is_empty() {
        return;
    }
    line(page, "## Open loop at half of nginx's saturation\n");
    let rounds_count = outcome.open[0].cells.iter().map(|cell| cell.samples.len());
    let rounds_count = rounds_count.max().unwrap_or(0);
    line(
        page,
        &format!(
            "Latency counts from when a request was due, p50 / p99 / p99.9 in µs, medians of \
             {rounds_count} rounds, of one second each where those above are longer. In brackets \
             the p99 of which a quarter of the rounds had less: the kernel's memory scanner takes \
             the core for milliseconds in some rounds and not in others. A second nginx of the \
             same configuration shows how far equal servers are apart by chance. What a download \
             counted is folded after the turn and before the next: in service that is a \
             transaction every ten seconds, beside the one every second that each round has.\n"
        ),
    );
    line(
        page,
        "| work | requests/s | nginx | nginx again | epoll | io_uring | p99, nginx again to nginx \
         | io_uring to nginx | the same, quiet quarter | bar |",
    );
    line(page, "|---|---|---|---|---|---|---|---|---|---|");
    for row in &outcome.open {
        let mut text = format!("| {} | {:.0} |", row.what, row.rate.unwrap_or(0.0));
        for server in ["nginx", AGAIN, "epoll", AUTO_BACKEND] {
            let shown = row.cell(server).map_or_else(
                || "–".to_owned(),
                |cell| format!("{} ({:.0})", latency(cell), cell.quiet(|s| s.p99_us)),
            );
            write!(text, " {shown} |").expect("a String takes text");
        }
        let ratio = row.ratio(AUTO_BACKEND, "nginx", |s| s.p99_us);
        let chance = shown(row.ratio(AGAIN, "nginx", |s| s.p99_us));
        let quiet = shown(row.quiet_ratio(AUTO_BACKEND, "nginx", |s| s.p99_us));
        let (ratio, bar) = (shown(ratio), bar(row, ratio));
        write!(text, " {chance} | {ratio} | {quiet} | {bar} |").expect("a String takes text");
        line(page, &text);
    }
    line(page, "");
}

fn workers(page: &mut String, outcome: &Outcome) {
    if outcome.workers.is_empty() {
        return;
    }
    line(page, "## Two workers against one\n");
    line(
        page,
        "CPU µs per request, 64 connections, nothing pinned, the load on the same cores with a \
         thread for each worker. The load does not take a core from a worker when an answer wakes \
         it (`SCHED_BATCH`): that would count the kernel's switches between the two.\n",
    );
    line(
        page,
        "| work | 1 worker | 2 workers | ratio | the same of nginx | bar |",
    );
    line(page, "|---|---|---|---|---|---|");
    for row in &outcome.workers {
        let mut text = format!("| {} |", row.what);
        push(&mut text, row.cell("1 worker"), |s| s.cpu_us, 2);
        push(&mut text, row.cell("2 workers"), |s| s.cpu_us, 2);
        let ratio = row.ratio("2 workers", "1 worker", |s| s.cpu_us);
        let peer = row.ratio("nginx, 2 workers", "nginx, 1 worker", |s| s.cpu_us);
        let (peer, bar) = (shown(peer), bar(row, ratio));
        write!(text, " {} | {peer} | {bar} |", shown(ratio)).expect("a String takes text");
        line(page, &text);
    }
    line(page, "");
}

fn idle(page: &mut String, outcome: &Outcome) {
    let (count, servers) = &outcome.idle;
    if servers.is_empty() {
        return;
    }
    line(page, "## Idle connections\n");
    let text = format!("Resident bytes that each of {count} idle keep-alive connections adds.\n");
    line(page, &text);
    line(page, "| server | bytes each | bar |");
    line(page, "|---|---|---|");
    for (server, bytes) in servers {
        let bar = if server == "nginx" { "" } else { "≤ 12,288" };
        line(page, &format!("| {server} | {bytes:.0} | {bar} |"));
    }
    line(page, "");
}

fn calls(page: &mut String, outcome: &Outcome) {
    if outcome.calls.is_empty() {
        return;
    }
    line(page, "## System calls per request\n");
    line(
        page,
        "`strace -c -f` over 20,000 requests on 64 connections.\n",
    );
    line(page, "| work | server | in all | which |");
    line(page, "|---|---|---|---|");
    for calls in &outcome.calls {
        let (what, server, total) = (&calls.what, &calls.server, calls.total());
        let which: Vec<String> = calls
            .counts
            .iter()
            .map(|(name, count)| format!("{name} {count:.2}"))
            .collect();
        line(
            page,
            &format!("| {what} | {server} | {total:.2} | {} |", which.join(", ")),
        );
    }
    line(page, "");
}

fn push(text: &mut String, cell: Option<&Cell>, figure: fn(&Sample) -> f64, digits: usize) {
    match cell {
        Some(cell) => write!(text, " {:.digits$} |", cell.median(figure)),
        None => write!(text, " – |"),
    }
    .expect("a String takes text");
}

fn latency(cell: &Cell) -> String {
    let [p50, p99, p99_9] = [
        cell.median(|s| s.p50_us),
        cell.median(|s| s.p99_us),
        cell.median(|s| s.p99_9_us),
    ];
    format!("{p50:.0} / {p99:.0} / {p99_9:.0}")
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}x"))
}

fn bar(row: &Row, ratio: Option<f64>) -> String {
    match (row.bar, ratio) {
        (Some(bar), Some(ratio)) if ratio <= bar => format!("≤ {bar}x: met"),
        (Some(bar), Some(_)) => format!("≤ {bar}x: **missed**"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bar: f64, ours: f64) -> Row {
        let cell = |server: &str, cpu_us| Cell {
            server: server.to_owned(),
            samples: vec![Sample {
                cpu_us,
                per_second: 1.0,
                p50_us: 1.0,
                p99_us: 1.0,
                p99_9_us: 1.0,
            }],
        };
        Row {
            work: "search".to_owned(),
            what: "search".to_owned(),
            connections: 64,
            rate: None,
            bar: Some(bar),
            cells: vec![
                cell("nginx", 10.0),
                cell("epoll", 9.0),
                cell("io_uring", ours),
            ],
        }
    }

    #[test]
    fn a_bar_is_met_or_missed_by_what_auto_chooses() {
        let verdict = |ours| {
            let row = row(1.1, ours);
            bar(&row, row.ratio(AUTO_BACKEND, "nginx", |s| s.cpu_us))
        };
        assert_eq!(verdict(11.0), "≤ 1.1x: met");
        assert_eq!(verdict(11.2), "≤ 1.1x: **missed**");
    }
}
