//! Usage per day, drawn on the server: one small bar chart for each figure, and rows of a table.

use std::fmt::Write;

use subcat_engine::model::{Day, Usage};

use super::language::Lang;

const WIDTH: usize = 360;
const HEIGHT: usize = 130;
/// Where the bars end and the days are written below them.
const BASE: usize = 108;
/// Bars that are named one by one, at most: the page stays small.
const NAMED_BARS_MAX: usize = 31;
/// Where the highest bar ends.
const TOP: usize = 14;

/// Charts and rows of a period.
pub(crate) struct UsageView {
    pub(crate) days_count: u32,
    pub(crate) charts: Vec<Chart>,
    pub(crate) rows: Vec<UsageRow>,
}

/// One figure over the days of a period.
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    pub(crate) total: String,
    /// An `svg` element. It holds nothing but numbers, days and our own words.
    pub(crate) svg: String,
}

/// One day with use.
pub(crate) struct UsageRow {
    pub(crate) day: String,
    pub(crate) requests: String,
    pub(crate) downloads: String,
    pub(crate) client_errors: String,
    pub(crate) limited: String,
}

/// A figure: its name in both languages, its class in the style sheet, where it stands in `Usage`.
type Figure = (&'static str, &'static str, &'static str, fn(&Usage) -> u64);

const FIGURES: [Figure; 4] = [
    ("Requests", "Peticiones", "requests", |usage| usage.requests),
    ("Downloads", "Descargas", "downloads", |usage| {
        usage.downloads
    }),
    ("Errors (4xx)", "Errores (4xx)", "errors", |usage| {
        usage.client_errors
    }),
    ("Limited (429)", "Limitadas (429)", "limited", |usage| {
        usage.limited
    }),
];

/// The periods that are offered, in days.
pub(crate) const PERIODS: [u32; 3] = [7, 30, 90];

/// The period that a page asks for (`days`), 30 days when it asks for none that is offered.
pub(crate) fn period(days: &str) -> u32 {
    let asked = days.parse().unwrap_or(30);
    if PERIODS.contains(&asked) { asked } else { 30 }
}

/// The first of so many days that end with `today`.
pub(crate) fn first_day(today: Day, days_count: u32) -> Day {
    Day(today.0.saturating_sub(days_count - 1))
}

impl UsageView {
    /// Draws `usage` (days with use, ascending) over the `days_count` days that end with `today`.
    pub(crate) fn new(lang: Lang, usage: &[(Day, Usage)], today: Day, days_count: u32) -> Self {
        let first = first_day(today, days_count);
        let mut days = vec![Usage::default(); days_count as usize];
        for (day, usage) in usage {
            let slot = day.0.checked_sub(first.0).map(|idx| idx as usize);
            if let Some(sum) = slot.and_then(|idx| days.get_mut(idx)) {
                sum.add(usage);
            }
        }
        let charts = FIGURES.map(|(en, es, class, figure)| {
            let values: Vec<u64> = days.iter().map(figure).collect();
            let title = lang.t(en, es);
            Chart {
                title,
                total: lang.number(values.iter().sum()),
                svg: draw(lang, title, class, first, &values),
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

    /// Whether there was no use at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Bars over a base line, the highest value at the top left, the first and last day below.
fn draw(lang: Lang, title: &str, class: &str, first: Day, values: &[u64]) -> String {
    let highest = values.iter().copied().max().unwrap_or(0);
    let total: u64 = values.iter().sum();
    let last = Day(first.0 + u32::try_from(values.len()).unwrap_or(1) - 1);
    let mut svg = format!(
        r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}: {}, {} – {}; {} {}">"#,
        lang.number(total),
        lang.day(first),
        lang.day(last),
        lang.t("most in one day:", "máximo en un día:"),
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

/// Bars with a value, in tenths of a unit: day, left end, width; and the height, in units.
fn bars(values: &[u64]) -> impl Iterator<Item = (usize, usize, usize, usize)> + '_ {
    let highest = values.iter().copied().max().unwrap_or(0);
    let slot_tenths = WIDTH * 10 / values.len().max(1);
    let width_tenths = (slot_tenths * 3 / 4).max(10);
    let used = values.iter().enumerate().filter(|(_, value)| **value != 0);
    used.map(move |(day_idx, value)| {
        let left_tenths = day_idx * slot_tenths;
        (day_idx, left_tenths, width_tenths, height(*value, highest))
    })
}

/// Bars that say their day and value when they are pointed at.
fn named_bars(svg: &mut String, lang: Lang, first: Day, values: &[u64]) {
    for (day_idx, left, width, height) in bars(values) {
        put(
            svg,
            format_args!(
                r#"<rect x="{}.{}" y="{}" width="{}.{}" height="{height}" rx="1"><title>{}: {}</title></rect>"#,
                left / 10,
                left % 10,
                BASE - height,
                width / 10,
                width % 10,
                lang.day(Day(first.0 + u32::try_from(day_idx).unwrap_or(0))),
                lang.number(values[day_idx]),
            ),
        );
    }
}

/// All bars as one shape: a tenth of the bytes.
fn plain_bars(svg: &mut String, values: &[u64]) {
    svg.push_str(r#"<path class="bars" d=""#);
    for (_, left, width, height) in bars(values) {
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

/// Of a bar, in units of the drawing; what is not nothing is at least seen.
fn height(value: u64, highest: u64) -> usize {
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
