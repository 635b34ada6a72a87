//! A comparison as one picture: bars of CPU time per request, nginx's being one.

use std::fmt::Write as _;

use super::outcome::{Outcome, Row};

const WIDTH: f64 = 820.0;
const LEFT: f64 = 250.0;
const BAR: f64 = 17.0;
const GAP: f64 = 22.0;
const TOP: f64 = 64.0;
/// Pixels of a bar that is as long as nginx's.
const UNIT: f64 = 360.0;
/// Longest ratio that is drawn; longer bars end there.
const RATIO_MAX: f64 = 1.35;

const BARS: [(&str, &str, &str); 4] = [
    ("floor", "the floor: canned answer, no parsing", "#b8b8b8"),
    ("nginx", "nginx", "#5a7d9a"),
    ("epoll", "subcat, epoll", "#d2691e"),
    ("io_uring", "subcat, io_uring", "#e9a65d"),
];

/// The picture as SVG: each work at the number of connections of its goal.
pub fn picture(outcome: &Outcome) -> String {
    let rows: Vec<&Row> = outcome
        .closed
        .iter()
        .filter(|row| row.bar.is_some())
        .collect();
    let group = BAR * BARS.len() as f64 + GAP;
    let height = TOP + group * rows.len() as f64 + 26.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    text(
        &mut svg,
        (12.0, 22.0),
        "font-weight=\"bold\"",
        "CPU time per request (nginx = 1)",
    );
    let mut x = 12.0;
    for (_, name, colour) in BARS {
        rectangle(&mut svg, (x, 34.0), (11.0, 11.0), colour);
        text(&mut svg, (x + 16.0, 44.0), "", name);
        x += 40.0 + name.len() as f64 * 6.6;
    }
    for (idx, row) in rows.iter().enumerate() {
        draw(&mut svg, row, TOP + group * idx as f64);
    }
    let line_x = LEFT + UNIT;
    let bottom = height - 22.0;
    writeln!(
        svg,
        "<line x1=\"{line_x}\" y1=\"{TOP}\" x2=\"{line_x}\" y2=\"{bottom}\" stroke=\"#333\" \
         stroke-dasharray=\"3 3\"/>"
    )
    .expect("a String takes text");
    let machine = &outcome.machine;
    let foot = format!(
        "{}; {}, {}",
        machine.sentence(),
        machine.commit,
        machine.date
    );
    text(
        &mut svg,
        (12.0, height - 8.0),
        "fill=\"#777\" font-size=\"11\"",
        &foot,
    );
    svg.push_str("</svg>\n");
    svg
}

fn draw(svg: &mut String, row: &Row, top: f64) {
    let middle = top + BAR * 2.0 + 4.0;
    let what = row.what.split(", counted").next().unwrap_or(&row.what);
    text(svg, (12.0, middle - 8.0), "", what);
    let connections = format!("{} connections", row.connections);
    text(
        svg,
        (12.0, middle + 9.0),
        "fill=\"#777\" font-size=\"11\"",
        &connections,
    );
    for (idx, (server, _, colour)) in BARS.iter().enumerate() {
        let y = top + BAR * idx as f64;
        let Some(cell) = row.cell(server) else {
            continue;
        };
        let ratio = row.ratio(server, "nginx", |s| s.cpu_us).unwrap_or(0.0);
        let long = UNIT * ratio.min(RATIO_MAX);
        rectangle(svg, (LEFT, y), (long, BAR - 2.0), colour);
        let cpu_us = cell.median(|s| s.cpu_us);
        let digits = usize::from(cpu_us < 100.0);
        let label = format!("{cpu_us:.digits$} µs");
        text(
            svg,
            (LEFT + long + 6.0, y + BAR - 5.0),
            "font-size=\"12\"",
            &label,
        );
    }
}

fn rectangle(svg: &mut String, (x, y): (f64, f64), (wide, high): (f64, f64), colour: &str) {
    writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" \
         fill=\"{colour}\"/>"
    )
    .expect("a String takes text");
}

fn text(svg: &mut String, (x, y): (f64, f64), style: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{words}</text>"
    )
    .expect("a String takes text");
}
