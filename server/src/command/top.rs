//! `subcat top`: a running server, live.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;

use super::access::{Access, Missing};
use super::context::Context;
use super::error::CommandError;
use super::output::print;
use super::subcommand::Subcommand;
use super::table::{aligned, bytes as size, facts};
use crate::ops::{LiveRead, LiveRoute, ReadLive};
use crate::service::{LATENCY_BUCKETS_US, latency_quantile_us};

/// Clears the terminal and moves to its beginning.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";

/// Watch the running server: requests, times, caches, upstream
#[derive(Debug, Args)]
pub(super) struct TopArguments {
    /// Show one interval and end
    #[arg(long)]
    once: bool,
    /// Seconds from one picture to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
}

impl Subcommand for TopArguments {
    const NAME: &'static str = "top";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let access = Access::open(config, Missing::Refuse)?;
        let mut before = access.execute(ReadLive {})?.read()?;
        let is_drawn_over = !self.once && std::io::stdout().is_terminal();
        loop {
            std::thread::sleep(Duration::from_secs(self.interval));
            let reply = access.execute(ReadLive {})?;
            let now = reply.read()?;
            let picture = if context.is_json() {
                format!("{}\n", reply.json())
            } else {
                let clear = if is_drawn_over { CLEAR } else { "" };
                format!("{clear}{}", picture(&before, &now))
            };
            print(&picture)?;
            if self.once {
                return access.close();
            }
            before = now;
        }
    }
}

/// Rates between two readings, and the state at the second.
fn picture(before: &LiveRead, now: &LiveRead) -> String {
    let us = now.monotonic_us.saturating_sub(before.monotonic_us).max(1);
    let per_second = |from: u64, to: u64| rate(to.saturating_sub(from), us);
    let hits = now
        .search_cache_hits
        .saturating_sub(before.search_cache_hits);
    let misses = now
        .search_cache_misses
        .saturating_sub(before.search_cache_misses);
    let cached = (hits * 100).checked_div(hits + misses);
    let upstream = if now.is_upstream_up { "up" } else { "down" };
    let bytes = now.file_bytes.saturating_sub(before.file_bytes);
    let mut rows = vec![
        ("status", now.phase.clone()),
        ("up for", format!("{} s", now.monotonic_us / 1_000_000)),
        ("workers", now.workers.to_string()),
        ("connections", now.connections.to_string()),
        (
            "searches cached",
            cached.map_or("-".into(), |percent| format!("{percent} %")),
        ),
        (
            "limited",
            format!("{}/s", per_second(before.limited, now.limited)),
        ),
        ("file bytes", format!("{}/s", size(scaled(bytes, us)))),
        (
            "upstream",
            format!(
                "{upstream}, {}/s, {} under way",
                per_second(before.upstream_attempts, now.upstream_attempts),
                now.upstream_under_way
            ),
        ),
    ];
    if now.is_disk_full {
        rows.push(("disk", "too little free space for changes".into()));
    }
    for failing in &now.failing {
        rows.push(("failing", failing.clone()));
    }
    let none = LiveRoute::default();
    let header = ["ROUTE", "PER S", "5XX PER S", "MEDIAN", "99 %"];
    let mut routes = vec![header.map(str::to_owned).to_vec()];
    for route in &now.routes {
        let before = before.routes.iter().find(|b| b.name == route.name);
        routes.push(route_row(before.unwrap_or(&none), route, us));
    }
    format!("{}\n{}", facts(&rows), aligned(&routes))
}

fn route_row(before: &LiveRoute, now: &LiveRoute, us: u64) -> Vec<String> {
    let old = before.latency.iter().chain(std::iter::repeat(&0));
    let latency: Vec<u64> = now
        .latency
        .iter()
        .zip(old)
        .map(|(now, old)| now.saturating_sub(*old))
        .collect();
    vec![
        now.name.clone(),
        rate(now.answers.saturating_sub(before.answers), us),
        rate(now.errors.saturating_sub(before.errors), us),
        quantile(&latency, 50),
        quantile(&latency, 99),
    ]
}

/// The upper end of the bucket of this percentile.
fn quantile(latency: &[u64], percent: u64) -> String {
    let last_us = LATENCY_BUCKETS_US[LATENCY_BUCKETS_US.len() - 1];
    match latency_quantile_us(latency, percent) {
        Some(end_us) => format!("<= {end_us} us"),
        None if latency.iter().all(|count| *count == 0) => "-".into(),
        None => format!("> {last_us} us"),
    }
}

/// `count` in `us` microseconds, per second, with a digit after the point.
fn rate(count: u64, us: u64) -> String {
    let tenths = u128::from(count) * 10_000_000 / u128::from(us);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn scaled(count: u64, us: u64) -> u64 {
    u64::try_from(u128::from(count) * 1_000_000 / u128::from(us)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_percentiles_are_those_of_the_interval() {
        let mut latency = vec![0; LATENCY_BUCKETS_US.len() + 1];
        latency[1] = 98;
        latency[3] = 2;
        let route = |answers, latency: &[u64]| LiveRoute {
            name: "search".into(),
            answers,
            errors: 1,
            latency: latency.to_vec(),
        };
        let row = route_row(&route(900, &[]), &route(1000, &latency), 2_000_000);
        assert_eq!(row, ["search", "50.0", "0.0", "<= 25 us", "<= 100 us"]);
        let mut slow = vec![0; LATENCY_BUCKETS_US.len() + 1];
        assert_eq!(quantile(&slow, 99), "-");
        slow[LATENCY_BUCKETS_US.len()] = 1;
        assert_eq!(quantile(&slow, 99), "> 5000000 us");
    }
}
