//! Figures of the whole service and its audit log, for administrators.

use askama::Template;
use http::StatusCode;
use subcat_engine::EngineStats;

use crate::service::{LATENCY_BUCKETS_US, Metrics, Route};
use crate::upstream::FetchOutcome;
use crate::web::answer::{self, PageResult};
use crate::web::chart::{self, UsageView};
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::visit::Visit;

/// Lines of the audit log on its page.
const AUDIT_LINES: usize = 100;
/// A search that takes longer is called slow: twenty times what one is meant to take.
const SLOW_SEARCH_US: u64 = 10_000;

/// Figures that belong together.
struct Group {
    title: &'static str,
    tiles: Vec<Tile>,
}

/// One figure.
struct Tile {
    name: &'static str,
    value: String,
}

#[derive(Template)]
#[template(path = "admin.html")]
struct AdminPage {
    page: Frame,
    groups: Vec<Group>,
    usage: UsageView,
}

/// `GET /admin`.
pub(crate) fn show(visit: &Visit) -> PageResult {
    visit.admin()?;
    let lang = visit.lang;
    let engine = &visit.site.service.engine;
    let stats = visit.site.stats()?;
    let days_count = chart::period(visit.query.get("days"));
    let today = visit.now.day();
    let usage = engine.usage(chart::first_day(today, days_count), today)?;
    let groups = vec![
        catalog_group(&stats, lang),
        index_group(&stats, lang),
        search_group(&visit.site.service.metrics, lang),
        upstream_group(visit, &stats),
    ];
    let template = AdminPage {
        page: visit.frame("/admin"),
        groups,
        usage: UsageView::new(lang, &usage, today, days_count),
    };
    answer::page(StatusCode::OK, &template)
}

fn tile(name: &'static str, value: String) -> Tile {
    Tile { name, value }
}

fn catalog_group(stats: &EngineStats, lang: Lang) -> Group {
    let count = |en, es, value| tile(lang.t(en, es), lang.number(value));
    let size = |en, es, value| tile(lang.t(en, es), lang.bytes(value));
    Group {
        title: lang.t("Catalog", "Catálogo"),
        tiles: vec![
            count("Records", "Fichas", stats.records),
            count("Active records", "Fichas activas", stats.active_records),
            size(
                "Catalog store",
                "Almacén del catálogo",
                stats.catalog_store_bytes,
            ),
            count("Accounts", "Cuentas", stats.accounts),
            count("API keys", "Claves API", stats.api_keys),
            size("State store", "Almacén de estado", stats.state_store_bytes),
        ],
    }
}

fn index_group(stats: &EngineStats, lang: Lang) -> Group {
    let count = |en, es, value| tile(lang.t(en, es), lang.number(value));
    let size = |en, es, value| tile(lang.t(en, es), lang.bytes(value));
    Group {
        title: lang.t("Search index", "Índice de búsqueda"),
        tiles: vec![
            count("Segments", "Segmentos", stats.file_segments),
            size("Index", "Índice", stats.index_bytes),
            size("Documents", "Documentos", stats.document_bytes),
            count("In the delta", "En el delta", stats.delta_records),
            count(
                "Replaced or deleted",
                "Sustituidas o borradas",
                stats.tombstones,
            ),
            count("Reindex jobs", "Reindexaciones", stats.reindex_jobs_done),
            count("Merges", "Fusiones", stats.merges_done),
        ],
    }
}

/// Of the API, since the process started.
fn search_group(metrics: &Metrics, lang: Lang) -> Group {
    let search = Route::Search as usize;
    let buckets_count = LATENCY_BUCKETS_US.len() + 1;
    let bucket = |idx: usize| metrics.sum(|worker| worker.routes[search].latency[idx].get());
    let is_slow = |idx: &usize| {
        LATENCY_BUCKETS_US
            .get(*idx)
            .is_none_or(|end_us| SLOW_SEARCH_US < *end_us)
    };
    let slow: u64 = (0..buckets_count).filter(is_slow).map(bucket).sum();
    let hits = metrics.sum(|worker| worker.search_cache_hits.get());
    let misses = metrics.sum(|worker| worker.search_cache_misses.get());
    let cache_bytes = metrics.sum(|worker| worker.search_cache_bytes.get());
    let count = |en, es, value| tile(lang.t(en, es), lang.number(value));
    Group {
        title: lang.t("Searches since the start", "Búsquedas desde el arranque"),
        tiles: vec![
            count("From the cache", "Desde la caché", hits),
            count("Run", "Ejecutadas", misses),
            count("Slower than 10 ms", "De más de 10 ms", slow),
            tile(lang.t("Cache", "Caché"), lang.bytes(cache_bytes)),
        ],
    }
}

fn upstream_group(visit: &Visit, stats: &EngineStats) -> Group {
    let lang = visit.lang;
    let counts = visit.site.service.upstream.counts();
    let count = |en, es, value| tile(lang.t(en, es), lang.number(value));
    let failed = counts.outcome(FetchOutcome::Unavailable)
        + counts.outcome(FetchOutcome::Unusable)
        + counts.outcome(FetchOutcome::NotStored);
    Group {
        title: lang.t("Files and their source", "Archivos y su fuente"),
        tiles: vec![
            count("Cached files", "Archivos en caché", stats.cached_files),
            tile(
                lang.t("Their size", "Su tamaño"),
                lang.bytes(stats.blob_bytes),
            ),
            count(
                "Fetched since the start",
                "Obtenidos desde el arranque",
                counts.outcome(FetchOutcome::Stored),
            ),
            count(
                "Failed since the start",
                "Fallidos desde el arranque",
                failed,
            ),
            count("Under way", "En curso", counts.under_way()),
        ],
    }
}

struct AuditRow {
    at: String,
    action: String,
    actor: String,
    subject: String,
}

#[derive(Template)]
#[template(path = "admin_audit.html")]
struct AuditPage {
    page: Frame,
    rows: Vec<AuditRow>,
}

/// `GET /admin/audit`.
pub(crate) fn show_audit(visit: &Visit) -> PageResult {
    visit.admin()?;
    let engine = &visit.site.service.engine;
    let entries = engine.audit_log(AUDIT_LINES)?;
    let rows = entries.into_iter().map(|entry| {
        let account = entry.account.and_then(|id| engine.account(id));
        let email = account.map(|account| account.email.as_str().to_owned());
        let key = entry.api_key.map(|id| {
            let name = visit.lang.t("key", "clave");
            format!("{name} {} {}", id.0, entry.detail)
        });
        let detail = Some(entry.detail.clone()).filter(|_| key.is_none());
        let subject = [key, email, detail].into_iter().flatten();
        let subject: Vec<String> = subject.filter(|part| !part.is_empty()).collect();
        AuditRow {
            at: visit.lang.moment(entry.at),
            action: action_name(&entry.action, visit.lang),
            actor: entry.actor,
            subject: subject.join(" · "),
        }
    });
    let template = AuditPage {
        page: visit.frame("/admin"),
        rows: rows.collect(),
    };
    answer::page(StatusCode::OK, &template)
}

/// What was done, in the language of the page; an unknown action as it was written.
fn action_name(action: &str, lang: Lang) -> String {
    let spanish = match action {
        "account created" => "cuenta creada",
        "account disabled" => "cuenta desactivada",
        "account enabled" => "cuenta activada",
        "password changed" => "contraseña cambiada",
        "role changed to admin" => "función cambiada a administrador",
        "role changed to user" => "función cambiada a usuario",
        "key created" => "clave creada",
        "key revoked" => "clave revocada",
        _ => return action.to_owned(),
    };
    match lang {
        Lang::En => action.to_owned(),
        Lang::Es => spanish.to_owned(),
    }
}
