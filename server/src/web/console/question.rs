//! The four questions that an operator asks first: is it well, is it fast, is it used, what is not
//! found?

use subcat_engine::{ApiKeyState, Day, EngineStats, Usage};

use super::figure::NamedFigure;
use super::upstream_view::described;
use crate::service::{Metrics, Phase, Route, Service, latency_quantile_us};
use crate::web::frame::language::Lang;
use crate::web::frame::web_request::WebRequest;

/// One question, its answer in a word, and the figures behind it.
pub(crate) struct Question {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// Class of the state in the style sheet.
    pub(crate) class: &'static str,
    pub(crate) answer: String,
    /// Reason of an answer that is not good, in a sentence; empty if there is none.
    pub(crate) cause: String,
    pub(crate) figures: Vec<NamedFigure>,
}

/// Microseconds that the slowest searches should take at most: the target of the project.
const SLOW_SEARCHES_TARGET_US: u64 = 1_000;

/// Days of usage shown.
pub(crate) const QUESTION_DAYS: u32 = 7;

impl Question {
    /// The questions with their answers of now. `usage` are the last [`QUESTION_DAYS`], ascending.
    pub(crate) fn all(
        request: &WebRequest,
        stats: &EngineStats,
        usage: &[(Day, Usage)],
    ) -> [Self; 4] {
        let service = &request.site.service;
        [
            well(service, stats, request.lang),
            fast(&service.metrics, request.lang),
            used(request, usage),
            found(service, request.lang),
        ]
    }
}

fn well(service: &Service, stats: &EngineStats, lang: Lang) -> Question {
    let upstream = service.upstream.health().state;
    let failing = service.background.failing();
    let names: Vec<_> = failing.iter().map(|failing| failing.task.name()).collect();
    let (_, upstream_name, upstream_explanation) = described(upstream, lang);
    let (class, answer, cause) = match service.phase() {
        Phase::Ready if !names.is_empty() => {
            let fails = lang.t(
                "Background task that fails:",
                "Tarea en segundo plano que falla:",
            );
            let cause = format!("{fails} {}.", names.join(", "));
            ("down", lang.t("no", "no"), cause)
        }
        Phase::Ready if upstream.is_failing() => {
            let source = lang.t("Source of files:", "Origen de los archivos:");
            let cause = format!("{source} {upstream_name}. {upstream_explanation}");
            ("expired", lang.t("in part", "en parte"), cause)
        }
        Phase::Ready => ("active", lang.t("yes", "sí"), String::new()),
        _ => ("expired", lang.t("not yet", "todavía no"), String::new()),
    };
    Question {
        id: "well",
        heading: lang.t("Is it healthy?", "¿Va bien?"),
        class,
        answer: answer.to_owned(),
        cause,
        figures: vec![
            NamedFigure::new(
                lang.t("Records", "Fichas"),
                lang.number(stats.active_records),
            ),
            NamedFigure::new(lang.t("Disk", "Disco"), lang.bytes(stats.disk_bytes())),
            NamedFigure::new(
                lang.t("Panics", "Fallos internos"),
                lang.number(service.metrics.sum(|worker| worker.panics.get())),
            ),
        ],
    }
}

fn fast(metrics: &Metrics, lang: Lang) -> Question {
    let median = quantile_us(metrics, Route::Search, 50);
    let slowest = quantile_us(metrics, Route::Search, 99);
    let (class, answer) = match slowest {
        None => ("revoked", lang.t("no searches yet", "aún sin búsquedas")),
        Some(us) if us <= SLOW_SEARCHES_TARGET_US => ("active", lang.t("yes", "sí")),
        Some(_) => ("expired", lang.t("not always", "no siempre")),
    };
    let shown = |us: Option<u64>| {
        us.map_or("–".to_owned(), |us| {
            format!("≤ {}", lang.microseconds(us))
        })
    };
    Question {
        id: "fast",
        heading: lang.t("Is it fast?", "¿Es rápido?"),
        class,
        answer: answer.to_owned(),
        cause: String::new(),
        figures: vec![
            NamedFigure::new(lang.t("Search, p50", "Búsqueda, p50"), shown(median)),
            NamedFigure::new(lang.t("Search, p99", "Búsqueda, p99"), shown(slowest)),
            NamedFigure::new(
                lang.t("Download, p99", "Descarga, p99"),
                shown(quantile_us(metrics, Route::Download, 99)),
            ),
        ],
    }
}

/// Microseconds within which this percentage of the answers since the start was given.
fn quantile_us(metrics: &Metrics, route: Route, percent: u64) -> Option<u64> {
    latency_quantile_us(&metrics.latency_counts(route), percent)
}

fn used(request: &WebRequest, usage: &[(Day, Usage)]) -> Question {
    let lang = request.lang;
    let today = request.now.day();
    let mut sums = [Usage::default(); 2];
    for (day, usage) in usage {
        if *day == today {
            sums[0].add(usage);
        }
        sums[1].add(usage);
    }
    let keys = request.accounts().api_keys();
    let is_active = |state: ApiKeyState| state == ApiKeyState::Active;
    let active = keys
        .iter()
        .filter(|key| is_active(key.state(request.effective_now)));
    let class = if sums[1].requests == 0 {
        "revoked"
    } else {
        "active"
    };
    Question {
        id: "used",
        heading: lang.t("Is it used?", "¿Se usa?"),
        class,
        answer: match sums[0].requests {
            1 => lang.t("1 request today", "1 petición hoy").to_owned(),
            requests => format!(
                "{} {}",
                lang.number(requests),
                lang.t("requests today", "peticiones hoy")
            ),
        },
        cause: String::new(),
        figures: vec![
            NamedFigure::new(
                lang.t("Requests, 7 days", "Peticiones, 7 días"),
                lang.number(sums[1].requests),
            ),
            NamedFigure::new(
                lang.t("Downloads, 7 days", "Descargas, 7 días"),
                lang.number(sums[1].downloads),
            ),
            NamedFigure::new(
                lang.t("Active API keys", "Claves de API activas"),
                lang.number(active.count() as u64),
            ),
        ],
    }
}

fn found(service: &Service, lang: Lang) -> Question {
    let empty = service.empty_searches.list();
    let class = if empty.is_empty() {
        "active"
    } else {
        "expired"
    };
    let answer = if empty.is_empty() {
        lang.t("nothing so far", "nada por ahora").to_owned()
    } else {
        match empty.len() {
            1 => lang.t("1 search", "1 búsqueda").to_owned(),
            count => {
                let count = lang.number(count as u64);
                format!("{count} {}", lang.t("searches", "búsquedas"))
            }
        }
    };
    let newest = empty.into_iter().take(3);
    Question {
        id: "found",
        heading: lang.t("What is not found?", "¿Qué no aparece?"),
        class,
        answer,
        cause: String::new(),
        figures: newest
            .map(|search| NamedFigure {
                name: search.parameters.into(),
                value: lang.number(search.count),
            })
            .collect(),
    }
}
