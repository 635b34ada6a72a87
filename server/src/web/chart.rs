//! Usage per day, drawn on the server: a bar chart for each figure, and the rows of a table.

use std::fmt::Write;

use subcat_engine::{Day, Usage};

use super::language::Lang;
use crate::limits::NAMED_BARS_MAX;

/// Size of a drawing, in its own units.
const WIDTH: usize = 360;
const HEIGHT: usize = 130;
/// Lower end of the bars; the days are written below.
const BASE: usize = 108;
/// Upper end of the highest bar.
const TOP: usize = 14;

/// Charts and table rows of a period.
pub(crate) struct UsageView {
    pub(crate) days_count: u32,
    pub(crate) charts: Vec<Chart>,
    pub(crate) rows: Vec<UsageRow>,
}

/// One figure over the days of a period.
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    pub(crate) total: String,
    /// An `svg` element. Safe to insert unescaped: it contains numbers, days and the texts of
    /// this file, never user input.
    pub(crate) svg: String,
}

/// A day with usage.
pub(crate) struct UsageRow {
    pub(crate) day: String,
    pub(crate) requests: String,
    pub(crate) downloads: String,
    pub(crate) client_errors: String,
    pub(crate) limited: String,
}

/// A figure of usage that has a chart.
struct UsageFigure {
    title_en: &'static str,
    title_es: &'static str,
    /// Class of its bars in the style sheet.
    class: &'static str,
    value: fn(&Usage) -> u64,
}

const fn figure(
    title_en: &'static str,
    title_es: &'static str,
    class: &'static str,
    value: fn(&Usage) -> u64,
) -> UsageFigure {
    UsageFigure {
        title_en,
        title_es,
        class,
        value,
    }
}

const FIGURES: [UsageFigure; 4] = [
    figure("Requests", "Peticiones", "requests", |usage| usage.requests),
    figure("Downloads", "Descargas", "downloads", |usage| {
        usage.downloads
    }),
    figure("Errors (4xx)", "Errores (4xx)", "errors", |usage| {
        usage.client_errors
    }),
    figure(
        "Rate limited (429)",
        "Rechazadas por límite (429)",
        "limited",
        |usage| usage.limited,
    ),
];

/// Periods that the pages offer, in days.
pub(crate) const PERIODS: [u32; 3] = [7, 30, 90];

/// The period that the parameter `days` asks for; 30 days unless it is one of [`PERIODS`].
pub(crate) fn period(days: &str) -> u32 {
    let asked = days.parse().unwrap_or(30);
    if PERIODS.contains(&asked) { asked } else { 30 }
}

/// The first of `days_count` days that end with `today`.
pub(crate) fn first_day(today: Day, days_count: u32) -> Day {
    Day(today.0.saturating_sub(days_count - 1))
}

impl UsageView {
    /// Draws `usage` (ascending days) over the `days_count` days that end with `today`.
    pub(crate) fn new(lang: Lang, usage: &[(Day, Usage)], today: Day, days_count: u32) -> Self {
        let first = first_day(today, days_count);
        let mut days = vec![Usage::default(); days_count as usize];
        // Days without usage have no row, so each row is added at the place of its day.
        for (day, usage) in usage {
            let slot = day.0.checked_sub(first.0).map(|idx| idx as usize);
            if let Some(sum) = slot.and_then(|idx| days.get_mut(idx)) {
                sum.add(usage);
            }
        }
        let charts = FIGURES.map(|figure| {
            let values: Vec<u64> = days.iter().map(figure.value).collect();
            let title = lang.t(figure.title_en, figure.title_es);
            Chart {
                title,
                total: lang.number(values.iter().sum()),
                svg: draw(lang, title, figure.class, first, &values),
            }
        });
        let is_used = |(_, usage): &&(Day, Usage)| *usage != Usage::default();
        let rows = usage
            .iter()
            .rev()
            .filter(is_used)
            .map(|(day, usage)| UsageRow {
                day: lang.day(*day),
                requests: lang.number(usage.requests),
                downloads: lang.number(usage.downloads),
                client_errors: lang.number(usage.client_errors),
                limited: lang.number(usage.limited),
            });
        Self {
            days_count,
            charts: charts.into(),
            rows: rows.collect(),
        }
    }

    /// True if the period has no usage.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Draws bars over a base line, with the highest value at the top left and the first and last day
/// below. The accessible name says the same, since the texts of the drawing are hidden from
/// screen readers.
fn draw(lang: Lang, title: &str, class: &str, first: Day, values: &[u64]) -> String {
    let highest = values.iter().copied().max().unwrap_or(0);
    let total: u64 = values.iter().sum();
    let last = Day(first.0 + u32::try_from(values.len()).unwrap_or(1) - 1);
    let mut svg = format!(
        r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}: {}, {} – {}; {} {}">"#,
        lang.number(total),
        lang.day(first),
        lang.day(last),
        lang.t("maximum per day:", "máximo por día:"),
        lang.number(highest),
    );
    put(
        &mut svg,
        format_args!(r#"<path d="M0 {TOP}.5H{WIDTH}M0 {BASE}.5H{WIDTH}"/>"#),
    );
    put(&mut svg, format_args!(r#"<g class="{class}">"#));
    if values.len() <= NAMED_BARS_MAX {
        named_bars(&mut svg, lang, first, values);
    } else {
        plain_bars(&mut svg, values);
    }
    put(
        &mut svg,
        format_args!(
            r#"</g><g aria-hidden="true"><text x="0" y="{}">{}</text><text x="0" y="{HEIGHT}" dy="-6">{}</text><text x="{WIDTH}" y="{HEIGHT}" dy="-6" text-anchor="end">{}</text></g></svg>"#,
            TOP - 4,
            lang.number(highest),
            lang.day(first),
            lang.day(last),
        ),
    );
    svg
}

/// A bar with a value above zero. Lengths along the days are in tenths of a unit.
struct Bar {
    day_idx: usize,
    left_tenths: usize,
    width_tenths: usize,
    height: usize,
}

fn bars(values: &[u64]) -> impl Iterator<Item = Bar> + '_ {
    let highest = values.iter().copied().max().unwrap_or(0);
    // Tenths of a unit keep 90 bars evenly spaced without floating point.
    let slot_tenths = WIDTH * 10 / values.len().max(1);
    let width_tenths = (slot_tenths * 3 / 4).max(10);
    let used = values.iter().enumerate().filter(|(_, value)| **value != 0);
    used.map(move |(day_idx, value)| Bar {
        day_idx,
        left_tenths: day_idx * slot_tenths,
        width_tenths,
        height: height(*value, highest),
    })
}

/// Draws each bar as an element with a tooltip that says its day and value.
fn named_bars(svg: &mut String, lang: Lang, first: Day, values: &[u64]) {
    for bar in bars(values) {
        let (left, width, height) = (bar.left_tenths, bar.width_tenths, bar.height);
        put(
            svg,
            format_args!(
                r#"<rect x="{}.{}" y="{}" width="{}.{}" height="{height}" rx="1"><title>{}: {}</title></rect>"#,
                left / 10,
                left % 10,
                BASE - height,
                width / 10,
                width % 10,
                lang.day(Day(first.0 + u32::try_from(bar.day_idx).unwrap_or(0))),
                lang.number(values[bar.day_idx]),
            ),
        );
    }
}

/// Draws all bars as one path: a tenth of the bytes, which keeps pages of 90 days small.
fn plain_bars(svg: &mut String, values: &[u64]) {
    svg.push_str(r#"<path class="bars" d=""#);
    for bar in bars(values) {
        let (left, width, height) = (bar.left_tenths, bar.width_tenths, bar.height);
        put(
            svg,
            format_args!(
                "M{}.{} {BASE}v-{height}h{}.{}v{height}z",
                left / 10,
                left % 10,
                width / 10,
                width % 10,
            ),
        );
    }
    svg.push_str(r#""/>"#);
}

fn put(svg: &mut String, piece: std::fmt::Arguments<'_>) {
    svg.write_fmt(piece).expect("a String takes everything");
}

/// Height of a bar. At least 2, so that a small value beside a large one is visible.
fn height(value: u64, highest: u64) -> usize {
    // In 128 bits, because a count near `u64::MAX` times the height would overflow.
    let full = u128::try_from(BASE - TOP).unwrap_or(0);
    let scaled = u128::from(value) * full / u128::from(highest.max(1));
    usize::try_from(scaled).unwrap_or(0).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(requests: u64) -> Usage {
        Usage {
            requests,
            ..Usage::default()
        }
    }

    #[test]
    fn bars_stand_for_days_and_scale_to_the_highest() {
        let today = Day(20_000);
        let rows = [(Day(19_994), usage(10)), (today, usage(5))];
        let view = UsageView::new(Lang::En, &rows, today, 7);
        let svg = &view.charts[0].svg;
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
        assert!(svg.contains(r#"height="94""#), "{svg}");
        assert!(svg.contains(r#"height="47""#), "{svg}");
        assert!(
            svg.contains("Requests: 15, 28 Sep 2024 – 4 Oct 2024"),
            "{svg}"
        );
        assert_eq!(view.rows[0].requests, "5");
        assert_eq!(view.rows.len(), 2);
        assert!(!svg.contains("style="));
    }

    #[test]
    fn days_outside_the_period_and_huge_figures_do_no_harm() {
        let rows = [(Day(1), usage(1)), (Day(90_000), usage(u64::MAX))];
        let view = UsageView::new(Lang::Es, &rows, Day(20_000), 30);
        assert_eq!(view.charts[0].svg.matches("<rect").count(), 0);
        let rows = [(Day(20_000), usage(2)), (Day(19_950), usage(1))];
        let view = UsageView::new(Lang::En, &rows, Day(20_000), 90);
        let svg = &view.charts[0].svg;
        assert!(svg.contains("v-47h3.0v47z"), "{svg}");
        assert!(svg.contains("v-94h3.0v94z"), "{svg}");
        let rows = [(Day(20_000), usage(u64::MAX))];
        let view = UsageView::new(Lang::Es, &rows, Day(20_000), 30);
        assert!(view.charts[0].svg.contains(r#"height="94""#));
        assert!(UsageView::new(Lang::Es, &[], Day(0), 90).is_empty());
    }

    #[test]
    fn only_offered_periods_are_shown() {
        assert_eq!(period("90"), 90);
        assert_eq!(period("100000"), 30);
        assert_eq!(period(""), 30);
        assert_eq!(first_day(Day(3), 30), Day(0));
    }
}
