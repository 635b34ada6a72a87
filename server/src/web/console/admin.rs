//! State and figures of the service, for administrators.

use askama::Template;
use http::StatusCode;
use subcat_engine::{ApiKey, Day, EngineStats, Usage};

use super::cluster_view::ClusterView;
use super::figure::NamedFigure;
use super::first_steps::FirstStep;
use super::history_view::HistoryView;
use super::question::{QUESTION_DAYS, Question};
use super::upstream_view::UpstreamView;
use crate::limits::{TOP_KEYS_SHOWN, USED_KEYS_READ_MAX};
use crate::service::{
    EmptySearch, LATENCY_BUCKETS_US, Metrics, Phase, Route, SLOW_SEARCH_US, Service, SlowSearch,
};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::chart::{self, UsageView};
use crate::web::frame::command_text::command_text;
use crate::web::frame::error::PageError;
use crate::web::frame::language::Lang;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::top_titles::TopTitle;
use crate::web::frame::usage_span::SpanUsage;
use crate::web::frame::web_request::WebRequest;

/// A titled group of figures.
struct FigurePanel {
    title: &'static str,
    figures: Vec<NamedFigure>,
}

/// A row of the table of slow searches.
struct SlowRow {
    at: String,
    duration: String,
    parameters: String,
    /// Id of the API key; 0 for a search on a page.
    key_number: u64,
    key_name: String,
}

/// A row of the table of searches without results.
struct EmptyRow {
    parameters: String,
    count: String,
    at: String,
}

/// A row of the table of the busiest keys.
struct TopKey {
    number: u64,
    name: String,
    requests: String,
}

#[derive(Template)]
#[template(path = "console/admin.html")]
struct AdminPage {
    page: Frame,
    state_class: &'static str,
    state_name: &'static str,
    questions: [Question; 4],
    /// Names of the background tasks that fail.
    failing: Vec<&'static str>,
    is_full: bool,
    damaged_records: u64,
    /// Command that names them.
    verify_command: String,
    cluster: Option<ClusterView>,
    panels: Vec<FigurePanel>,
    upstream: UpstreamView,
    first_steps: Vec<FirstStep>,
    history: HistoryView,
    top_keys: Vec<TopKey>,
    top_titles: Vec<TopTitle>,
    empty_rows: Vec<EmptyRow>,
    slow_rows: Vec<SlowRow>,
    usage: UsageView,
}

/// `GET /admin`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let lang = request.lang;
    let service = &request.site.service;
    let stats = request.site.stats()?;
    // Anything but an offered span falls back to 30 days: a chart never gets too large.
    let usage = SpanUsage::read(request, None)?;
    let today = request.now.day();
    let first = usage.first_day(today);
    let week = chart::first_day(today, QUESTION_DAYS);
    let week = service.engine.usage().per_day(week, today)?;
    let (state_class, state_name) = state_of(service.phase(), lang);
    let template = AdminPage {
        page: request.frame("/admin"),
        state_class,
        state_name,
        questions: Question::all(request, &stats, &week),
        failing: service
            .background
            .failing()
            .iter()
            .map(|failing| failing.task.name())
            .collect(),
        is_full: service.engine.files().check_space().is_err(),
        damaged_records: stats.damaged_records,
        verify_command: command_text(request, "verify"),
        cluster: service
            .cluster()
            .map(|node| ClusterView::new(&node.state(), lang)),
        panels: vec![
            catalog_panel(&stats, lang),
            index_panel(&stats, lang),
            search_panel(service, lang),
        ],
        upstream: UpstreamView::new(request, &stats),
        first_steps: FirstStep::all(request, &stats),
        history: HistoryView::new(request),
        top_keys: top_keys(request, first, today)?,
        top_titles: TopTitle::all(request)?,
        empty_rows: empty_rows(request),
        slow_rows: slow_rows(service, lang),
        usage: usage.view(request, None),
    };
    answer::page(StatusCode::OK, &template)
}

/// `GET /admin/usage.csv`: the days of the chart, for a spreadsheet.
pub(crate) fn usage_csv(request: &WebRequest) -> PageResult {
    request.admin()?;
    Ok(answer::bytes(
        StatusCode::OK,
        "text/csv; charset=utf-8",
        SpanUsage::read(request, None)?.csv(),
    ))
}

/// Class in the style sheet, and name.
fn state_of(phase: Phase, lang: Lang) -> (&'static str, &'static str) {
    match phase {
        Phase::Ready => ("active", lang.t("ready", "en servicio")),
        Phase::Starting => ("expired", lang.t("starting", "iniciándose")),
        Phase::Draining => ("expired", lang.t("stopping", "deteniéndose")),
    }
}

fn catalog_panel(stats: &EngineStats, lang: Lang) -> FigurePanel {
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let size = |en, es, value| NamedFigure::new(lang.t(en, es), lang.bytes(value));
    let store_bytes = stats.catalog_store_bytes;
    // Until the scrubber has come so far, nothing is known.
    let reclaimable = |bytes: Option<u64>| {
        let name = lang.t("Reclaimable by compaction", "Recuperable al compactar");
        NamedFigure::new(name, bytes.map_or("–".into(), |bytes| lang.bytes(bytes)))
    };
    FigurePanel {
        title: lang.t("Catalog and accounts", "Catálogo y cuentas"),
        figures: vec![
            count("Records", "Fichas", stats.records),
            count("Active records", "Fichas activas", stats.active_records),
            size("Catalog file", "Archivo del catálogo", store_bytes),
            reclaimable(stats.catalog_reclaimable_bytes),
            count("Accounts", "Cuentas", stats.accounts),
            count("API keys", "Claves de API", stats.api_keys),
            size("State file", "Archivo de estado", stats.state_store_bytes),
            reclaimable(stats.state_reclaimable_bytes),
        ],
    }
}

fn index_panel(stats: &EngineStats, lang: Lang) -> FigurePanel {
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let size = |en, es, value| NamedFigure::new(lang.t(en, es), lang.bytes(value));
    let (deleted, unindexed) = (stats.tombstones, stats.delta_records);
    FigurePanel {
        title: lang.t("Search index", "Índice de búsqueda"),
        figures: vec![
            count("Segments", "Segmentos", stats.file_segments),
            size("Index", "Índice", stats.index_bytes),
            size("Documents", "Documentos", stats.document_bytes),
            count(
                "Replaced or deleted records",
                "Fichas sustituidas o borradas",
                deleted,
            ),
            count(
                "Records awaiting reindexing",
                "Fichas pendientes de reindexar",
                unindexed,
            ),
            count("Reindexing runs", "Reindexaciones", stats.reindex_jobs_done),
            count("Segment merges", "Fusiones de segmentos", stats.merges_done),
        ],
    }
}

/// Searches of the API since the process started.
fn search_panel(service: &Service, lang: Lang) -> FigurePanel {
    let metrics = &service.metrics;
    let hits = metrics.sum(|worker| worker.search_cache_hits.get());
    let misses = metrics.sum(|worker| worker.search_cache_misses.get());
    let cache_bytes = metrics.sum(|worker| worker.search_cache_bytes.get());
    let cache_bytes_max = service.config().cache_search_bytes as u64;
    let percent = (hits * 100).checked_div(hits + misses).unwrap_or(0);
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let used = format!(
        "{} {} {}",
        lang.bytes(cache_bytes),
        lang.t("of", "de"),
        lang.bytes(cache_bytes_max)
    );
    FigurePanel {
        title: lang.t("Searches since startup", "Búsquedas desde el arranque"),
        figures: vec![
            count("Searches", "Búsquedas", hits + misses),
            NamedFigure::new(
                lang.t("Served from the cache", "Servidas desde la caché"),
                format!("{} ({})", lang.number(hits), lang.percent(percent)),
            ),
            NamedFigure::new(lang.t("Cache size", "Tamaño de la caché"), used),
            count(
                "Slower than 10 ms",
                "Más lentas que 10 ms",
                slow_count(metrics),
            ),
        ],
    }
}

/// Searches in the latency buckets above the threshold of slow searches, counted.
fn slow_count(metrics: &Metrics) -> u64 {
    let counts = metrics.latency_counts(Route::Search);
    let ends = LATENCY_BUCKETS_US.iter().chain([&u64::MAX]);
    let slow = ends
        .zip(counts)
        .filter(|(end_us, _)| SLOW_SEARCH_US < **end_us);
    slow.map(|(_, count)| count).sum()
}

fn empty_rows(request: &WebRequest) -> Vec<EmptyRow> {
    let lang = request.lang;
    let kept = request.site.service.empty_searches.list().into_iter();
    let row = |search: EmptySearch| EmptyRow {
        parameters: search.parameters,
        count: lang.number(search.count),
        at: lang.ago(search.at, request.now),
    };
    kept.map(row).collect()
}

/// The keys with the most requests in these days. Cost: reads the days of the keys that were used
/// in them, of [`USED_KEYS_READ_MAX`] at most.
fn top_keys(request: &WebRequest, from: Day, to: Day) -> Result<Vec<TopKey>, PageError> {
    let engine = &request.site.service.engine;
    let lang = request.lang;
    let mut used: Vec<(ApiKey, Usage)> = Vec::new();
    let newest = engine.accounts().api_keys().into_iter().rev();
    for api_key in newest.take(USED_KEYS_READ_MAX) {
        let mut sum = Usage::default();
        for (_, usage) in engine.usage().api_key_usage(api_key.id, from, to)? {
            sum.add(&usage);
        }
        if sum.requests + sum.downloads != 0 {
            used.push((api_key, sum));
        }
    }
    used.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.requests));
    let row = |(api_key, sum): (ApiKey, Usage)| TopKey {
        number: api_key.id.0,
        name: api_key.name,
        requests: lang.number(sum.requests),
    };
    Ok(used.into_iter().take(TOP_KEYS_SHOWN).map(row).collect())
}

fn slow_rows(service: &Service, lang: Lang) -> Vec<SlowRow> {
    let api_keys = service.engine.accounts().api_keys();
    let row = |search: SlowSearch| {
        let key = search
            .api_key
            .and_then(|id| api_keys.iter().find(|key| key.id == id));
        SlowRow {
            at: lang.moment(search.at),
            duration: lang.microseconds(search.duration_us),
            parameters: search.parameters,
            key_number: key.map_or(0, |key| key.id.0),
            key_name: key.map_or(String::new(), |key| key.name.clone()),
        }
    };
    service.slow_searches.list().into_iter().map(row).collect()
}
