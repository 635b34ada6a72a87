//! How the whole service is, for administrators.

use askama::Template;
use http::StatusCode;
use subcat_engine::EngineStats;

use super::figure::NamedFigure;
use super::upstream_view::UpstreamView;
use crate::service::{
    LATENCY_BUCKETS_US, Metrics, Phase, Route, SLOW_SEARCH_US, Service, SlowSearch,
};
use crate::web::answer::{self, PageResult};
use crate::web::chart::{self, UsageView};
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::web_request::WebRequest;

/// Figures that belong together.
struct FigurePanel {
    title: &'static str,
    figures: Vec<NamedFigure>,
}

/// One slow search.
struct SlowRow {
    at: String,
    duration_us: String,
    parameters: String,
    /// Number and name of the key; 0 for a search on a page.
    key_number: u64,
    key_name: String,
}

#[derive(Template)]
#[template(path = "admin.html")]
struct AdminPage {
    page: Frame,
    state_class: &'static str,
    state_name: &'static str,
    is_failing: bool,
    panels: Vec<FigurePanel>,
    upstream: UpstreamView,
    slow_rows: Vec<SlowRow>,
    usage: UsageView,
}

/// `GET /admin`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let lang = request.lang;
    let service = &request.site.service;
    let stats = request.site.stats()?;
    let days_count = chart::period(request.query.get("days"));
    let today = request.now.day();
    let first = chart::first_day(today, days_count);
    service.engine.usage().aggregate_downloads(request.now);
    let usage = service.engine.usage().per_day(first, today)?;
    let (state_class, state_name) = state_of(service.phase(), lang);
    let template = AdminPage {
        page: request.frame("/admin"),
        state_class,
        state_name,
        is_failing: service.phase() == Phase::Failing,
        panels: vec![
            catalog_panel(&stats, lang),
            index_panel(&stats, lang),
            search_panel(service, lang),
        ],
        upstream: UpstreamView::new(request, &stats),
        slow_rows: slow_rows(service, lang),
        usage: UsageView::new(lang, &usage, today, days_count),
    };
    answer::page(StatusCode::OK, &template)
}

fn state_of(phase: Phase, lang: Lang) -> (&'static str, &'static str) {
    match phase {
        Phase::Ready => ("active", lang.t("ready", "en marcha")),
        Phase::Starting => ("expired", lang.t("starting", "arrancando")),
        Phase::Draining => ("expired", lang.t("stopping", "parando")),
        Phase::Failing => ("down", lang.t("failing", "con fallos")),
    }
}

fn catalog_panel(stats: &EngineStats, lang: Lang) -> FigurePanel {
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let size = |en, es, value| NamedFigure::new(lang.t(en, es), lang.bytes(value));
    let store_bytes = stats.catalog_store_bytes;
    FigurePanel {
        title: lang.t("Catalog and accounts", "Catálogo y cuentas"),
        figures: vec![
            count("Records", "Fichas", stats.records),
            count("Active records", "Fichas activas", stats.active_records),
            size("Catalog store", "Almacén del catálogo", store_bytes),
            count("Accounts", "Cuentas", stats.accounts),
            count("API keys", "Claves API", stats.api_keys),
            size("State store", "Almacén de estado", stats.state_store_bytes),
        ],
    }
}

fn index_panel(stats: &EngineStats, lang: Lang) -> FigurePanel {
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let size = |en, es, value| NamedFigure::new(lang.t(en, es), lang.bytes(value));
    let (gone, waiting) = (stats.tombstones, stats.delta_records);
    FigurePanel {
        title: lang.t("Search index", "Índice de búsqueda"),
        figures: vec![
            count("Segments", "Segmentos", stats.file_segments),
            size("Index", "Índice", stats.index_bytes),
            size("Documents", "Documentos", stats.document_bytes),
            count("Replaced or deleted", "Sustituidas o borradas", gone),
            count(
                "Waiting for a reindex job",
                "A la espera de reindexación",
                waiting,
            ),
            count(
                "Reindex jobs done",
                "Reindexaciones hechas",
                stats.reindex_jobs_done,
            ),
            count("Merges done", "Fusiones hechas", stats.merges_done),
        ],
    }
}

/// Of the API, since the process started.
fn search_panel(service: &Service, lang: Lang) -> FigurePanel {
    let metrics = &service.metrics;
    let hits = metrics.sum(|worker| worker.search_cache_hits.get());
    let misses = metrics.sum(|worker| worker.search_cache_misses.get());
    let cache_bytes = metrics.sum(|worker| worker.search_cache_bytes.get());
    let cache_bytes_max = service.config.cache_search_bytes as u64;
    let percent = (hits * 100).checked_div(hits + misses).unwrap_or(0);
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let used = format!(
        "{} {} {}",
        lang.bytes(cache_bytes),
        lang.t("of", "de"),
        lang.bytes(cache_bytes_max)
    );
    FigurePanel {
        title: lang.t("Searches since the start", "Búsquedas desde el arranque"),
        figures: vec![
            count("Answered", "Respondidas", hits + misses),
            NamedFigure::new(
                lang.t("From the cache", "Desde la caché"),
                format!("{} ({percent} %)", lang.number(hits)),
            ),
            NamedFigure::new(lang.t("Cache", "Caché"), used),
            count("Slower than 10 ms", "De más de 10 ms", slow_count(metrics)),
        ],
    }
}

fn slow_count(metrics: &Metrics) -> u64 {
    let search = Route::Search as usize;
    let is_slow = |idx: &usize| {
        LATENCY_BUCKETS_US
            .get(*idx)
            .is_none_or(|end_us| SLOW_SEARCH_US < *end_us)
    };
    let bucket = |idx: usize| metrics.sum(|worker| worker.routes[search].latency[idx].get());
    (0..=LATENCY_BUCKETS_US.len())
        .filter(is_slow)
        .map(bucket)
        .sum()
}

fn slow_rows(service: &Service, lang: Lang) -> Vec<SlowRow> {
    let api_keys = service.engine.accounts().api_keys();
    let row = |search: SlowSearch| {
        let key = search
            .api_key
            .and_then(|id| api_keys.iter().find(|key| key.id == id));
        SlowRow {
            at: lang.moment(search.at),
            duration_us: lang.number(search.duration_us),
            parameters: search.parameters,
            key_number: key.map_or(0, |key| key.id.0),
            key_name: key.map_or(String::new(), |key| key.name.clone()),
        }
    };
    service.slow_searches.list().into_iter().map(row).collect()
}
