//! Usage by day or hour, drawn on the server: one chart on one scale, and the rows of a table.

use std::fmt::{self, Formatter, Write};

use subcat_engine::{Day, Timestamp, Usage};

use super::language::Lang;
use crate::limits::{LIMIT_LINE_FACTOR_MAX, NAMED_BARS_MAX};

/// Size of the drawing, in its own units.
const WIDTH: u64 = 960;
const HEIGHT: u64 = 260;
/// Left end of the bars, behind the numbers of the scale.
const LEFT: u64 = 64;
/// Lower end of the bars, above the days.
const BASE: u64 = 220;
/// Upper end of the scale.
const TOP: u64 = 16;

/// Steps of a chart, which end with the current one. A step is named by its number since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartSpan {
    /// The last 24 hours.
    Hours,
    /// This many days.
    Days(u32),
}

/// Chart and table rows of a span.
pub(crate) struct UsageView {
    /// Days of the span; 1 for the last 24 hours.
    pub(crate) days_count: u32,
    pub(crate) series: Vec<SeriesTotal>,
    /// An `svg` element. Safe to insert unescaped: it contains numbers, days and the texts of this
    /// file, never user input.
    pub(crate) svg: String,
    pub(crate) rows: Vec<UsageRow>,
}

/// A figure of the chart, and its sum over the period.
pub(crate) struct SeriesTotal {
    pub(crate) name: &'static str,
    /// Class of its colour in the style sheet.
    pub(crate) class: &'static str,
    pub(crate) total: String,
}

/// A day or hour with usage.
pub(crate) struct UsageRow {
    pub(crate) name: String,
    pub(crate) requests: String,
    pub(crate) downloads: String,
    pub(crate) client_errors: String,
    pub(crate) limited: String,
}

/// A figure of usage.
struct Series {
    name_en: &'static str,
    name_es: &'static str,
    class: &'static str,
    value: fn(&Usage) -> u64,
}

/// Figures that are stacked, from the base up; together they are all answers.
const STACK: [Series; 3] = [
    Series {
        name_en: "Answered",
        name_es: "Atendidas",
        class: "requests",
        value: |usage| usage.requests.saturating_sub(usage.client_errors),
    },
    Series {
        name_en: "Errors (4xx)",
        name_es: "Errores (4xx)",
        class: "errors",
        value: |usage| usage.client_errors,
    },
    Series {
        name_en: "Rate limited (429)",
        name_es: "Rechazadas por límite (429)",
        class: "limited",
        value: |usage| usage.limited,
    },
];

/// Drawn as a line over the bars.
const LINE: Series = Series {
    name_en: "Downloads",
    name_es: "Descargas",
    class: "downloads",
    value: |usage| usage.downloads,
};

/// The limit as a line, in the legend.
const LIMIT_CLASS: &str = "limit";

/// Spans of days that the pages offer.
pub(crate) const PERIODS: [u32; 3] = [7, 30, 90];

impl ChartSpan {
    /// The span of the parameter `days`: 1 is the last 24 hours; 30 days unless it is one of
    /// [`PERIODS`].
    pub(crate) fn of(days: &str) -> Self {
        match days.parse().unwrap_or(30) {
            1 => Self::Hours,
            asked if PERIODS.contains(&asked) => Self::Days(asked),
            _ => Self::Days(30),
        }
    }

    const fn steps_count(self) -> u32 {
        match self {
            Self::Hours => 24,
            Self::Days(count) => count,
        }
    }

    /// The first step of a span that ends with this one.
    pub(crate) fn first(self, last: u32) -> u32 {
        last.saturating_sub(self.steps_count() - 1)
    }

    /// Name of a step for people.
    fn name_of(self, step: u32, lang: Lang) -> String {
        match self {
            Self::Hours => hour_start(step).map_or(String::new(), |start| lang.moment(start)),
            Self::Days(_) => lang.day(Day(step)),
        }
    }

    /// Name of a step for programs.
    fn code_of(self, step: u32) -> String {
        match self {
            Self::Hours => hour_start(step).map_or(String::new(), |start| start.to_string()),
            Self::Days(_) => Day(step).to_string(),
        }
    }
}

/// The first second of an hour, which is given by its number since 1970.
fn hour_start(hour: u32) -> Option<Timestamp> {
    Timestamp::from_seconds(i64::from(hour) * 3_600)
}

/// The first of `days_count` days that end with `today`.
pub(crate) fn first_day(today: Day, days_count: u32) -> Day {
    Day(ChartSpan::Days(days_count).first(today.0))
}

/// Usage as CSV, with a row for each day or hour that had some.
pub(crate) fn csv(span: ChartSpan, usage: &[(u32, Usage)]) -> String {
    let step = match span {
        ChartSpan::Hours => "hour",
        ChartSpan::Days(_) => "day",
    };
    let mut text = format!("{step},requests,downloads,client_errors,limited\r\n");
    for (step, usage) in usage {
        let name = span.code_of(*step);
        let (requests, downloads) = (usage.requests, usage.downloads);
        let (errors, limited) = (usage.client_errors, usage.limited);
        text += &format!("{name},{requests},{downloads},{errors},{limited}\r\n");
    }
    text
}

impl UsageView {
    /// Draws `usage` (ascending steps) over the span that ends with the step `last`, and the most
    /// requests that a limit allows in a day.
    pub(crate) fn new(
        lang: Lang,
        span: ChartSpan,
        usage: &[(u32, Usage)],
        last: u32,
        day_limit: Option<u64>,
    ) -> Self {
        let first = span.first(last);
        let mut steps = vec![Usage::default(); span.steps_count() as usize];
        // Steps without usage have no row, so each row is added at its place.
        for (step, usage) in usage {
            let slot = step.checked_sub(first).map(|idx| idx as usize);
            if let Some(sum) = slot.and_then(|idx| steps.get_mut(idx)) {
                sum.add(usage);
            }
        }
        let limit = match span {
            ChartSpan::Hours => day_limit.map(|limit| limit / 24),
            ChartSpan::Days(_) => day_limit,
        };
        let series = STACK.iter().chain([&LINE]).map(|series| {
            let values = steps.iter().map(series.value);
            SeriesTotal {
                name: lang.t(series.name_en, series.name_es),
                class: series.class,
                total: lang.number(values.fold(0, u64::saturating_add)),
            }
        });
        let drawing = Drawing::new(lang, span, first, &steps, limit);
        let limit = limit.map(|limit| SeriesTotal {
            name: drawing.limit_name(),
            class: LIMIT_CLASS,
            total: lang.number(limit),
        });
        let is_used = |(step, usage): &&(u32, Usage)| first <= *step && *usage != Usage::default();
        let rows = usage
            .iter()
            .rev()
            .filter(is_used)
            .map(|(step, usage)| UsageRow {
                name: span.name_of(*step, lang),
                requests: lang.number(usage.requests),
                downloads: lang.number(usage.downloads),
                client_errors: lang.number(usage.client_errors),
                limited: lang.number(usage.limited),
            });
        Self {
            days_count: match span {
                ChartSpan::Hours => 1,
                ChartSpan::Days(count) => count,
            },
            series: series.chain(limit).collect(),
            svg: drawing.to_string(),
            rows: rows.collect(),
        }
    }

    /// True for the last 24 hours.
    pub(crate) fn is_by_hour(&self) -> bool {
        self.days_count == 1
    }

    /// True if the span has no usage.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A chart that is being drawn.
struct Drawing<'a> {
    lang: Lang,
    span: ChartSpan,
    first: u32,
    steps: &'a [Usage],
    /// Value at the upper end of the scale.
    scale: u64,
    /// Value of the line of the limit, if it is on the scale.
    limit: Option<u64>,
}

impl<'a> Drawing<'a> {
    fn new(
        lang: Lang,
        span: ChartSpan,
        first: u32,
        steps: &'a [Usage],
        limit: Option<u64>,
    ) -> Self {
        let highest = steps
            .iter()
            .map(|usage| stacked(usage, STACK.len()).max(usage.downloads));
        let highest = highest.max().unwrap_or(0);
        let drawn_max = highest.saturating_mul(LIMIT_LINE_FACTOR_MAX);
        let limit = limit.filter(|limit| *limit <= drawn_max);
        Self {
            lang,
            span,
            first,
            steps,
            scale: rounded_up(highest.max(limit.unwrap_or(0))),
            limit,
        }
    }

    fn limit_name(&self) -> &'static str {
        match (self.span, self.limit) {
            (ChartSpan::Days(_), Some(_)) => self.lang.t("Limit per day", "Límite por día"),
            (ChartSpan::Days(_), None) => self.lang.t(
                "Limit per day (above this scale)",
                "Límite por día (por encima de esta escala)",
            ),
            (ChartSpan::Hours, Some(_)) => self.lang.t("Limit per hour", "Límite por hora"),
            (ChartSpan::Hours, None) => self.lang.t(
                "Limit per hour (above this scale)",
                "Límite por hora (por encima de esta escala)",
            ),
        }
    }

    /// Name of the step at this place.
    fn name(&self, idx: usize) -> String {
        let step = self.first + u32::try_from(idx).unwrap_or(0);
        self.span.name_of(step, self.lang)
    }

    /// Lines at nothing, half and full scale, with their values.
    fn draw_grid(&self, svg: &mut Formatter<'_>) -> fmt::Result {
        let values = [self.scale, self.scale / 2, 0];
        for (y, value) in [TOP, TOP.midpoint(BASE), BASE].into_iter().zip(values) {
            let (x, below, value) = (LEFT - 8, y + 4, self.lang.number(value));
            write!(
                svg,
                r#"<path d="M{LEFT} {y}.5H{WIDTH}"/><text x="{x}" y="{below}" text-anchor="end" aria-hidden="true">{value}</text>"#,
            )?;
        }
        Ok(())
    }

    /// The bars of one figure, as one path. The last one is lighter: its time is not over.
    fn draw_bars(&self, svg: &mut Formatter<'_>, class: &str, stack_idx: usize) -> fmt::Result {
        let (mut past, mut today) = (String::new(), String::new());
        for (idx, usage) in self.steps.iter().enumerate() {
            let (low, high) = (stacked(usage, stack_idx), stacked(usage, stack_idx + 1));
            if low == high {
                continue;
            }
            let is_today = idx + 1 == self.steps.len();
            let path = if is_today { &mut today } else { &mut past };
            let (left, width) = (self.left_tenths(idx), self.slot_tenths() * 3 / 4);
            let (upper, lower) = (self.y(high), self.y(low));
            // A small value beside large ones stays visible.
            let upper = upper.min(lower.saturating_sub(1));
            write!(path, "M{}.{} {lower}V{upper}", left / 10, left % 10)?;
            write!(path, "h{}.{}V{lower}z", width / 10, width % 10)?;
        }
        for (path, extra) in [(past, ""), (today, " today")] {
            if !path.is_empty() {
                write!(svg, r#"<path class="bars {class}{extra}" d="{path}"/>"#)?;
            }
        }
        Ok(())
    }

    fn draw_line(&self, svg: &mut Formatter<'_>) -> fmt::Result {
        if self.steps.iter().all(|usage| usage.downloads == 0) {
            return Ok(());
        }
        svg.write_str(r#"<polyline class="line downloads" points=""#)?;
        for (idx, usage) in self.steps.iter().enumerate() {
            let x = (self.left_tenths(idx) + self.slot_tenths() * 3 / 8) / 10;
            let space = if idx == 0 { "" } else { " " };
            write!(svg, "{space}{x},{}", self.y(usage.downloads))?;
        }
        svg.write_str(r#""/>"#)
    }

    /// An invisible bar of full height for each step, with its figures as a tooltip.
    fn draw_tooltips(&self, svg: &mut Formatter<'_>) -> fmt::Result {
        svg.write_str(r#"<g class="tips">"#)?;
        for (idx, usage) in self.steps.iter().enumerate() {
            if *usage == Usage::default() {
                continue;
            }
            let (x, width) = (self.left_tenths(idx) / 10, self.slot_tenths() / 10);
            let (height, name) = (BASE - TOP, self.name(idx));
            write!(
                svg,
                r#"<rect x="{x}" y="{TOP}" width="{width}" height="{height}"><title>{name}"#,
            )?;
            for series in STACK.iter().chain([&LINE]) {
                let name = self.lang.t(series.name_en, series.name_es);
                let value = self.lang.number((series.value)(usage));
                write!(svg, "\n{name}: {value}")?;
            }
            svg.write_str("</title></rect>")?;
        }
        svg.write_str("</g>")
    }

    /// Tenths of a unit for each step: they keep 90 bars evenly spaced without floating point.
    fn slot_tenths(&self) -> u64 {
        (WIDTH - LEFT) * 10 / (self.steps.len() as u64).max(1)
    }

    fn left_tenths(&self, idx: usize) -> u64 {
        LEFT * 10 + idx as u64 * self.slot_tenths()
    }

    /// Height of a value on the scale.
    fn y(&self, value: u64) -> u64 {
        BASE - scaled(value, self.scale, BASE - TOP)
    }
}

/// Grid, stacked bars, line, tooltips, days. The table below says the same to screen readers.
impl fmt::Display for Drawing<'_> {
    fn fmt(&self, svg: &mut Formatter<'_>) -> fmt::Result {
        let (lang, last) = (self.lang, self.name(self.steps.len().saturating_sub(1)));
        let first = self.name(0);
        let (label, is_running) = match self.span {
            ChartSpan::Hours => (
                lang.t("Usage per hour,", "Uso por hora,"),
                lang.t("so far", "en curso"),
            ),
            ChartSpan::Days(_) => (
                lang.t("Usage per day,", "Uso diario,"),
                lang.t("today, not over yet", "hoy, aún en curso"),
            ),
        };
        write!(
            svg,
            r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label} {first} – {last}">"#,
        )?;
        self.draw_grid(svg)?;
        for (idx, series) in STACK.iter().enumerate() {
            self.draw_bars(svg, series.class, idx)?;
        }
        self.draw_line(svg)?;
        if let Some(limit) = self.limit {
            let y = self.y(limit);
            write!(
                svg,
                r#"<path class="{LIMIT_CLASS}" d="M{LEFT} {y}.5H{WIDTH}"/>"#
            )?;
        }
        if self.steps.len() <= NAMED_BARS_MAX {
            self.draw_tooltips(svg)?;
        }
        write!(
            svg,
            r#"<g aria-hidden="true"><text x="{LEFT}" y="{y}">{first}</text><text x="{WIDTH}" y="{y}" text-anchor="end">{last}<tspan class="note"> ({is_running})</tspan></text></g></svg>"#,
            y = HEIGHT - 8,
        )
    }
}

/// Part of `full` that a value takes on a scale that ends at `top`.
pub(super) fn scaled(value: u64, top: u64, full: u64) -> u64 {
    // In 128 bits, because a count near `u64::MAX` times the height would overflow.
    let scaled = u128::from(value.min(top)) * u128::from(full) / u128::from(top.max(1));
    u64::try_from(scaled).unwrap_or(full)
}

/// Sum of the first figures of the stack.
fn stacked(usage: &Usage, count: usize) -> u64 {
    let values = STACK.iter().take(count).map(|series| (series.value)(usage));
    values.fold(0, u64::saturating_add)
}

/// The next 2, 4, 6, 8 or 10 times a power of ten: half of the scale is a round number, too.
fn rounded_up(value: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [2, 4, 6, 8, 10] {
            match power.checked_mul(factor) {
                Some(rounded) if value <= rounded => return rounded,
                Some(_) => {}
                None => return u64::MAX,
            }
        }
        power = power.saturating_mul(10);
    }
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
    fn figures_share_one_scale() {
        let busy = Usage {
            requests: 100,
            client_errors: 25,
            limited: 20,
            downloads: 60,
        };
        let rows = [(19_994, busy), (20_000, usage(5))];
        let view = UsageView::new(Lang::En, ChartSpan::Days(7), &rows, 20_000, None);
        let svg = &view.svg;
        // The scale is 200 over 204 units: 75 answered, 25 errors, 20 limited on top.
        for path in [
            "M64.0 220V144h",
            "M64.0 144V118h",
            "M64.0 118V98h",
            "112,159 ",
        ] {
            assert!(svg.contains(path), "{path}: {svg}");
        }
        assert!(svg.contains("bars requests today"), "{svg}");
        let totals: Vec<&str> = view.series.iter().map(|it| it.total.as_str()).collect();
        assert_eq!(totals, ["80", "25", "20", "60"]);
        assert_eq!(view.rows[0].requests, "5");
        assert_eq!(view.rows.len(), 2);
        assert!(!svg.contains("style="));
    }

    #[test]
    fn a_limit_is_a_line_where_it_does_not_dwarf_the_days() {
        let week = ChartSpan::Days(7);
        let rows = [(20_000, usage(90))];
        let view = |limit| UsageView::new(Lang::En, week, &rows, 20_000, Some(limit));
        let near = view(300);
        // The scale ends at 400, and 300 of it is at three quarters of 204 units.
        assert!(
            near.svg
                .contains(r#"<path class="limit" d="M64 67.5H960"/>"#),
            "{}",
            near.svg
        );
        let legend = near.series.last().unwrap();
        assert_eq!(
            (legend.name, legend.total.as_str()),
            ("Limit per day", "300")
        );
        let far = view(86_400);
        assert!(!far.svg.contains("class=\"limit\""), "{}", far.svg);
        let legend = far.series.last().unwrap();
        assert_eq!(legend.name, "Limit per day (above this scale)");
        assert_eq!(legend.total, "86,400");
    }

    #[test]
    fn days_outside_the_period_and_huge_figures_do_no_harm() {
        let rows = [(1, usage(1)), (90_000, usage(u64::MAX))];
        let view = UsageView::new(Lang::Es, ChartSpan::Days(30), &rows, 20_000, None);
        assert!(!view.svg.contains("bars"));
        let quarter = ChartSpan::Days(90);
        let rows = [(20_000, usage(u64::MAX))];
        let view = UsageView::new(Lang::Es, quarter, &rows, 20_000, None);
        assert!(view.svg.contains("220V16h"), "{}", view.svg);
        assert!(UsageView::new(Lang::Es, quarter, &[], 0, None).is_empty());
        assert!(UsageView::new(Lang::Es, ChartSpan::Hours, &[], 0, None).is_empty());
    }

    #[test]
    fn the_last_24_hours_are_drawn_by_hour() {
        let last = 20_000 * 24 + 7;
        let rows = [
            (last - 24, usage(9)),
            (last - 23, usage(60)),
            (last, usage(5)),
        ];
        let view = UsageView::new(Lang::En, ChartSpan::Hours, &rows, last, Some(86_400));
        let svg = &view.svg;
        // The hour before the span is neither drawn nor listed.
        let names: Vec<&str> = view.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["4 Oct 2024, 07:00", "3 Oct 2024, 08:00"]);
        assert!(
            svg.contains("3 Oct 2024, 08:00 – 4 Oct 2024, 07:00"),
            "{svg}"
        );
        assert!(svg.contains("M64.0 220V16h"), "{svg}");
        let legend = view.series.last().unwrap();
        assert_eq!(legend.name, "Limit per hour (above this scale)");
        assert_eq!(legend.total, "3,600");
        let text = csv(ChartSpan::Hours, &rows[2..]);
        assert!(text.starts_with("hour,"), "{text}");
        assert!(text.contains("\n2024-10-04T07:00:00Z,5,0,0,0\r"), "{text}");
    }

    #[test]
    fn scales_end_at_round_numbers() {
        let check = |value, expected| assert_eq!(rounded_up(value), expected, "{value}");
        check(0, 2);
        check(3, 4);
        check(5, 6);
        check(61, 80);
        check(11, 20);
        check(401, 600);
        check(801, 1_000);
        check(u64::MAX, u64::MAX);
    }

    #[test]
    fn usage_is_written_as_csv() {
        let text = csv(ChartSpan::Days(7), &[(20_000, usage(5))]);
        let mut lines = text.lines();
        assert_eq!(
            lines.next(),
            Some("day,requests,downloads,client_errors,limited")
        );
        assert_eq!(lines.next(), Some("2024-10-04,5,0,0,0"));
    }

    #[test]
    fn only_offered_periods_are_shown() {
        assert_eq!(ChartSpan::of("1"), ChartSpan::Hours);
        assert_eq!(ChartSpan::of("90"), ChartSpan::Days(90));
        assert_eq!(ChartSpan::of("100000"), ChartSpan::Days(30));
        assert_eq!(ChartSpan::of(""), ChartSpan::Days(30));
        assert_eq!(first_day(Day(3), 30), Day(0));
    }
}
