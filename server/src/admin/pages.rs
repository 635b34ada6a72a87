//! The admin address: metrics, and the health of the process.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use subcat_engine::error_chain;

use super::metrics::metrics_text;
use super::stream::SentBody;
use crate::runtime::WorkKind;
use crate::service::{Phase, Service};
use hyper::body::Incoming;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type AdminPageFuture = Pin<Box<dyn Future<Output = Response<SentBody>> + Send>>;

/// Handler of requests on the admin address: `/metrics`, `/livez` (a worker runs and no pool of
/// blocking work stalls, or the catalog is being opened), `/readyz` (the service answers). There is
/// no service while the catalog is opened.
pub fn admin_pages(
    service: Arc<OnceLock<Arc<Service>>>,
) -> impl Fn(Request<Incoming>) -> AdminPageFuture + Clone + Send + Sync + 'static {
    move |request| Box::pin(answer(service.get().map(Arc::clone), request))
}

/// Handler of requests on the public address until there is a service: everything is 503.
pub fn starting_pages()
-> impl Fn(Request<Incoming>) -> AdminPageFuture + Clone + Send + Sync + 'static {
    |request| {
        Box::pin(async move {
            let body = if request.uri().path() == "/api/health" {
                let (status, version) = (Phase::Starting.as_str(), env!("CARGO_PKG_VERSION"));
                format!(r#"{{"status":"{status}","version":"{version}"}}"#)
            } else {
                r#"{"detail":"Service Unavailable"}"#.to_owned()
            };
            let mut response = page(StatusCode::SERVICE_UNAVAILABLE, JSON, body);
            // The next request is one for the workers.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            response
        })
    }
}

async fn answer(service: Option<Arc<Service>>, request: Request<Incoming>) -> Response<SentBody> {
    let is_head = request.method() == Method::HEAD;
    if request.method() != Method::GET && !is_head {
        let mut response = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET or HEAD\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/livez" => match service {
            Some(service) => liveness(&service),
            None => page(StatusCode::OK, TEXT, "starting\n"),
        },
        "/readyz" => {
            let phase = service
                .as_ref()
                .map_or(Phase::Starting, |service| service.phase());
            let troubles = service.as_ref().map_or(String::new(), |it| troubles(it));
            readiness(phase, &troubles)
        }
        "/metrics" => match service {
            Some(service) => metrics(service).await,
            None => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "starting\n"),
        },
        _ => page(StatusCode::NOT_FOUND, TEXT, "/metrics, /livez or /readyz\n"),
    }
}

/// Alive while any worker runs and each pool of short jobs finishes some. A worker that ends is
/// restarted; while none runs, no request is served. Full pools of long jobs are only reported.
fn liveness(service: &Service) -> Response<SentBody> {
    let counts = &service.metrics.connections;
    if counts.workers_running.load(Ordering::Relaxed) == 0 {
        return page(
            StatusCode::SERVICE_UNAVAILABLE,
            TEXT,
            "no worker is running\n",
        );
    }
    // Of one moment: a pool that begins to stall in between would be called full, but no fault.
    let pools = service.control.pool_states();
    if let Some(pool) = pools.iter().find(|pool| pool.is_fault()) {
        let stalled = format!("no work of the pool {} ends\n", pool.kind.as_str());
        return page(StatusCode::SERVICE_UNAVAILABLE, TEXT, stalled);
    }
    let mut text = "ok\n".to_owned();
    for pool in pools.iter().filter(|pool| pool.is_stalled) {
        let (kind, seconds) = (pool.kind.as_str(), pool.oldest_job.as_secs());
        text.push_str(&format!("the pool {kind} is full for {seconds} s\n"));
    }
    page(StatusCode::OK, TEXT, text)
}

/// Lines of trouble that does not keep reads from being answered; empty if all is well.
fn troubles(service: &Service) -> String {
    let mut lines = String::new();
    if let Err(error) = service.engine.files().check_space() {
        let cause = error_chain(&error);
        lines.push_str(&format!("read-only: {cause}\n"));
    }
    if let Some(problem) = service.cluster().and_then(|node| node.state().problem) {
        lines.push_str(&format!("the log is not followed: {problem}\n"));
    }
    for failing in service.background.failing() {
        let (task, error) = (failing.task.name(), failing.error);
        lines.push_str(&format!("task {task} fails: {error}\n"));
    }
    lines
}

fn readiness(phase: Phase, troubles: &str) -> Response<SentBody> {
    let status = match phase {
        Phase::Ready => StatusCode::OK,
        Phase::Starting | Phase::Draining => StatusCode::SERVICE_UNAVAILABLE,
    };
    page(status, TEXT, format!("{}\n{troubles}", phase.as_str()))
}

async fn metrics(service: Arc<Service>) -> Response<SentBody> {
    let control = service.control.clone();
    let counted = control.run(WorkKind::Metrics, move || metrics_text(service));
    match counted.await {
        Ok(Ok(text)) => page(StatusCode::OK, METRICS, text),
        Ok(Err(error)) => {
            let cause = error_chain(&error);
            tracing::error!(cause, "metrics could not be read");
            page(
                StatusCode::INTERNAL_SERVER_ERROR,
                TEXT,
                format!("{cause}\n"),
            )
        }
        Err(_) => page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "see the log\n"),
    }
}

fn page(status: StatusCode, kind: &'static str, text: impl Into<String>) -> Response<SentBody> {
    let mut response = Response::new(SentBody::whole(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
