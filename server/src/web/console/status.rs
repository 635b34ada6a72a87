//! The public state of the service.

use askama::Template;
use http::StatusCode;

use crate::service::Phase;
use crate::upstream::UpstreamState;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "console/status.html")]
struct StatusPage {
    page: Frame,
    is_well: bool,
    lines: Vec<StatusLine>,
}

/// A part of the service.
struct StatusLine {
    name: &'static str,
    is_well: bool,
    state: &'static str,
}

/// `GET /status`, without signing in: in a few words, without figures.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let (service, lang) = (&request.site.service, request.lang);
    let is_ready = service.phase() == Phase::Ready;
    let upstream = service.upstream.health().state;
    let works = lang.t("works", "funciona");
    let files = match upstream {
        UpstreamState::Down => lang.t("only files stored here", "solo archivos guardados aquí"),
        UpstreamState::NotConfigured => lang.t("files stored here", "archivos guardados aquí"),
        _ => works,
    };
    let template = StatusPage {
        page: request.frame("/status"),
        is_well: is_ready && upstream != UpstreamState::Down,
        lines: vec![
            StatusLine {
                name: lang.t("Search and records", "Búsquedas y fichas"),
                is_well: is_ready,
                state: if is_ready {
                    works
                } else {
                    lang.t("not available", "no disponible")
                },
            },
            StatusLine {
                name: lang.t("Downloads", "Descargas"),
                is_well: is_ready && upstream != UpstreamState::Down,
                state: files,
            },
        ],
    };
    answer::page(StatusCode::OK, &template)
}
