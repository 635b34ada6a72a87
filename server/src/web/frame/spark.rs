//! Small charts of one or two figures over time, drawn on the server. A table beside them says the
//! same to readers who do not see them.

use std::fmt::{self, Write};

use super::chart::scaled;

/// Size of a drawing, in its own units.
const WIDTH: u64 = 300;
const HEIGHT: u64 = 60;

/// A figure of a chart.
pub(crate) struct SparkSeries {
    /// Class of its colour in the style sheet.
    pub(crate) class: &'static str,
    /// Values in order of time; `None` without data.
    pub(crate) values: Vec<Option<u64>>,
}

/// The upper end of a scale.
#[derive(Clone, Copy)]
pub(crate) enum SparkScale {
    /// The highest value of the chart.
    Highest,
    /// This value.
    Fixed(u64),
}

/// An `svg` element with bars: each series is drawn over those before it. It holds numbers and
/// `label`, which must be a text of this program.
pub(crate) fn bars(label: &str, series: &[SparkSeries]) -> String {
    let top = top_of(series, SparkScale::Highest);
    drawn(label, series, "bars", |values, path| {
        for (idx, value) in values.iter().enumerate() {
            if let Some(value) = value.filter(|value| *value != 0) {
                let (left, right) = (x(idx, values.len()), x(idx + 1, values.len()));
                // A small value beside large ones stays visible.
                let upper = y(value, top).min(HEIGHT - 1);
                let width = (right - left).saturating_sub(1).max(1);
                write!(path, "M{left} {HEIGHT}V{upper}h{width}V{HEIGHT}z")?;
            }
        }
        Ok(())
    })
}

/// An `svg` element with lines, which are interrupted where a value is missing.
pub(crate) fn lines(label: &str, series: &[SparkSeries], scale: SparkScale) -> String {
    let top = top_of(series, scale);
    drawn(label, series, "line", |values, path| {
        let mut command = "M";
        for (idx, value) in values.iter().enumerate() {
            let Some(value) = value else {
                command = "M";
                continue;
            };
            let (left, right) = (x(idx, values.len()), x(idx + 1, values.len()));
            // A step as wide as its period: one value alone is seen too.
            write!(path, "{command}{left} {}H{right}", y(*value, top))?;
            command = "L";
        }
        Ok(())
    })
}

/// An `svg` element with a path of this class for each series that `draw` draws.
fn drawn(
    label: &str,
    series: &[SparkSeries],
    kind: &str,
    draw: impl Fn(&[Option<u64>], &mut String) -> fmt::Result,
) -> String {
    let mut svg = format!(
        r#"<svg class="chart spark" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{label}"><path d="M0 {HEIGHT}H{WIDTH}"/>"#
    );
    for SparkSeries { class, values } in series {
        let mut path = String::new();
        draw(values, &mut path).expect("a String takes everything");
        if !path.is_empty() {
            svg += &format!(r#"<path class="{kind} {class}" d="{path}"/>"#);
        }
    }
    svg + "</svg>"
}

fn top_of(series: &[SparkSeries], scale: SparkScale) -> u64 {
    match scale {
        SparkScale::Fixed(top) => top,
        SparkScale::Highest => {
            let values = series.iter().flat_map(|it| it.values.iter().flatten());
            values.copied().max().unwrap_or(0)
        }
    }
}

/// Left end of a period.
fn x(idx: usize, count: usize) -> u64 {
    WIDTH * idx as u64 / (count as u64).max(1)
}

/// Height of a value on the scale, with room for the width of a line at both ends.
fn y(value: u64, top: u64) -> u64 {
    HEIGHT - 2 - scaled(value, top, HEIGHT - 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[Option<u64>]) -> [SparkSeries; 1] {
        [SparkSeries {
            class: "requests",
            values: values.to_vec(),
        }]
    }

    #[test]
    fn bars_stand_on_the_base_and_small_ones_are_seen() {
        let svg = bars("x", &series(&[Some(1_000), Some(0), Some(1)]));
        assert!(svg.contains("M0 60V2h99V60z"), "{svg}");
        assert!(svg.contains("M200 60V58h99V60z"), "{svg}");
        assert_eq!(svg.matches('M').count(), 3, "the base and two bars");
    }

    #[test]
    fn a_line_is_interrupted_where_a_value_is_missing() {
        let values = [Some(100), Some(50), None, Some(0)];
        let svg = lines("x", &series(&values), SparkScale::Fixed(100));
        assert!(svg.contains("M0 2H75L75 30H150M225 58H300"), "{svg}");
    }

    #[test]
    fn nothing_and_huge_values_do_no_harm() {
        for values in [vec![], vec![None], vec![Some(0)], vec![Some(u64::MAX); 90]] {
            for svg in [
                bars("x", &series(&values)),
                lines("x", &series(&values), SparkScale::Highest),
            ] {
                assert!(svg.ends_with("</svg>"));
                assert!(!svg.contains("style="));
            }
        }
    }
}
