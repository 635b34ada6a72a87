//! Usage of a key, or of the whole service, over the span of a page.

use subcat_engine::{ApiKeyId, Day, Usage};

use super::chart::{self, ChartSpan, UsageView};
use super::error::PageError;
use super::web_request::WebRequest;
use crate::service::HOUR_SECONDS;

/// Usage by day or hour, over a span that ends now.
pub(crate) struct SpanUsage {
    span: ChartSpan,
    /// Days or hours since 1970, ascending, and the usage in each.
    rows: Vec<(u32, Usage)>,
    /// The current day or hour.
    last: u32,
}

impl SpanUsage {
    /// The usage of a key, or without one of the whole service, over the span of the parameter
    /// `days`. Downloads are aggregated first, which is a durable transaction.
    pub(crate) fn read(request: &WebRequest, api_key: Option<ApiKeyId>) -> Result<Self, PageError> {
        let span = ChartSpan::of(request.query.get("days"));
        let today = request.now.day();
        let usage = request.site.service.engine.usage();
        usage.aggregate_downloads(request.now);
        let number = |number: i64| u32::try_from(number).unwrap_or(0);
        let (rows, last): (Vec<(u32, Usage)>, u32) = match span {
            ChartSpan::Hours => {
                let rows = request.site.service.usage.hours.of(api_key).into_iter();
                let rows = rows.map(|(hour, usage)| (number(hour), usage));
                let hour = request.now.seconds().div_euclid(HOUR_SECONDS);
                (rows.collect(), number(hour))
            }
            ChartSpan::Days(_) => {
                let first = Day(span.first(today.0));
                let days = match api_key {
                    Some(id) => usage.api_key_usage(id, first, today)?,
                    None => usage.per_day(first, today)?,
                };
                let rows = days.into_iter().map(|(day, usage)| (day.0, usage));
                (rows.collect(), today.0)
            }
        };
        Ok(Self { span, rows, last })
    }

    /// The chart, with the most requests that a limit allows in a day as a line.
    pub(crate) fn view(&self, request: &WebRequest, day_limit: Option<u64>) -> UsageView {
        UsageView::new(request.lang, self.span, &self.rows, self.last, day_limit)
    }

    /// The same for a spreadsheet.
    pub(crate) fn csv(&self) -> String {
        chart::csv(self.span, &self.rows)
    }

    /// First day of the span, for lists that know days only: today for hours.
    pub(crate) fn first_day(&self, today: Day) -> Day {
        match self.span {
            ChartSpan::Hours => today,
            ChartSpan::Days(_) => Day(self.span.first(today.0)),
        }
    }
}
