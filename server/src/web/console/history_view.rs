//! Figures of the last hour or the last days, as small charts and as a table.

use subcat_engine::Timestamp;

use crate::limits::{HISTORY_DAYS_MAX, HISTORY_HOURS_MAX, HISTORY_MINUTES_MAX};
use crate::service::{Figures, Gain, LATENCY_BUCKETS_US, Period};
use crate::web::frame::language::Lang;
use crate::web::frame::spark::{self, SparkScale, SparkSeries};
use crate::web::frame::web_request::WebRequest;

/// The section of the console with its charts.
pub(crate) struct HistoryView {
    pub(crate) heading: &'static str,
    /// Name of a step, for the table.
    pub(crate) step: &'static str,
    pub(crate) steps: Vec<StepLink>,
    /// The charts with figures.
    pub(crate) charts: Vec<ChartView>,
    /// Names of the others.
    pub(crate) quiet_names: Vec<&'static str>,
    pub(crate) rows: Vec<HistoryRow>,
    /// Times at both ends of the charts.
    pub(crate) first: String,
    pub(crate) last: String,
}

/// Steps of the charts to choose.
pub(crate) struct StepLink {
    /// Value of the parameter `history`; empty for minutes.
    pub(crate) value: &'static str,
    pub(crate) label: &'static str,
    pub(crate) is_chosen: bool,
}

/// A small chart.
pub(crate) struct ChartView {
    pub(crate) name: &'static str,
    /// Last value of the figure, or the sum of all.
    pub(crate) value: String,
    /// An `svg` element of numbers and texts of this program. Safe to insert unescaped.
    pub(crate) svg: String,
    /// True if there is nothing to draw.
    is_quiet: bool,
}

impl ChartView {
    fn lines(name: &'static str, value: String, series: &[SparkSeries], scale: SparkScale) -> Self {
        let mut values = series.iter().flat_map(|it| &it.values);
        Self {
            name,
            value,
            svg: spark::lines(name, series, scale),
            is_quiet: values.all(Option::is_none),
        }
    }

    fn bars(name: &'static str, value: String, series: &[SparkSeries]) -> Self {
        let mut values = series.iter().flat_map(|it| &it.values);
        Self {
            name,
            value,
            svg: spark::bars(name, series),
            is_quiet: values.all(|value| value.unwrap_or(0) == 0),
        }
    }
}

/// A minute, an hour or a day in the table.
pub(crate) struct HistoryRow {
    pub(crate) start: String,
    pub(crate) requests: String,
    pub(crate) errors: String,
    pub(crate) limited: String,
    pub(crate) p50: String,
    pub(crate) p99: String,
    pub(crate) search_cache: String,
    pub(crate) file_cache: String,
    pub(crate) fetched: String,
    pub(crate) fetch_failures: String,
    pub(crate) disk: String,
}

impl HistoryView {
    /// The view of the parameter `history`: `hours`, `days`, or else minutes.
    pub(crate) fn new(request: &WebRequest) -> Self {
        let history = &request.site.service.history;
        let chosen = match request.query.get("history") {
            chosen @ ("hours" | "days") => chosen,
            _ => "",
        };
        let lang = request.lang;
        let (periods, seconds, count) = match chosen {
            "days" => (history.days(), 86_400, HISTORY_DAYS_MAX),
            "hours" => (history.hours(), 3_600, HISTORY_HOURS_MAX),
            _ => (history.minutes(), 60, HISTORY_MINUTES_MAX),
        };
        let (heading, step) = match chosen {
            "days" => (("The last 30 days", "Los últimos 30 días"), ("Day", "Día")),
            "hours" => (
                ("The last 24 hours", "Las últimas 24 horas"),
                ("Hour", "Hora"),
            ),
            _ => (("The last hour", "La última hora"), ("Minute", "Minuto")),
        };
        let link = |(value, label)| StepLink {
            value,
            label,
            is_chosen: value == chosen,
        };
        let steps = [
            ("", lang.t("by minute", "por minuto")),
            ("hours", lang.t("by hour", "por hora")),
            ("days", lang.t("by day", "por día")),
        ];
        let named = |start: Timestamp| {
            match chosen {
                "days" => lang.day(start.day()),
                "hours" => lang.moment(start),
                // The date is that of the page; a minute needs its time only.
                _ => start.to_string()[11..16].to_owned(),
            }
        };
        let last = periods.last().map_or(request.now, |period| period.start);
        let slots = Slots {
            first: last.plus_seconds(-seconds * (count as i64 - 1)),
            seconds,
            periods: &periods,
            count,
        };
        let all = slots.charts(lang).into_iter();
        let (quiet, charts): (Vec<_>, Vec<_>) = all.partition(|chart| chart.is_quiet);
        Self {
            heading: lang.t(heading.0, heading.1),
            step: lang.t(step.0, step.1),
            steps: steps.map(link).into(),
            charts,
            quiet_names: quiet.iter().map(|chart| chart.name).collect(),
            rows: periods
                .iter()
                .rev()
                .map(|period| HistoryRow::new(named(period.start), period, lang))
                .collect(),
            first: named(slots.first),
            last: named(last),
        }
    }

    /// True before the end of the first minute.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Periods at their places on the line of time.
struct Slots<'a> {
    first: Timestamp,
    seconds: i64,
    periods: &'a [Period],
    count: usize,
}

impl Slots<'_> {
    /// A value for each place, `None` where the process was not there.
    fn values(&self, value: impl Fn(&Period) -> Option<u64>) -> Vec<Option<u64>> {
        let mut values = vec![None; self.count];
        for period in self.periods {
            let offset = (period.start.seconds() - self.first.seconds()) / self.seconds;
            let slot = usize::try_from(offset).ok();
            if let Some(slot) = slot.and_then(|idx| values.get_mut(idx)) {
                *slot = value(period);
            }
        }
        values
    }

    fn charts(&self, lang: Lang) -> Vec<ChartView> {
        let requests = [
            ("requests", Gain::Requests),
            ("limited", Gain::Limited),
            ("errors", Gain::ServerErrors),
        ];
        let fetches = [
            ("downloads", Gain::Fetched),
            ("errors", Gain::FetchFailures),
        ];
        let hits = lang.t("Searches from the cache", "Búsquedas desde la caché");
        let files = lang.t("Downloads from the cache", "Descargas desde la caché");
        let fetched = lang.t("Fetched from upstream", "Obtenidos del origen");
        vec![
            self.speed_chart(lang),
            self.gains_chart(lang, lang.t("Requests", "Peticiones"), &requests),
            self.ratio_chart(lang, hits, "requests", search_cache),
            self.ratio_chart(lang, files, "downloads", file_cache),
            self.gains_chart(lang, fetched, &fetches),
            self.disk_chart(lang),
        ]
    }

    fn speed_chart(&self, lang: Lang) -> ChartView {
        let name = lang.t("Search p50 · p99", "Búsqueda p50 · p99");
        let quantiles = |class, percent| SparkSeries {
            class,
            // On the scale of the buckets: twice as slow is one step.
            values: self.values(|it| bucket_of(it.figures.search_quantile_us(percent)?)),
        };
        let slowest = SparkScale::Fixed(LATENCY_BUCKETS_US.len() as u64 - 1);
        let series = [quantiles("errors", 99), quantiles("requests", 50)];
        // Of the last period with searches: the one that has just ended may have none.
        let figures = self.periods.iter().rev().map(|period| &period.figures);
        let latest = figures
            .filter(|figures| figures.search_quantile_us(50).is_some())
            .map(|figures| {
                let shown = |percent| quantile(figures, percent, lang);
                format!("{} · {}", shown(50), shown(99))
            })
            .next();
        let value = latest.unwrap_or_else(|| "–".to_owned());
        ChartView::lines(name, value, &series, slowest)
    }

    /// Bars of gains, each with its class; the value is the sum of the first.
    fn gains_chart(
        &self,
        lang: Lang,
        name: &'static str,
        bars: &[(&'static str, Gain)],
    ) -> ChartView {
        let series = bars.iter().map(|&(class, gain)| SparkSeries {
            class,
            values: self.values(|period| Some(period.figures.gained(gain))),
        });
        let series: Vec<SparkSeries> = series.collect();
        let first = self.periods.iter().map(|it| it.figures.gained(bars[0].1));
        ChartView::bars(name, lang.number(first.sum()), &series)
    }

    fn ratio_chart(
        &self,
        lang: Lang,
        name: &'static str,
        class: &'static str,
        ratio: fn(&Figures) -> Option<u64>,
    ) -> ChartView {
        let series = SparkSeries {
            class,
            values: self.values(|period| ratio(&period.figures)),
        };
        let mut latest = self.periods.iter().rev();
        let value = percent(latest.find_map(|period| ratio(&period.figures)), lang);
        ChartView::lines(name, value, &[series], SparkScale::Fixed(100))
    }

    fn disk_chart(&self, lang: Lang) -> ChartView {
        let name = lang.t("Disk", "Disco");
        let series = SparkSeries {
            class: "downloads",
            values: self.values(|period| Some(period.disk_bytes)),
        };
        let latest = self.periods.last();
        let value = latest.map_or(String::new(), |period| lang.bytes(period.disk_bytes));
        ChartView::lines(name, value, &[series], SparkScale::Highest)
    }
}

impl HistoryRow {
    fn new(start: String, period: &Period, lang: Lang) -> Self {
        let figures = &period.figures;
        let gained = |gain| lang.number(figures.gained(gain));
        Self {
            start,
            requests: gained(Gain::Requests),
            errors: gained(Gain::ServerErrors),
            limited: gained(Gain::Limited),
            p50: quantile(figures, 50, lang),
            p99: quantile(figures, 99, lang),
            search_cache: percent(search_cache(figures), lang),
            file_cache: percent(file_cache(figures), lang),
            fetched: gained(Gain::Fetched),
            fetch_failures: gained(Gain::FetchFailures),
            disk: lang.bytes(period.disk_bytes),
        }
    }
}

/// Position of a latency on the scale of the buckets.
fn bucket_of(end_us: u64) -> Option<u64> {
    let bucket_idx = LATENCY_BUCKETS_US.iter().position(|end| *end == end_us);
    bucket_idx.map(|idx| idx as u64)
}

fn quantile(figures: &Figures, percent: u64, lang: Lang) -> String {
    let end_us = figures.search_quantile_us(percent);
    end_us.map_or("–".to_owned(), |us| {
        format!("≤ {}", lang.microseconds(us))
    })
}

fn percent(ratio: Option<u64>, lang: Lang) -> String {
    ratio.map_or("–".to_owned(), |percent| lang.percent(percent))
}

/// Searches that were answered from cached hits, in percent.
fn search_cache(figures: &Figures) -> Option<u64> {
    let hits = figures.gained(Gain::CacheHits);
    (hits * 100).checked_div(hits + figures.gained(Gain::CacheMisses))
}

/// Downloads without a fetch, in percent.
fn file_cache(figures: &Figures) -> Option<u64> {
    let downloads = figures.gained(Gain::Downloads);
    let cached = downloads.saturating_sub(figures.gained(Gain::Fetched));
    (cached * 100).checked_div(downloads)
}
